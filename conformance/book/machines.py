"""The pages of the machines: what each is about, and each of its tables as picture, matrix and rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

from groupspec.conformance.book.page import Page
from groupspec.conformance.book.pictures import picture
from groupspec.conformance.book.rows import Cell, shown_row
from groupspec.conformance.book.sentences import sentence
from groupspec.conformance.book.text import attribute_docs, module_prose, module_sources, prose
from groupspec.conformance.book.variants import Variant, variants
from groupspec.conformance.book.vectors import vectors_of
from groupspec.conformance.explain import addresses
from groupspec.conformance.explain.state_meanings import means
from groupspec.diagrams.matrix import blank_cells
from groupspec.spec import member
from groupspec.spec.compiler.tables import MACHINES, OF_NO_PROTOCOL, whole_tables
from groupspec.spec.rules import RULES

_KINDS = ("transition", "ignored", "error")


def module_of(machine: str) -> ModuleType:
    """The module that a machine stands in."""
    cls = next(cls for cls in MACHINES if cls.machine_name == machine)
    return sys.modules[cls.__module__]


def gist(machine: str) -> str:
    """One line about a machine."""
    cls = next(cls for cls in MACHINES if cls.machine_name == machine)
    return (cls.__doc__ or "").strip().partition("\n")[0]


def pages() -> Iterator[Page]:
    """The list of machines, a page about each, and those of each table."""
    yield Page(
        "machines.html",
        "State machines",
        "machines",
        "machines",
        {
            "machines": lines(),
            "coupling": coupling(),
            "coupling_prose": prose((member.__doc__ or "").partition("\n\n")[2]),
        },
    )
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
    return [_line(machine) for machine in in_order()]


def _line(machine: str) -> dict[str, object]:
    table = whole_tables()[machine]
    return {
        "name": machine,
        "gist": gist(machine),
        "states": len(table.states),
        "events": len(table.events),
        "variants": variants()[machine],
        "transitions": sum(row.kind == "transition" for row in table.rows),
        "rows": len(table.rows),
    }


def _machine(machine: str) -> Page:
    table = whole_tables()[machine]
    module = module_of(machine)
    return Page(
        addresses.machine(machine),
        machine,
        "machines",
        "machine",
        {
            "machine": machine,
            "gist": gist(machine),
            "prose": module_prose(module),
            "sources": module_sources(module),
            "variants": variants()[machine],
            "table": table,
            "states": [(state, means(machine, state), _leads_to(machine, state)) for state in table.states],
            "rules": [rule for rule in RULES if any(rule in row.rules for row in table.rows)],
            "file": f"spec/{machine}.py",
            "kafka_transitions": list(_kafka_transitions(machine)),
            "kafka_transitions_say": attribute_docs(module).get("KAFKA_TRANSITIONS", ""),
        },
    )


def _kafka_transitions(machine: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Kafka's name of a transition, and (cell, its address) for each, where the machine's file has such a list."""
    first = variants()[machine][0]
    for name, cells in getattr(module_of(machine), "KAFKA_TRANSITIONS", {}).items():
        places = [(cell, first.cell(*cell.split("."))) for cell in cells]
        yield name, places


def _leads_to(machine: str, state: str) -> list[str]:
    rows = whole_tables()[machine].rows
    return list(dict.fromkeys(row.target for row in rows if row.source == state != row.target))


def _tables(variant: Variant) -> Iterator[Page]:
    """The page of a table, with its picture and its matrix, and a page for each of its states."""
    table = variant.table
    cells = {(state, event.name): _cell(variant, state, event.name) for state, event, _ in table.cells()}
    shared = {
        "machine": table.name,
        "variant": variant,
        "variants": variants()[table.name],
        "table": table,
        "means": {state: means(table.name, state) for state in table.states},
    }
    yield Page(
        variant.page,
        f"{table.name}: {variant.words}",
        "machines",
        "table",
        {
            **shared,
            "gist": gist(table.name),
            "picture": picture(variant),
            "cells": cells,
            "counts": {kind: sum(row.kind == kind for row in table.rows) for kind in _KINDS},
            "blank": len(blank_cells(table)),
        },
    )
    vectors = vectors_of(variant)
    for state in table.states:
        of_state = [(event, cells[state, event.name]) for event in table.events]
        yield Page(
            variant.state(state),
            f"{table.name}.{state}: {variant.words}",
            "machines",
            "state",
            {
                **shared,
                "state": state,
                "deciding": [(event, cell) for event, cell in of_state if cell.decides],
                "idle": [(event, cell) for event, cell in of_state if not cell.decides],
                "answers": {event.name: sentence(event.name, cell.rows) for event, cell in of_state},
                "vectors": vectors,
            },
        )


def _cell(variant: Variant, state: str, event: str) -> Cell:
    return Cell(state, event, tuple(shown_row(variant, row) for row in variant.table.cell(state, event)))


def coupling() -> list[dict[str, object]]:
    """Who says what to whom: every word that a machine emits, who emits it, and which machines hear it."""
    says: dict[str, list[str]] = {}
    for name, table in whole_tables().items():
        for row in table.rows:
            for word in table.emitted(row):
                speakers = says.setdefault(word, [])
                speakers += [name] if name not in speakers else []
    hears = {
        word: [name for name, table in whole_tables().items() if any(event.name == word for event in table.events)]
        for word in says
    }
    order = {name: place for place, name in enumerate(member.MACHINES)}
    lines: list[dict[str, object]] = []
    for word, speakers in sorted(says.items(), key=lambda item: (bool(hears[item[0]]), order.get(item[1][0], 9))):
        lines.append({"word": word, "says": speakers, "hears": hears[word]})
    return lines
