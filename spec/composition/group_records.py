"""The group's records, kept from what passes between the coordinator, its clients, its clock and its log.

Each id that the group may know has a record: is it a member, is it pending, which request of it awaits an answer, has
it yet to sync? Id 1 has an instance id, so it is a static member; the others are dynamic. The group's *acts* change the
records as `broker_group.py` says they do, and answers and timers are noted. Nothing here reads the machine's state.

    phase     what the group is about, told from the acts alone
    gone      its coordinator is
    loading   the next one reads the log
    empty     nobody is a member, and nobody joins
    joining   a timer runs that the join phase ends with
    syncing   the awaiting JoinGroups were answered, and the assignment was not given out since
    stable    the assignment was given out, or came from the log

What happens within one event is kept until the event is over, and compared then with what should have happened
(`group_claims.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupspec.spec.broker_group import ANSWERS
from groupspec.spec.compiler.model import Block, Call, ModelVariable, flag
from groupspec.spec.composition.blocks import claim, each, sets, when

STATIC: Final = 1
"""The id of the static member."""

PHASES: Final = ("empty", "joining", "syncing", "stable", "gone", "loading")
CLOCKS: Final = ("none", "delay", "rebalance", "sync")
WAITS: Final = "waits"
OUTCOMES: Final = ("none", WAITS, *(word.removeprefix("ANSWER_") for word in ANSWERS))


RECORDS: Final = (
    ModelVariable("phase", PHASES, "empty", (), "what the group is about, as its acts tell"),
    ModelVariable("clock", CLOCKS, "none", (), "the timer of the group that runs"),
    flag("newcomer", "a member was added since the initial delay last began"),
    flag("pending", "the id was handed out, and nothing was heard of it since", ("members",)),
    flag("member", "the id is a member's", ("members",)),
    flag("is_new", "it has been a member only since this join phase", ("members",)),
    ModelVariable("awaiting", ("nothing", "join", "sync"), "nothing", ("members",), "the request of it that waits"),
    flag("yet_to_sync", "it has sent no SyncGroup in this generation", ("members",)),
    flag("logged", "the log's last record has the member", ("members",)),
    flag("offered", "the record that was written last, and may not be there yet, has it", ("members",)),
    flag("writing", "this generation's assignment is being written"),
    flag("old_writing", "an earlier generation's assignment is being written"),
)  # fmt: skip
"""What lasts."""

MOMENTARY: Final = (
    ModelVariable("before", PHASES, "empty", (), "the phase in which the event found the group"),
    flag("was_delayed", "the event came during the initial delay"),
    flag("some_waited", "the event found a JoinGroup awaiting"),
    flag("static_stayed", "the event found the static member in the group"),
    flag("some_unsynced", "the event found a member that had yet to sync"),
    ModelVariable("outcome", OUTCOMES, "none", (), "what became of the request: an answer, or it waits"),
    flag("acted", "the group has said something"),
    flag("delayed", "the initial delay has begun"),
    flag("begun", "the join phase has begun, or its timeout anew"),
    flag("grew", "the generation has grown"),
    flag("kept", "a session timer has been started anew by what was heard"),
    flag("removed", "somebody was removed"),
    flag("replaced", "a static member has got a new id"),
    flag("stored", "an assignment was written"),
)  # fmt: skip
"""What ends with the event."""

SOME_WAIT: Final = "any(awaiting[j] == 'join' for j in members)"
ALL_JOINED: Final = "all((not member[j] or awaiting[j] == 'join') and not pending[j] for j in members)"
OTHERS_JOINED: Final = "all((not member[j] or awaiting[j] == 'join') and not pending[j] for j in members if j != i)"
SOME_LEFT: Final = f"any(member[j] and (awaiting[j] == 'join' or j == {STATIC}) for j in members)"
SOME_UNSYNCED: Final = "any(yet_to_sync[j] for j in members)"
SOME_LOGGED: Final = "any(logged[j] for j in members)"
SYNC_AWAITING: Final = "any(awaiting[j] == 'sync' for j in members)"

BEGIN: Final = sets(
    f"before = phase; was_delayed = clock == 'delay'; some_waited = {SOME_WAIT};"
    f" static_stayed = member[{STATIC}]; some_unsynced = {SOME_UNSYNCED}"
)
"""What is noted before the group hears of an event."""

END: Final = sets("; ".join(f"{each.name} = {each.initial!r}" for each in MOMENTARY))
"""The event is over."""

OF_WORDS: Final = ("answered-once", "grows-once-a-phase", "somebody-has-rejoined", "nobody-is-left", "waits-for-all",
                   "lost-write-is-told", "given-out-when-stored")  # fmt: skip
"""The properties that are checked where the group says something."""


def _gone(index: str) -> str:
    return f"is_new[{index}] = False; awaiting[{index}] = 'nothing'; yet_to_sync[{index}] = False"


_FORGOTTEN: Final = sets(f"member[j] = False; {_gone('j')}")
_AWAIT: Final = claim("answered-once", "outcome == 'none'")
_ENDS_ONCE: Final = claim("grows-once-a-phase", "phase == 'joining' and not grew")
_LEFT_BEHIND: Final = f"awaiting[j] != 'join' and j != {STATIC}"
_SYNCS_ANSWERED: Final = each("j", sets("awaiting[j] = 'nothing' if awaiting[j] == 'sync' else awaiting[j]"))

_ACTS: Final[Mapping[str, Block]] = {
    "ADD_PENDING": sets("pending[i] = True"),
    "DROP_PENDING": sets("pending[i] = False"),
    "ADD_MEMBER": sets("member[i] = True; is_new[i] = True; newcomer = clock == 'delay'"),
    "REPLACE_STATIC": sets("awaiting[i] = 'nothing'; replaced = True"),
    "REMOVE_MEMBER": sets(f"member[i] = False; {_gone('i')}; removed = True"),
    "REMOVE_UNSYNCED": each("j", when("yet_to_sync[j]", _FORGOTTEN)) + sets("removed = True"),
    "AWAIT_JOIN": _AWAIT + sets(f"outcome = '{WAITS}'; awaiting[i] = 'join'"),
    "AWAIT_SYNC": _AWAIT + sets(f"outcome = '{WAITS}'; awaiting[i] = 'sync'; yet_to_sync[i] = False"),
    "KEEP_ALIVE": sets("kept = True"),
    "STORE_ASSIGNMENT": sets("stored = True; writing = True; old_writing = False")
    + each("j", sets("offered[j] = member[j]")),
    "ANSWER_SYNCS": claim("given-out-when-stored", "phase == 'syncing'") + sets("phase = 'stable'")
    + _SYNCS_ANSWERED,
    "FAIL_AWAITING_SYNCS": _SYNCS_ANSWERED,
    "FAIL_AWAITING_NOT_COORDINATOR": each("j", sets("awaiting[j] = 'nothing'")),
    "COMPLETE_JOIN": _ENDS_ONCE + claim("somebody-has-rejoined", SOME_WAIT)
    + sets("phase = 'syncing'; grew = True") + each("j", when(_LEFT_BEHIND, _FORGOTTEN))
    + each("j", sets("awaiting[j] = 'nothing'; is_new[j] = False; yet_to_sync[j] = member[j]")),
    "COMPLETE_EMPTY": _ENDS_ONCE + claim("nobody-is-left", f"not {SOME_LEFT}")
    + sets("phase = 'empty'; grew = True; old_writing = False")
    + each("j", sets(f"member[j] = False; {_gone('j')}; logged[j] = False; offered[j] = False")),
    "RESTORE": sets(f"phase = 'stable' if {SOME_LOGGED} else 'empty'")
    + each("j", sets(f"{_gone('j')}; member[j] = logged[j]; pending[j] = False")),
    "START_INITIAL_DELAY": sets("phase = 'joining'; clock = 'delay'; newcomer = False; delayed = True"),
    "START_REBALANCE_TIMER": sets(
        "phase = 'joining'; clock = 'rebalance'; newcomer = False; begun = True;"
        " old_writing = old_writing or writing; writing = False"
    ) + each("j", sets("yet_to_sync[j] = False")),
    "START_SYNC_TIMER": sets("clock = 'sync'; newcomer = False"),
    "STOP_TIMERS": sets("clock = 'none'; newcomer = False"),
}  # fmt: skip
"""What an act does to the records: `GROUP_ACTS` says it in words."""

_CHECKED: Final = "group_join_phase_checked"


def words(event: str, word: str) -> Block:
    """What a word of the group means, emitted by a row of this event."""
    if word.startswith("ANSWER_") and word in ANSWERS:
        return _AWAIT + sets(f"outcome = '{word.removeprefix('ANSWER_')}'")
    if word == _CHECKED:
        return (Call(f"broker_group_{_CHECKED}", (ALL_JOINED, SOME_LEFT, SOME_WAIT)),)
    early = claim("waits-for-all", ALL_JOINED) if event == _CHECKED and word.startswith("COMPLETE") else ()
    refused = event == "group_assignment_lost" and word == "FAIL_AWAITING_SYNCS"
    told = claim("lost-write-is-told", f"not {SYNC_AWAITING}") if refused else ()
    return early + told + _ACTS[word]
