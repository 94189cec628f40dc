"""What each sequence of coordinator lines means, told as stories that the recorded logs do not contain."""

from __future__ import annotations

import pytest

from groupspec.conformance.traces.dialects import Clock
from groupspec.conformance.traces.dialects.broker import BrokerCoordinatorLog
from groupspec.conformance.traces.findings import Explanation, Rebalance
from groupspec.conformance.traces.tests.broker_lines import GROUP, BrokerLog, member_id
from groupspec.conformance.traces.why import Question, advice, explain

OF_THE_GROUP = Question(GROUP)


def told(log: BrokerLog, question: Question = OF_THE_GROUP, not_understood: int = 0) -> Explanation:
    parsed = BrokerCoordinatorLog().parse("server.log", log.lines, Clock())
    assert parsed.not_understood == not_understood, parsed.samples
    [found] = explain(question, parsed.events)
    return found


def last(log: BrokerLog) -> Rebalance:
    return told(log).rebalances[-1]


@pytest.fixture
def pair() -> BrokerLog:
    """A stable group of two, a (the leader) and b, in generation 2."""
    log = BrokerLog()
    log.join("a", 0, 1)
    log.join("b", 1, 2)
    return log


def test_a_member_that_was_expelled_and_comes_back_rejoins(pair: BrokerLog) -> None:
    pair.say(f"Member {member_id('b')} in group {GROUP} has failed, removing it from the group.", 50_000)
    pair.prepare(2, f"removing member {member_id('b')} on heartbeat expiration.")
    pair.form(3, 1)
    pair.join("b", 3, 2, life=1)
    expelled, back = told(pair).rebalances[-2:]
    assert (expelled.cause, expelled.member) == ("session_timeout", "b")
    assert (back.cause, back.member, back.alternatives) == ("rejoin", "b", ())
    assert back.evidence[0].text.endswith("has failed, removing it from the group.")


def test_a_member_that_left_cleanly_and_comes_back_joins(pair: BrokerLog) -> None:
    pair.leave("b", "the consumer is being closed")
    pair.prepare_leave(2, "b")
    pair.form(3, 1)
    pair.join("b", 3, 2, life=1)
    left, back = told(pair).rebalances[-2:]
    assert (left.cause, left.member, left.alternatives) == ("leave", "b", ())
    assert (back.cause, back.member, back.alternatives) == ("join", "b", ())


def test_a_poll_timeout_is_told_by_the_clients_words(pair: BrokerLog) -> None:
    pair.leave("b", "consumer poll timeout has expired.")
    pair.prepare_leave(2, "b")
    pair.form(3, 1)
    assert (last(pair).cause, last(pair).member) == ("poll_timeout", "b")
    pair.join("b", 3, 2, life=1)
    assert (last(pair).cause, last(pair).member) == ("rejoin", "b")


def test_a_silent_leave_can_be_a_poll_timeout_and_its_return_a_rejoin(pair: BrokerLog) -> None:
    pair.leave("b", "not provided")
    pair.prepare_leave(2, "b")
    pair.form(3, 1)
    pair.join("b", 3, 2, life=1)
    left, back = told(pair).rebalances[-2:]
    assert (left.cause, left.alternatives) == ("leave", ("poll_timeout",))
    assert (back.cause, back.alternatives) == ("join", ("rejoin",))


def test_a_silent_member_that_is_back_soon_after_a_long_quiet_time_polled_too_late(pair: BrokerLog) -> None:
    pair.leave("b", "not provided", after_ms=300_100)
    pair.prepare_leave(2, "b")
    pair.form(3, 1)
    pair.join("b", 3, 2, life=1, after_ms=7_000)
    left, back = told(pair).rebalances[-2:]
    assert (left.cause, left.member, left.alternatives) == ("poll_timeout", "b", ("leave",))
    assert (back.cause, back.alternatives) == ("rejoin", ("join",))


