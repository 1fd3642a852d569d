"""The Chinese catalogues: complete, Chinese, with the same numbers and roles as the English."""

from __future__ import annotations

import re

import polib
import pytest
from conftest import ROOT

from widgets import book
from widgets.language import catalogue

MESSAGES = ROOT / "locale" / "zh_CN" / "LC_MESSAGES"
CATALOGUES = sorted(MESSAGES.rglob("*.po"))
TEMPLATES = ROOT / "_build" / "gettext"
HAN = re.compile(r"[\u4e00-\u9fff]")
ROLE = re.compile(r"\{[a-z]+\}`[^`]+`")
LINK = re.compile(r"\]\(([^)]+)\)")
PLACEHOLDER = re.compile(r"\{[a-z_0-9]+(?::(?:number|noun))?\}")
NOUN = re.compile(r":noun(?=\s*[|`}])")
NUMBER = re.compile(r"(?<![\w.])\d[\d,.]*\d|(?<![\w.])\d")
MARKUP = re.compile(r"\{[^}]*\}`[^`]*`|`[^`]*`|\$[^$]*\$|\{[^}]*\}|\]\([^)]*\)|<[^>]+>")


def entries(path):
    return [e for e in polib.pofile(str(path)) if not e.obsolete]


def words(text):
    """Latin words of two letters or more that are neither markup nor a name in the glossary."""
    return re.findall(r"[A-Za-z]{2,}", MARKUP.sub(" ", text))


def kept_english():
    """Texts that the glossary keeps as they are in Chinese, and names."""
    text = (ROOT / "chapters" / "glossary.md").read_text("utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|", text, re.M)
    same = {chinese.strip().strip("*") for _, chinese in rows if not HAN.search(chinese)}
    return same | {term.strip().strip("*") for term, _ in rows}


KEPT = kept_english()
UNIT = re.compile(r"[A-Za-zµ]{1,6}(?:/(?:token|s|h|req|GPU|node|hour))*")


def is_name(text):
    """A unit, a product or an abbreviation that Chinese engineers write as it is."""
    plain = MARKUP.sub(" ", text).strip().strip("*").strip()
    return (
        plain in KEPT
        or UNIT.fullmatch(plain.removesuffix("s"))
        or not re.search(r"[a-z]{4,}", plain)
    )


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda p: p.stem)
def test_every_entry_is_translated(path):
    bad = [e.msgid for e in entries(path) if not e.msgstr or e.fuzzy]
    assert not bad, bad[:5]


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda p: p.stem)
def test_translations_are_chinese(path):
    bad = [e.msgid for e in entries(path) if words(e.msgid) and not HAN.search(e.msgstr)]
    bad = [text for text in bad if not is_name(text) and not is_formula(text)]
    assert not bad, bad[:5]


def is_formula(text):
    """A displayed equation has nothing to say in Chinese."""
    return bool(re.search(r"\\[a-z]+|[_^]\{", text)) and not re.search(
        r"[a-z]{3,} [a-z]{3,} [a-z]{3,}", text
    )


def named(text):
    """Roles, links and placeholders of a text. `name` and `name:noun` are the same: Chinese has
    no plural and puts a measure word between number and noun, so it writes the noun itself."""
    return [
        sorted(NOUN.sub("", found) for found in pattern.findall(text))
        for pattern in (ROLE, LINK, PLACEHOLDER)
    ]


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda p: p.stem)
def test_roles_links_and_placeholders_are_the_same(path):
    for e in entries(path):
        assert named(e.msgid) == named(e.msgstr), e.msgid


def test_a_noun_may_be_left_out_but_nothing_else():
    assert named("{n}`units:noun`, {units:noun}") == named("{n}`units` 个单元，{units} 个单元")
    assert named("{n}`units:noun | rate=*2`") == named("{n}`units | rate=*2` 个单元")
    assert named("{n}`units:noun`") != named("{n}`nodes`")
    assert named("{units:noun}") != named("{nodes}")
    assert named("{units:number}") != named("{units}")


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda p: p.stem)
def test_translations_bring_no_number_of_their_own(path):
    for e in entries(path):
        has = set(NUMBER.findall(MARKUP.sub(" ", e.msgid)))
        new = set(NUMBER.findall(MARKUP.sub(" ", e.msgstr))) - has
        assert not new, (new, e.msgid)


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda p: p.stem)
def test_punctuation_is_full_width_and_spaced(path):
    for e in entries(path):
        plain = MARKUP.sub("x", e.msgstr)
        assert not re.search(r"[\u4e00-\u9fff][,;:?!](?!\d)", plain), e.msgstr
        assert not re.search(
            r"[\u4e00-\u9fff][A-Za-z]|[A-Za-z][\u4e00-\u9fff]", plain.replace("x", "")
        ), e.msgstr


def test_the_same_english_has_one_chinese():
    seen: dict[str, set[str]] = {}
    for path in CATALOGUES:
        for e in entries(path):
            seen.setdefault(e.msgid, set()).add(e.msgstr)
    assert not {k: v for k, v in seen.items() if len(v) > 1}


@pytest.mark.parametrize("slug", book.chapter_slugs())
def test_labels_of_estimates_are_in_the_catalogue(slug):
    known = catalogue("zh_CN")
    missing = [t for t in book.messages(f"chapters/{slug}") if t not in known]
    assert not missing, missing[:5]


def test_catalogues_are_up_to_date():
    """Every message of the last gettext build (`make test` makes one) has its entry."""
    templates = sorted(TEMPLATES.rglob("*.pot"))
    assert templates, "no message templates: run `make catalogues` or `make test`"
    for template in templates:
        path = MESSAGES / template.relative_to(TEMPLATES).with_suffix(".po")
        assert path.exists(), path
        have = {e.msgid for e in entries(path)}
        missing = [e.msgid for e in polib.pofile(str(template)) if e.msgid not in have]
        assert not missing, (path.name, missing[:5])


def test_a_removed_or_untranslated_entry_is_noticed(tmp_path):
    """The tests above can fail: a catalogue with an entry taken out, or left in English, does."""
    source = next(p for p in CATALOGUES if p.stem == "moe_serving")
    broken = polib.pofile(str(source))
    long = next(e for e in broken if len(words(e.msgid)) > 8)
    long.msgstr = long.msgid
    path = tmp_path / "moe_serving.po"
    broken.save(str(path))
    with pytest.raises(AssertionError):
        test_translations_are_chinese(path)
    broken.remove(long)
    long_gone = {e.msgid for e in broken}
    assert long.msgid not in long_gone and long.msgid in {e.msgid for e in entries(source)}
