"""Leave in the catalogues only what a translator wrote: no dates, no obsolete entries.

Run by `make catalogues`, so that a change of one sentence shows as a change of one entry.
"""

from __future__ import annotations

from pathlib import Path

import polib

LOCALE = Path(__file__).resolve().parent.parent / "locale"
HEADER = ("Language", "MIME-Version", "Content-Type", "Content-Transfer-Encoding", "Plural-Forms")


def tidy(path: Path) -> tuple[int, int]:
    """Rewrite one catalogue; returns how many entries it has and how many need a translator."""
    catalogue = polib.pofile(str(path), wrapwidth=0)
    catalogue.header = ""
    catalogue.metadata_is_fuzzy = False
    catalogue.metadata = {key: catalogue.metadata[key] for key in HEADER}
    for entry in catalogue.obsolete_entries():
        catalogue.remove(entry)
    for entry in catalogue:
        # Set by Babel for any text with braces; it would forbid our roles in translations.
        entry.flags = [flag for flag in entry.flags if flag == "fuzzy"]
    catalogue.save()
    open_entries = [entry for entry in catalogue if not entry.translated()]
    return len(catalogue), len(open_entries)


def main() -> None:
    for path in sorted(LOCALE.rglob("*.po")):
        entries, missing = tidy(path)
        print(f"{path.relative_to(LOCALE)}: {entries} entries, {missing} to translate")


if __name__ == "__main__":
    main()
