"""Runs in virtual time: the same each time, with the verdicts of real ones; and threads that keep their word."""

from __future__ import annotations

import errno
import os
import queue
import selectors
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

import pytest

from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios import find_cases, topics
from groupspec.conformance.wire.virtual.run import FORK, Trial, run_apart
from groupspec.conformance.wire.virtual.world import Stuck, World
from groupspec.impl.broker.actions import Hold, Reply
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


REPEATED = (
    ("rebalance-cooperative/sync-late", "", "background"),
    ("first-join/poll-5", "", "heartbeat"),
    ("coordinator-moves-twice/syncing", "", "background"),
    ("close-while-stable/heartbeat-in-flight", "", "background"),
    ("rebalance-eager/slow-callback", "BUG-26", "background"),
)
"""Case, mutant, design."""

PROGRAM = """
import hashlib
from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.wire.scenarios import find_cases, topics
from groupspec.conformance.wire.tests.test_virtual import REPEATED
from groupspec.conformance.wire.virtual.run import Trial, run_apart

for selector, mutant, design in REPEATED * {times}:
    [case] = find_cases([selector])
    told = run_apart(Trial(case, MUTANTS[mutant].change if mutant else None, design, keep_log=True))
    whole = "\\n".join([*map(str, told.log), str(told.judgements), str(told.broken), str(told.seconds), told.broke_off])
    assert len(told.log) > 20, (selector, told)
    print(selector, hashlib.sha256(whole.encode()).hexdigest())
"""


@contextmanager
def busy_machine() -> Iterator[None]:
    """More programs that compute without end than there are processors."""
    count = 2 * (os.cpu_count() or 1)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in busy:
            each.kill()
            each.wait()


def repeated(hash_seed: str, times: int = 1) -> list[str]:
    """What runs say, all of it, in a process of its own: a line for each."""
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(times=times)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return told.stdout.splitlines()


def test_a_run_is_the_same_in_each_process_and_on_a_busy_machine() -> None:
    """Every byte of the log: times, ports and frames; and every judgement with its reason."""
    first = repeated("1")
    with busy_machine():
        assert repeated("2") == first
    assert len({line.split()[1] for line in first}) == len(REPEATED)


@pytest.mark.exhaustive
@pytest.mark.realtime
def test_a_hundred_runs_on_a_busy_machine_are_the_same() -> None:
    with busy_machine():
        found = repeated("3", times=20)
    assert len(found) == 20 * len(REPEATED)
    assert set(found) == set(repeated("4"))


@pytest.mark.realtime
@pytest.mark.parametrize("identifier", ["first-join/poll-5", "close-while-stable/heartbeat-in-flight"])
@pytest.mark.parametrize("design", ["background", "heartbeat"])
def test_the_reference_keeps_every_rule(identifier: str, design: Design) -> None:
    told = run_apart(Trial(case(identifier), design=design, keep_log=True))
    assert told.broke_off == ""
    assert told.broken == ()
    assert {each.verdict.value for each in told.judgements.values()} == {"PASS"}


@pytest.mark.realtime
@pytest.mark.parametrize("identifier", ["subscription-grows/joining", "subscription-changes/joining"])
def test_J1_what_a_subscription_brings_counts_from_the_change_on(identifier: str) -> None:
    """A round that is not held up may bring the records while the kit still watches for a JoinGroup in mid-round."""

    def holds_nothing_up(seam: Seam) -> None:
        seam.put(topics, "hold", lambda *_: Hold())

    told = run_apart(Trial(case(identifier), holds_nothing_up, keep_log=True))
    assert (told.broken, told.broke_off) == ((), "")


@pytest.mark.realtime
def test_J8_who_joins_again_meanwhile_for_another_reason_has_divided_what_has_grown() -> None:
    """As kafkajs does, which gives its SyncGroup up before any Metadata: the next round has all six partitions."""

    def refuses(seam: Seam) -> None:
        def hold(context: ScenarioContext, api: str) -> Hold:
            held = Hold(Reply("REBALANCE_IN_PROGRESS"))
            context.broker.do_next(api, held, "it is answered later, with an error")
            return held

        seam.put(topics, "hold", hold)

    told = run_apart(Trial(case("topic-grows/syncing"), refuses, keep_log=True))
    assert (told.broken, told.broke_off) == ((), "")


@pytest.mark.realtime
def test_a_mutant_breaks_its_rule() -> None:
    told = run_apart(Trial(case("rebalance-eager/slow-callback"), MUTANTS["BUG-26"].change))
    assert told.broken == ("H1",)


@pytest.mark.realtime
def test_a_run_that_never_ends_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what it does, or else by the time of the processor that it takes: how busy that is makes no difference."""

    def never_rests(_: Seam) -> None:
        while True:
            pass

    def looks_at_the_clock(_: Seam) -> None:
        while True:
            time.monotonic()

    monkeypatch.setattr("groupspec.conformance.wire.virtual.run.MAX_S", 0.5)
    told = run_apart(Trial(case("first-join/poll-5"), never_rests)).broke_off
    assert told == "a thread never rests: more than 0 s of the processor's time"
    monkeypatch.setattr("groupspec.conformance.wire.virtual.world.MOST_LOOKS", 10_000)
    told = run_apart(Trial(case("first-join/poll-5"), looks_at_the_clock)).broke_off
    assert told == "a thread never rests: more than 10,000 looks at the clock"


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


def _ends_of_a_connection() -> tuple[socket.socket, socket.socket]:
    """Who has connected, and the other one; the first does not block."""
    listener = socket.create_server(("127.0.0.1", 0))
    one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    one.setblocking(False)
    with suppress(BlockingIOError):
        one.connect(listener.getsockname())
    other, address = listener.accept()
    assert address == one.getsockname() == other.getpeername()
    assert one.getpeername() == listener.getsockname() == other.getsockname()
    assert one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
    return one, other


def test_a_connection_within_the_host_looks_like_tcp() -> None:
    def work() -> object:
        one, other = _ends_of_a_connection()
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        one.send(b"asked")
        asked = other.recv(9)
        other.send(b"answered")
        other.close()
        return asked, one.send(b"to nobody"), one.recv(99), one.recv(99), one.family == socket.AF_INET

    assert in_a_world(work) == (b"asked", 9, b"answered", b"", True)


def test_a_reset_comes_behind_what_was_sent_before() -> None:
    def work() -> object:
        one, other = _ends_of_a_connection()
        other.send(b"answered")
        other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        other.close()
        read = one.recv(99)
        try:
            one.recv_into(bytearray(9))
        except ConnectionResetError:
            return read, "reset"
        return read, "no reset"

    assert in_a_world(work) == (b"answered", "reset")


def test_nobody_listens_is_told_when_the_socket_is_looked_at() -> None:
    def work() -> object:
        one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        one.setblocking(False)
        selector = selectors.DefaultSelector()
        with suppress(BlockingIOError):
            one.connect(("127.0.0.1", 1))
        selector.register(one, selectors.EVENT_WRITE)
        found = len(selector.select(1))
        return found, one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), socket.socket().connect_ex(("127.0.0.1", 1))

    assert in_a_world(work) == (1, errno.ECONNREFUSED, errno.ECONNREFUSED)


def test_ports_are_the_same_in_each_run() -> None:
    def work() -> object:
        return [socket.create_server(("127.0.0.1", 0)).getsockname()[1] for _ in range(2)]

    assert in_a_world(work) == in_a_world(work) == [40_001, 40_002]


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
