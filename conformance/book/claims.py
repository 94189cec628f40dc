"""The properties: what is claimed of which model, by kind, and their page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from groupspec.conformance.book.page import Page
from groupspec.conformance.book.scores import tested
from groupspec.spec import composition, properties
from groupspec.spec.compiler.model import Model, ModelProperty

KINDS: Final = {
    "invariant": ("Invariants", "hold in every state"),
    "reachable": ("Reachability", "holds in some state"),
    "recoverable": ("Recoverability", "from every state, a state can be reached in which it holds"),
    "leads_to": (
        "Liveness",
        "under the stated fairness, what is on the left is always followed by what is on the right",
    ),
}


@dataclass(frozen=True)
class Claim:
    """A property.

    Attributes:
        stated: The property.
        models: The models that claim it, and keep it.
        broken: Those that are known to break it, and must.
    """

    stated: ModelProperty
    models: tuple[str, ...]
    broken: tuple[str, ...] = ()

    @property
    def is_assertion(self) -> bool:
        """Whether its expression says no more than that its own assertion has not failed."""
        return self.stated.holds == f"fault != '{self.stated.id}'"


@cache
def models() -> Mapping[str, Model]:
    """Every model of the catalogue by its name."""
    return {name: make() for name, make in composition.models().items()}


def claims(catalogue: Mapping[str, Model]) -> list[Claim]:
    """Every property once, with the models that claim it, in the order in which they are met."""
    found: dict[str, list[str]] = {}
    stated: dict[str, ModelProperty] = {}
    for name, model in catalogue.items():
        for each in model.properties:
            found.setdefault(each.id, []).append(name)
            stated.setdefault(each.id, each)
    return [claim(stated[identifier], names) for identifier, names in found.items()]


@cache
def claimed() -> tuple[Claim, ...]:
    """The properties of this repository's models."""
    return tuple(claims(models()))


def claim(stated: ModelProperty, names: Sequence[str]) -> Claim:
    """A property of these models."""
    broken = tuple(name for name in names if stated.id in composition.expected_violations(name))
    return Claim(stated, tuple(name for name in names if name not in broken), broken)


def pages() -> Iterator[Page]:
    """The properties, if there are any."""
    return claim_pages(models())


def claim_pages(catalogue: Mapping[str, Model]) -> Iterator[Page]:
    """The page of the properties of these models."""
    if found := claims(catalogue):
        yield Page(
            "properties.html",
            "Properties",
            "properties",
            "properties",
            {
                "claims": by_kind(found),
                "kinds": [(f"#{title.lower()}", title) for title, *_ in by_kind(found)],
                "intro": properties.__doc__ or "",
                "tested": tested(),
                "count": len(found),
            },
        )


def by_kind(found: list[Claim]) -> list[tuple[str, str, list[Claim]]]:
    """(heading, what the kind means, claims of it), in the order of `KINDS`."""
    return [
        (title, meaning, [claim for claim in found if claim.stated.kind == kind])
        for kind, (title, meaning) in KINDS.items()
        if any(claim.stated.kind == kind for claim in found)
    ]
