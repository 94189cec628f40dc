"""Each rule's checker, from both sides: runs that keep it, and the same runs spoiled in one way that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from msgspec import structs

from groupspec.conformance.checks import CHECKERS, judge
from groupspec.conformance.checks.heartbeats import heartbeats_are_regular
from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.history.harness_protocol import CALLBACKS, FEATURES
from groupspec.conformance.history.history import History, once
from groupspec.conformance.wire.tests import (
    stories,
    stories_of_applications,
    stories_of_latecomers,
    stories_of_leaders,
    stories_of_positions,
    stories_of_quotas,
    stories_of_reactions,
    stories_of_rounds,
    stories_of_topics,
)
from groupspec.conformance.wire.tests.stories import BOTH, ME, WireRun, waited
from groupspec.conformance.wire.tests.stories_of_applications import done
from groupspec.impl.core.messages import (
    JoinGroupRequest,
    JoinGroupResponse,
    ListOffsetsRequest,
    SyncGroupRequest,
    TopicPartition,
)

GOOD = (
    stories.eager_rebalance,
    stories.cooperative_rebalance,
    stories.expulsion,
    stories.moved_coordinator,
    stories.expiry,
    stories.held_heartbeat_at_close,
)
BROKEN = (Verdict.FAIL, Verdict.DEVIATION)
Spoil = Callable[[WireRun], None]


def both(*spoils: Spoil) -> Spoil:
    """Several ways to spoil a run, one after the other."""

    def spoil(story: WireRun) -> None:
        for each in spoils:
            each(story)

    return spoil


def without(story: WireRun, test: Callable[[Entry], bool]) -> None:
    """Takes entries out."""
    story.entries = [entry for entry in story.entries if not test(entry)]


def drop(api: str, from_ms: float = 0, to_ms: float = 1e9) -> Spoil:
    """Takes the exchanges of an API out."""
    return lambda story: without(story, lambda e: e.api == api and from_ms * 1000 <= e.at_us <= to_ms * 1000)


def drop_event(name: str, from_ms: float = 0) -> Spoil:
    """Takes a callback out, its end too."""

    def spoil(story: WireRun) -> None:
        without(
            story, lambda e: e.at_us >= from_ms * 1000 and (e.kind == name or getattr(e.event, "callback", "") == name)
        )

    return spoil


def rename(before: str, after: type[protocol.PartitionsRevoked]) -> Spoil:
    """Calls another callback instead."""

    def renamed(entry: Entry) -> Entry:
        if isinstance(entry.event, protocol.CallbackReturned) and entry.event.callback == before:
            return replace(entry, event=protocol.CallbackReturned(callback="partitions_revoked"))
        if entry.kind != before:
            return entry
        partitions = getattr(entry.event, "partitions", [])
        return replace(entry, kind="partitions_revoked", event=after(partitions=partitions))

    def spoil(story: WireRun) -> None:
        story.entries = [renamed(entry) for entry in story.entries]

    return spoil


def elsewhere(entry: Entry) -> Entry:
    """A callback that runs on another thread."""
    if isinstance(entry.event, protocol.PartitionsAssigned):
        return replace(
            entry, event=protocol.PartitionsAssigned(partitions=entry.event.partitions, application_thread=False)
        )
    return entry


def on_another_thread(story: WireRun) -> None:
    story.entries = [elsewhere(entry) for entry in story.entries]


def not_owned_any_more(story: WireRun) -> None:
    story.callback(700, protocol.PartitionsRevoked, BOTH[1:], owned=BOTH[:1])


def forgotten(story: WireRun) -> None:
    """REBALANCE_IN_PROGRESS, and no JoinGroup until a lookup is answered, which fails at first."""
    story.lookup(620, error="COORDINATOR_NOT_AVAILABLE")
    without(story, lambda e: 640_000 < e.at_us < 1_100_000)
    story.lookup(1_200)
    story.join(1_210, 2)
    story.sync(1_220, 2)


def cut_off(story: WireRun, api: str) -> None:
    """The blob in these requests loses its end."""

    def shorter(entry: Entry) -> Entry:
        message = entry.message
        if isinstance(message, JoinGroupRequest):
            protocols = tuple((name, data[:-4]) for name, data in message.protocols)
            return replace(entry, message=structs.replace(message, protocols=protocols))
        if isinstance(message, SyncGroupRequest):
            shares = tuple((member, data[:-4]) for member, data in message.assignments)
            return replace(entry, message=structs.replace(message, assignments=shares))
        return entry

    story.entries = [shorter(entry) if entry.api == api else entry for entry in story.entries]


def spin(story: WireRun) -> None:
    for number in range(60):
        story.heartbeat(1_200 + number, 2, ms=0.5)


def commit_at_each_poll(story: WireRun) -> None:
    for number in range(4):
        story.commit(636 + number, 1, {BOTH[0]: 6}, ms=0.5)


def late_for_its_generation(story: WireRun) -> None:
    """A heartbeat of generation 1 waits behind JoinGroup on the connection."""
    story.heartbeat(700, 1, "ILLEGAL_GENERATION", ms=252)
    if story.settings.rebalance == "cooperative":
        story.fetch(1_000, {BOTH[0]: 6})


def late_answer(story: WireRun) -> None:
    """UNKNOWN_MEMBER_ID comes when the coordinator has been looked up again."""
    both(drop("Heartbeat"), drop("JoinGroup", 600), drop("SyncGroup", 600), drop_event("partitions_lost"))(story)
    story.heartbeat(1_200, 1, "UNKNOWN_MEMBER_ID", ms=20)
    story.lookup(1_205)


def commit_behind_a_silent_coordinator(story: WireRun, join_ms: float) -> None:
    """After the revocation a commit is not answered for long; it succeeds on another connection, and then it joins."""
    waited(drop("JoinGroup", 970))(story)
    drop("SyncGroup", 970)(story)
    drop("Heartbeat", 970)(story)
    story.commit(1_000, 2, {BOTH[0]: 6})
    without(story, lambda e: e.kind == "response" and e.at_us == 1_001_000)
    story.reconnect()
    story.lookup(2_800)
    story.commit(2_810, 2, {BOTH[0]: 6})
    story.join(join_ms, 3, owned=BOTH[:1])
    story.sync(join_ms + 5, 3, BOTH[:1])


def with_policy(policy: str) -> Spoil:
    """Another auto.offset.reset."""

    def spoil(story: WireRun) -> None:
        story.settings = replace(story.settings, auto_offset_reset=policy)

    return spoil


def asks_for_the_end(story: WireRun) -> None:
    """ListOffsets asks for the latest offset instead of the earliest."""
    asked = [(place, e.message) for place, e in enumerate(story.entries) if isinstance(e.message, ListOffsetsRequest)]
    for place, request in asked:
        ends = dict.fromkeys(request.timestamps, -1)
        story.entries[place] = replace(story.entries[place], message=structs.replace(request, timestamps=ends))


def stands(story: WireRun) -> None:
    """Each JoinGroup says so, and the SyncGroups have no shares."""
    for place, entry in enumerate(story.entries):
        if isinstance(entry.message, JoinGroupResponse):
            story.entries[place] = replace(entry, message=structs.replace(entry.message, skip_assignment=True))
        elif isinstance(entry.message, SyncGroupRequest):
            story.entries[place] = replace(entry, message=structs.replace(entry.message, assignments=()))


def subscribes_by_pattern(story: WireRun) -> None:
    """After the subscription by name, before the second assignment."""
    done(story, 1, protocol.Subscribe(topics=["orders"]))
    done(story, 600, protocol.Subscribe(topics=[], pattern="ord"))


def subscribes_again(story: WireRun) -> None:
    """To other topics, and back before the second assignment."""
    done(story, 1, protocol.Subscribe(topics=["orders"]))
    done(story, 580, protocol.Subscribe(topics=["payments"]))
    done(story, 600, protocol.Subscribe(topics=["orders"]))


def rename_call(story: WireRun, call: str, other: str) -> None:
    """It is another call that raised."""
    for place, entry in enumerate(story.entries):
        if isinstance(entry.event, protocol.ErrorRaised) and entry.event.call == call:
            story.entries[place] = replace(entry, event=structs.replace(entry.event, call=other))


SPOILED: tuple[tuple[str, str, Callable[[], WireRun], Spoil], ...] = (
    *stories_of_leaders.ROWS,
    *stories_of_applications.ROWS,
    *stories_of_quotas.ROWS,
    *stories_of_latecomers.ROWS,
    *stories_of_reactions.ROWS,
    *stories_of_topics.ROWS,
    *stories_of_positions.ROWS,
    ("D1", "no lookup after NOT_COORDINATOR", stories.moved_coordinator, waited(drop("FindCoordinator", 600))),
    ("D1", "no lookup but one that was over before NOT_COORDINATOR", stories.moved_coordinator,
     waited(both(drop("FindCoordinator", 600), lambda s: s.lookup(602, ms=5)))),
    ("D1", "no JoinGroup while lookups fail", stories.eager_rebalance, waited(forgotten)),
    ("D1", "the coordinator is left, and looked up because of that", stories.eager_rebalance,
     waited(both(lambda s: s.entries.append(Entry(610_000, "wire", "disconnect", node=1, connection=1)), forgotten))),
    ("D2", "three lookups at a time", stories.eager_rebalance, both(lambda s: s.lookup(1.4), lambda s: s.lookup(1.5))),
    ("D2", "no second lookup", stories.moved_coordinator, waited(drop("FindCoordinator", 700))),
    ("D3", "no backoff between lookups", stories.moved_coordinator, lambda s: s.lookup(620, node=2)),
    ("D4", "a request to another node", stories.eager_rebalance, lambda s: s.heartbeat(1_200, 2, node=2)),
    ("D4", "a request before the lookup", stories.eager_rebalance, drop("FindCoordinator")),
    ("D4", "a request while the coordinator is unknown", stories.moved_coordinator, lambda s: s.heartbeat(700, 1)),
    ("D4", "a request soon after the lookup that shows that it is unknown", stories.moved_coordinator,
     lambda s: s.heartbeat(640, 1)),
    ("D4", "the old node after the new one was spoken to", stories.moved_coordinator, lambda s: s.heartbeat(750, 1)),
    ("J1", "two JoinGroups at a time", stories.eager_rebalance, lambda s: s.join(700, 2)),
    ("J2", "no JoinGroup after the announcement", stories.eager_rebalance, waited(drop("JoinGroup", 600))),
    ("J2", "no SyncGroup after the JoinGroup", stories.eager_rebalance, waited(drop("SyncGroup", 600))),
    ("J3", "the given id is not used", stories.eager_rebalance, lambda s: s.join(7, -1, member_id="")),
    ("J3", "a pause before the second JoinGroup", WireRun,
     both(lambda s: s.join(5, -1, error="MEMBER_ID_REQUIRED"), lambda s: s.join(110, 1))),
    ("J4", "the id is dropped after the announcement", stories.eager_rebalance, lambda s: s.join(645, 2, member_id="")),
    ("J4", "the id is kept after UNKNOWN_MEMBER_ID", stories.expulsion, lambda s: s.join(625, 2)),
    ("J4", "the id is kept after UNKNOWN_MEMBER_ID, and a heartbeat without any is refused, too", stories.expulsion,
     both(lambda s: s.heartbeat(612, -1, "UNKNOWN_MEMBER_ID", member_id=""), lambda s: s.join(625, 2))),
    ("J4", "another id at the new coordinator", stories.moved_coordinator,
     lambda s: s.heartbeat(725, 1, member_id="x", node=2)),
    ("J7", "JoinGroup before the first poll", stories.eager_rebalance,
     lambda s: without(s, lambda e: e.kind == "poll_started" and e.at_us < 100_000)),
    ("J10", "a subscription without its owned partitions", stories.eager_rebalance, lambda s: cut_off(s, "JoinGroup")),
    ("J10", "an assignment without its partitions", stories.eager_rebalance, lambda s: cut_off(s, "SyncGroup")),
    ("W1", "a frame of an API that is not served", stories.eager_rebalance,
     lambda s: s.entries.append(Entry(700_000, "wire", "garbage", "Produce version 99 is not served"))),
    ("S1", "a Fetch during the round", stories.eager_rebalance, lambda s: s.fetch(800, {BOTH[0]: 6})),
    ("S1", "records during the round", stories.eager_rebalance, lambda s: s.records(800, BOTH[0], 6, 6)),
    ("S2", "a member is left out", WireRun,
     both(lambda s: s.join(5, 1, members=(ME, "other")), lambda s: s.sync(10, 1))),
    ("S2", "a member is left out by who has left a round and joined anew", WireRun,
     lambda s: stories_of_rounds.leaves_a_round(s, (stories_of_rounds.ANEW, "other"))),
    ("S3", "the assignment is not handed over", stories.eager_rebalance, drop_event("partitions_assigned", 900)),
    ("H1", "silence while SyncGroup is unanswered", WireRun,
     both(lambda s: s.join(5, 1), lambda s: s.sync(10, 1, ms=700))),
    ("H1", "silence during a callback", stories.eager_rebalance,
     both(drop("Heartbeat", 1_040), lambda s: s.callback(1_040, protocol.PartitionsAssigned, (), ms=500))),
    ("H2", "silence in a stable time that is short", stories.eager_rebalance, drop("Heartbeat", 100, 520)),
    ("H2", "a pause in a stable time", stories.eager_rebalance, drop("Heartbeat", 1_200, 1_700)),
    ("H2", "a pause after a connection without group requests has ended", stories.eager_rebalance,
     both(drop("Heartbeat", 1_200, 1_700), lambda s: s.entries.append(Entry(1_190_000, "wire", "disconnect", node=1)))),
    ("H2", "a pause after a heartbeat whose answer waited behind that to SyncGroup", WireRun,
     both(lambda s: s.join(5, 1), lambda s: s.sync(10, 1, ms=700),
          lambda s: s.heartbeat(110, 1, ms=605), lambda s: s.polls(0, 2_000))),
    ("H2", "a spin", stories.eager_rebalance, spin),
    ("H3", "a heartbeat while JoinGroup is unanswered", stories.eager_rebalance, lambda s: s.heartbeat(800, 1)),
    ("H3", "none after the round", stories.eager_rebalance, drop("Heartbeat", 1_000)),
    ("H3", "one after UNKNOWN_MEMBER_ID", stories.expulsion,
     both(drop("JoinGroup", 620), lambda s: s.heartbeat(710, 1))),
    ("H3", "one after ILLEGAL_GENERATION", stories.eager_rebalance,
     lambda s: s.heartbeat(1_200, 2, "ILLEGAL_GENERATION")),
    ("H3", "one after LeaveGroup", stories.eager_rebalance, lambda s: s.heartbeat(2_100, 2)),
    ("H3", "one soon after lost was said", stories.expulsion,
     both(drop("JoinGroup", 625), lambda s: s.heartbeat(640, 1))),
    ("H3", "one behind the JoinGroup of the new member", stories.expulsion, lambda s: s.heartbeat(632, 1)),
    ("H3", "one on the connection over which UNKNOWN_MEMBER_ID came, before a lookup", stories.expulsion,
     both(late_answer, lambda s: s.heartbeat(1_400, 1, "UNKNOWN_MEMBER_ID"), lambda s: s.join(1_410, 2))),
    ("H4", "no JoinGroup after the announcement", stories.eager_rebalance, waited(drop("JoinGroup", 600))),
    ("H4", "a JoinGroup when the group has gone on", stories.eager_rebalance,
     lambda s: s.heartbeat(646, 1, "UNKNOWN_MEMBER_ID")),
    ("H4", "and its commit is told so, too late", stories.eager_rebalance,
     both(lambda s: s.heartbeat(646, 1, "UNKNOWN_MEMBER_ID"),
          lambda s: s.commit(648, 1, {BOTH[0]: 6}, error="UNKNOWN_MEMBER_ID"))),
    ("H4", "no lookup after NOT_COORDINATOR", stories.moved_coordinator, waited(drop("FindCoordinator", 600))),
    ("H4", "no Heartbeat after an error that ends nothing", stories.eager_rebalance,
     waited(both(lambda s: s.heartbeat(1_055, 2, "GROUP_AUTHORIZATION_FAILED"), drop("Heartbeat", 1_060)))),
    ("H4", "the application is not told that it is fenced", stories.eager_rebalance,
     waited(lambda s: s.heartbeat(1_090, 2, "FENCED_INSTANCE_ID"))),
    ("H7", "an unanswered one is repeated at once", stories.held_heartbeat_at_close, lambda s: s.heartbeat(640, 1)),
    ("H7", "a late one is repeated again and again", stories.held_heartbeat_at_close,
     both(drop("Heartbeat", 500, 600), lambda s: s.heartbeat(640, 1, ms=400), lambda s: s.heartbeat(645, 1))),
    ("H7", "one that was late by many intervals is followed by one for each", stories.held_heartbeat_at_close,
     both(drop("Heartbeat", 150, 600), *(lambda s, at=at: s.heartbeat(at, 1, ms=400) for at in (640, 643, 646, 649)))),
    ("P1", "no LeaveGroup", stories.expiry, drop("LeaveGroup")),
    ("P1", "two LeaveGroups", stories.expiry, lambda s: s.leave(2_900)),
    ("P1", "heartbeats go on", stories.expiry, lambda s: s.heartbeat(2_900, 1)),
    ("P2", "LeaveGroup in a long poll", stories.expiry, lambda s: s.leave(1_400)),
    ("P2", "LeaveGroup soon after a poll", stories.expiry, lambda s: s.leave(2_000)),
    ("P3", "revoked instead of lost", stories.expiry, rename("partitions_lost", protocol.PartitionsRevoked)),
    ("P3", "no callback", stories.expiry, drop_event("partitions_lost")),
    ("P3", "rejoined with the old id", stories.expiry, lambda s: s.join(3_505, 2)),
    ("P4", "a poll that waits for the round", stories.eager_rebalance,
     both(lambda s: without(s, lambda e: e.kind.startswith("poll_")), lambda s: s.poll(0, 40),
          lambda s: s.poll(640, 800))),
    ("P4", "a first poll that hangs", stories.eager_rebalance,
     both(lambda s: without(s, lambda e: e.kind.startswith("poll_")), lambda s: s.poll(0, 2_500))),
    ("C1", "assigned twice", stories.eager_rebalance, drop_event("partitions_revoked")),
    ("C1", "revoked twice", stories.eager_rebalance, lambda s: s.callback(646, protocol.PartitionsRevoked)),
    ("C2", "revoked instead of lost", stories.expulsion, rename("partitions_lost", protocol.PartitionsRevoked)),
    ("C2", "at once a commit as nobody's member", stories.expulsion,
     lambda s: s.commit(612, -1, {BOTH[0]: 6}, member_id="")),
    ("C2", "a commit for lost partitions", stories.expiry, lambda s: s.commit(3_000, 1, {BOTH[0]: 6})),
    ("C3", "JoinGroup before revoked has returned", stories.eager_rebalance, lambda s: s.join(641, 2)),
    ("C3", "JoinGroup before revoked", stories.eager_rebalance, lambda s: s.join(620, 2)),
    ("C3", "revoked when it is no longer owned", stories.cooperative_rebalance, not_owned_any_more),
    ("C3", "records before assigned has returned", stories.eager_rebalance, lambda s: s.records(962, BOTH[0], 6, 6)),
    ("C5", "on another thread", stories.eager_rebalance, on_another_thread),
    ("C7", "no callback at close", stories.eager_rebalance, drop_event("partitions_revoked", 2_000)),
    ("C7", "the callback after LeaveGroup", stories.eager_rebalance, lambda s: s.leave(2_000.6)),
    ("M1", "another generation", stories.eager_rebalance, lambda s: s.commit(1_500, 1, {BOTH[0]: 6})),
    ("M1", "another member id", stories.eager_rebalance, lambda s: s.commit(1_500, 2, {BOTH[0]: 6}, member_id="x")),
    ("M3", "a commit at each poll", stories.eager_rebalance, commit_at_each_poll),
    ("M3", "no JoinGroup after the commit", stories.eager_rebalance, waited(drop("JoinGroup", 600))),
    ("M4", "records that were not returned", stories.eager_rebalance, lambda s: s.commit(1_500, 2, {BOTH[0]: 9})),
    ("M5", "the same commit twice", stories.eager_rebalance, lambda s: s.commit(620, 1, {BOTH[0]: 6})),
    ("M7", "a partition that is not held", stories.cooperative_rebalance, lambda s: s.commit(1_500, 3, {BOTH[1]: 6})),
    ("M7", "between JoinGroup and SyncGroup", stories.eager_rebalance, lambda s: s.commit(800, 1, {BOTH[0]: 6})),
    ("M7", "in mid-round, though the application asks for it", stories.eager_rebalance,
     both(lambda s: s.commit(800, 1, {BOTH[0]: 6}), lambda s: s.event(805, protocol.OffsetsCommitted(success=True)))),
    ("C2", "a commit after a heartbeat of the present generation was refused", stories.eager_rebalance,
     both(lambda s: s.heartbeat(1_400, 2, "ILLEGAL_GENERATION"), lambda s: s.commit(1_500, 2, {BOTH[0]: 6}))),
    ("O1", "another offset than the committed one", stories.eager_rebalance, lambda s: s.fetch(22, {BOTH[0]: 0})),
    ("O1", "the committed offset is not asked for", stories.eager_rebalance, drop("OffsetFetch", 0, 500)),
    ("O1", "a Fetch that was still out brings what lies behind it", stories.eager_rebalance,
     both(drop("Fetch", 600), lambda s: s.records(980, BOTH[0], 8, 9), lambda s: s.fetch(985, {BOTH[0]: 10}))),
    ("O1", "only a part of what the next Fetch leaves out is returned", stories.eager_rebalance,
     both(drop("Fetch", 600), lambda s: s.fetch(980, {BOTH[0]: 10}), lambda s: s.records(985, BOTH[0], 6, 7))),
    ("O2", "looked up again", stories.cooperative_rebalance, lambda s: s.committed(1_000, {BOTH[0]: 6})),
    ("O2", "returned again", stories.cooperative_rebalance, lambda s: s.records(1_200, BOTH[0], 6, 7)),
    ("O2", "returned again after two rounds in which nothing was", stories.cooperative_rebalance,
     both(drop_event("records_consumed", 1_000), lambda s: s.records(1_200, BOTH[0], 3, 4))),
    ("O2", "looked up again after a further round", stories.cooperative_rebalance,
     both(stories_of_rounds.left_by_a_further_round, lambda s: s.committed(1_585, {BOTH[0]: 8}))),
    ("O2", "returned again after a further round", stories.cooperative_rebalance,
     both(stories_of_rounds.left_by_a_further_round, lambda s: s.records(1_600, BOTH[0], 6, 7))),
    ("O3", "records of what was revoked", stories.cooperative_rebalance, lambda s: s.records(1_200, BOTH[1], 6, 6)),
    ("O6", "the earliest offset is not asked for", stories.eager_rebalance, drop("ListOffsets")),
    ("O6", "another offset than the earliest", stories.eager_rebalance, lambda s: s.fetch(24, {BOTH[1]: 2})),
    ("T4", "a wakeup comes out of a call that does not block", stories_of_latecomers.woken_in_a_commit,
     lambda s: rename_call(s, "commit", "seek")),
    ("O6", "the earliest, where the policy is the latest", stories.eager_rebalance, with_policy("latest")),
    ("L1", "no LeaveGroup", stories.eager_rebalance, drop("LeaveGroup")),
    ("L1", "two LeaveGroups", stories.eager_rebalance, lambda s: s.leave(2_018)),
    ("L2", "close() never returns", stories.eager_rebalance,
     lambda s: without(s, lambda e: e.kind == "shutdown_complete")),
    ("L2", "close() takes too long", WireRun, lambda s: s.close(0, 7_000)),
    ("L2", "close() takes too long, with a short callback in it", WireRun,
     both(lambda s: s.callback(10, protocol.PartitionsRevoked, ms=20), lambda s: s.close(0, 6_010))),
    ("L2", "close() takes too long after a callback that outlasts it", WireRun,
     both(lambda s: s.callback(10, protocol.PartitionsRevoked, ms=6_500), lambda s: s.close(0, 7_100))),
    ("L3", "a JoinGroup after LeaveGroup", stories.held_heartbeat_at_close, lambda s: s.join(1_100, 2)),
    ("L5", "no commit at close", WireRun,
     both(stories.first_round, lambda s: s.close(100, 50), lambda s: s.leave(120))),
    ("K1", "owned is left out", stories.cooperative_rebalance, lambda s: s.join(640, 2)),
    ("O1", "an old position, in the round after one in which nothing was read", stories.eager_rebalance,
     lambda s: read_in_the_next_round(s, 6)),
    ("K1", "what a callback has given up", stories.cooperative_rebalance,
     lambda s: s.callback(300, protocol.PartitionsRevoked, BOTH[1:])),
    ("K2", "no JoinGroup after the revocation", stories.cooperative_rebalance, waited(drop("JoinGroup", 970))),
    ("K2", "the commit before it was answered long ago", stories.cooperative_rebalance,
     lambda s: commit_behind_a_silent_coordinator(s, 4_000)),
    ("K2", "one round too many", stories.cooperative_rebalance, lambda s: s.join(1_500, 4, owned=BOTH[:1])),
    ("K2", "three rounds that nothing asked for", stories.cooperative_rebalance, stories_of_rounds.further_rounds(3)),
    ("K4", "a cooperative member revokes what it keeps", stories.cooperative_rebalance,
     lambda s: s.callback(640, protocol.PartitionsRevoked)),
    ("K4", "an eager member claims what it gave up", stories.eager_rebalance,
     both(drop("JoinGroup", 640, 700), lambda s: s.join(650, 2, ms=300, owned=BOTH))),
    ("K4", "an eager member keeps something", stories.eager_rebalance,
     both(drop_event("partitions_revoked"), lambda s: s.callback(640, protocol.PartitionsRevoked, BOTH[:1]))),
)  # fmt: skip


def test_L1_who_has_lost_its_generation_has_nothing_to_leave_though_it_kept_its_id() -> None:
    """Kafka AbstractCoordinator.shouldSendLeaveGroupRequest: not in UNJOINED."""
    story = stories.eager_rebalance()
    drop("LeaveGroup")(story)
    assert judge("L1", story.history()).verdict in BROKEN
    story.heartbeat(1_980, 2, "ILLEGAL_GENERATION")
    assert judge("L1", story.history()).verdict is Verdict.PASS


def read_in_the_next_round(story: WireRun, offset: int) -> None:
    """Nothing is read in generation 2, and in generation 3 from this offset; 9 is committed by then."""
    drop("Fetch", 970)(story)
    story.join(1_000, 3)
    story.sync(1_005, 3)
    story.committed(1_010, dict.fromkeys(BOTH, 9))
    story.fetch(1_015, dict.fromkeys(BOTH, offset))


asked_for_before = partial(stories_of_applications.has_gaps, named=False)
ALLOWED: tuple[tuple[str, str, Callable[[], WireRun], Spoil], ...] = (
    *stories_of_reactions.ALLOWED,
    *stories_of_positions.ALLOWED,
    # AbstractCoordinator.HeartbeatResponseHandler: generationUnchanged() is false, and nothing is reset (KAFKA-9823)
    ("C2", "a commit after a heartbeat of the generation before was refused", stories.eager_rebalance,
     both(lambda s: s.heartbeat(952, 1, "ILLEGAL_GENERATION"), lambda s: s.commit(1_500, 2, {BOTH[0]: 6}))),
    # FetchSession.CachedPartition.maybeUpdateRequestParams: what is not named goes on as it was named last
    *((rule, "what has gaps was asked for by a Fetch before the one that brings it", asked_for_before, lambda _: None)
      for rule in ("O4", "O5", "M4", "L5")),
    # FetchCollector.fetchRecords takes what has come for the position, whichever assignment it was asked for in
    ("O1", "a Fetch that was still out brings what is due", stories.eager_rebalance,
     both(drop("Fetch", 600), lambda s: s.records(980, BOTH[0], 6, 7), lambda s: s.records(980, BOTH[1], 6, 7),
          lambda s: s.fetch(985, {BOTH[0]: 8, BOTH[1]: 8}))),
    ("O1", "and the next Fetch is out before poll returns it", stories.eager_rebalance,
     both(drop("Fetch", 600), lambda s: s.fetch(980, {BOTH[0]: 8, BOTH[1]: 8}),
          lambda s: s.records(985, BOTH[0], 6, 7), lambda s: s.records(985, BOTH[1], 6, 7))),
    # AbstractCoordinator.HeartbeatThread.run clears findCoordinatorFuture, and asks again after retry.backoff.ms
    ("D2", "a lookup behind a Fetch is given up for another", stories.moved_coordinator,
     both(drop("FindCoordinator", 600), lambda s: s.lookup(615, error="COORDINATOR_NOT_AVAILABLE", ms=150),
          lambda s: s.lookup(720, node=2, ms=60))),
    ("D2", "and the next poll asks at once", stories.moved_coordinator,
     both(drop("FindCoordinator", 600), lambda s: s.lookup(615, node=2, ms=60),
          lambda s: s.lookup(616, node=2, ms=60))),
    # it spaces attempts: asked 991.2, failed 1067.8, asked 1111.6
    ("D3", "a lookup that failed late", stories.moved_coordinator,
     both(drop("FindCoordinator", 600), lambda s: s.lookup(615, error="COORDINATOR_NOT_AVAILABLE", ms=100),
          lambda s: s.lookup(720, node=2))),
    # ensureCoordinatorReady sleeps no longer than the poll that called it
    ("D3", "the next poll asks at once", stories.moved_coordinator,
     both(drop("FindCoordinator", 600), lambda s: s.lookup(615, error="COORDINATOR_NOT_AVAILABLE"),
          lambda s: s.lookup(655, node=2))),
    # a second answer that says the same, when the lookup has been sent
    ("D1", "two answers, one lookup", stories.moved_coordinator,
     both(drop("FindCoordinator", 700), lambda s: s.lookup(720, node=2, ms=60),
          lambda s: s.heartbeat(612, 1, "NOT_COORDINATOR", ms=120))),
    # librdkafka 2.16.0, 5 of 250 runs: sent 0.1 ms before the Heartbeat that says so
    ("D1", "a lookup that is out when it is told", stories.moved_coordinator,
     both(drop("FindCoordinator", 600), lambda s: s.lookup(609, node=2, ms=60))),
    # HeartbeatThread.run: sessionTimeoutExpired, markCoordinatorUnknown; the late answer is not what it acts on
    ("D1", "a lookup when nothing was answered for a session timeout", stories.expulsion,
     both(drop("Heartbeat"), drop("JoinGroup", 600), drop("SyncGroup", 600),
          lambda s: s.heartbeat(1_200, 1, "UNKNOWN_MEMBER_ID"), lambda s: s.lookup(1_205), lambda s: s.join(1_300, 2))),
    # the commit before the rebalance says that the coordinator is gone (OffsetCommitResponseHandler)
    ("D1", "a lookup after REBALANCE_IN_PROGRESS, for the commit's NOT_COORDINATOR", stories.eager_rebalance,
     both(lambda s: rename_error(s, "OffsetCommit", "NOT_COORDINATOR"), lambda s: s.lookup(640))),
    # LeaveGroupResponseHandler marks nothing unknown
    ("D1", "LeaveGroup answered NOT_COORDINATOR", stories.eager_rebalance,
     lambda s: rename_error(s, "LeaveGroup", "NOT_COORDINATOR")),
    ("D4", "LeaveGroup answered NOT_COORDINATOR", stories.eager_rebalance,
     lambda s: rename_error(s, "LeaveGroup", "NOT_COORDINATOR")),
    # AbstractCoordinator.close ends the heartbeat thread before onLeavePrepare
    ("H1", "no heartbeat in the callback of close()", stories.eager_rebalance,
     both(drop("LeaveGroup"), drop_event("partitions_revoked", 2_000), drop_event("shutdown_complete"),
          lambda s: s.callback(2_001, protocol.PartitionsRevoked, ms=600), lambda s: s.leave(2_620))),
    # onLeaderElected holds the monitor that HeartbeatThread needs
    ("H1", "a leader computes", stories.eager_rebalance,
     both(drop("Heartbeat", 951, 1_700), drop("SyncGroup", 900), lambda s: s.sync(1_600, 2))),
    # ConsumerCoordinator.onJoinPrepare runs the callback; the heartbeat thread hears of the loss meanwhile
    ("H4", "told in its revoked callback that it is out", stories.eager_rebalance,
     lambda s: s.heartbeat(640, 1, "UNKNOWN_MEMBER_ID")),
    # sarama heartbeatLoop goes on while Cleanup runs
    ("H4", "told in its revoked callback of the rebalance once more, and then that it is out", stories.eager_rebalance,
     both(lambda s: s.heartbeat(640.5, 1, "REBALANCE_IN_PROGRESS"),
          lambda s: s.heartbeat(642, 1, "UNKNOWN_MEMBER_ID"))),
    # sarama release tries its commit four times, while its heartbeats go on
    ("H4", "told by its commit that it is out, and then by a heartbeat", stories.eager_rebalance,
     both(lambda s: s.commit(645, 1, {BOTH[0]: 6}, error="UNKNOWN_MEMBER_ID"),
          lambda s: s.heartbeat(646.5, 1, "UNKNOWN_MEMBER_ID"))),
    # sarama release commits after Cleanup, while its heartbeats go on
    ("M3", "told of a rebalance while it commits at close()", stories.eager_rebalance,
     lambda s: s.heartbeat(2_003, 2, "REBALANCE_IN_PROGRESS")),
    # OffsetCommitResponseHandler resets the generation; maybeLeaveGroup needs a member id
    ("L1", "told by the last commit that it is no member", stories.eager_rebalance,
     both(lambda s: rename_error(s, "OffsetCommit", "UNKNOWN_MEMBER_ID"), drop("LeaveGroup"))),
    # kgo groupConsumer.leave retries a request that failed
    ("L1", "a LeaveGroup that was refused, and then another", stories.eager_rebalance,
     both(lambda s: rename_error(s, "LeaveGroup", "NOT_COORDINATOR"), lambda s: s.leave(2_018))),
    # ConsumerNetworkClient.poll: the heartbeat thread waits for the lock
    ("H7", "the next one follows one that was late", stories.held_heartbeat_at_close,
     both(drop("Heartbeat", 500, 600), lambda s: s.heartbeat(640, 1))),
    # AbstractCoordinator.HeartbeatThread.run: another thread than the one that joins
    ("J4", "unknown as the JoinGroup for the announced round is sent", stories.eager_rebalance,
     lambda s: s.heartbeat(648.5, 1, "UNKNOWN_MEMBER_ID")),
    # Heartbeat.shouldHeartbeat knows only its timer
    ("H7", "the next one, an interval later, while one is unanswered", stories.held_heartbeat_at_close,
     lambda s: s.heartbeat(710, 1)),
    # maybeAutoCommitOffsetsAsync has no in-flight guard
    ("J4", "the id that the broker gave, after a heartbeat without any was refused", stories.expulsion,
     lambda s: s.heartbeat(631.2, -1, "UNKNOWN_MEMBER_ID", member_id="")),
    # the application closes before the client could react
    *((rule, "close() at once when a rebalance is announced", stories.eager_rebalance,
       both(lambda s: s.heartbeat(1_995, 2, "REBALANCE_IN_PROGRESS"), lambda s: s.commit(1_997, 2, {BOTH[0]: 6})))
      for rule in ("J2", "H4", "M3")),
    ("L2", "a callback outlasts close()", WireRun,
     both(lambda s: s.callback(10, protocol.PartitionsRevoked, ms=6_500), lambda s: s.close(0, 6_600))),
    ("M2", "close() at once when a commit is refused", stories.eager_rebalance,
     lambda s: s.commit(1_997, 2, {BOTH[0]: 6}, error="ILLEGAL_GENERATION")),
    ("D1", "close() at once when the coordinator has moved", stories.eager_rebalance,
     lambda s: s.heartbeat(1_995, 2, "NOT_COORDINATOR")),
    ("C4", "close() at once when a callback has raised", stories_of_applications.raising,
     both(lambda s: without(s, lambda e: e.source == "wire" and e.at_us > 645_000), lambda s: s.close(648, 20))),
    # kafkajs looks up before each JoinGroup (ConsumerGroup.join), and sarama after whatever error a commit was answered
    # with (offsetManager.handleResponse); neither forgets whom it has found
    ("D1", "a lookup after REBALANCE_IN_PROGRESS that is answered at once", stories.eager_rebalance,
     lambda s: s.lookup(620)),
    ("D1", "a lookup for which the JoinGroup does not wait", stories.eager_rebalance,
     both(lambda s: s.lookup(620, error="COORDINATOR_NOT_AVAILABLE"), lambda s: s.lookup(700))),
    ("H4", "the application is told that it is fenced", stories.eager_rebalance,
     waited(both(lambda s: s.heartbeat(1_090, 2, "FENCED_INSTANCE_ID"),
                 lambda s: s.event(1_095, protocol.ErrorRaised(error="FencedInstanceId", call="poll"))))),
    ("M3", "close() commits after a heartbeat's REBALANCE_IN_PROGRESS, and leaves", stories.eager_rebalance,
     lambda s: s.heartbeat(2_004, 2, "REBALANCE_IN_PROGRESS")),
    ("M5", "close() commits while the revocation's commit is unanswered", stories.eager_rebalance,
     lambda s: s.commit(1_990, 2, {BOTH[0]: 6}, ms=60)),
    # sendOffsetCommitRequest looks at no ownership: commitSync(Map)
    ("M7", "the application commits what it does not own", stories.cooperative_rebalance,
     both(lambda s: s.commit(1_500, 3, {BOTH[1]: 6}),
          lambda s: s.event(1_505, protocol.OffsetsCommitted(success=True)))),
    # krafka: the topic that it holds was made anew, and the broker knows the old id no more
    ("M7", "a commit by the id of a topic that is gone", stories.eager_rebalance,
     lambda s: s.commit(1_500, 2, {TopicPartition("?" + "0" * 31 + "1", 0): 6}, error="UNKNOWN_TOPIC_ID")),
    # AbstractCoordinator.markCoordinatorUnknown disconnects: what the coordinator still owes is not read
    # kafka-python 3.0 looks its coordinator up after REBALANCE_IN_PROGRESS (#3082), and joins meanwhile
    ("H2", "a coordinator is found while the round goes on", stories.eager_rebalance,
     both(drop("SyncGroup", 900), drop("Heartbeat", 1_000), lambda s: s.lookup(660),
          lambda s: s.sync(955, 2, ms=1_000))),
    ("H3", "the coordinator's answer is late, and given up", stories.expulsion,
     both(late_answer, WireRun.reconnect,
          lambda s: s.heartbeat(1_400, 1, "UNKNOWN_MEMBER_ID"), lambda s: s.join(1_410, 2))),
    ("M7", "the commit's own answer is the first to say that the member is unknown", stories.eager_rebalance,
     lambda s: rename_error(s, "OffsetCommit", "UNKNOWN_MEMBER_ID")),
    # librdkafka gives its partitions up by itself when no heartbeat was answered for a session timeout
    # kgo leave: the callback of the revocation is under way
    ("K2", "closed while it gives up what was taken away", stories.cooperative_rebalance,
     both(drop("JoinGroup", 970), drop("SyncGroup", 970), lambda s: s.close(963, 20))),
    # kafkajs ConsumerGroup.joinAndSync: two rounds in a row
    ("O1", "a partition is read only in the next round", stories.eager_rebalance,
     lambda s: read_in_the_next_round(s, 9)),
    # sarama consumeCooperative: a session that ends revokes all that the last round left
    ("K1", "nothing is owned after callbacks have given it up", stories.cooperative_rebalance,
     both(drop("JoinGroup", 640, 700), lambda s: s.callback(300, protocol.PartitionsRevoked),
          lambda s: s.join(650, 2, ms=300))),
    ("K1", "nothing is owned after the client's own loss", stories.cooperative_rebalance, stories_of_rounds.own_loss),
    ("O2", "the lost are looked up again", stories.cooperative_rebalance, stories_of_rounds.own_loss),
    ("K2", "two rounds that nothing asked for", stories.cooperative_rebalance, stories_of_rounds.further_rounds(2)),
    *(("K2", f"three rounds, {why}", stories.cooperative_rebalance, both(stories_of_rounds.further_rounds(3), asks))
      for why, asks in stories_of_rounds.ASKING.items()),
    ("O2", "what was taken away and given back is new", stories.cooperative_rebalance, stories_of_rounds.given_back),
    ("K4", "what a round took away the next gives back", stories.cooperative_rebalance, stories_of_rounds.given_back),
    ("K4", "and no member is the same", stories.cooperative_rebalance, stories_of_rounds.own_loss),
    # a refused commit is none, and a member that joins anew goes on from where the group is
    ("M6", "the position was read again, and is behind a commit that was refused", stories.eager_rebalance,
     both(lambda s: s.committed(1_200, {BOTH[0]: 4}), lambda s: s.commit(1_250, 2, {BOTH[0]: 4}))),
    # ConsumerCoordinator.onJoinPrepare waits for its commit, and tries it again
    ("K2", "the JoinGroup waits for the commit, which waits for the coordinator", stories.cooperative_rebalance,
     lambda s: commit_behind_a_silent_coordinator(s, 2_815)),
    ("K2", "nor is there anything to revoke of what others have now", stories.cooperative_rebalance,
     lambda s: stories_of_rounds.own_loss(s, BOTH[1:])),
    # AbstractRequest.parseRequest does not look behind the last field; a client may end a connection when it likes
    ("W1", "a frame with more than its fields", stories.eager_rebalance,
     lambda s: s.entries.append(Entry(700_000, "wire", "garbage",
                                      "Heartbeat version 3 ends at byte 40, but 41 bytes came"))),
    ("W1", "half a frame", stories.eager_rebalance,
     lambda s: s.entries.append(Entry(700_000, "wire", "garbage", "the connection ended in the middle of a frame"))),
    # kafka-python Heartbeat.poll is called by each coordinator.poll(), not when a poll that overran ends
    ("P2", "the interval is over soon after a poll that overran", stories.expiry,
     both(lambda s: without(s, lambda e: e.kind.startswith("poll_") and e.at_us < 2_000_000), drop("LeaveGroup"),
          lambda s: s.poll(310, 1_500), lambda s: s.leave(2_000))),
    # KAFKA-9823: an answer about an earlier generation says nothing to the member
    *((rule, "an answer about the generation before", stories.eager_rebalance, late_for_its_generation)
      for rule in ("J2", "H4")),
    *((rule, "an answer about the generation before", stories.cooperative_rebalance, late_for_its_generation)
      for rule in ("S3", "O1")),
    ("P1", "who has left in the middle of a poll (P2) does not leave again", stories.expiry,
     both(drop("LeaveGroup"), drop("Heartbeat", 1_400, 3_500), lambda s: s.leave(1_400))),
    # AbstractCoordinator.maybeLeaveGroup sends at once, if there is a connection
    ("P3", "the next poll makes the connection that the LeaveGroup waits for", stories.expiry,
     both(drop("LeaveGroup"), lambda s: s.leave(3_500.5))),
    # librdkafka heartbeats with the id that JoinGroup was given, and the generation before: that is a refusal anew
    ("J9", "the id that was given was refused, too", stories_of_latecomers.named_too_late,
     stories_of_latecomers.refused_anew),
    # platformatic Consumer.performJoinGroup: who has left before the answer sends no SyncGroup, and joins as another
    ("S2", "who has left a round names the members of the next one", WireRun, stories_of_rounds.leaves_a_round),
    # what the application asks for
    ("P2", "unsubscribe() leaves, right after a poll", stories_of_leaders.unsubscribed, lambda s: s.poll(990, 5)),
    *((rule, "who reads what was assigned by hand commits as nobody", stories_of_applications.assigned_by_hand,
       lambda s: None) for rule in ("M1", "M7", "C7")),
    ("J1", "a subscription by a pattern that covers the topic", stories.eager_rebalance, subscribes_by_pattern),
    ("J1", "what was subscribed to in between is over", stories.eager_rebalance, subscribes_again),
    ("O6", "with no policy the application chooses", stories.eager_rebalance,
     both(drop("ListOffsets"), with_policy("none"))),
    ("O6", "the latest, if that is the policy", stories.eager_rebalance, both(with_policy("latest"), asks_for_the_end)),
    ("T4", "a wakeup ends position()", stories_of_latecomers.woken_in_a_commit,
     lambda s: rename_call(s, "commit", "position")),
    # KIP-814: a static leader that comes back divides nothing
    ("S2", "the leader is told that what was divided stands", stories.eager_rebalance, stands),
    # class loading: the first connect is 400 ms after poll_started
    ("P4", "the first poll of a process", stories.eager_rebalance,
     both(lambda s: without(s, lambda e: e.kind.startswith("poll_")), lambda s: s.poll(0, 900))),
)  # fmt: skip
"""What correct clients do, by the class and method that does it."""


def rename_error(story: WireRun, api: str, error: str) -> None:
    """Other answers."""
    story.entries = [replace(e, error=error) if e.api == api and e.kind == "response" else e for e in story.entries]


@pytest.mark.parametrize(("rule", "what", "good", "change"), ALLOWED, ids=[f"{row[0]} {row[1]}" for row in ALLOWED])
def test_what_correct_clients_do_breaks_no_rule(
    rule: str, what: str, good: Callable[[], WireRun], change: Spoil
) -> None:
    story = good()
    change(story)
    judgement = judge(rule, story.history())
    assert judgement.verdict not in BROKEN, f"{what}: {judgement.reason}"


def test_M7_an_application_that_commits_between_rounds_is_occasion_enough() -> None:
    story = stories.eager_rebalance()
    story.event(1_505, protocol.OffsetsCommitted(success=True))
    assert judge("M7", story.history()).verdict is Verdict.PASS


@pytest.mark.parametrize("good", GOOD, ids=lambda good: good.__name__)
def test_a_run_that_keeps_the_rules_breaks_none(good: Callable[[], WireRun]) -> None:
    history = good().history()
    judged = {rule: judge(rule, history) for rule in CHECKERS}
    assert {rule: each.reason for rule, each in judged.items() if each.verdict in BROKEN} == {}


@pytest.mark.parametrize(("rule", "how", "good", "spoil"), SPOILED, ids=[f"{row[0]} {row[1]}" for row in SPOILED])
def test_a_run_that_breaks_a_rule_is_found(rule: str, how: str, good: Callable[[], WireRun], spoil: Spoil) -> None:
    story = good()
    spoil(story)
    assert judge(rule, story.history()).verdict in BROKEN, how


@pytest.mark.parametrize(
    ("rule", "how", "good"),
    [
        row[:3]
        for rows in (
            stories_of_leaders,
            stories_of_quotas,
            stories_of_latecomers,
            stories_of_applications,
            stories_of_reactions,
            stories_of_topics,
        )
        for row in rows.ROWS
    ],
)
def test_the_run_kept_that_rule_before_it_was_spoiled(rule: str, how: str, good: Callable[[], WireRun]) -> None:
    judgement = judge(rule, good().history())
    assert judgement.verdict is Verdict.PASS, f"{how}: {judgement.reason}"


def test_every_checker_is_broken_by_some_run() -> None:
    assert set(CHECKERS) - {row[0] for row in SPOILED} == {"J6"}


def test_J6_the_same_content_in_other_bytes_is_found() -> None:
    story = WireRun()
    story.join(5, -1, member_id="", error="MEMBER_ID_REQUIRED")
    story.join(8, 1)
    assert judge("J6", story.history()).verdict is Verdict.PASS
    for index, entry in enumerate(story.entries):
        if entry.kind == "request" and entry.at_us == 8_000:
            name, metadata = entry.message.protocols[0]  # type: ignore[attr-defined]  # a JoinGroupRequest
            again = structs.replace(entry.message, protocols=((name, metadata + b"\0"),))  # type: ignore[type-var]
            story.entries[index] = replace(entry, message=again)
    assert judge("J6", story.history()).verdict in BROKEN


def test_J1_an_outdated_assignment_is_shown_where_it_was_handed_over() -> None:
    story = WireRun()
    for at_ms, topic in ((0, "orders"), (70, "payments")):
        stories_of_leaders.command(story, at_ms, protocol.Subscribe(topics=[topic]))
        story.event(at_ms + 1, protocol.CommandDone(command="subscribe"))
    story.callback(328, protocol.PartitionsAssigned)
    judgement = judge("J1", story.history())
    assert (judgement.verdict, judgement.at_us) == (Verdict.FAIL, 328_000)


def test_J10_the_missing_field_is_named() -> None:
    story = stories.cooperative_rebalance()
    cut_off(story, "JoinGroup")
    judgement = judge("J10", story.history())
    assert judgement.verdict is Verdict.FAIL
    assert "JoinGroup, range: Subscription, owned partitions at byte" in judgement.reason


def test_a_client_without_all_callbacks_is_judged_by_what_can_be_seen() -> None:
    revoked = rename("partitions_lost", protocol.PartitionsRevoked)
    for rule, good, spoil in (
        ("C2", stories.expiry, lambda s: s.commit(3_000, 1, {BOTH[0]: 6})),
        ("C7", stories.eager_rebalance, drop_event("partitions_revoked", 2_000)),
        ("P3", stories.expiry, lambda s: s.join(3_505, 2)),
    ):
        story = good()
        story.settings = replace(story.settings, features=frozenset(FEATURES) - {"lost_callback", "listener_in_poll"})
        revoked(story)
        assert judge(rule, story.history()).verdict is Verdict.PASS, judge(rule, story.history())
        spoil(story)
        assert judge(rule, story.history()).verdict is Verdict.FAIL, rule


def test_a_rule_that_needs_more_than_a_client_offers_is_unsupported() -> None:
    story = stories.expiry()
    story.settings = replace(story.settings, features=frozenset({"eager"}))
    judgement = judge("P1", story.history())
    assert judgement.verdict is Verdict.UNSUPPORTED
    assert "the client does not offer the feature poll_interval" in judgement.reason


def test_what_the_harness_does_not_drive_is_not_told_as_the_client_s_lack() -> None:
    story = stories_of_leaders.fenced()
    features = frozenset(FEATURES) - {"poll_interval"}
    story.settings = replace(story.settings, features=features, not_driven=frozenset({"poll_interval"}))
    judgement = judge("P1", story.history())
    assert judgement.verdict is Verdict.UNSUPPORTED
    assert "the harness does not drive, though the client offers it, the feature poll_interval" in judgement.reason


def without_listener(story: WireRun) -> WireRun:
    """The same run of a client that offers no listener: nothing is heard of its callbacks."""
    story.settings = replace(
        story.settings, features=frozenset(FEATURES) - {"listener", "lost_callback", "listener_in_poll"}
    )
    without(story, lambda entry: entry.kind in CALLBACKS or isinstance(entry.event, protocol.CallbackReturned))
    return story


def with_overlapping_commits(story: WireRun) -> None:
    """A commit by interval is unanswered when the round takes a partition away, and the revocation commits."""
    story.commit(945, 2, {BOTH[0]: 6}, ms=60)
    story.commit(960, 2, {BOTH[1]: 6})


@pytest.mark.parametrize("rule", CHECKERS)
def test_a_client_without_a_listener_is_failed_for_no_callback(rule: str) -> None:
    for good in GOOD:
        judgement = judge(rule, without_listener(good()).history())
        assert judgement.verdict not in BROKEN, (good.__name__, judgement.reason)
    for name in ("own_loss", "others have them now"):
        story = stories.cooperative_rebalance()
        stories_of_rounds.own_loss(story, BOTH[:1] if name == "own_loss" else BOTH[1:])
        judgement = judge(rule, without_listener(story).history())
        assert judgement.verdict not in BROKEN, (name, judgement.reason)


def test_K2_a_client_without_a_listener_still_has_to_join_again() -> None:
    story = without_listener(stories.cooperative_rebalance())
    assert judge("K2", story.history()).verdict is Verdict.PASS
    waited(drop("JoinGroup", 970))(story)
    judgement = judge("K2", story.history())
    assert judgement.verdict is Verdict.FAIL
    assert "no JoinGroup right after orders-1 had been taken away" in judgement.reason


def test_M5_without_a_listener_a_round_that_ends_is_a_reason_to_commit() -> None:
    story = without_listener(stories.cooperative_rebalance())
    with_overlapping_commits(story)
    assert judge("M5", story.history()).verdict is Verdict.PASS


@pytest.mark.parametrize(("told_ms", "verdict"), [(608, Verdict.PASS), (100, Verdict.FAIL)])
def test_M5_a_commit_of_the_interval_leaves_the_announced_one_its_reason(told_ms: int, verdict: Verdict) -> None:
    """Java's poll commits what is due before it reads that the group rebalances, and the next one for that."""
    story = stories.eager_rebalance()
    story.settings = replace(story.settings, auto_commit_interval_ms=300)
    drop("Heartbeat", 600, 620)(story)
    story.heartbeat(told_ms, 1, "REBALANCE_IN_PROGRESS")
    story.commit(300, 1, {BOTH[0]: 6})
    story.commit(612, 1, {BOTH[0]: 6}, ms=100)
    assert judge("M5", story.history()).verdict is verdict


