"""Which cases enter what a mutant changes. A mutant whose changed code a case never enters cannot be found by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any, Final

from groupspec.conformance.mutation.mutant import Mutant, Seam

Place = tuple[int, Any]
"""Owner, by its identity, and name."""

ALWAYS: Final[Place] = (0, "")
"""In the place of what is no function: a setting, or a class, is there in each run."""


@dataclass(frozen=True)
class Places:
    """What mutants change. `of`: by mutant; `owners`: by identity, which holds as long as they live."""

    of: Mapping[str, frozenset[Place]]
    owners: Mapping[int, Any]

    def entered(self, seen: Iterable[Place]) -> frozenset[str]:
        """The mutants that could have had an effect, where these were entered."""
        found = {*seen, ALWAYS}
        return frozenset(mutant for mutant, places in self.of.items() if places & found)


class _Noting(Seam):
    """Notes what is replaced."""

    def __init__(self, owners: dict[int, Any]) -> None:
        super().__init__()
        self.places: set[Place] = set()
        self._owners = owners

    def put(self, owner: Any, name: Any, value: object) -> None:
        before = _there(owner, name)
        self._owners[id(owner)] = owner
        self.places.add((id(owner), name) if _function_in(before) is not None else ALWAYS)
        super().put(owner, name, value)


def places_of(mutants: Mapping[str, Mutant]) -> Places:
    """Applies each of them once, and takes it back."""
    owners: dict[int, Any] = {}
    of = {}
    for identifier, mutant in mutants.items():
        with _Noting(owners) as seam:
            mutant.change(seam)
            of[identifier] = frozenset(seam.places)
    return Places(of, owners)


def note_entered(places: Places, seam: Seam) -> Callable[[], frozenset[Place]]:
    """From now on notes which of the places are entered; what is returned tells them."""
    seen: set[Place] = set()
    for place in sorted(frozenset().union(*places.of.values()) - {ALWAYS}, key=str):
        owner, name = places.owners[place[0]], place[1]
        before = _there(owner, name)
        seam.put(owner, name, _like(before, partial(_noted, seen.add, place)))
    return lambda: frozenset(seen)


def _noted(note: Callable[[Place], None], place: Place, original: Callable[..., Any]) -> Callable[..., Any]:
    def noted(*arguments: object, **named: object) -> object:
        note(place)
        return original(*arguments, **named)

    return noted


def _like(before: Any, made_of: Callable[[Callable[..., Any]], Callable[..., Any]]) -> object:
    noted = made_of(_function_in(before))  # type: ignore[arg-type]  # only functions are places
    return type(before)(noted) if isinstance(before, property | staticmethod | classmethod) else noted


def _there(owner: Any, name: Any) -> Any:
    return owner[name] if isinstance(owner, dict) or not hasattr(owner, "__dict__") else vars(owner)[name]


def _function_in(before: Any) -> Callable[..., Any] | None:
    function = before.fget if isinstance(before, property) else getattr(before, "__func__", before)
    return function if isinstance(function, FunctionType) else None
