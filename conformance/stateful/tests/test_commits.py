"""The reference's commits follow the commit machine: every transition of it fires, and both sides agree on the way."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from groupspec.conformance.stateful.lockstep import Divergence
from groupspec.conformance.stateful.routes import member_of
from groupspec.conformance.stateful.tests.commits import CommitAdapter, CommitLockstep
from groupspec.impl.core.commits import Commits, Operation
from groupspec.impl.core.errors import KafkaError
from groupspec.impl.core.messages import ErrorCode
from groupspec.spec.commit import COMMIT_ANSWERS
from groupspec.spec.compiler.member import IllegalEvent, Offer
from groupspec.spec.terms import Value

WALKS, STEPS = 420, 8
CALLED = ("commit_sync_called", "commit_async_called")
ANSWERS = tuple(dict.fromkeys(COMMIT_ANSWERS.values()))
AUTOMATIC = ("auto_commit_due", "rebalance_commit_due", "close_commit_due")


def offers(rebalance: str) -> dict[str, list[Offer]]:
    """Every event, with every value of its inputs; late answers are the member's suite's."""
    found: dict[str, list[Offer]] = {}
    for event, inputs in member_of("commit", rebalance).offers:
        if inputs.get("current", True):
            found.setdefault(event, []).append(Offer(event, tuple(inputs.items())))
    return found


def walk(rebalance: str, number: int, known: dict[str, list[Offer]]) -> CommitLockstep:
    """One run: most begin as a member that has just asked for a commit; then whatever can happen."""
    choices = random.Random(number)
    automatic = number % 2 == 1
    member = member_of("commit", rebalance)
    start = member.initial(auto_commit=automatic, static=number // 2 % 2 == 1)
    run = CommitLockstep(member, start, CommitAdapter(member, start))
    if number % 5:
        run.offer(_offer("coordinator_found"))
        run.offer(_offer("commit_standing_changed", standing_now="member", covers_now="something", same_identity=False))
        begin = choices.choice(AUTOMATIC if automatic else CALLED)
        more: dict[str, Value] = {"unprocessed_now": False} if begin == "rebalance_commit_due" else {}
        run.offer(_offer(begin, covers_now="something", behind_now=False, **more))
        if number % 5 in (2, 3):
            standing = "in_round" if number % 5 == 2 and not automatic else choices.choice(("outside", "member"))
            run.offer(
                _offer("commit_standing_changed", standing_now=standing, covers_now="something", same_identity=False)
            )
            run.offer(_offer(choices.choice(ANSWERS), current=True), choices.randrange(8))
        elif number % 5 == 4:
            event = choices.choice((*ANSWERS, *ANSWERS, "coordinator_lost", "rebalance_given_up", "stopped"))
            run.offer(choices.choice(known[event]), choices.randrange(8))
    events = list(known)
    for _ in range(STEPS):
        choices.shuffle(events)
        for event in events:
            if run.offer(choices.choice(known[event]), choices.randrange(8)):
                break
    return run


def _offer(event: str, **inputs: Value) -> Offer:
    return Offer(event, tuple(inputs.items()))


@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
def test_M1_M7_every_transition_of_a_commit_fires_and_the_core_agrees(rebalance: str) -> None:
    fired: Counter[str] = Counter()
    known = offers(rebalance)
    for number in range(WALKS):
        fired.update(row for _, row in walk(rebalance, number, known).fired())
    rows = member_of("commit", rebalance).tables["commit"].rows
    assert sorted({row.id for row in rows if row.kind == "transition"} - set(fired)) == []


def _noticed(rebalance: str = "eager") -> bool:
    known = offers(rebalance)
    try:
        for number in range(WALKS):
            walk(rebalance, number, known)
    except (Divergence, IllegalEvent, AssertionError, KeyError):  # or the group does not get anywhere
        return True
    return False


Broken = Callable[..., object]


def _last_first(self: Commits) -> Operation | None:
    idle = all(operation.sent is None for operation in self._queue)
    return self._queue[-1] if self._queue and idle else None


def _never_again(self: Commits, operation: Operation, code: ErrorCode) -> None:
    self._finish(operation, KafkaError(code.name))


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        pytest.param("_next", _last_first, id="M6-the last call goes first"),
        pytest.param("_may_send", lambda self: self._connection.is_known, id="D3-no backoff"),
        pytest.param("_is_standalone", lambda self: True, id="M1-as nobody"),
        pytest.param("_is_standalone", lambda self: False, id="M1-D8-as a member that it is not"),
        pytest.param("_standing", lambda self: (False, 0), id="M1-as nobody, or in another membership"),
        pytest.param("_try_again_or_fail", _never_again, id="M3-not tried again"),
        pytest.param("_awaits_poll", lambda self, operation: False, id="M4-records that nobody has processed"),
        pytest.param("membership_lost", lambda self: None, id="C2-what is lost is committed"),
        pytest.param("deadline_over", lambda self: None, id="M3-L2-no deadline"),
        pytest.param("_refusal", lambda self, operation, offsets: None, id="M7-in a round, no member"),
        pytest.param("commit_before_close", lambda self, deadline_ms: None, id="L5-no last commit"),
        pytest.param("interval_over", lambda self: None, id="M5-no interval"),
        pytest.param("rebalance_abandoned", lambda self: None, id="L2-a commit for a rebalance that is given up"),
    ],
)
def test_a_broken_queue_of_commits_is_noticed(monkeypatch: pytest.MonkeyPatch, name: str, broken: Broken) -> None:
    monkeypatch.setattr(Commits, name, broken)
    assert _noticed()
