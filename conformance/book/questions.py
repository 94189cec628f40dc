"""The front page, and the question that it asks: what happens, and what is going on meanwhile.

The answer is a cell of a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from groupspec.conformance.book.machines import hearing, in_order, lines
from groupspec.conformance.book.page import Page, page
from groupspec.conformance.book.rows import shown_row
from groupspec.conformance.book.variants import variants
from groupspec.conformance.explain.machines import gist, means
from groupspec.spec import vocabulary

KINDS: Final = {
    "timer": "A timer runs out",
    "application": "The application does, or its thread reports",
    "message": "Something else comes over the wire",
}
"""What happens and is no answer to a member: those stand under their requests."""


@dataclass(frozen=True)
class Option:
    """One thing to choose.

    Attributes:
        value: What the address of the answer is made of: an event, or the page of a state (see `Variant.cell`).
        words: What a reader reads.
        machines: For an event: who decides it.
    """

    value: str
    words: str
    machines: Sequence[str] = ()


def pages() -> Iterator[Page]:
    """The front page. Its example, by which it shows how a table is read, is a row of the rebalance."""
    first = variants()["rebalance"][0]
    yield page(
        "start",
        "The book",
        "index.html",
        machines=lines(),
        variants=variants(),
        example=shown_row(first, first.table.by_id["PREPARING_REBALANCE.join_accepted.1"]),
        events=list(events()),
        situations=list(situations()),
    )


def events() -> Iterator[tuple[str, list[Option]]]:
    """(heading, what may happen): answers by their request, then everything else that comes from outside."""
    answers: dict[str, list[Option]] = {}
    for (request, error), event in vocabulary.RESPONSES.items():
        answers.setdefault(f"{request} is answered", []).append(Option(event, f"{request}: {error}", hearing()[event]))
    yield from answers.items()
    for kind, heading in KINDS.items():
        others = [
            Option(event.name, event.doc or event.name, hearing()[event.name])
            for event in vocabulary.EVENTS.values()
            if event.kind == kind and event.name not in vocabulary.RESPONSES.values()
        ]
        yield heading, [option for option in others if option.machines]


def situations() -> Iterator[tuple[str, str, list[Option]]]:
    """(machine, heading, what may be going on) for each table that shipped clients and brokers follow."""
    for machine in in_order():
        shown = [variant for variant in variants()[machine] if variant.table.profile != "published"]
        for variant in shown:
            which = f" ({variant.table.rebalance})" if len(shown) > 1 else ""
            options = [
                Option(variant.state(state), f"{means(machine, state)}: {state}") for state in variant.table.states
            ]
            yield machine, f"{gist(machine).rstrip('.')}{which}", options
