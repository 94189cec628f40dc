"""The rules that can be judged on the wire and from callbacks: a module a chapter, functions over a run's history."""

from importlib import import_module
from pkgutil import iter_modules

from groupspec.conformance.wire.rules._checker import CHECKERS, NO_OCCASION, Checker, Finding, judge

__all__ = ["CHECKERS", "NO_OCCASION", "Checker", "Finding", "judge"]

for _chapter in iter_modules(__path__):  # importing a chapter registers its functions
    import_module(f"{__name__}.{_chapter.name}")