def test_M5_a_commit_for_which_the_client_waited_for_a_processor_was_due_sooner() -> None:
    waits_us = (200_000, 250_000, 40_000), (250_000, 300_000, 50_000)
    story = stories.eager_rebalance()
    story.settings = replace(story.settings, auto_commit_interval_ms=300)
    story.commit(300, 1, {BOTH[0]: 6}, ms=300)
    story.commit(530, 1, {BOTH[0]: 6})
    polled_on = replace(story.history(), waits_us=waits_us)
    without(story, lambda e: isinstance(e.event, protocol.PollStarted | protocol.PollReturned))
    history = story.history()
    assert judge("M5", history).verdict is Verdict.FAIL
    assert judge("M5", replace(history, waits_us=waits_us)).verdict is Verdict.PASS
    assert judge("M5", replace(history, waits_us=waits_us[:1])).verdict is Verdict.FAIL, "it has run since"
    assert judge("M5", polled_on).verdict is Verdict.FAIL


def test_S3_whose_topic_has_grown_before_its_assignment_came_joins_again_at_once() -> None:
    """librdkafka: rd_kafka_cgrp_metadata_update_check waits for no SyncGroup, and the old assignment is dropped."""
    story = WireRun()
    stories_of_leaders.metadata(story, 0.5, 2)
    story.lookup(1)
    story.join(8, 1)
    story.sync(10, 1, ms=100)
    story.join(115, 2)
    story.sync(125, 2)
    stories.assigned_and_read(story, 130, 2)
    assert judge("S3", story.history()).verdict is Verdict.FAIL
    stories_of_leaders.metadata(story, 50, 3)
    assert judge("S3", story.history()).verdict is Verdict.PASS


