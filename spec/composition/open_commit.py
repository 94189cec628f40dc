"""One commit in any environment.

Whatever the application, the group, the coordinator and the clock could do, in any order.

The environment may do anything but answer a commit that is not out. What it did is kept in a monitor of its own, in
words of the wire and of the application: who has asked for a commit, what the consumer is to the group, which request
is in flight and as whom it went, what was told. The monitor never reads the machine's own opinion; the properties
compare the two.

Two claims belong together wherever a commit ends. What ends it for good leaves an ending *owed*, and nothing may stay
owed when the step is over; and whatever ending is told must be the one that the facts give for what has just happened
(`ENDINGS`).

    a monitor's variable   is set when
    asked                somebody asks for a commit, and nobody's is under way; no more when an ending is told
    stands, offsets      the consumer becomes something else to the group, or what would be committed changes
    somebody             the coordinator is found; no more when it is lost
    earlier, handed_out  the commit is asked for; no more when the earlier ones are done, or the application polls
    same_membership      the commit is asked for; no more when the consumer is outside, leaves the group or enters it
    request              an OffsetCommit is in flight: as nobody, or as a member
    same_since           it leaves; no more when the identity changes
    failed_once          an attempt has failed, though not for good
    resting              the same, if whoever waits waits on; no more when the retry backoff is over
    owed                 something has happened that ends the commit; no more when an ending is told
    told                 an ending is told; no more when the next thing happens

**Fairness.** A commit ends in the end, and for that nobody need answer, and the application need not poll. It is enough
that deadlines and request timeouts pass (an unanswered request counts as a coordinator that is gone), that a
coordinator is found if it is looked for, and that the earlier commits are done: which is the same claim of those.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Final

from groupspec.spec import vocabulary
from groupspec.spec.commit import COMMIT_ENDINGS
from groupspec.spec.compiler.model import Block, Model, ModelProperty, ModelVariable, Scope, flag
from groupspec.spec.compiler.table import Table
from groupspec.spec.compiler.tables import tables
from groupspec.spec.composition.blocks import NO_FAULT, claim, conjunction, sets, when
from groupspec.spec.composition.machines import Inputs, MachineCode, Note, configuration, model_of
from groupspec.spec.composition.partial_evaluation import frozen_block
from groupspec.spec.properties import assertions, claimed
from groupspec.spec.terms import NO_YES

MACHINE: Final = "commit"

_OF = {name: vocabulary.VARIABLES[name].domain for name in ("commit_purpose", "standing", "covers")}
_MONITOR_VARIABLES: Final = (
    ModelVariable("asked", ("nothing", *_OF["commit_purpose"]), "nothing", (), "whose commit is under way"),
    ModelVariable("stands", _OF["standing"], "outside", (), "what the consumer is to the group"),
    ModelVariable("offsets", _OF["covers"], "nothing", (), "what would be committed: nothing, or something"),
    flag("somebody", "a coordinator is known"),
    flag("earlier", "commits that were asked for before are under way"),
    flag("handed_out", "the application has records that it has not shown to have processed"),
    ModelVariable("same_membership", NO_YES, True, (),
                  "what the consumer is to the group is what it was when it asked, and it was not outside"),
    ModelVariable("request", ("none", "nobody", "member"), "none", (),
                  "an OffsetCommit is in flight, and as whom it went"),
    ModelVariable("same_since", NO_YES, True, (), "member id and generation are what they were when it left"),
    flag("failed_once", "an attempt of this commit has failed, though not for good"),
    flag("resting", "the retry backoff after it has not passed"),
    flag("owed", "what has happened ends the commit, and nobody was told"),
    ModelVariable("told", ("nothing", *COMMIT_ENDINGS), "nothing", (), "the ending that was told in this step"),
)  # fmt: skip

PERSISTS: Final = "(asked == 'sync' or asked == 'rebalance' or asked == 'close')"
"""Who asked waits, until a deadline; the others' commits are tried once (rules M3, D3)."""
AUTOMATIC: Final = "(asked == 'timed' or asked == 'rebalance' or asked == 'close')"
IN_TURN: Final = "not earlier and not handed_out"
MAY_BE_SENT: Final = "(stands == 'manual' or stands == 'member')"
DUE: Final = (
    f"asked != 'nothing' and request == 'none' and {IN_TURN} and offsets != 'nothing' and {MAY_BE_SENT} and "
    "same_membership and somebody and not resting"
)
"""When the request may leave, and must."""
_OUTDATED: Final = "not same_since and stands == 'in_round'"
_LEFT_BEHIND: Final = f"not same_membership and {MAY_BE_SENT}"

