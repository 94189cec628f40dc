"""Kafka's `Heartbeat`: three timers, and what each happening does to each of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from groupspec.impl.core.config import Config
from groupspec.impl.core.context import Context
from groupspec.impl.core.heartbeat import Heartbeat
from groupspec.impl.core.subscription import SubscriptionState

CONFIG = Config(
    group_id="billing",
    heartbeat_interval_ms=3_000,
    session_timeout_ms=10_000,
    max_poll_interval_ms=60_000,
    retry_backoff_ms=100,
)
START_MS, NOW_MS = 1_000, 2_000
BEFORE = {"session": 11_000, "poll_interval": 61_000, "heartbeat": 4_000}


@pytest.fixture
def context() -> Context:
    made = Context(CONFIG, SubscriptionState(), None)
    made.begin(START_MS)
    return made


@pytest.mark.parametrize(
    ("happening", "moved"),
    [
        (Heartbeat.reset_timeouts, {"session": 12_000, "poll_interval": 62_000, "heartbeat": 5_000}),
        (Heartbeat.poll, {"poll_interval": 62_000}),
        (Heartbeat.sent_heartbeat, {"heartbeat": 5_000}),
        (Heartbeat.receive_heartbeat, {"session": 12_000}),
        (Heartbeat.fail_heartbeat, {"heartbeat": 2_100}),
        (Heartbeat.reset_session_timeout, {"session": 12_000}),
    ],
)
def test_each_happening_moves_its_timers_and_no_other(
    context: Context, happening: Callable[[Heartbeat], None], moved: dict[str, int]
) -> None:
    heartbeat = Heartbeat(context)
    heartbeat.reset_timeouts()
    assert context.timers.armed() == BEFORE
    context.begin(NOW_MS)
    happening(heartbeat)
    assert context.timers.armed() == BEFORE | moved


def test_expiry_is_not_strict(context: Context) -> None:
    heartbeat = Heartbeat(context)
    heartbeat.reset_timeouts()
    for expired, at_ms in (
        (heartbeat.should_heartbeat, 4_000),
        (heartbeat.session_timeout_expired, 11_000),
        (heartbeat.poll_timeout_expired, 61_000),
    ):
        assert not expired(at_ms - 1)
        assert expired(at_ms)
    assert [heartbeat.time_to_next_heartbeat_ms(at_ms) for at_ms in (1_000, 3_999, 5_000)] == [3_000, 1, 0]


def test_who_is_no_member_has_no_times(context: Context) -> None:
    heartbeat = Heartbeat(context)
    heartbeat.reset_timeouts()
    heartbeat.disable()
    assert heartbeat.time_to_next_heartbeat_ms(10**9) is None
    assert not heartbeat.should_heartbeat(10**9)
    assert not heartbeat.session_timeout_expired(10**9)
    assert not heartbeat.poll_timeout_expired(10**9)


def test_the_last_times_are_kept(context: Context) -> None:
    heartbeat = Heartbeat(context)
    assert (heartbeat.last_heartbeat_send_ms, heartbeat.last_heartbeat_receive_ms, heartbeat.last_poll_ms) == (0, 0, 0)
    heartbeat.sent_heartbeat()
    context.begin(NOW_MS)
    heartbeat.receive_heartbeat()
    assert (heartbeat.last_heartbeat_send_ms, heartbeat.last_heartbeat_receive_ms) == (START_MS, NOW_MS)
    heartbeat.poll()
    assert heartbeat.last_poll_ms == NOW_MS