def test_O8_epochs_before_metadata_9_are_no_reason_to_stay() -> None:
    story = stories_of_topics.hears_of_the_former_leader(version=8)
    stories_of_topics.back(story)
    assert judge("O8", story.history()).verdict is Verdict.UNTESTABLE


def test_without_an_occasion_a_rule_is_untestable() -> None:
    assert judge("P1", stories.eager_rebalance().history()).verdict is Verdict.UNTESTABLE


def test_nobody_is_blamed_for_a_machine_that_stood_still() -> None:
    story = stories.eager_rebalance()
    drop("Heartbeat", 1_200, 1_700)(story)
    history = story.history()
    assert judge("H2", history).verdict is Verdict.FAIL
    assert judge("H2", replace(history, stalls_us=((1_250_000, 1_650_000),))).verdict not in BROKEN
    without(story, lambda e: e.kind in ("poll_started", "poll_returned") and 1_200_000 < e.at_us < 1_500_000)
    waited = replace(story.history(), waits_us=((1_200_000, 1_500_000, 250_000),))
    assert judge("H2", waited).verdict not in BROKEN
    reasons = [finding.reason for finding in heartbeats_are_regular(waited)]
    assert "the client waited 250 ms for a processor" in reasons[-1]


@pytest.mark.parametrize(("rule", "session_ms"), [("H5", 1_000), ("D6", 6_000)])
def test_threads_that_hand_over_by_turns_excuse_no_silence_while_the_application_polls_on(
    rule: str, session_ms: int
) -> None:
    story = stories_of_leaders.silent_coordinator(session_ms)
    stories_of_leaders.without_end(story)
    waits = tuple((at_us, at_us + 50_000, 50_000) for at_us in range(0, 9_000_000, 50_000))
    assert judge(rule, replace(story.history(), waits_us=waits)).verdict not in BROKEN  # it may not have run at all
    story.polls(0, 9_000)
    assert judge(rule, replace(story.history(), waits_us=waits)).verdict in BROKEN


