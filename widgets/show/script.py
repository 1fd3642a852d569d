"""The page's scripts: modules of `static/` joined into one file for each host.

The modules stay small and import one way; a page loads one classic script, which also works from
a file and under a policy that forbids eval. Jupyter takes one ES module. Joining only drops the
words `import` and `export`, so that a line in the joined file is a line of its module.
"""

from __future__ import annotations

import re
from functools import cache

from ..paths import STATIC

PANEL = (
    "dom", "format", "analysis", "store", "typed", "bindings", "figures", "controls", "explain",
    "popover", "results", "draws", "tools", "take", "panel",
)  # fmt: skip
PAGE = (*PANEL, "address", "dock", "prose", "page")
KERNEL = (*PANEL, "kernel")
WORKER = ("analysis", "worker")
EXTENSIONS = {
    "machine": ("paste", "pickers", "measured", "fit", "machine"),
    "validation": ("validation",),
}
"""What only some pages need, in files of their own. Their modules import from the page's."""

MODULES = tuple(
    dict.fromkeys((*PAGE, *KERNEL, *WORKER, *(m for ms in EXTENSIONS.values() for m in ms)))
)

_IMPORT = re.compile(r'^import\s*\{([^}]*)\}\s*from\s*"\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|let|class)\b)", re.MULTILINE)
_FUNCTION = re.compile(r"^(?:export )?(?:async )?(?:function|class) (\w+)", re.MULTILINE)
_DECLARED = re.compile(r"^(?:export )?(?:const|let) (.*)$", re.MULTILINE)
_FIRST_NAMES = re.compile(r"(?:^|, )(\w+)(?= = )")


class ScriptError(ValueError):
    """Modules that cannot be joined: a missing export, a name that stands twice."""


def source(name: str) -> str:
    return (STATIC / f"{name}.js").read_text("utf-8")


def exported(text: str) -> set[str]:
    """Names that a module exports."""
    return set(re.findall(r"^export (?:async )?(?:function|const|let|class) (\w+)", text, re.M))


def _defined(text: str) -> list[str]:
    """Names at a module's top level: functions, classes, and those of `const a = 1, b = 2`."""
    declared = [name for line in _DECLARED.findall(text) for name in _FIRST_NAMES.findall(line)]
    return [*_FUNCTION.findall(text), *declared]


def joined(names: tuple[str, ...], before: tuple[str, ...] = ()) -> str:
    """The modules one after the other, without `import` and `export`.

    before: modules that are there already, and from which these may import.
    Raises ScriptError where a module imports what none before it exports, or two define a name.
    """
    known = {name: exported(source(name)) for name in before}
    defined: dict[str, str] = {}
    parts = []
    for name in names:
        text = source(name)
        for imported, origin in _IMPORT.findall(text):
            for one in filter(None, (part.strip() for part in imported.split(","))):
                if one not in known.get(origin, set()):
                    raise ScriptError(f"{name}.js imports {one} from {origin}.js, which lacks it.")
        for one in _defined(text):
            if one in defined:
                raise ScriptError(f"{one} stands in {defined[one]}.js and in {name}.js.")
            defined[one] = name
        known[name] = exported(text)
        parts.append(_EXPORT.sub("", _IMPORT.sub("", text)))
    return "\n".join(parts)


def _imported(names: tuple[str, ...], before: tuple[str, ...]) -> list[str]:
    """Names that modules import from others outside of them."""
    found = (part for name in names for part in _IMPORT.findall(source(name)) if part[1] in before)
    return sorted({one.strip() for names, _ in found for one in names.split(",") if one.strip()})


@cache
def page_script() -> str:
    """The classic script of a published page. What its extensions import it keeps for them."""
    *first, last = PAGE
    shared = {one for names in EXTENSIONS.values() for one in _imported(names, PAGE)}
    kit = f"self.bookKit = {{ {', '.join(sorted(shared))} }};\n"
    before = tuple(first)
    return _wrapped(f"{joined(before)}\n{kit}\n{joined((last,), before)}")


@cache
def extension_script(name: str) -> str:
    """A classic script that, loaded before the page's, is called by it and gives what it exports."""
    names = EXTENSIONS[name]
    taken = ", ".join(_imported(names, PAGE))
    given = ", ".join(sorted(set().union(*(exported(source(one)) for one in names))))
    body = f"{joined(names, PAGE)}\nreturn {{ {given} }};\n"
    head = f'"use strict";\nconst {{ {taken} }} = kit;\n'
    return f"(self.bookExtensions ??= []).push((kit) => {{\n{head}{body}}});\n"


@cache
def worker_script() -> str:
    """The script of the worker that draws."""
    return _wrapped(joined(WORKER))


@cache
def kernel_module() -> str:
    """The ES module of the live widget."""
    return f"{joined(KERNEL)}\nexport default {{ render }};\n"


def _wrapped(code: str) -> str:
    return f'(() => {{\n"use strict";\n{code}}})();\n'


def wrapped_as(name: str, body: str) -> str:
    """A classic script that gives the page what `body` returns, under one global name."""
    return f'self.{name} = (() => {{\n"use strict";\n{body}}})();\n'


def classic(name: str, module: str, spec: str = "null") -> str:
    """An estimate's ES module (and, as JSON, its spec) as a script that registers it."""
    functions = ", ".join(re.findall(r"^export function (\w+)", module, re.MULTILINE))
    body = _EXPORT.sub("", module)
    return (
        f'(self.bookEstimates ??= {{}})["{name}"] = {{ spec: {spec}, module: (() => {{\n'
        f'"use strict";\n{body}return {{ {functions} }};\n}})() }};\n'
    )
