"""A call that raises is judged all the same, and a consumer cannot keep to itself what is found wrong."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from groupspec.conformance.mutation.mutant import Method, Seam
from groupspec.conformance.schedules.outcomes import CallbackRaised
from groupspec.conformance.schedules.parting import Parting
from groupspec.conformance.schedules.tests.heard import CALM, PLACE, Heard, World, expect
from groupspec.conformance.schedules.tests.searching import expect_found
from groupspec.impl.callbacks import Callbacks
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.commits import Commits
from groupspec.impl.core.errors import IllegalStateError
from groupspec.impl.core.leaving import Leaving
from groupspec.impl.scheduling import ScheduledRuntime, run
from groupspec.impl.scheduling.strategies import RandomWalk

WITHIN = 60


def _stays(seam: Seam) -> None:
    """Who raises in close() what a callback has raised does not leave."""
    raises: set[int] = set()

    @seam.replacing(Callbacks.add)
    def noted(original: Method, self: Callbacks, error: Exception) -> None:
        core = self._driver.core
        if core.leaving._closing:
            raises.add(id(core.context))
        original(self, error)

    @seam.replacing(Leaving.send_leave_group)
    def stays(original: Method, self: Leaving, reason: str) -> object:
        return None if id(self._context) in raises else original(self, reason)


def test_L1_a_call_that_raises_has_left_the_group_all_the_same() -> None:
    expect_found(
        _stays,
        lambda drawn: "raise" in drawn.callbacks and not (drawn.static or drawn.timers_race or drawn.manual),
        r"has not taken .* out of the group \(L1\)",
        WITHIN,
    )


def test_L5_a_close_that_raises_has_committed_all_the_same() -> None:
    """The application's errors are raised when all is done: so Kafka's ConsumerCoordinator.close."""

    def change(seam: Seam) -> None:
        seam.replace(Commits.commit_before_close, lambda *_: None)
        seam.replace(Consumer.close, _raises_in_the_end)

    expect_found(
        change,
        lambda drawn: drawn.auto_commit and drawn.is_calm and drawn.ending == "close" and not drawn.manual,
        r"is committed \(rule L5\)",
        WITHIN,
    )


def _raises_in_the_end(original: Method, self: Consumer, timeout_ms: int = 30_000) -> None:
    original(self, timeout_ms)
    raise CallbackRaised


def test_P4_a_call_that_raises_has_not_waited_either() -> None:
    def work(runtime: ScheduledRuntime) -> None:
        world = World(runtime, CALM)

        def application() -> None:
            with suppress(IllegalStateError), world.outcomes.of("seek", world.requests):
                runtime.sleep_ms(1)
                raise IllegalStateError("it is not assigned any more")

        world.run(application)

    expect(work, "seek takes 1 ms, and has nothing to wait for (rule P4)")


def test_C1_what_is_gone_without_a_callback_is_told_of_a_call_that_raises() -> None:
    def change(seam: Seam) -> None:
        lost: set[int] = set()

        @seam.replacing(Consumer.seek)
        def raises(_: Method, self: Consumer, *__: object) -> None:
            lost.add(id(self))
            raise IllegalStateError("it is not assigned any more")

        @seam.replacing(Consumer.assignment)
        def lacks(original: Method, self: Consumer) -> object:
            return set() if id(self) in lost else original(self)

    expect_found(
        change,
        lambda drawn: drawn.calls.count("seek") > 1 and drawn.is_calm and not (drawn.manual or drawn.pattern),
        "after seek .* are gone without a callback",
        WITHIN,
    )


@pytest.mark.parametrize("where", ["in a callback", "in the network"])
def test_what_is_found_wrong_is_told_although_the_consumer_keeps_it_to_itself(where: str) -> None:
    def work(runtime: ScheduledRuntime) -> None:
        runtime.timers_race = False
        world = World(runtime, CALM)

        def consumer() -> None:
            with suppress(AssertionError):
                if where == "in a callback":
                    with runtime.application("on_partitions_lost"):
                        raise AssertionError("found wrong")
                world.transport.poll(0)

        if where == "in the network":
            with Seam() as seam:
                seam.replace(type(world.requests).answered, _finds_wrong)
                world.run(consumer)
            world.transport.expect_whole()
        else:
            world.run(consumer)

    assert str(run(work, RandomWalk(1)).error) == "found wrong"


def _finds_wrong(*_: object) -> None:
    raise AssertionError("found wrong")


def test_L1_whoever_has_left_may_raise() -> None:
    """No check is so strict that a close() must not raise."""
    heard = Heard()
    heard.stable("orders", share=(PLACE,))

    def work(runtime: ScheduledRuntime) -> None:
        world = World(runtime, replace(CALM, ending="close"))
        parting = Parting(
            *(runtime, world.scenario, world.group, heard.requests, world.ledger),
            *(world.questions, world.reading, world.choosing),
        )
        with suppress(CallbackRaised), parting._leaving("close()"):
            heard.requests.named = ""
            raise CallbackRaised

    expect(work, None)
