"""Each message of the coordinators is read for what it says, whatever stands around it in the line."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from groupspec.conformance.traces.dialects import Clock, LogEvent, LogLine
from groupspec.conformance.traces.dialects.broker import JAVA, SCALA, BrokerCoordinatorLog, read_message
from groupspec.conformance.traces.dialects.reading import recognise
from groupspec.conformance.traces.tests.broker_lines import BrokerLog

PLACE = LogLine("server.log", 1, "")
BROKER = BrokerCoordinatorLog()


def read(message: str) -> LogEvent:
    event = read_message(message, 0, PLACE)
    assert event is not None, f"not understood: {message}"
    return event


@pytest.mark.parametrize(
    ("message", "kind", "members", "instance", "said"),
    [
        (
            "Dynamic member with unknown member id joins group g 1 in Empty state. Created a new member id "
            "c-1 and requesting "
            "the member to rejoin with this id.",
            "member_id_given",
            ("c-1",),
            "",
            "",
        ),
        (
            "Pending dynamic member with id c-1 joins group g 1 in Stable state. Adding to the group now.",
            "joining",
            ("c-1",),
            "",
            "",
        ),
        (
            "Dynamic member with unknown member id joins group g 1 in state Stable. Created a new member id "
            "c-1 and added the "
            "member to the group.",
            "joining",
            ("c-1",),
            "",
            "",
        ),
        (
            "Static member with groupInstanceId=i1 and unknown member id joins group g 1 in Stable state. "
            "Created a new member id "
            "i1-2 for this member and added to the group.",
            "static_new",
            ("i1-2",),
            "i1",
            "",
        ),
        (
            "Static member with groupInstanceId=i1 and unknown member id joins group g 1 in Stable state. "
            "Replacing previously "
            "mapped member i1-1 with this groupInstanceId.",
            "static_replaced",
            ("i1-1",),
            "i1",
            "",
        ),
        ("Stabilized group g 1 generation 3 with 2 members.", "formed", (), "", ""),
        (
            "Assignment received from leader c-1 for group g 1 for generation 3. The group has 2 members, 1 "
            "of which are static.",
            "assigned",
            ("c-1",),
            "",
            "",
        ),
        ("Group g 1 with generation 4 is now empty.", "empty", (), "", ""),
        ("Group g 1 removed dynamic members who haven't joined: [c-1, c-2]", "dropped", ("c-1", "c-2"), "", ""),
        ("Group g 1 removed members who haven't sent their sync requests: [c-1]", "sync_expired", ("c-1",), "", ""),
        ("Group g 1 could not complete rebalance because no members rejoined.", "nobody_rejoined", (), "", ""),
        ("Member c-1 in group g 1 has failed, removing it from the group.", "session_expired", ("c-1",), "", ""),
        (
            "Pending member c-1 in group g 1 has been removed after session timeout expiration.",
            "pending_expired",
            ("c-1",),
            "",
            "",
        ),
        (
            "[Group g 1] Member c-1 has left group through explicit `LeaveGroup` request; client reason: not provided",
            "left",
            ("c-1",),
            "",
            "",
        ),
        (
            "[Group g 1] Member c-1 has left group through explicit `LeaveGroup` request; client reason: bye; all",
            "left",
            ("c-1",),
            "",
            "bye; all",
        ),
        (
            "[GroupId g 1] Static member i1-1 with instance id i1 has left group through explicit "
            "`LeaveGroup` request; "
            "client reason: x",
            "left",
            ("i1-1",),
            "i1",
            "x",
        ),
        (
            "[Group g 1] Pending member c-1 has left group through explicit `LeaveGroup` request; client reason: x",
            "pending_left",
            ("c-1",),
            "",
            "",
        ),
        ("Loaded classic group g 1 with 3 members.", "loaded", (), "", ""),
        ("[GroupId=g 1] Unloading group metadata for generation 7.", "unloaded", (), "", ""),
        ("[GroupId g 1] Member x joins the consumer group using the classic protocol.", "epoch_joined", ("x",), "", ""),
        (
            "[GroupId g 1] Static member x with instance id i1 joins the consumer group using the consumer protocol.",
            "epoch_joined",
            ("x",),
            "i1",
            "",
        ),
        ("[GroupId g 1] Static member x with instance id i1 left the consumer group.", "epoch_left", ("x",), "i1", ""),
        ("[GroupId g 1] Member x updated its subscribed regex to: o.*.", "epoch_subscription", ("x",), "", ""),
        # 3.x, Scala
        (
            "Dynamic member with unknown member id joins group g 1 in Empty state. Created a new member id "
            "c-1 and request the "
            "member to rejoin with this id.",
            "member_id_given",
            ("c-1",),
            "",
            "",
        ),
        ("Stabilized group g 1 generation 3 (__consumer_offsets-0) with 2 members", "formed", (), "", ""),
        ("Group g 1 with generation 4 is now empty (__consumer_offsets-0)", "empty", (), "", ""),
        (
            "Member MemberMetadata(memberId=c-1, groupInstanceId=Some(i1), clientId=c, clientHost=/127.0.0.1, "
            "sessionTimeoutMs=6000, rebalanceTimeoutMs=300000, supportedProtocols=List(range)) has left "
            "group g 1 through "
            "explicit `LeaveGroup`; client reason: the consumer is being closed",
            "left",
            ("c-1",),
            "i1",
            "the consumer is being closed",
        ),
        ("Group g 1 removed dynamic members who haven't joined: Set(c-1, c-2)", "dropped", ("c-1", "c-2"), "", ""),
        ("Unloading group metadata for g 1 with generation 4", "unloaded", (), "", ""),
    ],
)
def test_messages_about_groups(message: str, kind: str, members: tuple[str, ...], instance: str, said: str) -> None:
    event = read(message)
    assert (event.kind, event.group, event.member_ids) == (kind, "g 1", members)
    assert (event.instance_id, event.said) == (instance, said)


@pytest.mark.parametrize(
    ("reason", "kind", "members", "instance", "said"),
    [
        ("Adding new member c-1 with group instance id null; client reason: not provided", "added", ("c-1",), "", ""),
        ("Adding new member c-1 with group instance id i1; client reason: why", "added", ("c-1",), "i1", "why"),
        ("Adding new member c-1 with group instance id None", "added", ("c-1",), "", ""),
        ("Adding new member c-1 with group instance id Some(i1); client reason: why", "added", ("c-1",), "i1", "why"),
        ("explicit `LeaveGroup` request for (c-1, c-2) members.", "left", ("c-1", "c-2"), "", ""),
        ("Removing member c-1 on LeaveGroup; client reason: bye", "left", ("c-1",), "", "bye"),
        ("removing member c-1 on LeaveGroup", "left", ("c-1",), "", ""),
        ("removing member c-1 on heartbeat expiration.", "session_expired", ("c-1",), "", ""),
        ("removing member c-1 on heartbeat expiration", "session_expired", ("c-1",), "", ""),
        ("Removing [c-1, c-2] on pending sync request expiration", "sync_expired", ("c-1", "c-2"), "", ""),
        ("Removing Set(c-1) on pending sync request expiration", "sync_expired", ("c-1",), "", ""),
        ("Leader c-1 re-joining group during Stable; client reason: x", "leader_rejoined", ("c-1",), "", "x"),
        ("leader c-1 re-joining group during Stable", "leader_rejoined", ("c-1",), "", ""),
        ("Updating metadata for member c-1 during Stable; client reason: x", "member_rejoined", ("c-1",), "", "x"),
        ("Updating metadata for member c-1 during CompletingRebalance", "member_rejoined", ("c-1",), "", ""),
        (
            "Member c-1 is joining group during CompletingRebalance; client reason: x",
            "member_rejoined",
            ("c-1",),
            "",
            "x",
        ),
        (
            "Updating metadata for static member c-1 with instance id i1; client reason: x",
            "static_updated",
            ("c-1",),
            "i1",
            "x",
        ),
        (
            "Group's selectedProtocol will change because static member c-1 with instance id i1 joined with "
            "change of protocol; "
            "client reason: x",
            "static_protocol",
            ("c-1",),
            "i1",
            "x",
        ),
        (
            "Error NOT_COORDINATOR when storing group assignmentduring SyncGroup (member: c-1).",
            "store_failed",
            ("c-1",),
            "",
            "NOT_COORDINATOR",
        ),
        (
            "Freshly-loaded group is over capacity (5). Rebalancing in order to give a chance",
            "over_capacity",
            (),
            "",
            "",
        ),
        ("something new", "other", (), "", "something new"),
    ],
)
def test_reasons_of_a_rebalance(reason: str, kind: str, members: tuple[str, ...], instance: str, said: str) -> None:
    for message in (
        f"Preparing to rebalance group g in state PreparingRebalance with old generation 3 (reason: {reason}).",
        "Preparing to rebalance group g in state PreparingRebalance with old generation 3 "
        f"(__consumer_offsets-0) (reason: {reason})",
    ):
        event = read(message)
        assert (event.kind, event.generation, event.reason) == ("rebalance", 3, kind)
        assert (event.member_ids, event.instance_id, event.said) == (members, instance, said)


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        ("the member session expired.", "session_expired"),
        ("it failed to transition from epoch 4 within 45000ms.", "rebalance_timeout"),
        ("the classic member failed to join within the rebalance timeout.", "rebalance_timeout"),
        ("of something new.", "other"),
    ],
)
def test_fencing_in_groups_of_the_consumer_protocol(why: str, reason: str) -> None:
    event = read(f"[GroupId g] Member x fenced from the group because {why}")
    assert (event.kind, event.member_ids, event.reason) == ("epoch_fenced", ("x",), reason)


MESSAGE = "Group g with generation 4 is now empty."
AT_MS = round(datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    "line",
    [
        "[2026-03-01 12:00:00,250] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=0] "
        f"{MESSAGE} (org.apache.kafka.x.Y)",
        f"[2026-03-01 12:00:00,250] INFO [GroupCoordinator 1]: {MESSAGE} (kafka.coordinator.group.GroupCoordinator)",
        f"2026-03-01T12:00:00.250Z INFO  [GroupCoordinator id=1 topic=__consumer_offsets partition=0] {MESSAGE}",
        f"2026-03-01T14:00:00.250+02:00 - [GroupCoordinator id=1 topic=__consumer_offsets partition=0] {MESSAGE}",
        "kafka-0 | 2026-03-01T17:17:17.999Z [2026-03-01 12:00:00,250] INFO [GroupCoordinator id=1 topic=t "
        f"partition=0] {MESSAGE}",
        "[2026-03-01 12:00:00,250] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=0] "
        f"{MESSAGE} (org.apache.kafka.x.Y)\r\n",
    ],
)
def test_layouts_and_collectors(line: str) -> None:
    parsed = BROKER.parse("f", [line], Clock())
    [event] = parsed.events
    assert (event.kind, event.group, event.generation, event.at_ms, event.source) == ("empty", "g", 4, AT_MS, "1")
    assert event.place.line == 1
    assert event.place.text == MESSAGE


def test_a_variant_is_named() -> None:
    assert (
        BROKER.parse("f", ["[2026-03-01 12:00:00,250] INFO [GroupCoordinator 1]: Starting up."], Clock()).variant
        == SCALA
    )
    assert (
        BROKER.parse("f", ["[2026-03-01 12:00:00,250] INFO [GroupCoordinator id=1] Starting up."], Clock()).variant
        == JAVA
    )


def test_lines_are_counted_and_what_is_not_understood_is_kept() -> None:
    log = BrokerLog()
    log.say("Group g with generation 4 is now empty.")
    log.say("Startup complete.", whole_broker=True)
    log.say("Preparing to rebalance group g in st")  # cut off
    lines = [
        *log.lines,
        "[2026-03-01 12:00:00,250] INFO [BrokerServer id=1] started (kafka.server.BrokerServer)",
        "java.lang.IllegalStateException: no",
        "\tat kafka.Kafka.main(Kafka.scala)",
        "INFO [GroupCoordinator id=1] Group g with generation 4 is now empty.",  # no time
    ]
    parsed = BROKER.parse("f", lines, Clock())
    assert (parsed.lines, parsed.understood, parsed.harmless, parsed.other, parsed.continuation) == (7, 1, 1, 1, 2)
    assert parsed.not_understood == 2
    assert [sample.line for sample in parsed.samples] == [3, 7]


@pytest.mark.parametrize(
    ("line", "is_harmless"),
    [
        ("INFO [GroupCoordinator id=1] Something about the coordinator itself.", True),
        ("ERROR [GroupCoordinator id=1] Failed to load metadata from __consumer_offsets-0.", False),
        ("DEBUG [GroupCoordinator id=1 topic=__consumer_offsets partition=0] Scheduled execution of …", True),
        ("INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=0] Something new about a group.", False),
        ("INFO [GroupCoordinator 1]: Something new.", False),
    ],
)
def test_what_may_be_passed_over(line: str, is_harmless: bool) -> None:
    parsed = BROKER.parse("f", [f"[2026-03-01 12:00:00,250] {line}"], Clock())
    assert (parsed.harmless, parsed.not_understood) == ((1, 0) if is_harmless else (0, 1))


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("[2026-03-01 12:00:00,250] INFO [GroupCoordinator id=1] Starting up. (a.B)", "broker group-coordinator log"),
        ("[2026-03-01 12:00:00,250] INFO x (kafka.server.KafkaRaftServer)", "broker group-coordinator log"),
        (
            "[2026-03-01 12:00:00,250] INFO [Consumer clientId=c, groupId=g] (Re-)joining group (org.a.B)",
            "Java client log",
        ),
        ("[2026-03-01 12:00:00,250] INFO [Consumer instanceId=i, clientId=c, groupId=g] x", "Java client log"),
        ('%7|1795247507.074|CGRPSTATE|m2#consumer-1| [thrd:main]: Group "g1" changed state', "librdkafka log"),
        ("2026-03-01 12:00:00,250 INFO kafka.coordinator (Re-)joining group g", "kafka-python log"),
        (
            "INFO:kafka.coordinator.consumer:Revoking previously assigned partitions set() for group g",
            "kafka-python log",
        ),
    ],
)
def test_dialects_are_told_apart(line: str, name: str) -> None:
    dialect = recognise(["", line])
    assert dialect is not None
    assert dialect.name == name


def test_what_is_no_log_is_not_recognised() -> None:
    assert recognise(['{"v": 1, "run": "x"}', "# Title"]) is None
    assert recognise(["Lorem ipsum", "127.0.0.1 - GET /index.html"]) is None


def test_a_zone_is_used_where_the_line_prints_none() -> None:
    berlin = Clock(ZoneInfo("Europe/Berlin"))
    assert berlin.read("[2026-03-01 13:00:00,250] INFO") == AT_MS
    assert berlin.read("2026-03-01T12:00:00.250Z INFO") == AT_MS
    assert berlin.read("2026-13-41 12:00:00,250") is None
    assert berlin.read("no time") is None
