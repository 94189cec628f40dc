"""What a call leaves behind: nothing. A consumer that lives for months makes each of them a million times.

(As aiokafka's issue 628 was: one that had nothing to read grew with each poll.)
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from types import BuiltinFunctionType, CodeType, FrameType, ModuleType
from typing import Any

import pytest

from groupspec.impl.consumer import Consumer, WakeupError
from groupspec.impl.core import messages
from groupspec.impl.core.protocol import Assignment, encode_assignment
from groupspec.impl.run_to_idle import RunToIdleRuntime
from groupspec.impl.threads.memory_transport import MemoryTransport
from groupspec.impl.threads.tests.scripted_consumer import TOPIC, ScriptedConsumer, partitions

ROUNDS = 20
IMPL = "groupspec.impl"
ITS_OWN = (type, ModuleType, CodeType, FrameType, BuiltinFunctionType, RunToIdleRuntime, MemoryTransport)
"""What is not followed: no part of the consumer."""


def _interrupted(consumer: Consumer) -> None:
    consumer.wakeup()
    with suppress(WakeupError):
        consumer.poll(100)


def _asynchronously(consumer: Consumer) -> None:
    consumer.commit_async(callback=lambda *_: None)
    consumer.poll(100)


def _elsewhere(consumer: Consumer) -> None:
    for place in partitions(0, 1):
        consumer.seek(place, 50)
    consumer.poll(100)


def _paused(consumer: Consumer) -> None:
    consumer.pause(partitions(0))
    consumer.poll(100)
    consumer.resume(partitions(0))


def _rebalanced(consumer: Consumer) -> None:
    consumer.enforce_rebalance()
    consumer.poll(100)


def _anew(consumer: Consumer) -> None:
    consumer.unsubscribe()
    consumer.subscribe([TOPIC])
    consumer.poll(100)


CALLS: dict[str, Callable[[Consumer], object]] = {
    "poll() of nothing": lambda consumer: consumer.poll(1_000),
    "poll() that does not wait": lambda consumer: consumer.poll(0),
    "poll(), interrupted": _interrupted,
    "commit()": lambda consumer: consumer.commit(),
    "commit_async()": _asynchronously,
    "committed()": lambda consumer: consumer.committed(partitions(0, 1)),
    "position()": lambda consumer: consumer.position(partitions(0)[0]),
    "seek()": _elsewhere,
    "pause() and resume()": _paused,
    "end_offsets()": lambda consumer: consumer.end_offsets(partitions(0, 1)),
    "topics()": lambda consumer: consumer.topics(),
    "group_metadata()": lambda consumer: consumer.group_metadata(),
    "a rebalance": _rebalanced,
    "unsubscribe() and subscribe()": _anew,
}


def held(consumer: Consumer) -> int:
    """How many objects it holds, directly or not. Its functions lead to their modules, and those to all others."""
    of_others = {
        id(getattr(module, "__dict__", None)) for name, module in [*sys.modules.items()] if not name.startswith(IMPL)
    }
    found = set(of_others)
    to_follow: list[Any] = [consumer]
    while to_follow:
        for one in gc.get_referents(to_follow.pop()):
            if id(one) not in found and not isinstance(one, ITS_OWN):
                found.add(id(one))
                to_follow.append(one)
    return len(found) - len(of_others)


def make(driven: ScriptedConsumer, call: Callable[[Consumer], object]) -> None:
    """Make it a few times, as time passes; what the test itself remembers is forgotten."""
    for _ in range(ROUNDS):
        made = driven.begin(call)
        while not made.done:
            assert driven.runtime.advance_to_next_deadline()
        made.outcome()
    driver = driven.driver
    for remembered in (driver.submitted, driver.outputs, driver.told, driven.transport.sent, driven.trace):
        remembered.clear()


@pytest.mark.parametrize("name", CALLS)
def test_a_call_leaves_nothing_behind(name: str) -> None:
    shares = encode_assignment(Assignment(partitions(0, 1)))
    with ScriptedConsumer() as driven:
        for kind in (
            messages.FindCoordinatorRequest,
            messages.JoinGroupRequest,
            messages.HeartbeatRequest,
            messages.OffsetCommitRequest,
            messages.ListOffsetsRequest,
            messages.LeaveGroupRequest,
        ):
            driven.transport.answer_always(kind, driven.coordinator.answer)
        driven.transport.answer_always(
            messages.SyncGroupRequest, lambda _: messages.SyncGroupResponse(messages.ErrorCode.NONE, shares)
        )
        driven.call(lambda consumer: consumer.subscribe([TOPIC]))
        make(driven, lambda consumer: consumer.poll(100))
        make(driven, CALLS[name])
        before = held(driven.consumer)
        make(driven, CALLS[name])
        assert held(driven.consumer) - before < ROUNDS // 2