SENDING: Final[Mapping[str, str]] = {
    "sent-for-somebody": "asked != 'nothing' and request == 'none'",
    "sent-in-turn": "not earlier",
    "sent-when-processed": "not handed_out",
    "sent-with-something": "offsets != 'nothing'",
    "sent-if-allowed": MAY_BE_SENT,
    "sent-in-its-membership": "same_membership",
    "sent-to-somebody": "somebody",
    "sent-after-backoff": "not resting",
}
"""Assertion to what must be so whenever an OffsetCommit leaves."""

ENDS_ONCE: Final = "ends-once"
ENDS_FOR_CAUSE: Final = "ends-for-cause"
ENDINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "COMMIT_DONE": {"commit_accepted": "True", "turn_ended": f"{IN_TURN} and offsets == 'nothing'"},
    "COMMIT_REFUSED": {
        "commit_refused": "True",
        "commit_topic_missing": "asked == 'rebalance'",
        "discovery_fatal": "asked != 'rebalance'",
    },
    "COMMIT_RETRIABLE": {
        "commit_retriable": f"not {PERSISTS}",
        "commit_topic_missing": f"not {PERSISTS}",
        "commit_coordinator_gone": f"not {PERSISTS}",
        "coordinator_lost": f"not {PERSISTS}",
        "discovery_retriable": "asked == 'async'",
    },
    "COMMIT_REBALANCING": {
        "commit_rebalance_in_progress": "True",
        "commit_unknown_member": _OUTDATED,
        "commit_illegal_generation": _OUTDATED,
        "commit_fenced": _OUTDATED,
        "turn_ended": f"{IN_TURN} and offsets != 'nothing' and stands == 'in_round'",
    },
    "COMMIT_FAILED": {
        "commit_unknown_member": f"not ({_OUTDATED})",
        "commit_illegal_generation": f"not ({_OUTDATED})",
        "commit_fenced": "not same_since and stands != 'in_round'",
        "commit_standing_changed": AUTOMATIC,
        "rebalance_given_up": "asked == 'rebalance'",
        "turn_ended": f"{IN_TURN} and offsets != 'nothing' and (stands == 'outside' or {_LEFT_BEHIND})",
    },
    "COMMIT_FENCED": {"commit_fenced": "same_since"},
    "COMMIT_TIMED_OUT": {"commit_deadline_expired": PERSISTS},
    "COMMIT_CLOSED": {"stopped": "True"},
}  # fmt: skip
"""Ending to the events that may bring it, and when. Kafka ConsumerCoordinator.OffsetCommitResponseHandler has the
answers."""


def assertion_of(word: str) -> str:
    """The assertion about an ending: COMMIT_DONE -> told-done."""
    return "told-" + word.removeprefix("COMMIT_").lower().replace("_", "-")


_OUT: Final = "request != 'none'"
_ANSWERED: Final = "request = 'none'"


def _failed(again: str) -> str:
    """What a passing failure makes of a commit that is tried `again`, or not."""
    return (
        f"owed = owed or {_OUT} and not ({again}); resting = resting or {_OUT} and {again};"
        f" failed_once = failed_once or {_OUT}; {_ANSWERED}"
    )


_FAILED: Final = _failed(PERSISTS)
_LAST: Final[Note] = (_OUT, "True", f"{_ANSWERED}; owed = True")
_OVER: Final = (
    f"earlier = False; handed_out = False; failed_once = False; resting = False; owed = False; {_ANSWERED};"
    " asked = 'nothing'"
)
_BEGUN: Final = "offsets = covers_now; earlier = behind_now; same_membership = stands != 'outside'"
_NOBODYS: Final = "asked == 'nothing'"

