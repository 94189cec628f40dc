"""The rules as checks: a module a chapter, functions over the history of a client's run."""

from importlib import import_module
from pkgutil import iter_modules

from groupspec.conformance.checks.checker import CHECKERS, NO_OCCASION, Checker, Finding, judge

__all__ = ["CHECKERS", "NO_OCCASION", "Checker", "Finding", "judge"]

for _chapter in iter_modules(__path__):  # importing a chapter registers its functions
    import_module(f"{__name__}.{_chapter.name}")
