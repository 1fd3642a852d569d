"""What the demo kernels reached on a GPU, beside the estimate: `{recorded} gather_kv`.

The figures are JSON files in `data/recorded/`, written by `make record-gpu` alone. A demo
without one is said to be unrecorded; nothing is made up.
"""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from ...engine.units import display_for, join, split_value
from ...facts.tables import row
from ...paths import resource
from .translation import interface_text

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class recorded(nodes.General, nodes.Element):
    """The place of a demo's recorded run; `demo` is its slug."""


class Recorded(SphinxDirective):
    """`{recorded} slug`, one a demo in a chapter's "Run it"."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return [recorded("", demo=self.arguments[0])]


def recorded_html(demo: str, language: str) -> str:
    """The recorded run of a demo as a table, or the sentence that there is none yet."""
    path = resource("data") / "recorded" / f"{demo}.json"
    if not path.is_file():
        return f"<p>{escape(interface_text(language, 'Not yet recorded on a GPU.'))}</p>"
    kept = json.loads(path.read_text("utf-8"))
    caption = interface_text(language, "Recorded on {device}, {date}")
    caption = caption.replace("{device}", kept["device"]).replace("{date}", kept["date"])
    heads = ("Case", "Median time", "Bytes a second", "Share of the peak bandwidth")
    head = "".join(f'<th scope="col">{escape(interface_text(language, h))}</th>' for h in heads)
    body = "".join(_row(timing, kept["row"]) for timing in kept["timings"])
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _row(timing: dict[str, Any], gpu: str) -> str:
    rate = timing["bytes"] / timing["median_s"]
    share = rate / row(f"hardware.{gpu}.hbm_bytes_per_s").value if gpu else None
    shown = [
        f"{timing['case']}, {timing['dtype']}",
        _number("s", timing["median_s"]),
        _number("byte/s", rate),
        "–" if share is None else _number("", share, "%"),
    ]
    return f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in shown)}</tr>"


def _number(unit: str, value: float, show: str = "") -> str:
    display = display_for(unit, show=show)
    number, label = split_value(display, value)
    return number + join(display, label)


def visit_recorded(self: Any, node: nodes.Element) -> None:
    self.body.append(recorded_html(node["demo"], self.builder.config.language))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_node(recorded, html=(visit_recorded, None))  # type: ignore[arg-type]
    app.add_directive("recorded", Recorded)
