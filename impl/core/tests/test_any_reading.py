"""Whatever becomes of the logs, and whatever the application seeks: in the end it has read what stands there."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupspec.impl.core.errors import IllegalStateError
from groupspec.impl.core.events import (
    Assign,
    Close,
    Commit,
    DescribeMetrics,
    Fetch,
    FetchCommitted,
    ListOffsets,
    ListTopics,
    MetadataUpdate,
    ResponseReceived,
    Subscribe,
    TimerExpired,
    UnsolicitedResponse,
    Unsubscribe,
)
from groupspec.impl.core.messages import ErrorCode, HeartbeatResponse, OffsetAndMetadata
from groupspec.impl.core.tests.reader import ALL, CORRUPT, OF_THE_WHOLE, UNASKED, UNDECIPHERABLE, Reader
from groupspec.impl.core.tests.scene import TOPIC, partitions

ERRORS = (
    *("NONE", "NONE", "NONE", "DISCONNECTED", "NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION"),
    *("FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "TOPIC_AUTHORIZATION_FAILED", "777", UNASKED, *OF_THE_WHOLE),
)
AT_ONCE = ("NONE", "DISCONNECTED", "TOPIC_AUTHORIZATION_FAILED", UNASKED, *OF_THE_WHOLE)
"""What is answered before anything else happens."""

APIS = ("Metadata", "Fetch", "ListOffsets", "OffsetForLeaderEpoch", "OffsetFetch", "OffsetCommit", "FindCoordinator")
BY_AGE = "by_duration:PT1H"

numbers = st.integers(0, len(ALL) - 1)
calls = ("poll", "take", "pause", "resume", "metadata", "ends", "when", "topics", "metrics", "commit", "committed")
wrong_calls = ("not assigned", "below zero", "commit below zero", "no such timer", "another answer", "committed none")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("answer"), st.sampled_from(APIS), st.sampled_from(ERRORS), st.booleans()),
        st.tuples(st.just("answer"), st.sampled_from(APIS), st.just("NONE"), st.booleans()),
        st.tuples(st.just("elect"), numbers, st.integers(0, 7), st.booleans()),
        st.tuples(st.just("lose the leader"), numbers),
        st.tuples(st.just("compare"), numbers, st.integers(0, 7), st.sampled_from(AT_ONCE)),
        st.tuples(st.just("look up"), st.sampled_from(AT_ONCE), st.booleans()),
        st.tuples(st.just("grow"), numbers, st.integers(1, 4)),
        st.tuples(st.just("seek"), numbers, st.integers(0, 9), st.integers(-1, 3)),
        st.tuples(st.just("seek while decoding"), numbers, st.integers(0, 9)),
        st.tuples(st.just("seek by time"), numbers, st.sampled_from((-2, -1)), st.sampled_from(AT_ONCE)),
        st.tuples(st.just("pass"), st.sampled_from((100, 1_000, 60_000, 400_000))),
        st.tuples(st.just("go on"), st.integers(1, 8)),
        st.tuples(st.sampled_from(calls)),
        st.tuples(st.sampled_from(wrong_calls)),
    ),
    min_size=5,
    max_size=40,
)


def take_step(reader: Reader, kind: str, *rest: object) -> None:
    match kind, rest:
        case "answer", (str(api), str(error), bool(is_behind)):
            reader.answer_one(api, error, is_behind)
        case "elect", (int(number), int(lost), bool(forgets)):
            reader.logs[ALL[number]].elect(lost, forgets)
        case "lose the leader", (int(number),):
            reader.logs[ALL[number]].leader = -1
            reader.do(MetadataUpdate((TOPIC,)))
        case "compare", (int(number), int(lost), str(error)):
            reader.logs[ALL[number]].elect(lost, forgets=False)
            for _ in range(3):  # it is refused, learns who leads, and asks the leader
                reader.go_on()
            reader.answer_one("OffsetForLeaderEpoch", error)
        case "grow", (int(number), int(count)):
            log = reader.logs[ALL[number]]
            log.records += [log.epoch] * count
        case "seek", (int(number), int(offset), int(epoch)):
            reader.seek(ALL[number], offset, epoch)
        case "seek while decoding", (int(number), int(offset)):
            reader.seeks_while_decoding.append((ALL[number], offset))
        case "look up", (str(error), bool(is_behind)):
            reader.do(MetadataUpdate((TOPIC,)))
            reader.answer_one("Metadata", error, is_behind)
        case "seek by time", (int(number), int(timestamp), str(error)):
            reader.positions.seek_by_time([ALL[number]], timestamp)
            reader.since[ALL[number]] = 0 if timestamp == -2 else 99
            reader.poll()
            reader.do(Fetch())
            reader.answer_one("ListOffsets", error)
        case "go on", (int(rounds),):
            for _ in range(rounds):
                reader.go_on()
        case "pass", (int(duration_ms),):
            reader.pass_ms(duration_ms)
        case _:
            call(reader, kind)


def call(reader: Reader, what: str) -> None:
    """One of the application's."""
    deadline_ms = reader.now_ms + 1_000
    match what:
        case "take":
            reader.take()
        case "pause":
            reader.positions.pause(ALL[:1])
        case "resume":
            reader.positions.resume(ALL)
        case "metadata":
            reader.do(MetadataUpdate((TOPIC,)))
        case "ends" | "when":
            asked = dict.fromkeys((*ALL, *partitions(9)), -1 if what == "ends" else 5)
            reader.do(ListOffsets(asked, reader.next_future(), deadline_ms))
        case "topics":
            reader.do(ListTopics(None, reader.next_future(), deadline_ms))
        case "metrics":
            lags = reader.positions.lags()
            assert all(lags[partition] == reader.positions.lag(partition) for partition in ALL)
            reader.do(DescribeMetrics(reader.next_future()))
        case "commit":
            reader.do(Commit(reader.positions.returned_positions(), reader.next_future(), deadline_ms))
        case "committed":
            reader.do(FetchCommitted(ALL, reader.next_future(), deadline_ms))
        case "poll":
            reader.positions.want_position(ALL[0])
            reader.do(Fetch())
        case _:
            refuse(reader, what)


