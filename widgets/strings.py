"""The panel's own words, in English; catalogues translate them."""

from __future__ import annotations

STRINGS: dict[str, str] = {}

GROUP_TITLES = {
    "workload": "Workload",
    "model": "Model",
    "hardware": "Hardware",
    "targets": "Targets and cost",
    "method": "Method",
}
