"""The panel's own words in English; the index page's catalogue translates them.

panel.js names the keys it uses in its head comment, and carries the same texts as a fallback
for a spec that lacks one.
"""

from __future__ import annotations

STRINGS: dict[str, str] = {
    "yes": "yes",
    "no": "no",
    "default_value": "Default: {value}",
    "default_was": "default: {value}",
    "against_default": "{change} against default",
    "as_default": "as by default",
    "preset": "Preset",
    "custom": "Your values",
    "reset": "Reset",
    "copy_link": "Copy link",
    "copy_python": "Copy as Python",
    "copied": "Copied ✓",
    "copy_failed": "Could not copy",
    "results": "Results",
    "with_numbers": "With today’s numbers",
    "more_results": "More results",
    "figures": "Figures",
    "assumptions": "Assumptions",
    "value_of": "{label}, value",
    "range": "Default {default}; from {low} to {high}.",
    "derived": "Derived: {value}",
    "use_it": "Use it",
    "too_low": "The lowest value is {value}.",
    "too_high": "The highest value is {value}.",
    "whole": "Whole numbers only.",
    "not_a_number": "That is not a number.",
    "source": "Source",
    "source_row": "From the data tables",
    "source_rounded": "Rounded from the data tables",
    "source_given": "Given by the problem",
    "source_judgement": "Judgement",
    "kind_and_text": "{kind}: {text}",
    "consistent": "The assumptions agree with each other.",
    "figure_failed": "The figure could not be drawn.",
    "in_drawer": "The assumptions are open at the foot of the page.",
    "explanation": "Explanation",
    "what_if": "If",
    "dock": "Results in short",
    "close": "Close",
    "show_in_panel": "Show in the panel",
    "today": "With today’s numbers",
    "notices": "Notices",
    "dismiss": "Dismiss",
    "address_unknown": "The address names “{name}”, which this page does not have; it was ignored.",
    "address_number": "The address gives “{name}” something that is not a number; it was ignored.",
    "address_clamped": "The address gives “{name}” a value out of range; {value} is used.",
}

GROUP_TITLES = {
    "workload": "Workload",
    "model": "Model",
    "hardware": "Hardware",
    "targets": "Targets and cost",
    "method": "Method",
}