def test_a_member_that_joined_less_than_a_poll_interval_ago_had_polled_and_was_restarted(pair: BrokerLog) -> None:
    pair.leave("b", "not provided", after_ms=20_000)
    pair.prepare_leave(2, "b")
    pair.form(3, 1)
    pair.join("b", 3, 2, life=1, after_ms=7_000)
    left, back = told(pair).rebalances[-2:]
    assert (left.cause, left.alternatives) == ("leave", ("poll_timeout",))
    assert "it was restarted, or it polled too late" in advice(left)
    assert (back.cause, back.alternatives) == ("join", ("rejoin",))
    short = Question(GROUP, max_poll_interval_ms=6_000)
    assert [one.cause for one in told(pair, short).rebalances[-2:]] == ["poll_timeout", "rejoin"]


def test_silent_members_that_are_back_soon_one_after_the_other_are_a_rolling_restart(pair: BrokerLog) -> None:
    pair.leave("a", "the consumer is being closed", after_ms=400_000)
    pair.prepare_leave(2, "a")
    pair.form(3, 1)
    pair.join("a", 3, 2, life=1, after_ms=7_000)
    pair.leave("b", "not provided", after_ms=400_000)
    pair.prepare_leave(4, "b")
    pair.form(5, 1)
    pair.join("b", 5, 2, life=1, after_ms=7_000)
    assert [one.cause for one in told(pair).rebalances[-2:]] == ["leave", "join"]


def test_members_that_share_a_client_id_are_told_apart_by_their_member_ids() -> None:
    log = BrokerLog()
    log.join("app", 0, 1, life=1)
    log.join("app", 1, 2, life=2)
    log.say(f"Member {member_id('app', 1)} in group {GROUP} has failed, removing it from the group.", 500_000)
    log.prepare(2, f"removing member {member_id('app', 1)} on heartbeat expiration.")
    log.form(3, 1)
    log.join("app", 3, 2, life=3)
    first, second, expelled, third = told(log).rebalances
    assert [first.member, second.member] == ["app (00000001)", "app (00000002)"]
    assert (expelled.cause, expelled.member) == ("session_timeout", "app (00000001)")
    # Nobody can say whether this one is the expelled one's successor.
    assert (third.cause, third.member, third.alternatives) == ("join", "app (00000003)", ("rejoin",))


def test_a_restart_that_overlaps_with_the_dead_member_keeps_its_name(pair: BrokerLog) -> None:
    pair.join("b", 2, 3, life=1)
    pair.say(f"Member {member_id('b')} in group {GROUP} has failed, removing it from the group.", 45_000)
    pair.prepare(3, f"removing member {member_id('b')} on heartbeat expiration.")
    pair.form(4, 2)
    assert (last(pair).cause, last(pair).member) == ("session_timeout", "b")


def test_soon_after_a_load_the_coordinator_may_be_to_blame(pair: BrokerLog) -> None:
    pair.say(f"Loaded classic group {GROUP} with 3 members.", 60_000)
    pair.rejoin("Updating metadata for member", "b", 2, "not provided", after_ms=5_000)
    pair.form(3, 3)
    rejoined = last(pair)
    assert (rejoined.cause, rejoined.member) == ("coordinator_restart", "b")
    assert rejoined.alternatives == ("subscription_change", "metadata_change")
    pair.say(f"Member {member_id('b')} in group {GROUP} has failed, removing it from the group.", 40_000)
    pair.prepare(3, f"removing member {member_id('b')} on heartbeat expiration.")
    pair.form(4, 2)
    assert (last(pair).cause, last(pair).alternatives) == ("session_timeout", ("coordinator_restart",))
    pair.say(f"Member {member_id('a')} in group {GROUP} has failed, removing it from the group.", 90_000)
    pair.prepare(4, f"removing member {member_id('a')} on heartbeat expiration.")
    pair.form(5, 1)
    assert (last(pair).cause, last(pair).alternatives) == ("session_timeout", ())


def test_what_came_before_since_is_read_and_not_shown(pair: BrokerLog) -> None:
    pair.say(f"Member {member_id('b')} in group {GROUP} has failed, removing it from the group.", 500_000)
    pair.prepare(2, f"removing member {member_id('b')} on heartbeat expiration.")
    pair.form(3, 1)
    pair.join("b", 3, 2, life=1, after_ms=200_000)
    [back] = told(pair, Question(GROUP, since=lambda last_ms: last_ms - 60_000)).rebalances
    assert (back.cause, back.member) == ("rejoin", "b")


