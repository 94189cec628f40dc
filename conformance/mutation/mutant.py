"""A breaker: one small change of the implementation that breaks one rule, and nothing says so but the tests.

A breaker is put in from outside, as the mutants of `groupspec.conformance.mutation` are: it replaces a method, a
function or the handler of an answer while the process runs. There is no switch in the implementation, and a seam that
has been renamed is an error at once. Its id is that of the known bug whose change it repeats, or begins with the
rule's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from groupspec.conformance.mutation import _seams
from groupspec.impl.core import dispatch

PutIn = Callable[[], None]
Method = Callable[..., Any]


@dataclass(frozen=True)
class Breaker:
    """One broken implementation.

    Attributes:
        id: A known bug's id, or the rule's and a word.
        rules: What it breaks; for each of them a check that carries the rule must go red.
        what: What the implementation does then, in a sentence.
        put_in: Makes the change, in this process.
        of_spec: Whether it changes the specification; else the implementation, which never imports the specification.
    """

    id: str
    rules: tuple[str, ...]
    what: str
    put_in: PutIn
    of_spec: bool = False


BREAKERS: Final[dict[str, Breaker]] = {}
"""Every breaker by its id; filled by the modules of `groupspec.conformance.mutation.catalogue`."""


def breaker(identifier: str, rules: str) -> Callable[[PutIn], PutIn]:
    """Registers a change; its docstring says what the implementation does then."""

    def register(put_in: PutIn) -> PutIn:
        if identifier in BREAKERS:
            raise ValueError(f"there are two breakers {identifier!r}")
        BREAKERS[identifier] = Breaker(identifier, tuple(rules.split()), _sentence(put_in), put_in)
        return put_in

    return register


def _sentence(put_in: PutIn) -> str:
    return re.sub(r"\s+", " ", (put_in.__doc__ or "").strip())


# Seams
# -------------------------------------------------------------------------------------------------------------------


def instead(owner: type, name: str, replacement: Method) -> None:
    """A method, a property's getter, or a static method does something else.

    Raises:
        AttributeError: the class has none of that name (any more).
    """
    kind = owner.__dict__.get(name)
    wrapped: Any = type(kind)(replacement) if isinstance(kind, property | staticmethod) else replacement
    _seams.replace(owner, name, lambda _: wrapped)


def around(owner: type, name: str, make: Callable[[Method], Method]) -> None:
    """A method does what `make` makes of it.

    Raises:
        AttributeError: the class has none of that name (any more).
    """
    _seams.replace(owner, name, make)


def function(module: ModuleType, name: str, make: Callable[[Method], Method]) -> None:
    """A function that other functions of its module call by name is another one.

    Raises:
        AttributeError: the module has none of that name (any more).
    """
    original = getattr(module, name)
    setattr(module, name, make(original))
    _seams.on_undo(lambda: setattr(module, name, original))


def on_answer(api: str, error: str, as_error: str) -> None:
    """This answer is handled as if it were another.

    Raises:
        KeyError: the core has no row of its own for one of them (any more).
    """
    handler = dispatch.HANDLERS[api, as_error]
    original = dispatch.HANDLERS[api, error]
    dispatch.HANDLERS[api, error] = handler
    _seams.on_undo(lambda: dispatch.HANDLERS.__setitem__((api, error), original))


def nothing(*_: object, **__: object) -> None:
    """What is done where something is left out."""
