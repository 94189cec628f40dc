"""One partition in any environment.

Whatever the application, the rebalance and the leader's answers could do to it, in any order.

The environment may do anything but take a partition away that was not paused first, and answer a fetch that is not out.
What it did is kept in a monitor of its own, in words of the wire and of the application: what the member has said of
the partition, what the application asked for, which fetches are under way, whether records wait. The monitor never
reads the machine's own opinion; the properties compare the two.

    a monitor's variable   is set when
    said_of_it           the member adds the partition, enables it, gives it up, removes it
    position_known       a position is found or sought; no more when it is out of range or the partition comes or goes
    wished_paused        the application pauses or resumes it while it is there
    fetch_sent           a Fetch for the present position and assignment is in flight
    old_sent             that fetch is under way still
    records_wait         its records have come; no more when they are returned, or when they are of an earlier position
    records_wanted       a poll finds nothing; no more when records have come
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from groupspec.spec.compiler.model import Action, Block, If, Model, ModelProperty, ModelVariable, Scope, Set, flag
from groupspec.spec.compiler.table import Table
from groupspec.spec.compiler.tables import tables
from groupspec.spec.composition.machines import (
    Abstraction,
    MachineCode,
    action_name,
    claim,
    conjunction,
    prune,
)
from groupspec.spec.properties import FAULT, assertions
from groupspec.spec.terms import Value

MACHINE: Final = "subscription"
FETCH_WHEN_FETCHABLE: Final = "fetch-when-fetchable"

_MONITOR_VARIABLES: Final = (
    ModelVariable("said_of_it", ("nothing", "added", "enabled", "pending"), "nothing", (),
                  "what the member last said of the partition"),
    flag("position_known", "a position was found or sought, and nothing has ended it"),
    flag("wished_paused", "the application has paused the partition that it has now"),
    flag("fetch_sent", "a fetch for the present position is in flight"),
    flag("old_sent", "a fetch for an earlier position or assignment is in flight"),
    flag("records_wait", "records of the present position have come, and were not all returned"),
    flag("records_wanted", "a poll wants records, and none have come since"),
)  # fmt: skip

FETCHABLE: Final = "said_of_it == 'enabled' and position_known and not wished_paused"
HUNGRY: Final = f"{FETCHABLE} and records_wanted and not records_wait and not fetch_sent and not old_sent"
"""When a fetch may leave, and must (rule O5)."""

_OUTDATED: Final = (("old_sent", "old_sent or fetch_sent"), ("fetch_sent", "False"), ("records_wait", "False"))
_ANEW: Final = (*_OUTDATED, ("position_known", "False"), ("wished_paused", "False"))

_Note = tuple[str, str, tuple[tuple[str, str], ...]]
"""(when a correct environment may do it, when the monitor notes something, what it notes)"""

_EVENTS: Final[Mapping[tuple[str, bool], _Note]] = MappingProxyType(
    {
        ("partition_added", True): ("True", "said_of_it == 'nothing'", (*_ANEW, ("said_of_it", "'added'"))),
        ("partition_enabled", True): ("True", "said_of_it == 'added'", (("said_of_it", "'enabled'"),)),
        ("revocation_pending", True): ("True", "said_of_it != 'nothing'", (("said_of_it", "'pending'"),)),
        ("partition_removed", True): ("said_of_it == 'pending' or said_of_it == 'nothing'", "said_of_it == 'pending'",
                                      (*_ANEW, ("said_of_it", "'nothing'"))),
        ("position_found", True): ("True", "said_of_it == 'enabled' and not position_known",
                                   (("position_known", "True"), *_OUTDATED)),
        ("sought", True): ("True", "said_of_it == 'added' or said_of_it == 'enabled'",
                           (("position_known", "True"), *_OUTDATED)),
        ("paused_by_user", True): ("True", "said_of_it == 'added' or said_of_it == 'enabled'",
                                   (("wished_paused", "True"),)),
        ("resumed_by_user", True): ("True", "said_of_it == 'added' or said_of_it == 'enabled'",
                                    (("wished_paused", "False"),)),
        ("fetch_requested", True): ("True", "True", (("records_wanted", "True"),)),
        ("fetch_answered", True): ("fetch_sent", "True",
                                   (("fetch_sent", "False"),
                                    ("records_wait", "records_wait or said_of_it == 'enabled'"),
                                    ("records_wanted", "records_wanted and said_of_it != 'enabled'"))),
        ("fetch_failed", True): ("fetch_sent", "True", (("fetch_sent", "False"),)),
        ("fetch_out_of_range", True): ("fetch_sent", "True",
                                       (("fetch_sent", "False"), ("position_known", "False"),
                                        ("records_wait", "False"))),
        ("fetch_answered", False): ("old_sent", "True", (("old_sent", "False"),)),
        ("fetch_failed", False): ("old_sent", "True", (("old_sent", "False"),)),
        ("fetch_out_of_range", False): ("old_sent", "True", (("old_sent", "False"),)),
    }
)  # fmt: skip
"""(event, whether it is current) to what the monitor makes of it. An event that is not named may always come, and is
not noted."""


def open_partition_model(properties: tuple[ModelProperty, ...] = (), replaced: Table | None = None) -> Model:
    """The model. `replaced`: another table in the place of the specification's."""
    table = replaced or tables()[MACHINE, "eager", "deployed"]
    code = partition_code(table)
    procedures = prune(list(code.procedures()))
    known = frozenset(p.name for p in procedures)
    variables = [*code.variables(), *_MONITOR_VARIABLES]
    variables.append(
        ModelVariable(FAULT, ("none", *assertions("partition")), "none", (), "the first assertion that failed")
    )
    return Model(
        name="open-partition",
        scope=Scope("open-partition"),
        sizes={"members": 1, "partitions": 1},
        variables=tuple(variables),
        procedures=tuple(procedures),
        actions=tuple(_environment(code, known)),
        properties=properties,
        doc=__doc__ or "",
    )


def partition_code(table: Table) -> MachineCode:
    """A table as procedures of this model."""
    fetch = (claim(FETCH_WHEN_FETCHABLE, HUNGRY), Set((("fetch_sent", "True"),)))
    return MachineCode(table, Abstraction(words=lambda _event, word: fetch if word == "Fetch" else (), index=""), {})


def _environment(code: MachineCode, known: frozenset[str]) -> Iterator[Action]:
    for event, inputs, turn in code.stimuli(known):
        legal, _, _ = _note(event.name, inputs)
        name = action_name(event.name, inputs)
        guard = conjunction(f"{FAULT} == 'none'", legal)
        body = (*_noted(event.name, inputs), *turn)
        yield Action(name, (), guard, body, event.kind, doc=event.doc)


def _note(event: str, inputs: Mapping[str, Value]) -> _Note:
    if event == "records_returned":
        return "True", f"{FETCHABLE} and records_wait", (("records_wait", str(inputs["more"])),)
    return _EVENTS.get((event, bool(inputs.get("current", True))), ("True", "False", ()))


def _noted(event: str, inputs: Mapping[str, Value]) -> Block:
    _, when, assignments = _note(event, inputs)
    if not assignments:
        return ()
    return (Set(assignments),) if when == "True" else (If(((when, (Set(assignments),)),)),)
