"""Mutants: small changes of the reference, or of a table, that break rules on purpose, so that tests must notice.

A mutant is applied from outside, while the process runs: there is no switch in what is changed. What it replaces it
names by the thing itself (`Commits.interval_over`), so a name that has moved is an error of the type checker and of the
import. One of a single expression is an entry, others are a function:

    instead("BUG-16", "J1", Joining._fits, lambda _, self, assigned: True,
        "Partitions of topics that are no longer subscribed to are taken over all the same.")

    @after("BUG-43", "C3", SubscriptionState.assign_from_group)
    def records_come_before_the_assigned_callback(self: SubscriptionState, partitions: object) -> None:
        \"\"\"New partitions are fetched although their assigned callback has not run.\"\"\"
        self.assigned_callback_done()

A mutant's id is that of the known bug that it repeats, or a rule's id and a word.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from inspect import Parameter, signature
from itertools import product
from types import ModuleType
from typing import Any, Concatenate, Final, Literal, ParamSpec, TypeVar
from unittest import mock

from groupspec.conformance.errors import UsageProblem
from groupspec.impl.core import dispatch

P = ParamSpec("P")
R = TypeVar("R")
Method = Callable[..., Any]


class Seam(ExitStack):
    """Replaces parts of the running program. Closing it takes everything back, the latest first."""

    def replace(self, target: object, replacement: Method, *, is_checked: bool = True) -> None:
        """From now on `target` does what `replacement` does, under the same name.

        Args:
            target: A method, a property, a static method or a function, as its owner has it; (module, name) for a
                function that a module has imported; or `answer(...)`.
            replacement: Called as `replacement(original, *arguments)`.
            is_checked: Whether it is made sure that it can be; that takes longer than all the rest.

        Raises:
            TypeError: the target is none of these, or the replacement can't be called with its arguments.
            AttributeError, KeyError: a module has no such name, or the core no such handler.
        """
        owner, name = _place(target)
        before = owner[name] if isinstance(owner, MutableMapping) else vars(owner)[name]
        original: Any = before.fget if isinstance(before, property) else getattr(before, "__func__", before)
        if is_checked:
            _takes_what_it_takes(original, replacement)

        def mutated(*arguments: object, **named: object) -> object:
            return replacement(original, *arguments, **named)

        mutated.__name__ = original.__name__
        self.put(owner, name, type(before)(mutated) if isinstance(before, property | staticmethod) else mutated)

    def replacing(self, *targets: object) -> Callable[[Method], Method]:
        """`replace` as a decorator of the replacement."""

        def decorated(replacement: Method) -> Method:
            for target in targets:
                self.replace(target, replacement)
            return replacement

        return decorated

    def put(self, owner: Any, name: Any, value: object) -> None:
        """From now on an attribute, or an entry of a mapping, has this value."""
        is_mapping = isinstance(owner, MutableMapping)
        self.enter_context(
            mock.patch.dict(owner, {name: value}) if is_mapping else mock.patch.object(owner, name, value)
        )


def answer(api: str, error: str) -> tuple[MutableMapping[dispatch.Key, dispatch.Handler], dispatch.Key]:
    """What the core does with an answer, to be replaced.

    Raises:
        KeyError: the core has no handler of its own for it (any more).
    """
    dispatch.HANDLERS[api, error]
    return dispatch.HANDLERS, (api, error)


def _place(target: object) -> tuple[Any, Any]:
    """What has the target, and under which name."""
    if isinstance(target, tuple):
        owner, name = target
        if isinstance(owner, ModuleType):
            getattr(owner, name)
        return owner, name
    function: Any = target.fget if isinstance(target, property) else target
    *path, name = getattr(function, "__qualname__", "").split(".")
    if not name or "<locals>" in path:
        raise TypeError(f"{target!r} is nothing that a mutant can replace: name a method, a property or a function")
    return reduce(getattr, path, sys.modules[function.__module__]), name


def _takes_what_it_takes(original: Method, replacement: Method) -> None:
    """A replacement with another signature would fail when it is called, and a test that it breaks notices that.

    What has a default may be given by name, too.
    """
    by_position = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    taken = [one for one in signature(original).parameters.values() if one.kind in by_position]
    by_name = {one.name: one for one in taken if one.default is not one.empty}
    try:
        signature(replacement).bind(original, *taken)
        signature(replacement).bind(original, *(one for one in taken if one.name not in by_name), **by_name)
    except TypeError as problem:
        raise TypeError(f"{replacement.__qualname__} can't stand for {original.__qualname__}: {problem}") from None


def nothing(*_: object, **__: object) -> None:
    """What is done where something is left out."""


@contextmanager
def left_out(target: object) -> Iterator[None]:
    """For the time of a block a method, or a function, does nothing."""
    with Seam() as seam:
        seam.replace(target, nothing)
        yield


# The catalogue -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutant:
    """One broken implementation, or one broken table.

    Attributes:
        id: A known bug's id, or the rule's and a word.
        rules: What it breaks; for each of them a test whose name carries the rule must fail.
        what: What is done then, in a sentence.
        change: Makes the change.
        of_spec: Whether it changes the specification; else the implementation, which never imports the specification.
        scenarios: Those of the wire kit that must find one of the rules broken.
    """

    id: str
    rules: tuple[str, ...]
    what: str
    change: Callable[[Seam], None]
    of_spec: bool = False
    scenarios: tuple[str, ...] = ()


MUTANTS: Final[dict[str, Mutant]] = {}
"""Every mutant by its id; filled by the modules of `groupspec.conformance.mutation.catalogue`."""


def register(one: Mutant) -> None:
    """Add it to the catalogue.

    Raises:
        ValueError: there is one with this id.
    """
    if MUTANTS.setdefault(one.id, one) is not one:
        raise ValueError(f"there are two mutants {one.id!r}")


def mutant(
    identifier: str,
    rules: str,
    *targets: object,
    when: Literal["instead", "before", "after"] = "instead",
    of_spec: bool = False,
    scenarios: str = "",
) -> Callable[[Method], Method]:
    """Registers a mutant; the docstring of what is decorated says what is done then.

    Args:
        identifier: See `Mutant`.
        rules: Their ids, separated by spaces.
        targets: What is replaced by the decorated function; see `Seam.replace`. Without any, the decorated function
            is given the `Seam` and makes the changes itself.
        when: Whether the decorated function replaces a target, or is called before or after it with its arguments.
        of_spec: See `Mutant`.
        scenarios: Their ids, separated by spaces.
    """

    def registered(function: Method) -> Method:
        def in_turn(original: Method, *arguments: object, **named: object) -> object:
            if when == "before":
                function(*arguments, **named)
            returned = original(*arguments, **named)  # whoever calls it goes on with that
            if when == "after":
                function(*arguments, **named)
            return returned

        def change(seam: Seam) -> None:
            seam.replacing(*targets)(function if when == "instead" else in_turn)

        what = " ".join((function.__doc__ or "").split())
        made = change if targets else function
        register(Mutant(identifier, tuple(rules.split()), what, made, of_spec, tuple(scenarios.split())))
        return function

    return registered


before: Final = partial(mutant, when="before")
after: Final = partial(mutant, when="after")


def instead(
    identifier: str,
    rules: str,
    target: Callable[P, R],
    replacement: Callable[Concatenate[Callable[P, R], P], object],
    what: str,
    scenarios: str = "",
) -> None:
    """Registers a mutant of one expression, which is what `target` does then; `what` says it in a sentence."""

    def change(seam: Seam) -> None:
        seam.replace(target, replacement)

    register(Mutant(identifier, tuple(rules.split()), what, change, scenarios=tuple(scenarios.split())))


def answered_like(
    identifier: str, rules: str, apis: str, errors: str, other: str, what: str, scenarios: str = ""
) -> None:
    """Registers a mutant that handles answers of these APIs with these errors as those with the error `other`."""

    def change(seam: Seam) -> None:
        for api, error in product(apis.split(), errors.split()):
            seam.put(*answer(api, error), dispatch.HANDLERS[api, other])

    register(Mutant(identifier, tuple(rules.split()), what, change, scenarios=tuple(scenarios.split())))


def find(identifier: str) -> Mutant:
    """The mutant of this id.

    Raises:
        UsageProblem: there is none.
    """
    if identifier not in MUTANTS:
        raise UsageProblem(f"there is no mutant {identifier!r}", allowed=MUTANTS)
    return MUTANTS[identifier]
