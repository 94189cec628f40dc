"""How a mutant gets in: it replaces a named function of the implementation by another, from outside.

There is no switch in the implementation. A seam that has been renamed is an error at once, never a mutant that does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from groupspec.impl.core import dispatch
from groupspec.impl.core.core import Core


class Original(Protocol):
    """The function that was replaced, to be called by what replaces it."""

    def __call__(self, *arguments: object) -> object: ...


Replacement = Callable[..., object]


def replace(owner: type, name: str, make: Callable[[Original], Replacement]) -> None:
    """Replaces the method `name` of a class by what `make` makes of it.

    Raises:
        AttributeError: the class has no such method (any more).
    """
    setattr(owner, name, make(owner.__dict__[name] if name in owner.__dict__ else getattr(owner, name)))


def after_answer(api: str, error: str, act: Callable[[Core], None]) -> None:
    """Something more happens when this answer has been handled.

    Raises:
        KeyError: the core has no row of its own for this answer (any more).
    """
    original = dispatch.HANDLERS[api, error]

    def handler(core: Core, happening: dispatch.Happening) -> None:
        original(core, happening)
        act(core)

    dispatch.HANDLERS[api, error] = handler


def instead_of_answer(api: str, error: str, act: Callable[[Core], None]) -> None:
    """This answer is handled otherwise.

    Raises:
        KeyError: the core has no row of its own for this answer (any more).
    """
    assert (api, error) in dispatch.HANDLERS, (api, error)
    dispatch.HANDLERS[api, error] = lambda core, _: act(core)