def refuse(reader: Reader, what: str) -> None:
    """A call, or an event, that is refused, and moves nothing."""
    before = reader.positions.returned_positions()
    match what:
        case "not assigned":
            with pytest.raises(IllegalStateError, match="is not assigned to this consumer"):
                reader.positions.high_watermark(*partitions(9))
        case "below zero":
            with pytest.raises(ValueError, match="0 or more"):
                reader.positions.seek(ALL[0], -1)
        case "commit below zero":
            reader.do(Commit({ALL[0]: OffsetAndMetadata(-1)}, reader.next_future()))
        case "committed none":
            reader.do(FetchCommitted((), reader.next_future(), reader.now_ms))
        case "no such timer":
            with pytest.raises(ValueError, match="takes no TimerExpired"):
                reader.do(TimerExpired("tea"))
            with pytest.raises(KeyError, match="does not run"):
                reader.expire("tea")
        case "another answer" if reader.unanswered:
            with pytest.raises(UnsolicitedResponse, match="which awaits no answer"):
                reader.do(ResponseReceived(10_000, HeartbeatResponse(ErrorCode.NONE)))
            with pytest.raises(UnsolicitedResponse, match="which is a"):
                reader.do(ResponseReceived(reader.unanswered[0].request_id, HeartbeatResponse(ErrorCode.NONE)))
    assert reader.positions.returned_positions() == before


configs = st.fixed_dictionaries(
    {
        "group_id": st.sampled_from((None, "billing")),
        "auto_offset_reset": st.sampled_from(("earliest", "none", BY_AGE)),
        "isolation_level": st.sampled_from(("read_uncommitted", "read_committed")),
        "enable_auto_commit": st.booleans(),
    }
)


@given(config=configs, rounds=st.integers(0, 12), steps=steps)
def test_what_stands_in_the_logs_has_been_read_in_the_end(
    config: dict[str, object], rounds: int, steps: list[tuple[str, object]]
) -> None:
    reader = Reader(**config)
    for _ in range(rounds):
        reader.go_on()
    for step in steps:
        take_step(reader, *step)
    reader.settle()
    for partition, log in reader.logs.items():
        assert reader.positions.position(partition) == len(log.records)
        if config["auto_offset_reset"] == BY_AGE:  # it may begin anywhere
            continue
        for offset in range(reader.since[partition], len(log.records)):
            is_left_out = offset in (CORRUPT, UNDECIPHERABLE)
            assert is_left_out or reader.read[partition].get(offset) == log.records[offset], (partition, offset)
    if config["group_id"] is not None:
        reader.do(Subscribe((TOPIC,)))
        assert reader.describe().partitions == {}  # what was chosen by hand is given up
    reader.do(Close(reader.next_future(), reader.now_ms + 500))
    with suppress(KeyError):
        reader.pass_ms(500)
    for event in (Unsubscribe(reader.next_future()), ListTopics(None, reader.next_future(), 0), Assign(ALL)):
        reader.do(event)
    assert sorted(reader.ended) == list(range(1, reader.futures + 1))  # L2: every future has its end