_NOTES: Final[Mapping[str, Note]] = {
    "commit_sync_called": ("True", _NOBODYS, f"asked = 'sync'; {_BEGUN}"),
    "commit_async_called": ("True", _NOBODYS, f"asked = 'async'; {_BEGUN}"),
    "auto_commit_due": ("True",
                        f"{_NOBODYS} and auto_commit and covers_now != 'nothing' and (stands == 'member' or stands "
                        "== 'manual')", f"asked = 'timed'; {_BEGUN}"),
    "rebalance_commit_due": ("True",
                             f"{_NOBODYS} and auto_commit and stands == 'member' and (covers_now != 'nothing' or "
                             "unprocessed_now)", f"asked = 'rebalance'; handed_out = unprocessed_now; {_BEGUN}"),
    "close_commit_due": ("True", f"{_NOBODYS} and auto_commit and (stands == 'member' or stands == 'manual')",
                         f"asked = 'close'; {_BEGUN}"),
    "earlier_commits_done": ("True", "earlier", "earlier = False"),
    "application_polled": ("True", "handed_out",
                           "handed_out = False; offsets = 'something' if offsets == 'nothing' else offsets"),
    "commit_standing_changed": ("True", "True",
                                "same_membership = same_membership and standing_now != 'outside'"
                                " and (standing_now == 'manual') == (stands == 'manual');"
                                " stands = standing_now; offsets = covers_now;"
                                " same_since = same_since and same_identity;"
                                f" owed = owed or standing_now == 'outside' and {AUTOMATIC}"),
    "coordinator_found": ("True", "True", "somebody = True"),
    "coordinator_lost": ("True", "True", f"somebody = False; {_FAILED}"),
    "commit_backoff_elapsed": ("True", "True", "resting = False"),
    "commit_deadline_expired": ("True", PERSISTS, "owed = True"),
    "rebalance_given_up": ("True", "asked == 'rebalance'", "owed = True"),
    "stopped": ("True", "asked != 'nothing'", "owed = True"),
    "discovery_retriable": ("True", "asked == 'async' and request == 'none'", "owed = True"),
    "discovery_fatal": ("True", "asked != 'nothing' and asked != 'rebalance' and request == 'none'", "owed = True"),
    "commit_retriable": (_OUT, "True", _FAILED),
    "commit_coordinator_gone": (_OUT, "True", _FAILED),
    "commit_topic_missing": (_OUT, "True", _failed(f"{PERSISTS} and asked != 'rebalance'")),
    **dict.fromkeys(("commit_accepted", "commit_refused", "commit_rebalance_in_progress", "commit_unknown_member",
                     "commit_illegal_generation", "commit_fenced"), _LAST),
}  # fmt: skip
"""Event to what the monitor makes of it."""

_FAIR: Final = frozenset(
    {"commit_deadline_expired", "commit_coordinator_gone_current", "coordinator_found", "earlier_commits_done"}
)


def open_commit_model() -> Model:
    """The model."""
    code = commit_code(tables()[MACHINE, "eager", "deployed"])
    configured, choices = configuration(("auto_commit",))
    return model_of(
        Scope("open-commit"),
        [code],
        (*configured, *_MONITOR_VARIABLES),
        (*choices, *code.environment(_noted, conjunction("configured", NO_FAULT), _FAIR)),
        faults=assertions("commit"),
        properties=claims(),
        doc=__doc__,
    )


def claims() -> tuple[ModelProperty, ...]:
    """What is claimed of one commit in any environment."""
    endings = [
        {"ending": assertion_of(word).removeprefix("told-"), "word": word, "meaning": meaning}
        for word, meaning in COMMIT_ENDINGS.items()
    ]
    same_purpose = " and ".join(f"(asked != '{each}' or commit_purpose == '{each}')" for each in _OF["commit_purpose"])
    return tuple(claimed("commit", endings, due=DUE, in_turn=IN_TURN, persists=PERSISTS, same_purpose=same_purpose))


def commit_code(table: Table) -> MachineCode:
    """A table as procedures of this model."""
    return MachineCode(table, words=_said)


def _said(event: str, word: str) -> Block:
    """What is claimed when a word leaves the machine, and what the monitor makes of it."""
    if word == "OffsetCommit":
        allowed = tuple(chain.from_iterable(claim(name, holds) for name, holds in SENDING.items()))
        return allowed + sets("request = 'nobody' if stands == 'manual' else 'member'; same_since = True")
    return (
        *claim(ENDS_ONCE, "asked != 'nothing' and told == 'nothing'"),
        *(claim(ENDS_FOR_CAUSE, "owed") if event != "turn_ended" else ()),
        *claim(assertion_of(word), ENDINGS[word].get(event, "False")),
        *sets(f"{_OVER}; told = '{word}'"),
    )


def _noted(event: str, inputs: Inputs) -> tuple[str, Block]:
    """An answer that is not current may always come, and is not noted."""
    nothing_told = sets("told = 'nothing'")
    if not inputs.get("current", True):
        return "True", nothing_told
    legal, noticed, note = _NOTES[event]
    return legal, nothing_told + frozen_block(when(noticed, sets(note)), inputs)
