"""Checks: the stories of the project's own tests that carry rule ids, run without pytest around them.

A story is a test function whose name says which rules it tells of: `test_H1_heartbeats_begin_...`. It takes nothing but
its parameters, uses virtual time, and raises when the promise is broken. Here it is found by name and called as often
as its parameters say. What needs a socket, a fixture, or draws its examples (Hypothesis) is no story of this kind.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.mutation.packages import NAME, PACKAGES
from groupspec.impl.core.context import Context
from groupspec.impl.run_to_idle import RunToIdleRuntime
from groupspec.spec.rules import RULES

MAX_STEPS: Final = 10_000
"""Of the threads of one consumer, without becoming idle. A story makes some hundreds."""

NOT_HERE: Final = frozenset({"realtime", "real_broker", "spark", "exhaustive", "tools"})
"""Marks of tests that need more than this process, or too long."""

MAX_OUTPUTS: Final = 5_000
"""Of one core. A story makes some dozens; a member that sends without end is stopped here, and that is a failure."""


@dataclass(frozen=True)
class Story:
    """One check.

    Attributes:
        id: The test's id as pytest has it, from the top of the repository, without parameters.
        rules: The rules in its name.
        run: The test function.
        cases: The arguments of every call.
    """

    id: str
    rules: tuple[str, ...]
    run: Callable[..., None]
    cases: tuple[dict[str, object], ...]

    @property
    def of_spec(self) -> bool:
        """Whether it tells of the specification; the others are about the implementation, which imports none of it."""
        return self.id.startswith(("spec/", "model:"))


PROVIDERS: Final[list[Callable[[], Iterable[Story]]]] = []
"""Who has further checks: each gives stories whose ids name what they judge, such as a property of a model."""


class Runaway(AssertionError):
    """A member that never stops."""


@cache
def stories() -> dict[str, Story]:
    """Every story by its id.

    Raises:
        UsageProblem: pytest is missing, which the tests import.
    """
    try:
        found = [story for package in PACKAGES for module in _modules(package) for story in _stories(module)]
        found += [story for provider in PROVIDERS for story in provider()]
    except ModuleNotFoundError as problem:
        raise UsageProblem(
            "the tests can't be imported, and they are the checks",
            where=str(problem),
            next_step="install the extra 'dev': pip install 'groupspec[dev]'",
        ) from problem
    return {story.id: story for story in sorted(found, key=lambda story: story.id)}


def _modules(package: str) -> Iterator[str]:
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if module.name.startswith("test_"):
            yield f"{package}.{module.name}"


def _stories(module_name: str) -> Iterator[Story]:
    """Only those that can be told: a module without rule ids in its names is imported for nothing, but it is quick."""
    module = importlib.import_module(module_name)
    path = module_name.removeprefix("groupspec.").replace(".", "/") + ".py"
    for name, function in vars(module).items():
        named = NAME.match(name)
        if named is None or not callable(function) or hasattr(function, "hypothesis"):
            continue
        marks = [*_marks(module), *_marks(function)]
        if NOT_HERE & {mark.name for mark in marks}:
            continue
        cases = tuple(_cases([mark for mark in marks if mark.name == "parametrize"]))
        if _arguments(function) != set(cases[0]):
            continue
        rules = tuple(rule for rule in named[1].strip("_").split("_") if rule in RULES)
        yield Story(f"{path}::{name}", rules, function, cases)


def _marks(thing: object) -> list[Any]:
    """Of a function, or of a whole module: one, or several."""
    marks = getattr(thing, "pytestmark", [])
    return [getattr(mark, "mark", mark) for mark in (marks if isinstance(marks, list) else [marks])]


def _arguments(function: Callable[..., None]) -> set[str]:
    code = function.__code__
    return set(code.co_varnames[: code.co_argcount])


def _cases(marks: list[Any]) -> Iterator[dict[str, object]]:
    """All combinations of what `parametrize` says; one empty one if it says nothing."""
    choices: list[list[dict[str, object]]] = []
    for mark in marks:
        names, values = mark.args[0], mark.args[1]
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
        choices.append([dict(zip(names, _values(value, len(names)), strict=True)) for value in values])
    for chosen in itertools.product(*choices):
        yield {name: value for one in chosen for name, value in one.items()}


def _values(value: Any, count: int) -> tuple[object, ...]:
    plain = value.values if hasattr(value, "marks") and hasattr(value, "values") else value
    if hasattr(value, "marks"):
        return tuple(plain)
    return tuple(plain) if count > 1 else (plain,)


def failure(story: Story) -> BaseException | None:
    """Tell it, in every case; what it raised first, or None if the promise was kept."""
    with _bounded():
        for case in story.cases:
            try:
                story.run(**case)
            except (KeyboardInterrupt, SystemExit, GeneratorExit):
                raise
            except BaseException as error:  # pytest's own failures are no Exceptions
                return error
    return None


@contextmanager
def _bounded() -> Iterator[None]:
    """No core may produce outputs without end."""
    emit = Context.__dict__["emit"]

    def counted(self: Context, output: Any) -> None:
        count = getattr(self, "_counted", 0) + 1
        if count > MAX_OUTPUTS:
            raise Runaway(f"a member has produced more than {MAX_OUTPUTS} outputs; the last is {output!r}")
        self.__dict__["_counted"] = count
        emit(self, output)

    defaults = dict(RunToIdleRuntime.__init__.__kwdefaults__ or {})
    setattr(Context, "emit", counted)  # noqa: B010  # from outside, for the time of a story
    RunToIdleRuntime.__init__.__kwdefaults__ = {**defaults, "max_steps": MAX_STEPS}
    try:
        yield
    finally:
        RunToIdleRuntime.__init__.__kwdefaults__ = defaults
        setattr(Context, "emit", emit)  # noqa: B010
