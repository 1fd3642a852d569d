"""Build the book in both languages at once, warnings as errors, and check the pages.

    python tools/build.py            English in _build/html/, Chinese in _build/html/zh/
    python tools/build.py --only en  one language
    python tools/build.py --gettext  message templates in _build/gettext/

Each language is a `jupyter-book build` of its own with a configuration derived from
`_config.yml` and folders of its own, because both execute the same notebooks.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
SITE = BUILD / "html"
FOLDERS = {"en": ".", "zh_CN": "zh"}
"""Language, as gettext names it, and its folder on the site."""


def derived_config(language: str, execute: bool, work: Path) -> Path:
    """Write `_config.yml` for one language into `work` and return its path."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    if not execute:
        config["execute"]["execute_notebooks"] = "off"
    config["sphinx"]["config"]["language"] = language
    path = work / "_config.yml"
    work.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(config, allow_unicode=True), "utf-8")
    return path


def start(language: str, *builder: str) -> subprocess.Popen[str]:
    """Start one build from nothing; its output goes to `log` beside it."""
    work = BUILD / "work" / ("gettext" if builder else language)
    shutil.rmtree(work, ignore_errors=True)
    config = derived_config(language, not builder, work)
    command = [
        *(sys.executable, "-c", "from jupyter_book.cli.main import main; main()"),
        *("build", str(ROOT)),
        *("--config", str(config), "--path-output", str(work)),
        *("--all", "--warningiserror", "--keep-going", *builder),
    ]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    log = (work / "log").open("w", encoding="utf-8")
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT, text=True
    )


def log_of(work: str) -> str:
    return (BUILD / "work" / work / "log").read_text("utf-8")


def expected_pages() -> list[str]:
    """Pages named in `_toc.yml`, as paths below a language's folder."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    chapters = [chapter for part in toc["parts"] for chapter in part["chapters"]]
    return [f"{name}.html" for name in (toc["root"], *(c["file"] for c in chapters), "search")]


def missing_pages(folder: Path) -> list[str]:
    return [page for page in expected_pages() if not (folder / page).is_file()]


def build_pages(languages: list[str]) -> int:
    """Build `languages` in parallel and assemble the site; the exit code."""
    began = time.perf_counter()
    builds = {language: start(language) for language in languages}
    failed = [language for language, build in builds.items() if build.wait() != 0]
    for language in languages:
        lacking = missing_pages(BUILD / "work" / language / "_build" / "html")
        # Jupyter Book can exit 0 having built nothing, so the pages themselves are looked for.
        if language in failed or lacking:
            print(log_of(language), file=sys.stderr)
            print(f"{language}: the build failed; missing pages: {lacking}", file=sys.stderr)
            return 1
    assemble(languages)
    print(f"Built {', '.join(languages)} in {time.perf_counter() - began:.1f} s: {SITE}")
    return 0


def assemble(languages: list[str]) -> None:
    """Move the finished builds to their place on the site, English first."""
    for language in languages:
        target = SITE / FOLDERS[language]
        if target == SITE:
            shutil.rmtree(SITE, ignore_errors=True)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(
            BUILD / "work" / language / "_build" / "html",
            target,
            ignore=shutil.ignore_patterns(".buildinfo", "objects.inv", "reports"),
        )
    (SITE / ".nojekyll").touch()


def build_gettext() -> int:
    """Write the message templates; nothing is executed, since texts do not depend on it."""
    build = start("en", "--builder", "custom", "--custom-builder", "gettext")
    code = build.wait()
    templates = BUILD / "work" / "gettext" / "_build" / "gettext"
    if code != 0 or not any(templates.rglob("*.pot")):
        print(log_of("gettext"), file=sys.stderr)
        return 1
    shutil.rmtree(BUILD / "gettext", ignore_errors=True)
    shutil.copytree(templates, BUILD / "gettext")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=list(FOLDERS), help="one language")
    parser.add_argument("--gettext", action="store_true", help="message templates only")
    arguments = parser.parse_args()
    if arguments.gettext:
        return build_gettext()
    return build_pages([arguments.only] if arguments.only else list(FOLDERS))


if __name__ == "__main__":
    raise SystemExit(main())