def test_two_members_removed_in_one_request(pair: BrokerLog) -> None:
    pair.leave("a", "member was removed by an admin")
    pair.leave("b", "member was removed by an admin", after_ms=0)
    pair.prepare_leave(2, "a", "b")
    pair.say(f"Group {GROUP} with generation 3 is now empty.", 0)
    both = last(pair)
    assert (both.cause, both.member, both.outcome, both.generation) == ("leave", "a", "empty", 3)
    assert [(part.cause, part.member) for part in both.contributions] == [("leave", "a"), ("leave", "b")]


def test_joins_and_leaves_into_a_rebalance_under_way_are_kept_with_it(pair: BrokerLog) -> None:
    pair.arrive("c", after_ms=60_000)
    pair.prepare(2, f"Adding new member {member_id('c')} with group instance id null; client reason: not provided")
    pair.arrive("d", state="PreparingRebalance")
    pair.leave("b", "the consumer is being closed", after_ms=5)
    pair.say(f"Member {member_id('x')} in group {GROUP} has failed, removing it from the group.", 5)
    pair.form(3, 3)
    merged = last(pair)
    assert (merged.cause, merged.member) == ("join", "c")
    assert [(part.role, part.cause, part.member) for part in merged.contributions] == [
        ("began", "join", "c"),
        ("merged", "join", "d"),
        ("merged", "leave", "b"),
        ("merged", "session_timeout", "x"),
    ]
    assert len(merged.evidence) == 8, "every line about it but the assignment"


def test_the_second_round_of_a_cooperative_rebalance_has_the_cause_of_the_first(pair: BrokerLog) -> None:
    pair.join("c", 2, 3)
    pair.rejoin("Leader", "a", 3, "need to revoke partitions and re-join", after_ms=900)
    pair.form(4, 3)
    pair.rejoin("Updating metadata for member", "b", 4, "not provided", after_ms=8_000)
    pair.form(5, 3)
    second, third = told(pair).rebalances[-2:]
    assert (second.follow_up, second.cause, second.member, second.alternatives) == (True, "join", "c", ())
    # The log proves that the group is cooperative: so late a round still completes the one before it, probably.
    assert (third.follow_up, third.cause, third.member) == (True, "join", "c")
    assert third.alternatives == ("subscription_change", "metadata_change")
    assert "nothing of its own" in advice(second)


@pytest.mark.parametrize(
    "said",
    [
        "need to revoke partitions [orders-1] as indicated by the current assignment and re-join",
        "need to revoke partitions and re-join",
        "partitions were revoked and can be assigned to others now",
        "cooperative consumer rejoining after revoking what it lost in a rebalance",
    ],
)
def test_words_for_the_second_round(pair: BrokerLog, said: str) -> None:
    pair.rejoin("Updating metadata for member", "b", 2, said, after_ms=20)
    pair.form(3, 2)
    assert (last(pair).follow_up, last(pair).cause, last(pair).member) == (True, "join", "b")


