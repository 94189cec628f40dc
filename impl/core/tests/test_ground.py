"""Configuration, timers, subscription state: what everything else stands on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import pytest

from groupspec.impl.core.config import Config, RebalanceProtocol
from groupspec.impl.core.errors import ConfigError, IllegalStateError, error_for
from groupspec.impl.core.events import ResponseReceived
from groupspec.impl.core.messages import ErrorCode, FindCoordinatorResponse, HeartbeatResponse
from groupspec.impl.core.other_settings import REFUSED
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.core.tests.scene import Scene, partitions
from groupspec.impl.core.timers import Timers

P0, P1 = partitions(0, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"heartbeat_interval_ms": 45_000},
            "heartbeat_interval_ms=45000 must be set lower than session_timeout_ms=45000",
        ),
        ({"max_poll_interval_ms": 0}, "max_poll_interval_ms=0: must be a whole number from 1"),
        ({"request_timeout_ms": 2**31}, "request_timeout_ms=2147483648"),
        ({"retry_backoff_ms": "100"}, "retry_backoff_ms='100'"),
        ({"max_poll_records": True}, "max_poll_records=True"),
        ({"isolation_level": "committed"}, "'read_uncommitted' or 'read_committed'"),
        ({"check_crcs": 1}, "check_crcs=1: must be True or False"),
        ({"receive_buffer_bytes": -2}, "receive_buffer_bytes=-2: must be a whole number from -1"),
        ({"consumer_timeout_ms": -1}, "consumer_timeout_ms=-1"),
        ({"group_id": ""}, "group_id='': must not be empty"),
        ({"group_instance_id": ""}, "group_instance_id=''"),
        ({"group_instance_id": "a b"}, "letters, digits, dots"),
        ({"auto_offset_reset": "newest"}, "'earliest', 'latest' or 'none'"),
        ({"auto_offset_reset": None}, "'earliest', 'latest' or 'none'"),
        ({"auto_offset_reset": "by_duration:P"}, "such as 'by_duration:P1DT12H'"),
        ({"auto_offset_reset": "by_duration:-P1D"}, "such as 'by_duration:P1DT12H'"),
        ({"partition_assignment_strategy": ()}, "at least one of 'range'"),
        ({"partition_assignment_strategy": "range"}, "must be a tuple"),
        ({"partition_assignment_strategy": ("rnage",)}, "known are range, roundrobin, sticky, cooperative-sticky"),
        ({"partition_assignment_strategy": ("range", "range")}, "twice"),
    ],
)
def test_a_configuration_that_cannot_work_is_an_error_that_says_what_would(
    settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        Config(**settings)  # type: ignore[arg-type]
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "age_ms"),
    [
        ("P1D", 86_400_000),
        ("PT36H", 129_600_000),
        ("P1DT12H", 129_600_000),
        ("pt1m0.5s", 60_500),
        ("PT0S", 0),
        ("P1DT", None),
        ("PT", None),
        ("P1M", None),
        ("1D", None),
    ],
)
def test_a_duration_is_written_as_in_java(text: str, age_ms: int | None) -> None:
    if age_ms is None:
        with pytest.raises(ConfigError):
            Config(auto_offset_reset=f"by_duration:{text}")
    else:
        assert Config(auto_offset_reset=f"by_duration:{text}").reset_age_ms == age_ms


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("sesion_timeout_ms", 1, "did you mean session_timeout_ms?"),
        ("session.timeout.ms", 1, "write session_timeout_ms"),
        ("value_deserialiser", str, "did you mean value_deserializer?"),
        ("ssl_cafile", "ca.pem", "neither TLS nor SASL is offered"),
        ("security_protocol", "SSL", "neither TLS nor SASL is offered"),
        ("group_protocol", "consumer", "only the classic group protocol is offered"),
        ("enable_incremental_fetch_sessions", True, "every fetch names all its partitions"),
        ("colour", "blue", "there are allow_auto_create_topics, "),
    ],
)
def test_a_setting_that_does_not_exist_is_refused_with_what_to_write_instead(
    name: str, value: object, message: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        Config.of({name: value})  # type: ignore[misc]
    assert message in str(raised.value)


def test_a_setting_that_says_what_is_so_anyway_may_be_given() -> None:
    assert Config.of({"security_protocol": "PLAINTEXT", "group_protocol": "classic"}) == Config()  # type: ignore[typeddict-unknown-key]


def test_what_is_refused_with_a_reason_is_no_setting() -> None:
    assert not set(REFUSED) & {field.name for field in fields(Config)}


def test_the_default_configuration_is_kafkas() -> None:
    config = Config(group_id="g")
    assert (config.session_timeout_ms, config.heartbeat_interval_ms, config.max_poll_interval_ms) == (
        45_000,
        3_000,
        300_000,
    )
    assert config.rebalance_protocol is RebalanceProtocol.EAGER
    assert config.auto_commit and not config.is_static
    assert not Config().auto_commit


def test_timers_expire_at_their_deadline_not_after_it() -> None:
    timers = Timers()
    timers.arm("heartbeat", 100)
    assert timers.due(99) == []
    assert timers.due(100) == ["heartbeat"]


def test_timers_that_are_due_together_fire_in_the_documented_order() -> None:
    timers = Timers()
    for name in ("auto_commit", "heartbeat", "poll_interval", "session"):
        timers.arm(name, 5)
    assert timers.due(5) == ["session", "poll_interval", "heartbeat", "auto_commit"]


def test_a_timer_can_be_made_due_and_must_run_for_that() -> None:
    timers = Timers()
    timers.arm("session", 9_000)
    timers.expire_now("session", 10)
    assert (timers.due(10), timers.next_deadline_ms()) == (["session"], 10)
    timers.disarm("session")
    assert timers.next_deadline_ms() is None
    with pytest.raises(KeyError, match="does not run"):
        timers.expire_now("session", 10)
    with pytest.raises(AssertionError, match="no timer 'sessions'"):
        timers.arm("sessions", 10)


def test_a_timer_that_an_earlier_one_moves_does_not_fire() -> None:
    scene = Scene(session_timeout_ms=10_000, heartbeat_interval_ms=9_999).stable(0)
    scene.expire("session")
    scene.core.timers.arm("session", scene.now_ms)
    scene.core.timers.arm("poll_interval", scene.now_ms)
    assert scene.core.advance(scene.now_ms) == []  # the coordinator is unknown: neither counts


def test_time_never_runs_backwards() -> None:
    scene = Scene().stable(0)
    scene.pass_ms(10_000)
    scene.poll()
    scene.now_ms = 0
    scene.poll()
    assert scene.core.timers.deadline_ms("poll_interval") == 310_000


def test_what_is_not_assigned_has_no_position() -> None:
    subscription = SubscriptionState()
    subscription.assign_manually([P0])
    attempts: list[Callable[[], object]] = [
        lambda: subscription.positions.position(P1),
        lambda: subscription.positions.seek(P1, 0),
        lambda: subscription.positions.pause([P0, P1]),
        lambda: subscription.positions.want_position(P1),
    ]
    for attempt in attempts:
        with pytest.raises(IllegalStateError, match="orders-1 is not assigned to this consumer; assigned: orders-0"):
            attempt()
    assert subscription.positions.paused() == ()
    with pytest.raises(ValueError, match="0 or more"):
        subscription.positions.seek(P0, -1)


def test_pausing_is_seen_and_undone() -> None:
    scene = Scene().stable(0)
    scene.subscription.positions.pause([P0])
    assert (scene.subscription.positions.paused(), scene.describe().partitions[P0].state) == ((P0,), "PAUSED")
    scene.subscription.positions.resume([P0])
    assert scene.subscription.positions.paused() == ()


def test_switching_to_a_subscription_ends_the_manual_assignment() -> None:
    subscription = SubscriptionState()
    subscription.assign_manually([P0])
    subscription.subscribe(["b", "a", "b"])
    assert (subscription.topics(), subscription.assignment(), subscription.is_manual()) == (("a", "b"), (), False)


def test_errors_say_what_to_do() -> None:
    error = error_for(ErrorCode.INVALID_SESSION_TIMEOUT, "JoinGroup refused")
    assert "JoinGroup refused: INVALID_SESSION_TIMEOUT; set session_timeout_ms within" in str(error)


def test_the_trace_counts_without_gaps_and_begins_with_the_configuration() -> None:
    scene = Scene(group_instance_id="one").stable(0)
    scene.heartbeat()
    assert [event.seq for event in scene.trace] == list(range(len(scene.trace)))
    assert [event.event for event in scene.trace] == [
        "config",
        "subscribed",
        "poll",
        "lookup_sent",
        "lookup_answered",
        "join_sent",
        "join_answered",
        "sync_sent",
        "sync_answered",
        "assigned_started",
        "assigned",
        "heartbeat_sent",
        "heartbeat_answered",
    ]
    first = scene.trace[0]
    assert first.detail == {
        "rebalance": "eager",
        "session_timeout_ms": 45_000,
        "max_poll_interval_ms": 300_000,
        "heartbeat_interval_ms": 3_000,
        "static": True,
    }
    joined = scene.trace[6]
    assert (joined.generation, joined.member_id, joined.error) == (1, "member-1", "NONE")


def test_the_trace_tells_of_a_throttle_on_the_coordinators_connection() -> None:
    """The lookup is asked of any broker: that one's silence holds up no heartbeat."""
    scene = Scene().start()
    scene.poll()
    found = FindCoordinatorResponse(ErrorCode.NONE, 1, "localhost", 9092)
    scene.do(ResponseReceived(scene.waiting("FindCoordinator").request_id, found, throttle_time_ms=300))
    scene.join_accepted()
    scene.sync_accepted(*partitions(0))
    scene.expire("heartbeat")
    beat = HeartbeatResponse(ErrorCode.NONE)
    scene.do(ResponseReceived(scene.waiting("Heartbeat").request_id, beat, throttle_time_ms=700))
    assert [(event.event, event.throttle_time_ms) for event in scene.trace if event.throttle_time_ms] == [
        ("throttled", 700)
    ]
