"""The repository as the tests of the house see it: its root, its sources, its settings.

Tests of settings need the checkout, not the installed package: `pyproject.toml`, the Makefile and the list of
packages are not installed. The root is found from this file's own place, through the link that the install made.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("spec", "impl", "diagrams", "conformance")
NOT_SOURCE = {"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"}
"""What tools leave lying in a folder; git ignores it too."""


def settings() -> dict[str, Any]:
    """The whole of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def files_below(folder: Path) -> Iterator[Path]:
    """Every file in `folder` and below that belongs to the project."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not NOT_SOURCE & set(path.relative_to(ROOT).parts):
            yield path


def project_files() -> Iterator[Path]:
    """The four folders, and what lies at the top of the repository or in .ci."""
    for folder in (*FOLDERS, ".ci"):
        yield from files_below(ROOT / folder)
    yield from sorted(path for path in ROOT.iterdir() if path.is_file() and path.name != ".git")


def python_files(*folders: str) -> Iterator[Path]:
    """The Python files of these folders (of all four when none is named)."""
    for folder in folders or FOLDERS:
        yield from (path for path in files_below(ROOT / folder) if path.suffix == ".py")


def is_test(path: Path) -> bool:
    """Whether a file is test code."""
    return "tests" in path.relative_to(ROOT).parts or path.name == "conftest.py"


def module_name(path: Path) -> str:
    """The full name by which a file of the four folders is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("groupspec", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything that a file imports, wherever in the file it does."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = node.module or ""
            if node.level:
                package = module_name(path).split(".")
                keep = len(package) - node.level + (path.name == "__init__.py")
                name = ".".join([*package[:keep], *([name] if name else [])])
            yield from ((node.lineno, f"{name}.{alias.name}") for alias in node.names)