def test_what_only_a_machine_that_stood_still_excuses_says_nothing() -> None:
    story = WireRun()
    story.join(5, 1)
    story.sync(10, 1, ms=700)
    history = story.history()
    assert judge("H1", history).verdict is Verdict.DEVIATION
    excused = judge("H1", replace(history, stalls_us=((100_000, 500_000),)))
    assert excused.verdict is Verdict.UNTESTABLE
    assert "the kit stood still for 400 ms" in excused.reason


@pytest.mark.parametrize(("poll_ms", "verdict"), [(5, Verdict.FAIL), (100, Verdict.PASS)])
def test_who_polls_on_again_and_again_has_waited_for_no_processor(poll_ms: int, verdict: Verdict) -> None:
    """The waits of all threads together came to 2,314 of 7,891 ms in a kafka-python that polled 1,430 times."""
    story = stories.eager_rebalance()
    without(story, lambda e: isinstance(e.event, protocol.PollStarted | protocol.PollReturned))
    for at_ms in range(0, 2_000, poll_ms):
        story.event(at_ms, protocol.PollStarted(poll_ms=poll_ms))
        story.event(at_ms + poll_ms - 1, protocol.PollReturned(elapsed_ms=poll_ms - 1))
    drop("Heartbeat", 1_200, 1_700)(story)
    waits = tuple((at_us, at_us + 50_000, 45_000) for at_us in range(1_100_000, 1_800_000, 50_000))
    history = replace(story.history(), waits_us=waits)
    assert judge("H2", history).verdict is verdict
    assert history.longest_stall_ms() == (0 if verdict is Verdict.FAIL else 14 * 45)


