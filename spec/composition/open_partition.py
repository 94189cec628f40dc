"""One partition in any environment.

Whatever the application, the rebalance and the leader's answers could do to it, in any order.

The environment may do anything but take a partition away that was not paused first, and answer a fetch that is not out.
What it did is kept in a monitor of its own, in words of the wire and of the application: what the member has said of
the partition, what the application asked for, which fetches are under way, whether records wait. The monitor never
reads the machine's own opinion; the properties compare the two.

    a monitor's variable   is set when
    said_of_it           the member adds the partition, enables it, gives it up, removes it
    position_known       a position is found or sought; no more when it is out of range, its topic is made anew, or the
                         partition comes or goes
    wished_paused        the application pauses or resumes it while it is there
    fetch_sent           a Fetch for the present position and assignment is in flight
    old_sent             that fetch is under way still
    records_wait         its records have come; no more when they are returned, or when they are of an earlier position
    records_wanted       a poll finds nothing; no more when records have come
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupspec.spec.compiler.model import Block, Model, ModelProperty, ModelVariable, Scope, flag
from groupspec.spec.compiler.table import Table
from groupspec.spec.compiler.tables import tables
from groupspec.spec.composition.blocks import claim, sets, when
from groupspec.spec.composition.machines import Inputs, MachineCode, Note, model_of
from groupspec.spec.properties import assertions, claimed

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

_OUTDATED: Final = "old_sent = old_sent or fetch_sent; fetch_sent = False; records_wait = False"
_ANEW: Final = f"{_OUTDATED}; position_known = False; wished_paused = False"
_THERE: Final = "said_of_it == 'added' or said_of_it == 'enabled'"

_NOTES: Final[Mapping[str, Note]] = {
    "partition_added": ("True", "said_of_it == 'nothing'", f"{_ANEW}; said_of_it = 'added'"),
    "partition_enabled": ("True", "said_of_it == 'added'", "said_of_it = 'enabled'"),
    "revocation_pending": ("True", "said_of_it != 'nothing'", "said_of_it = 'pending'"),
    "partition_removed": ("said_of_it == 'pending' or said_of_it == 'nothing'", "said_of_it == 'pending'",
                          f"{_ANEW}; said_of_it = 'nothing'"),
    "position_found": ("True", "said_of_it == 'enabled' and not position_known",
                       f"position_known = True; {_OUTDATED}"),
    "sought": ("True", _THERE, f"position_known = True; {_OUTDATED}"),
    "topic_recreated": ("True", "said_of_it != 'nothing'", f"position_known = False; {_OUTDATED}"),
    "paused_by_user": ("True", _THERE, "wished_paused = True"),
    "resumed_by_user": ("True", _THERE, "wished_paused = False"),
    "fetch_requested": ("True", "True", "records_wanted = True"),
    "fetch_answered": ("fetch_sent", "True",
                       "fetch_sent = False; records_wait = records_wait or said_of_it == 'enabled';"
                       " records_wanted = records_wanted and said_of_it != 'enabled'"),
    "fetch_failed": ("fetch_sent", "True", "fetch_sent = False"),
    "fetch_out_of_range": ("fetch_sent", "True",
                           "fetch_sent = False; position_known = False; records_wait = False"),
}  # fmt: skip
"""Event to what the monitor makes of it."""


def open_partition_model() -> Model:
    """The model."""
    code = partition_code(tables()[MACHINE, "eager", "deployed"])
    return model_of(
        Scope("open-partition"),
        [code],
        _MONITOR_VARIABLES,
        code.environment(_noted),
        faults=assertions("partition"),
        properties=claims(),
        doc=__doc__,
    )


def claims() -> tuple[ModelProperty, ...]:
    """What is claimed of one partition in any environment."""
    return tuple(claimed("partition", fetchable=FETCHABLE, hungry=HUNGRY))


def _noted(event: str, inputs: Inputs) -> tuple[str, Block]:
    """Of answers that are not current only those to a fetch count: the member waits for them."""
    if event == "records_returned":
        return "True", when(f"{FETCHABLE} and records_wait", sets(f"records_wait = {inputs['more']}"))
    if inputs.get("current", True):
        legal, noticed, note = _NOTES[event]
        return legal, when(noticed, sets(note))
    return ("old_sent", sets("old_sent = False")) if event.startswith("fetch_") else ("True", ())


def partition_code(table: Table) -> MachineCode:
    """A table as procedures of this model."""
    fetch = claim(FETCH_WHEN_FETCHABLE, HUNGRY) + sets("fetch_sent = True")
    return MachineCode(table, words=lambda _event, word: fetch if word == "Fetch" else ())
