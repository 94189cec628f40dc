"""Topics that come and go, groups of three, a close in the dark, and calls while a request is under way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final
from weakref import WeakSet

import pytest

from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.schedules.application import Application
from groupspec.conformance.schedules.campaign import play, search
from groupspec.conformance.schedules.further import draw
from groupspec.conformance.schedules.meanwhile import COMPARED, MEANWHILE
from groupspec.conformance.schedules.scenario import LATER, NEVER_MS, PATTERNS, TOPICS, UNTIL, Scenario
from groupspec.conformance.schedules.tests.heard import CALM
from groupspec.conformance.schedules.tests.searching import expect_found
from groupspec.impl.callbacks import Callbacks
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.assignors import Subscriber
from groupspec.impl.core.commits import Commits
from groupspec.impl.core.events import CompleteFuture, DescribeMember, GroupMetadata
from groupspec.impl.core.leading import Leading
from groupspec.impl.core.leaving import Leaving
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.messages import JoinedMember, TopicPartition
from groupspec.impl.core.metadata import Metadata
from groupspec.impl.core.parts import Parts
from groupspec.impl.scheduling import run
from groupspec.impl.scheduling.strategies import RandomWalk
from groupspec.impl.threads.designs import DESIGNS, Design

WITHIN = 300
"""Schedules of scenarios that can show it."""


def _only_once(listed: Callable[..., None], self: Membership, names: Iterable[str]) -> None:
    if not self._subscription.is_resolved():
        listed(self, names)


def _asks_for_all(polled: Callable[[Metadata], None], self: Metadata) -> None:
    polled(self)
    self._wants_all = True


def _waits_for_nobody(send: Callable[..., object], self: Leaving, reason: str) -> object:
    """A LeaveGroup that cannot be sent is waited for."""
    return send(self, reason) or (object() if self._closing else None)


def _forgets_in_a_crowd(as_member: Callable[..., Subscriber], self: Leading, joined: JoinedMember) -> Subscriber:
    known = as_member(self, joined)
    if len(self._members) < 3:
        return known
    return Subscriber(known.member_id, known.topics, group_instance_id=known.group_instance_id)


def _silently(
    run: Callable[..., None], self: Callbacks, told: Callable[[list[TopicPartition]], None], partitions: object
) -> None:
    """What a callback raises that is told what is lost, nobody hears of."""
    before = len(self._errors)
    run(self, told, partitions)
    if told.__name__ == "on_partitions_lost":
        while len(self._errors) > before:
            self._errors.pop()


_NOBODIES: WeakSet[Parts] = WeakSet()


def _stays_nobody(describe: Callable[..., None], self: Parts, event: DescribeMember) -> None:
    """Whoever asks before it has joined is told so ever after."""
    if self.context.identity.is_member and self not in _NOBODIES:
        describe(self, event)
    else:
        _NOBODIES.add(self)
        self.context.emit(CompleteFuture(event.future_id, GroupMetadata("", -1, "", None)))


BROKEN: dict[str, tuple[Callable[[Seam], Any], Callable[[Scenario], bool], str]] = {
    "topics that come later": (
        lambda seam: seam.replace(Membership.topics_listed, _only_once),
        lambda drawn: bool(drawn.pattern and drawn.topic_changes),
        r"subscription\(\) says",
    ),
    "topics that nobody wants": (
        lambda seam: seam.replace(Metadata.polled, _asks_for_all),
        lambda drawn: not drawn.pattern,
        "which nobody wants",
    ),
    "a farewell to nobody": (
        lambda seam: seam.replace(Leaving.send_leave_group, _waits_for_nobody),
        lambda drawn: "FindCoordinator" in drawn.answers and bool(drawn.at_close or drawn.ends_early),
        r"close\(\) goes on",
    ),
    "the last commit, after a fault": (
        lambda seam: seam.replace(Commits.commit_before_close, lambda *_: None),
        lambda drawn: drawn.has_faults and drawn.auto_commit,
        "rule L5",
    ),
    "the farewell, after a fault": (
        lambda seam: seam.replace(Leaving.send_leave_group, lambda *_: None),
        lambda drawn: drawn.has_faults and not drawn.static,
        "out of the group",
    ),
    "what it has given before a third one came": (
        lambda seam: seam.replace(Leading._as_member, _forgets_in_a_crowd),
        lambda drawn: drawn.third_ms[0] < NEVER_MS and drawn.assignors[0] == "sticky",
        "rule K3",
    ),
    "an error of the callback for what is lost": (
        lambda seam: seam.replace(Callbacks._run, _silently),
        lambda drawn: "raise" in drawn.callbacks[1:] and "UNKNOWN_MEMBER_ID" in drawn.answers["Heartbeat"],
        "a callback's error is lost",
    ),
    "who it was when it was first asked": (
        lambda seam: seam.replace(Parts.describe_member, _stays_nobody),
        lambda drawn: [*drawn.calls, *drawn.last_calls].count("group_metadata") > 1,
        "rule C6",
    ),
}
"""What is broken -> how, which scenarios can show it, and what is told then."""


@pytest.mark.parametrize("broken", BROKEN)
def test_what_came_later_finds_what_it_is_there_for(broken: str) -> None:
    expect_found(*BROKEN[broken], WITHIN)


FREQUENT: dict[str, tuple[str, tuple[str, ...]]] = {
    "a seek while logs are compared": (COMPARED, ("seek",)),
    "a commit while logs are compared": (COMPARED, ("commit",)),
    "a commit while another one is under way": ("OffsetCommit", ("commit",)),
    "other topics in a round": ("JoinGroup", ("other topics", "unsubscribe")),
}
"""Situations: the request that is under way, and the calls that are made then."""

ONE_IN: Final = 200


@pytest.mark.exhaustive
@pytest.mark.parametrize("design", DESIGNS)
def test_calls_come_while_requests_are_under_way_and_not_seldom(design: Design) -> None:
    """Counted in the runs, not in the draws: whether it comes to that is decided there."""
    schedules, found = 1_000, Counter[str]()

    def counted(
        call: Callable[..., None], self: Application, consumer: object, name: str, *given: object, **named: object
    ) -> None:
        for what, (api, calls) in FREQUENT.items():
            if name.startswith(calls) and self._requests.is_under_way(api):
                found[what] += 1
        call(self, consumer, name, *given, **named)

    with Seam() as seam:
        seam.replace(Application._call, counted)
        assert search(schedules, seed=1, design=design) is None
    assert all(found[what] >= schedules / ONE_IN for what in FREQUENT), found


def test_what_came_later_is_drawn() -> None:
    drawn = [draw(number) for number in range(1, 500)]
    assert {one.pattern for one in drawn if one.pattern} == set(PATTERNS)
    assert {topic for one in drawn for _, topic, _ in one.topic_changes} == {LATER, *TOPICS}
    assert any(one.at_close and not one.has_faults for one in drawn)
    assert {call.removeprefix(UNTIL) for one in drawn for call in one.calls if UNTIL in call} == set(MEANWHILE)


def test_T4_who_waits_for_a_call_that_never_comes_wakes_the_consumer_at_the_end() -> None:
    """Schedule 624860: a thread that had not begun was taken for one that has called wakeup()."""
    woken: list[Consumer] = []

    def counted(wakeup: Callable[[Consumer], None], self: Consumer) -> None:
        woken.append(self)
        wakeup(self)

    scenario = replace(CALM, others=(("wakeup", len(CALM.calls) + 9),), others_wait_ms=0)
    with Seam() as seam:
        seam.replace(Consumer.wakeup, counted)
        assert run(play(scenario, "background"), RandomWalk(1)).error is None
    assert len(woken) == 1
