"""Functions of the reference, found in its source: the files are read, and nothing of them is run.

Two ways lead from the specification to a function. A docstring or comment cites the rule (`rule H2`). Or the core's
table of handlers (`impl/core/dispatch.py`) names the function that takes an answer, a timer or a command.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeAlias

from groupspec.conformance.explain.explanation import SourcePlace

CORE: Final = "impl/core/"
Function: TypeAlias = ast.FunctionDef | ast.ClassDef
Key: TypeAlias = tuple[str, str]
_LIKE_A_RULE: Final = re.compile(r"(?<![\w-])[A-Z]\d+(?![\w-])")


@cache
def sources() -> Mapping[str, str]:
    """Every file of the reference without its tests, by its name from the top of the repository: its text."""
    found = find_spec("groupspec.impl")
    assert found is not None
    assert found.submodule_search_locations
    root = Path(found.submodule_search_locations[0])
    files = (file.relative_to(root) for file in sorted(root.rglob("*.py")))
    return {f"impl/{file}": (root / file).read_text(encoding="utf-8") for file in files if "tests" not in file.parts}


@cache
def _functions(file: str) -> tuple[tuple[Function, str], ...]:
    """Functions and classes of a file with their qualified names, outer before inner."""
    return tuple(_below(ast.parse(sources()[file]), ""))


def _below(node: ast.AST, prefix: str) -> Iterator[tuple[Function, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield child, prefix + child.name
            yield from _below(child, f"{prefix}{child.name}.")


def _around(file: str, line: int) -> SourcePlace:
    """The innermost function or class around a line; the line itself where there is none."""
    found = SourcePlace(file, line)
    for function, name in _functions(file):
        if function.lineno <= line <= (function.end_lineno or 0):
            found = SourcePlace(file, function.lineno, name)
    return found


def citing(rule: str) -> tuple[SourcePlace, ...]:
    """The functions, and modules, whose docstring or comments cite a rule by its id."""
    return tuple(_cited().get(rule, ()))


@cache
def _cited() -> Mapping[str, Mapping[SourcePlace, None]]:
    """Whatever looks like the id of a rule, and where it stands."""
    found: dict[str, dict[SourcePlace, None]] = {}
    for file, text in sources().items():
        for line, written in enumerate(text.split("\n"), 1):
            for rule in _LIKE_A_RULE.findall(written):
                found.setdefault(rule, {})[_around(file, line)] = None
    return found


def constructing(name: str) -> tuple[SourcePlace, ...]:
    """The functions of the core that make an object of this class: where a request is sent or an error raised."""
    return tuple(place for place in _lines_with(re.compile(rf"(?<!class )\b{name}\(")) if place.file.startswith(CORE))


def summary(place: SourcePlace) -> str:
    """The first line of the docstring of a function or class."""
    told = next((ast.get_docstring(each) for each, name in _functions(place.file) if name == place.name), None)
    return (told or "").partition("\n")[0]


def defining(name: str) -> tuple[SourcePlace, ...]:
    """The classes and functions of this name."""
    return _defined().get(name, ())


@cache
def _defined() -> Mapping[str, tuple[SourcePlace, ...]]:
    found: dict[str, tuple[SourcePlace, ...]] = {}
    for file in sources():
        for function, qualified in _functions(file):
            found[function.name] = (*found.get(function.name, ()), SourcePlace(file, function.lineno, qualified))
    return found


def _lines_with(pattern: re.Pattern[str]) -> tuple[SourcePlace, ...]:
    found: dict[SourcePlace, None] = {}
    for file, text in sources().items():
        if pattern.search(text):
            for line, written in enumerate(text.split("\n"), 1):
                if pattern.search(written):
                    found[_around(file, line)] = None
    return tuple(found)


def handling(kind: str, detail: str = "") -> tuple[SourcePlace, ...]:
    """The functions that take an answer (JoinGroup, NONE), a timer (TimerExpired, heartbeat) or a command (Poll)."""
    handlers = _handlers()
    return handlers.get((kind, detail)) or handlers.get((kind, "other"), ())


@cache
def _handlers() -> Mapping[Key, tuple[SourcePlace, ...]]:
    found: dict[Key, tuple[SourcePlace, ...]] = {}
    for file, text in sources().items():
        if file.startswith(CORE) and "TimerExpired" in text:
            module = ast.parse(text)
            named = dict(_assigned(module))
            for table in (node for node in ast.walk(module) if isinstance(node, ast.Dict)):
                for key, value in zip(table.keys, table.values, strict=True):
                    if pair := _pair(key):
                        # The table of handlers names all errors that have one handler in one key.
                        called = tuple(_called(value, named))
                        found |= {(pair[0], detail): called for detail in pair[1].split() or ("",)}
    return found


def _assigned(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _pair(key: ast.expr | None) -> Key | None:
    if isinstance(key, ast.Tuple) and len(key.elts) == 2:
        kind, detail = (part.value if isinstance(part, ast.Constant) else None for part in key.elts)
        if isinstance(kind, str) and isinstance(detail, str):
            return kind, detail
    return None


def _called(value: ast.expr, named: Mapping[str, ast.expr]) -> Iterator[SourcePlace]:
    """The methods of the core's parts that an entry calls, or names."""
    if isinstance(value, ast.Name) and value.id in named:
        value = named[value.id]
    called = [node.func for node in ast.walk(value) if isinstance(node, ast.Call)]
    for function in (value, *called):
        if isinstance(function, ast.Attribute):
            yield from _method(ast.unparse(function.value).rpartition(".")[2], function.attr)
        elif isinstance(function, ast.Name):
            yield from (
                place for place in defining(function.id) if place.file.endswith("dispatch.py") and function is value
            )


def _method(part: str, name: str) -> tuple[SourcePlace, ...]:
    """A method by its name, and the part of the core that has it: that names the file. `core` is all parts together."""
    found = [place for place in defining(name) if place.file.startswith(CORE)]
    of_part = [place for place in found if Path(place.file).stem in (part, "parts" if part == "core" else part)]
    return tuple(of_part or (found if len(found) == 1 else ()))