def test_a_silent_member_that_joins_again_long_after_a_round_changed_something(pair: BrokerLog) -> None:
    pair.rejoin("Updating metadata for member", "b", 2, "not provided", after_ms=8_000)
    pair.form(3, 2)
    changed = last(pair)
    assert (changed.follow_up, changed.cause, changed.member) == (False, "subscription_change", "b")
    pair.rejoin("Leader", "a", 3, "not provided", after_ms=8_000)
    pair.form(4, 2)
    changed = last(pair)
    assert (changed.follow_up, changed.cause, changed.member) == (False, "metadata_change", "a")
    assert changed.alternatives == ("subscription_change", "enforced")


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (
            "cached metadata has changed from (version5: {orders=4}) at the beginning of the rebalance to",
            "metadata_change",
        ),
        ("cached metadata has changed", "metadata_change"),
        ("subscription has changed from [a] at the beginning of the rebalance to [a, b]", "subscription_change"),
        ("received assignment does not match the current subscription", "subscription_change"),
        ("rebalance enforced by user", "enforced"),
        ("Scheduled probing rebalance", "enforced"),
        (
            "rebalance failed due to 'This is not the correct coordinator.' (NotCoordinatorException)",
            "coordinator_restart",
        ),
        ("encountered COORDINATOR_NOT_AVAILABLE from SYNC_GROUP response", "coordinator_restart"),
        ("the subscription or the metadata changed during the rebalance", "subscription_change"),
        ("group is already rebalancing", "unknown"),
        ("a commit was refused because the group rebalances", "unknown"),
        ("rebalance failed due to 'TimeoutException'", "unknown"),
    ],
)
def test_what_a_member_says_when_it_joins_again(pair: BrokerLog, said: str, cause: str) -> None:
    pair.rejoin("Leader", "a", 2, said, after_ms=50)
    pair.form(3, 2)
    assert (last(pair).cause, last(pair).member, last(pair).follow_up) == (cause, "a", False)


def test_members_that_never_sent_syncgroup(pair: BrokerLog) -> None:
    pair.prepare(2, f"Removing [{member_id('b')}] on pending sync request expiration", 300_000)
    pair.form(3, 1)
    assert (last(pair).cause, last(pair).member) == ("sync_timeout", "b")
    pair.join("b", 3, 2, life=1)
    assert last(pair).cause == "rejoin"


def test_the_group_waited_for_a_member_that_never_polls_and_never_came_back(pair: BrokerLog) -> None:
    pair.arrive("c", after_ms=60_000)
    pair.prepare(2, f"Adding new member {member_id('c')} with group instance id null; client reason: not provided")
    pair.say(f"Group {GROUP} removed dynamic members who haven't joined: [{member_id('b')}]", 300_000)
    pair.form(3, 2, after_ms=1)
    waited = last(pair)
    assert (waited.cause, waited.member) == ("abandoned_consumer", "b")
    assert waited.alternatives == ("join", "poll_timeout")
    assert waited.duration_ms >= 300_000


def test_a_slow_member_that_comes_back_was_not_abandoned(pair: BrokerLog) -> None:
    pair.arrive("c", after_ms=60_000)
    pair.prepare(2, f"Adding new member {member_id('c')} with group instance id null; client reason: not provided")
    pair.leave("b", "consumer poll timeout has expired.", after_ms=200_000)
    pair.form(3, 2, after_ms=1)
    pair.join("b", 3, 3, life=1)
    waited, back = told(pair).rebalances[-2:]
    assert (waited.cause, waited.member) == ("join", "c")
    assert [(part.role, part.cause, part.member) for part in waited.contributions][1:] == [
        ("waited_for", "poll_timeout", "b")
    ]
    assert (back.cause, back.member) == ("rejoin", "b")


def test_a_silent_member_that_the_group_waited_for_may_have_been_abandoned(pair: BrokerLog) -> None:
    pair.arrive("c", after_ms=60_000)
    pair.prepare(2, f"Adding new member {member_id('c')} with group instance id null; client reason: not provided")
    pair.leave("b", "not provided", after_ms=200_000)
    pair.form(3, 2, after_ms=1)
    assert (last(pair).cause, last(pair).alternatives) == ("join", ("abandoned_consumer",))


def test_a_rebalance_that_the_coordinators_restart_broke_off(pair: BrokerLog) -> None:
    pair.arrive("c", after_ms=60_000)
    pair.prepare(2, f"Adding new member {member_id('c')} with group instance id null; client reason: not provided")
    pair.say("Starting up.", 9_000, whole_broker=True)
    pair.say(f"Loaded classic group {GROUP} with 2 members.", 500)
    pair.rejoin("Leader", "a", 2, "not provided", after_ms=800)
    pair.form(3, 2)
    broken, after = told(pair).rebalances[-2:]
    assert (broken.outcome, broken.generation, broken.duration_ms) == ("interrupted", -1, -1)
    assert (after.cause, after.member) == ("coordinator_restart", "a")


