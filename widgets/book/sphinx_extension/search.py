"""Search in Chinese: words are cut by jieba here and by longest match in the browser.

Sphinx indexes jieba's words, but its search page takes a run of Chinese as one word, so
that a query of two words finds nothing.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sphinx.search.zh import SearchChinese

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_SPLITTER = r"""
var splitQuery = (query) => {
  const known = Search._index ? Search._index.terms : {};
  const titles = Search._index ? Search._index.titleterms : {};
  const isWord = (text) => Object.hasOwn(known, text) || Object.hasOwn(titles, text);
  const words = [];
  for (const run of query.match(/[\u3400-\u9fff]+|[\p{Letter}\p{Number}_]+/gu) || []) {
    if (!/[\u3400-\u9fff]/.test(run)) { words.push(run); continue; }
    for (let start = 0; start < run.length; ) {
      let end = Math.min(run.length, start + 8);
      while (end > start + 1 && !isWord(run.slice(start, end))) end -= 1;
      if (end > start + 1) words.push(run.slice(start, end));
      start = end;
    }
  }
  return words.length ? words : [query.trim()];
};
"""


class ChineseSearch(SearchChinese):
    """Sphinx's Chinese search with a query splitter that knows the index's words."""

    js_splitter_code = _SPLITTER

    def init(self, options: dict[str, str]) -> None:
        import jieba

        jieba.setLogLevel(logging.WARNING)  # it reports its dictionary cache on stderr
        super().init(options)


def setup(app: Sphinx) -> None:
    app.add_search_language(ChineseSearch)
