"""Runs in virtual time: the same each time, with the verdicts of real ones; and threads that keep their word."""

from __future__ import annotations

import queue
import re
import selectors
import socket
import threading
import time
from collections.abc import Callable
from functools import partial

import pytest

from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios import find_cases
from groupspec.conformance.wire.virtual.run import FORK, Told, Trial, run_apart
from groupspec.conformance.wire.virtual.world import Stuck, World
from groupspec.impl.threads.designs import Design


def case(identifier: str) -> Case:
    """The case with that selector."""
    [found] = find_cases([identifier])
    return found


def in_a_world(work: Callable[[], object]) -> object:
    """What this returns, in a process of its own that has virtual time; an error by its name."""

    def tell() -> None:
        World().take_over()
        try:
            sender.send(work())
        except Exception as error:
            sender.send(type(error).__name__)

    receiver, sender = FORK.Pipe(duplex=False)
    child = FORK.Process(target=tell, daemon=True)
    child.start()
    sender.close()
    try:
        return receiver.recv()
    finally:
        child.kill()
        child.join()
        receiver.close()


# Runs -----------------------------------------------------------------------------------------------------------------


@pytest.mark.realtime
def test_a_run_says_the_same_each_time() -> None:
    def log_of(told: Told) -> list[tuple[object, ...]]:
        ports = re.compile(r"127\.0\.0\.1:\d+")
        return [(e.at_us, e.source, e.kind, e.api, e.error, ports.sub("", e.text)) for e in told.log]

    first, second = (run_apart(Trial(case("rebalance-cooperative/sync-late"), keep_log=True)) for _ in range(2))
    assert log_of(first) == log_of(second) != []


@pytest.mark.realtime
@pytest.mark.parametrize("identifier", ["first-join/poll-5", "close-while-stable/heartbeat-in-flight"])
@pytest.mark.parametrize("design", ["background", "heartbeat"])
def test_the_reference_keeps_every_rule(identifier: str, design: Design) -> None:
    told = run_apart(Trial(case(identifier), design=design, keep_log=True))
    assert told.broke_off == ""
    assert told.broken == ()
    assert {each.verdict.value for each in told.judgements.values()} == {"PASS"}


@pytest.mark.realtime
def test_a_mutant_breaks_its_rule() -> None:
    told = run_apart(Trial(case("rebalance-eager/slow-callback"), MUTANTS["BUG-26"].change))
    assert told.broken == ("H1",)


@pytest.mark.realtime
def test_a_run_that_never_ends_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def never_rests(_: Seam) -> None:
        while True:
            pass

    monkeypatch.setattr("groupspec.conformance.wire.virtual.run.MAX_S", 0.2)
    assert run_apart(Trial(case("first-join/poll-5"), never_rests)).broke_off == "its process ended with -14"


# What they are made of ------------------------------------------------------------------------------------------------


def test_time_goes_on_when_all_threads_wait() -> None:
    def work() -> object:
        order: list[str] = []

        def comes(name: str, duration_s: float) -> None:
            time.sleep(duration_s)
            order.append(name)

        for coming in (("late", 7.0), ("soon", 2.0)):
            threading.Thread(target=comes, args=coming).start()
        begun = time.monotonic()
        time.sleep(10)
        return order, round(time.monotonic() - begun, 2)

    began = time.monotonic()
    assert in_a_world(work) == (["soon", "late"], 10.0)
    assert time.monotonic() - began < 5


def test_a_thread_that_never_rests_lets_others_go_on() -> None:
    def work() -> object:
        ends = time.monotonic() + 0.5
        done: list[str] = []
        threading.Thread(target=done.append, args=("other",)).start()
        while time.monotonic() < ends:
            pass
        return done

    assert in_a_world(work) == ["other"]


def test_locks_exclude_and_are_handed_over_in_order() -> None:
    def work() -> object:
        lock, order = threading.Lock(), list[str]()

        def take(name: str) -> None:
            with lock:
                order.append(name)
                time.sleep(1)
                order.append(f"{name} has it")

        threads = [threading.Thread(target=take, args=(name,)) for name in "ab"]
        for each in threads:
            each.start()
        time.sleep(0.5)
        refused = lock.acquire(blocking=False), lock.acquire(timeout=0.1)
        for each in threads:
            each.join()
        return order, refused, lock.locked(), [each.is_alive() for each in threads]

    expected = ["a", "a has it", "b", "b has it"]
    assert in_a_world(work) == (expected, (False, False), False, [False, False])


def test_a_reentrant_lock_is_its_owners() -> None:
    def work() -> object:
        lock, waited = threading.RLock(), list[float]()
        condition = threading.Condition(lock)

        def wait() -> None:
            with lock, condition:
                waited.append(condition.wait(5) and time.monotonic())

        begun = time.monotonic()
        threading.Thread(target=wait).start()
        time.sleep(3)
        with condition:
            condition.notify_all()
        time.sleep(1)
        return round(waited[0] - begun, 1), condition_times_out()

    def condition_times_out() -> bool:
        event = threading.Event()
        return event.wait(2)

    assert in_a_world(work) == (3.0, False)


def test_who_waits_for_a_socket_goes_on_when_it_is_ready() -> None:
    def work() -> object:
        one, other = socket.socketpair()
        selector = selectors.DefaultSelector()
        selector.register(other, selectors.EVENT_READ)

        def send() -> None:
            time.sleep(2)
            one.send(b"x")

        begun = time.monotonic()
        threading.Thread(target=send).start()
        first = len(selector.select(1)), round(time.monotonic() - begun, 1)
        return first, len(selector.select(9)), round(time.monotonic() - begun, 1), len(selector.select(0))

    assert in_a_world(work) == ((0, 1.0), 1, 2.0, 1)


def test_a_queue_waits_and_a_thread_that_raises_is_over() -> None:
    def work() -> object:
        items: queue.Queue[str] = queue.Queue()
        raising = threading.Thread(target=partial(_raise, items))
        raising.start()
        raising.join(1)
        return items.get(timeout=3), raising.is_alive()

    assert in_a_world(work) == ("put", False)


def _raise(items: queue.Queue[str]) -> None:
    items.put("put")
    raise ValueError


def test_threads_that_wait_for_each_other_are_told() -> None:
    assert in_a_world(threading.Event().wait) == Stuck.__name__


@pytest.mark.realtime
def test_J2_a_client_that_joins_as_it_subscribes_is_not_awaited_when_it_has_joined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As librdkafka does, in a thread of its own: the kit's process may come to it when that round is over."""
    subscribe_to = ScenarioContext.subscribe_to

    def comes_late(self: ScenarioContext, *topics: str) -> None:
        since = self.now()
        subscribe_to(self, *topics)
        self.reached(lambda e: (e.kind, e.api) == ("response", "SyncGroup"), "the end of the round", 3.0, since=since)

    monkeypatch.setattr(ScenarioContext, "subscribe_to", comes_late)
    told = run_apart(Trial(case("unsubscribe-on-the-way/looking-up"), MUTANTS["BUG-20"].change))
    assert told.broken == ()