def test_when_all_members_expire_at_once_after_a_restart_the_restart_is_to_blame(pair: BrokerLog) -> None:
    pair.say("Starting up.", 9_000, whole_broker=True)
    pair.say(f"Loaded classic group {GROUP} with 2 members.", 500)
    pair.say(f"Member {member_id('a')} in group {GROUP} has failed, removing it from the group.", 6_000)
    pair.prepare(2, f"removing member {member_id('a')} on heartbeat expiration.")
    pair.say(f"Member {member_id('b')} in group {GROUP} has failed, removing it from the group.", 4)
    pair.say(f"Group {GROUP} with generation 3 is now empty.", 0)
    pair.join("b", 3, 1, life=1, after_ms=3_000)
    expired, back = told(pair).rebalances[-2:]
    assert (expired.cause, expired.member, expired.alternatives) == ("coordinator_restart", "", ("session_timeout",))
    assert [(part.cause, part.member) for part in expired.contributions] == [
        ("session_timeout", "a"),
        ("session_timeout", "b"),
    ]
    assert (back.cause, back.member) == ("rejoin", "b")


def test_a_member_that_expires_alone_after_a_restart_is_to_blame_itself(pair: BrokerLog) -> None:
    pair.say("Starting up.", 9_000, whole_broker=True)
    pair.say(f"Loaded classic group {GROUP} with 2 members.", 500)
    pair.say(f"Member {member_id('b')} in group {GROUP} has failed, removing it from the group.", 6_000)
    pair.prepare(2, f"removing member {member_id('b')} on heartbeat expiration.")
    pair.form(3, 1)
    assert (last(pair).cause, last(pair).member) == ("session_timeout", "b")


def test_another_brokers_restart_is_not_this_groups_coordinator(pair: BrokerLog) -> None:
    other = BrokerLog(broker=2)
    other.say("Starting up.", 500_000, whole_broker=True)
    pair.lines += other.lines
    assert not told(pair).notes


def test_a_group_over_capacity_or_an_assignment_that_could_not_be_stored_is_the_brokers_doing(pair: BrokerLog) -> None:
    pair.prepare(
        2, f"Error NOT_ENOUGH_REPLICAS when storing group assignmentduring SyncGroup (member: {member_id('a')})."
    )
    pair.form(3, 2)
    assert (last(pair).cause, last(pair).member) == ("coordinator_restart", "")
    pair.prepare(
        3, f"Freshly-loaded group {GROUP} (size 9) is over capacity 8. Rebalancing in order to give a chance …"
    )
    pair.form(4, 2)
    assert last(pair).cause == "coordinator_restart"


def test_static_members_are_named_by_their_instance_and_fencing_is_noted(pair: BrokerLog) -> None:
    new = f"i1-{member_id('i1').split('-', 1)[1]}"
    pair.say(
        f"Static member with groupInstanceId=i1 and unknown member id joins group {GROUP} in Stable state. "
        f"Created a new member id {new} for this member and added to the group.",
        60_000,
    )
    pair.prepare(2, f"Adding new member {new} with group instance id i1; client reason: not provided")
    pair.form(3, 3)
    assert (last(pair).cause, last(pair).member) == ("join", "i1")
    pair.say(
        f"Request memberId={new} for static member with groupInstanceId=i1 is fenced by existing memberId=i1-x "
        "during operation heartbeat"
    )
    [note] = told(pair).notes
    assert "second client" in note.what


def test_a_log_that_ends_in_the_middle(pair: BrokerLog) -> None:
    pair.prepare(2, f"removing member {member_id('b')} on heartbeat expiration.", 50_000)
    assert (last(pair).outcome, last(pair).generation, last(pair).cause) == ("unfinished", -1, "session_timeout")


def test_a_log_that_begins_in_the_middle() -> None:
    log = BrokerLog()
    log.form(8, 3)
    log.rejoin("Leader", "a", 8, "need to revoke partitions and re-join", after_ms=20)
    log.form(9, 3)
    assert (last(log).cause, last(log).follow_up) == ("unknown", True)


