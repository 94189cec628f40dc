"""Two commits of one consumer: who waits for whom, and whether anything that was committed is taken back.

Each commit is a machine of its own (`commit.py`); what `composition/open_commit.py` lets happen anyhow is real here.
Whether a commit is behind another is who was asked for first; whether records are with the application is what its
polls returned; and it can neither poll nor ask for anything while it waits for a commit. The members of this model are
the commits.

**Order.** A commit waits for the one before it (rule M6), with one exception: the commit before a rebalance that waits
for the application lets the other pass, because an application that waits for that other one would never poll (rule
M4). Who has been passed goes second from then on.

**What is committed.** The application says what it commits when it asks. An automatic commit covers what has been
processed, and that goes on: it must not cover more than had been processed when the application asked for the commit
behind it, or else this one rewinds it (rule M6). So what it covers is fixed then, at the latest. `taken="sent"` is the
model of a consumer that takes it whenever the request leaves.

    a monitor's variable   is set when
    asked                somebody asks for a commit; no more when an ending is told
    first                the one of the two that goes first
    request              an OffsetCommit leaves; no more when it is answered or cannot be any more
    handed_out           a poll returns records; no more when the next poll says that they are processed
    dated                more is processed than when the application asked for this commit
    overtaken            an OffsetCommit leaves that covers more than this commit of the application
    fixed                the commit behind it was asked for: what it covers does not change any more

Left out: more than two at a time, partitions assigned by hand, and identities that change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, Literal

from groupspec.spec.commit import COMMIT_ANSWERS
from groupspec.spec.compiler.model import (
    Action,
    Block,
    Call,
    Fairness,
    Model,
    ModelProperty,
    ModelVariable,
    Procedure,
    Scope,
    flag,
)
from groupspec.spec.compiler.tables import tables
from groupspec.spec.composition.blocks import NO_FAULT, claim, conjunction, each, sets, when
from groupspec.spec.composition.machines import MachineCode, model_of, name_of
from groupspec.spec.composition.open_commit import MACHINE
from groupspec.spec.properties import assertions, claimed
from groupspec.spec.terms import NO_YES, Value
from groupspec.spec.vocabulary import VARIABLES

NEVER_REWINDS: Final = "never-rewinds"
DONE_IN_ORDER: Final = "done-in-order"

_PURPOSES: Final = VARIABLES["commit_purpose"].domain
_STANDINGS: Final = ("outside", "in_round", "member")
_FROZEN: Final[Mapping[str, Value]] = {"auto_commit": True, "sent_as": "member", "identity_kept": True}
_MONITOR_VARIABLES: Final = (
    ModelVariable("asked", ("nothing", *_PURPOSES), "nothing", ("members",), "whose commit it is"),
    ModelVariable("first", (0, 1, 2), 0, (), "the one of the two that goes first"),
    flag("request", "its OffsetCommit is in flight", ("members",)),
    flag("somebody", "a coordinator is known"),
    flag("handed_out", "the application has records that it has not shown to have processed"),
    flag("dated", "more is processed than when the application asked for it", ("members",)),
    flag("overtaken", "more than it covers was sent since it was asked for", ("members",)),
    flag("fixed", "what it covers was fixed when the other one was asked for", ("members",)),
)  # fmt: skip


def _any(text: str) -> str:
    return f"any({text} for j in members)"


OF_APPLICATION: Final = "(asked[{0}] == 'sync' or asked[{0}] == 'async')"
AUTOMATIC: Final = "(asked[{0}] == 'timed' or asked[{0}] == 'rebalance' or asked[{0}] == 'close')"
_WAITS: Final = _any("asked[j] == 'sync' or asked[j] == 'close'")
"""The application is inside commit() or close()."""
_NO_REBALANCE: Final = "all(asked[j] != 'rebalance' for j in members)"
_REBALANCES: Final = f"not {_NO_REBALANCE}"  # TLC counts a step for each witness of an `any`
_LATER_ONES: Final = _any("asked[j] == 'rebalance' or asked[j] == 'close'")
_AWAITS_POLL: Final = "asked[j] == 'rebalance' and handed_out"
_BEHIND: Final = f"any(asked[j] != 'nothing' and not ({_AWAITS_POLL}) for j in members if j != i)"


def commits_model(taken: Literal["asked", "sent"] = "asked") -> Model:
    """The model. `taken`: when what an automatic commit covers is taken, at the latest: see above."""
    code = MachineCode(tables()[MACHINE, "eager", "deployed"], words=_said, frozen=_FROZEN, index="i")
    return model_of(
        Scope("commits"),
        [code],
        _MONITOR_VARIABLES,
        (*_beginnings(code, taken), *_changes(code), *_answers(code)),
        faults=assertions("two_commits"),
        procedures=[_turns(code)],
        suffix="2",
        members=2,
        properties=claims(),
        doc=__doc__,
    )


def claims() -> tuple[ModelProperty, ...]:
    """What is claimed of two commits of one consumer."""
    automatic = {"automatic_i": AUTOMATIC.format("i"), "automatic_j": AUTOMATIC.format("j")}
    return tuple(claimed("two_commits", ({"n": n} for n in (1, 2)), **automatic))


def _said(_event: str, word: str) -> Block:
    """What is claimed of a word, and what it means to the other commit."""
    if word == "OffsetCommit":
        overtakes = f"{AUTOMATIC.format('i')} and not fixed[i] and dated[j] and {OF_APPLICATION.format('j')}"
        return (
            *claim(NEVER_REWINDS, f"not ({OF_APPLICATION.format('i')} and overtaken[i])"),
            *sets("request[i] = True"),
            *each("j", when(f"j != i and {overtakes}", sets("overtaken[j] = True"))),
        )
    in_order = "first == i or asked[i] == 'rebalance' or all(asked[j] == 'nothing' for j in members if j != i)"
    return (
        *(claim(DONE_IN_ORDER, in_order) if word == "COMMIT_DONE" else ()),
        *sets("asked[i] = 'nothing'; request[i] = False; dated[i] = False; overtaken[i] = False; fixed[i] = False"),
        *each("j", when("j != i", (Call(name_of(MACHINE, "earlier_commits_done"), ("j",)),))),
    )


def _turns(code: MachineCode) -> Procedure:
    turn = (code.call("turn_ended", {}),)
    in_order = each("i", when("first == i", turn)) + each("i", when("first != i", turn))
    return Procedure("turns_end", (), (), in_order, "the commit that goes first has its turn first")


def _of_both(name: str, guard: str, body: Block, kind: str, fair: Fairness = "") -> Action:
    return Action(name, (), conjunction(NO_FAULT, guard), (*body, Call("turns_end")), kind, fair)


def _of_one(name: str, guard: str, body: Block, kind: str, fair: Fairness = "") -> Action:
    return replace(_of_both(name, guard, body, kind, fair), parameters=(("i", "members"),))


def _all_hear(code: MachineCode, event: str, **inputs: str) -> Block:
    return each("i", (code.call(event, inputs),))


def _beginnings(code: MachineCode, taken: str) -> Iterator[Action]:
    """Who asks, and what it is to the other commit."""
    may = f"not {_WAITS}"
    member = "standing[i] == 'member'"
    begins = {
        "commit_sync_called": ("sync", may, "'something'"),
        "commit_sync_called_with_nothing": ("sync", may, "'nothing'"),
        "commit_async_called": ("async", may, "'something'"),
        "commit_async_called_with_nothing": ("async", may, "'nothing'"),
        "auto_commit_due": ("timed", conjunction(member, f"not {_any(AUTOMATIC.format('j'))}"), "'something'"),
        "rebalance_commit_due": ("rebalance", f"{member} and not {_LATER_ONES}",
                                 "'nothing' if handed_out else 'something'"),
        "close_commit_due": ("close", conjunction(member, may, _NO_REBALANCE), "'something'"),
    }  # fmt: skip
    fixes = when(f"j != i and {AUTOMATIC.format('j')} and not ({_AWAITS_POLL})", sets("fixed[j] = True"))
    goes_second = when(f"j != i and asked[j] != 'nothing' and not ({_AWAITS_POLL})", sets("first = j"))
    for name, (purpose, guard, covers) in begins.items():
        called = purpose in ("sync", "async")
        inputs = {"covers_now": covers, "behind_now": _BEHIND, "unprocessed_now": "handed_out"}
        body: Block = (
            code.call(name.removesuffix("_with_nothing"), inputs),
            *(each("j", fixes) if called and taken == "asked" else ()),
            *sets(f"first = i; asked[i] = '{purpose}'"),
            *each("j", goes_second),
        )
        yield _of_one(name, conjunction("asked[i] == 'nothing'", guard), body, "application" if called else "timer")


def _changes(code: MachineCode) -> Iterator[Action]:
    """What happens to both."""
    dates = each("i", when(f"handed_out and {OF_APPLICATION.format('i')}", sets("dated[i] = True")))
    polled = dates + _all_hear(code, "application_polled")
    for records in NO_YES:
        name = "poll_returns_records" if records else "poll_returns_nothing"
        guard = conjunction(f"not {_WAITS}", _NO_REBALANCE if records else "True")
        yield _of_both(name, guard, polled + sets(f"handed_out = {records}"), "application")
    for standing in _STANDINGS:
        inputs = {"standing_now": f"'{standing}'", "covers_now": "covers[i]", "same_identity": "True"}
        hear = _all_hear(code, "commit_standing_changed", **inputs)
        yield _of_both(f"becomes_{standing}", f"standing[1] != '{standing}'", hear, "message")
    found = sets("somebody = True") + _all_hear(code, "coordinator_found")
    yield _of_both("coordinator_found", "not somebody", found, "message", "weak")
    lost = sets("somebody = False") + each("i", sets("request[i] = False")) + _all_hear(code, "coordinator_lost")
    yield _of_both("coordinator_lost", "somebody", lost, "message")
    for event in ("discovery_retriable", "discovery_fatal"):
        yield _of_both(event, "not somebody", _all_hear(code, event, current="True"), "message")
    yield _of_both("rebalance_given_up", _REBALANCES, _all_hear(code, "rebalance_given_up"), "message")
    some = "not all(asked[j] == 'nothing' for j in members)"
    yield _of_both("stopped", some, _all_hear(code, "stopped"), "application")


def _answers(code: MachineCode) -> Iterator[Action]:
    """What happens to one of them."""
    for event in dict.fromkeys(COMMIT_ANSWERS.values()):
        body = (*sets("request[i] = False"), code.call(event, {"current": "True"}))
        yield _of_one(event, "request[i]", body, "message", "weak" if event == "commit_coordinator_gone" else "")
    backoff, deadline = "commit_backoff_elapsed", "commit_deadline_expired"
    yield _of_one(backoff, "commit_backs_off[i]", (code.call(backoff, {}),), "timer")
    persists = "asked[i] == 'sync' or asked[i] == 'rebalance' or asked[i] == 'close'"
    yield _of_one(deadline, persists, (code.call(deadline, {}),), "timer", "weak")
