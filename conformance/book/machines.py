"""The pages of the machines: what each is about, and each of its tables as picture, matrix and rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from groupspec.conformance.book.page import Page, page
from groupspec.conformance.book.pictures import picture
from groupspec.conformance.book.rows import Cell, shown_row
from groupspec.conformance.book.sentences import sentence
from groupspec.conformance.book.text import attribute_docs, module_prose, module_sources, prose
from groupspec.conformance.book.variants import Variant, variants
from groupspec.conformance.book.vectors import vectors_of
from groupspec.conformance.explain.addresses import address
from groupspec.conformance.explain.machines import gist, means, module_of
from groupspec.diagrams.matrix import blank_cells
from groupspec.spec import member, vocabulary
from groupspec.spec.compiler import Table
from groupspec.spec.compiler.tables import OF_NO_PROTOCOL, whole_tables
from groupspec.spec.rules import RULES

_KINDS = ("transition", "ignored", "error")


def pages() -> Iterator[Page]:
    """The list of machines, a page about each, and those of each table."""
    told = prose((member.__doc__ or "").partition("\n\n")[2])
    yield page("machines", "State machines", machines=lines(), coupling=_coupling(), coupling_prose=told)
    for machine in in_order():
        yield _machine(machine)
        for variant in variants()[machine]:
            yield from _tables(variant)


def in_order() -> list[str]:
    """The machines as they are best read: those of the member, what it is made of besides, the group."""
    first = list(reversed(member.MACHINES))
    return sorted(whole_tables(), key=lambda name: (name in OF_NO_PROTOCOL, first.index(name) if name in first else 9))


def lines() -> list[dict[str, object]]:
    """One line about each machine, for lists."""
    tables = [whole_tables()[machine] for machine in in_order()]
    return [
        {
            "name": table.name,
            "gist": gist(table.name),
            "states": len(table.states),
            "events": len(table.events),
            "variants": variants()[table.name],
            "transitions": sum(row.kind == "transition" for row in table.rows),
            "rows": len(table.rows),
        }
        for table in tables
    ]


def _machine(machine: str) -> Page:
    table = whole_tables()[machine]
    module = module_of(machine)
    return page(
        "machine",
        machine,
        address("machine", machine),
        machine=machine,
        gist=gist(machine),
        prose=module_prose(module),
        sources=module_sources(module),
        variants=variants()[machine],
        table=table,
        states=[(state, means(machine, state), _leads_to(table, state)) for state in table.states],
        rules=[rule for rule in RULES if any(rule in row.rules for row in table.rows)],
        file=f"spec/{machine}.py",
        kafka_transitions=list(_kafka_transitions(machine)),
        kafka_transitions_say=attribute_docs(module).get("KAFKA_TRANSITIONS", ""),
    )


def _kafka_transitions(machine: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Kafka's name of a transition, and (cell, its address) for each, where the machine's file has such a list."""
    first = variants()[machine][0]
    for name, cells in getattr(module_of(machine), "KAFKA_TRANSITIONS", {}).items():
        yield name, [(cell, first.cell(*cell.split("."))) for cell in cells]


def _leads_to(table: Table, state: str) -> list[str]:
    return list(dict.fromkeys(row.target for row in table.rows if row.source == state != row.target))


def _tables(variant: Variant) -> Iterator[Page]:
    """The page of a table, with its picture and its matrix, and a page for each of its states."""
    table, machine = variant.table, variant.table.name
    cells = {(state, event.name): _cell(variant, state, event.name) for state, event, _ in table.cells()}
    shared = {
        "machine": machine,
        "variant": variant,
        "variants": variants()[machine],
        "table": table,
        "means": {state: means(machine, state) for state in table.states},
    }
    yield page(
        "table",
        f"{machine}: {variant.words}",
        variant.page,
        **shared,
        gist=gist(machine),
        picture=picture(variant),
        cells=cells,
        counts={kind: sum(row.kind == kind for row in table.rows) for kind in _KINDS},
        blank=len(blank_cells(table)),
    )
    vectors = vectors_of(variant)
    for state in table.states:
        of_state = [(event, cells[state, event.name]) for event in table.events]
        yield page(
            "state",
            f"{machine}.{state}: {variant.words}",
            variant.state(state),
            **shared,
            state=state,
            deciding=[(event, cell) for event, cell in of_state if cell.decides],
            idle=[(event, cell) for event, cell in of_state if not cell.decides],
            answers={event.name: sentence(event.name, cell.rows) for event, cell in of_state},
            vectors=vectors,
        )


def _cell(variant: Variant, state: str, event: str) -> Cell:
    return Cell(tuple(shown_row(variant, row) for row in variant.table.cell(state, event)))


@cache
def hearing() -> dict[str, list[str]]:
    """Event to the machines that hear it."""
    found: dict[str, list[str]] = {event: [] for event in vocabulary.EVENTS}
    for name, table in whole_tables().items():
        for event in table.events:
            found[event.name].append(name)
    return found


def _coupling() -> list[dict[str, object]]:
    """Every word that a machine emits, which machines emit it, and which machines hear it; what none hears is first."""
    says: dict[str, dict[str, None]] = {}
    for name, table in whole_tables().items():
        for word in (word for row in table.rows for word in table.emitted(row)):
            says.setdefault(word, {})[name] = None
    hears = {word: hearing().get(word, []) for word in says}
    order = {name: place for place, name in enumerate(member.MACHINES)}
    words = sorted(says, key=lambda word: (bool(hears[word]), order.get(next(iter(says[word])), 9)))
    return [{"word": word, "says": list(says[word]), "hears": hears[word]} for word in words]