def test_a_reason_that_is_not_known_is_unknown_and_quoted(pair: BrokerLog) -> None:
    pair.prepare(2, "the moon is full")
    pair.form(3, 2)
    unknown = told(pair, not_understood=1).rebalances[-1]
    assert unknown.cause == "unknown"
    assert "moon" in unknown.evidence[0].text


def test_groups_of_one_log_are_kept_apart(pair: BrokerLog) -> None:
    pair.say(f"Preparing to rebalance group other in state PreparingRebalance with old generation 5 "
             f"(reason: removing member {member_id('z')} on heartbeat expiration.).")  # fmt: skip
    assert len(told(pair).rebalances) == 2
    assert [one.member for one in told(pair, Question("other")).rebalances] == ["z"]


def test_a_static_member_of_the_consumer_protocol_is_named_by_its_instance() -> None:
    log = BrokerLog()
    prefix = f"[GroupId {GROUP}]"
    log.say(f"{prefix} Static member OAtfZ with instance id i1 joins the consumer group using the consumer protocol.")
    log.say(f"{prefix} Bumped group epoch to 1 with metadata hash 77.")
    log.say(f"{prefix} Member OAtfZ fenced from the group because the member session expired.", 50_000)
    log.say(f"{prefix} Bumped group epoch to 2 with metadata hash 77.")
    assert [(one.cause, one.member) for one in told(log).rebalances] == [("join", "i1"), ("session_timeout", "i1")]


def test_advice_for_a_group_of_the_consumer_protocol_names_its_settings() -> None:
    log = BrokerLog()
    prefix = f"[GroupId {GROUP}]"
    log.say(f"{prefix} Member OAtfZ joins the consumer group using the consumer protocol.")
    log.say(f"{prefix} Bumped group epoch to 1 with metadata hash 77.")
    log.say(f"{prefix} Member OAtfZ fenced from the group because the member session expired.", 50_000)
    log.say(f"{prefix} Bumped group epoch to 2 with metadata hash 77.")
    joined, expired = told(log).rebalances
    assert "raise group.consumer.session.timeout.ms on the broker" in advice(expired)
    assert "group.consumer.heartbeat.interval.ms" in advice(expired)
    assert "group.initial.rebalance.delay.ms" not in advice(joined)
    assert (joined.duration_ms, expired.duration_ms) == (-1, -1)


def test_without_a_line_about_the_assignment_a_rebalance_ends_when_all_have_joined(pair: BrokerLog) -> None:
    pair.prepare(2, f"removing member {member_id('b')} on heartbeat expiration.", 50_000)
    pair.form(3, 1, after_ms=3_000)
    pair.lines.pop()
    assert last(pair).duration_ms == 3_000


def test_groups_of_the_consumer_protocol() -> None:
    log = BrokerLog()
    prefix = f"[GroupId {GROUP}]"
    log.say(f"{prefix} Member OAtfZ joins the consumer group using the consumer protocol.")
    log.say(f"{prefix} Member OAtfZ updated its subscribed topics to: [orders].")
    log.say(f"{prefix} Bumped group epoch to 1 with metadata hash 77.")
    log.say(f"{prefix} Member OAtfZ fenced from the group because the member session expired.", 50_000)
    log.say(f"{prefix} Bumped group epoch to 2 with metadata hash 77.")
    log.say(f"{prefix} Member OAtfZ joins the consumer group using the consumer protocol.", 9_000)
    log.say(f"{prefix} Bumped group epoch to 3 with metadata hash 77.")
    log.say(f"{prefix} Bumped group epoch to 4 with metadata hash 99.", 90_000)
    log.say(f"{prefix} Member OAtfZ left the consumer group.", 90_000)
    log.say(f"{prefix} Bumped group epoch to 5 with metadata hash 99.")
    found = [(one.generation, one.cause, one.member) for one in told(log).rebalances]
    assert found == [
        (1, "join", "OAtfZ"),
        (2, "session_timeout", "OAtfZ"),
        (3, "rejoin", "OAtfZ"),
        (4, "metadata_change", ""),
        (5, "leave", "OAtfZ"),
    ]
