"""The tests themselves keep the rules that make them worth running.

A skipped test is one that nobody misses, a sleeping test is slow on a fast machine and flaky on a slow one, and a
marker that is misspelt runs in the wrong place (pytest's --strict-markers sees to that one).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from groupspec.conformance.tests.repository import ROOT, is_test, python_files

IN_VIRTUAL_TIME = {Path("conformance/wire/tests/test_virtual.py")}
"""What sleeps here takes no time: the clock goes on when everybody waits."""

SKIPS = {"skip", "skipif", "importorskip", "xfail", "SkipTest", "skipTest"}


def attributes_and_names(path: Path) -> Iterator[tuple[int, str]]:
    """Every name that a file uses, alone or after a dot."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, alias.name) for alias in node.names)


def test_no_test_is_skipped() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in python_files()
        if is_test(path)
        for line, name in attributes_and_names(path)
        if name in SKIPS
    ]
    assert not found, "a missing tool makes a test fail; it does not skip it:\n" + "\n".join(found)


def test_no_test_sleeps() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in python_files()
        if is_test(path) and path.relative_to(ROOT) not in IN_VIRTUAL_TIME
        for line, name in attributes_and_names(path)
        if name == "sleep"
    ]
    assert not found, "wait on an event with a bound, or use virtual time:\n" + "\n".join(found)


def test_nothing_is_left_to_be_done_later() -> None:
    marks = re.compile(r"#.*\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK")) + r")\b")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in python_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if marks.search(line)
    ]
    assert not found, "\n".join(found)
