"""How a mutant gets in: it replaces a named function of the implementation by another, from outside.

There is no switch in the implementation. A seam that has been renamed is an error at once, never a mutant that does
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from groupspec.impl.core import dispatch
from groupspec.impl.core.parts import Parts


class Original(Protocol):
    """The function that was replaced, to be called by what replaces it."""

    def __call__(self, *arguments: object) -> object: ...


Replacement = Callable[..., object]
_UNDO: Final[list[Callable[[], None]]] = []


def replace(owner: type, name: str, make: Callable[[Original], Replacement]) -> None:
    """Replaces the method `name` of a class by what `make` makes of it.

    Raises:
        AttributeError: the class has no such method (any more).
    """
    original = owner.__dict__.get(name)
    if original is None:
        raise AttributeError(f"{owner.__name__} has no method {name!r} any more: the mutant needs another seam")
    setattr(owner, name, make(original))
    _UNDO.append(lambda: setattr(owner, name, original))


def after_answer(api: str, error: str, act: Callable[[Parts], None]) -> None:
    """Something more happens when this answer has been handled.

    Raises:
        KeyError: the core has no row of its own for this answer (any more).
    """
    original = dispatch.HANDLERS[api, error]

    def handler(core: Parts, happening: dispatch.Happening) -> None:
        original(core, happening)
        act(core)

    _handle_with(api, error, handler)


def instead_of_answer(api: str, error: str, act: Callable[[Parts], None]) -> None:
    """This answer is handled otherwise.

    Raises:
        KeyError: the core has no row of its own for this answer (any more).
    """
    _handle_with(api, error, lambda core, _: act(core))


def _handle_with(api: str, error: str, handler: dispatch.Handler) -> None:
    original = dispatch.HANDLERS[api, error]
    dispatch.HANDLERS[api, error] = handler
    _UNDO.append(lambda: dispatch.HANDLERS.__setitem__((api, error), original))


def on_undo(act: Callable[[], None]) -> None:
    """For a seam of another kind: how its change is taken back."""
    _UNDO.append(act)


def undo() -> None:
    """Takes every replacement back, the latest first."""
    while _UNDO:
        _UNDO.pop()()