def test_a_flood_of_the_client_s_own_is_no_excuse() -> None:
    story = WireRun()
    story.join(5, 1)
    story.sync(10, 1, ms=700)
    for number in range(3_000):
        story.fetch(100 + number / 10, {BOTH[0]: 0})
    assert judge("H1", replace(story.history(), stalls_us=((100_000, 500_000),))).verdict is Verdict.DEVIATION


def test_what_a_stall_of_the_kit_pushed_together_was_not_sent_together() -> None:
    story = stories.held_heartbeat_at_close()
    story.heartbeat(640, 1)
    history = story.history()
    assert judge("H7", history).verdict in BROKEN
    assert judge("H7", replace(history, stalls_us=((530_000, 609_000),))).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("ListOffsets version 0 from 'x' is not served; served are versions 1 to 11", "no broker of Kafka 4 or later"),
        ("ListOffsets version 9 from 'x' is not served; served are versions 1 to 7", "the broker does not serve"),
        ("Produce version 0 from 'x' is not served; served are Fetch, Metadata", "the broker does not serve"),
        ("Heartbeat version 3 ends at byte 40, within a string", "no broker can read"),
    ],
)
def test_w1_says_who_cannot_read_a_request(text: str, who: str) -> None:
    story = stories.eager_rebalance()
    story.entries.append(Entry(700_000, "wire", "garbage", text))
    assert judge("W1", story.history()).reason.startswith(f"a request that {who}")


def test_what_rules_list_of_a_history_is_listed_once() -> None:
    listings: list[History] = []

    @once
    def ends(history: History) -> list[int]:
        listings.append(history)
        return [history.ends_us]

    first, second = stories.eager_rebalance().history(), stories.expiry().history()
    assert [list(ends(each)) for each in (first, first, second)] == [[each.ends_us] for each in (first, first, second)]
    assert listings == [first, second]
