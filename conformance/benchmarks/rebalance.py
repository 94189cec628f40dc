"""How long a group takes to be stable again when a second member joins: the reference's designs beside other clients.

One group for each client: member A has all four partitions and polls, member B subscribes and polls; what counts is the
time from B's subscribe() to the callback of whichever is told of its part last. Both members are processes behind the
harness protocol, with the range assignor and the same settings. The broker is Kafka's, without a delay before the first
rebalance. All clients take turns, so that what else the machine does meets all of them.

A hears of the rebalance by its next heartbeat. That is nearly all of the time, and a matter of when B comes: so B comes
equally often in each part of the interval, counted from when A was given everything.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Final

from groupspec.conformance.benchmarks.consume import PARTITIONS, broker, create_topic
from groupspec.conformance.benchmarks.figures import Figure, no_more
from groupspec.conformance.errors import InternalProblem
from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.wire.client_builds import BUILDS
from groupspec.conformance.wire.clients import find_client
from groupspec.conformance.wire.harness_process import HarnessProcess
from groupspec.conformance.wire.log import Log, now_us

OURS: Final = ("reference", "reference-heartbeat")
GOALS: Final = ("kafka-python", "aiokafka")
"""No slower than these."""

OTHERS: Final = ("confluent-kafka", "java")
"""For comparison; the Java client takes a JDK and Maven."""

ROUNDS: Final = 50
TOPIC: Final = "orders"
HEARTBEAT_MS: Final = 200
SESSION_MS: Final = 3_000
"""How long a group waits for who gives up its subscription without a word."""

POLL_MS: Final = 100
LIMIT_S: Final = 30.0
TRIES: Final = 3
"""kafka-python's members now and then are told of no assignment (docket, rule S3): then both begin anew."""


class Member:
    """One process, and which partitions it was told of."""

    def __init__(self, client: str, name: str, bootstrap: str) -> None:
        self.log = Log()
        self._process = HarnessProcess(find_client(client).command, self.log, events_per_second=100_000)
        self._name = f"{client} {name}"
        self._process.send(
            protocol.Configure(
                bootstrap=bootstrap,
                group_id=f"rebalance-{client}",
                client_id=name,
                rebalance="eager",
                session_timeout_ms=SESSION_MS,
                heartbeat_interval_ms=HEARTBEAT_MS,
                max_poll_interval_ms=60_000,
                request_timeout_ms=15_000,
                retry_backoff_ms=100,
                auto_commit=False,
                auto_commit_interval_ms=5_000,
                auto_offset_reset="earliest",
                fetch_max_wait_ms=100,
                callback_ms=0,
                more={},
            )
        )

    def join(self) -> None:
        """Subscribe, and poll from now on."""
        self._process.send(protocol.Subscribe(topics=[TOPIC]))
        self._process.send(protocol.Poll(poll_ms=POLL_MS))

    def leave(self) -> None:
        """Give up the subscription."""
        self._process.send(protocol.Unsubscribe())

    def told_us(self, partitions: int | None, since_us: int) -> int:
        """When it was told, after that time, that it has so many partitions (None: whatever it has).

        Raises:
            InternalProblem: it was not, in half a minute.
        """
        found = self.log.wait(
            lambda entry: (
                isinstance(entry.event, protocol.PartitionsAssigned)
                and entry.at_us > since_us
                and partitions in (None, len(entry.event.partitions))
            ),
            LIMIT_S,
        )
        if found is None:
            why = self.log.ended or self._process.stderr_tail()[-500:]
            raise InternalProblem(f"{self._name} was not assigned {partitions} partitions in {LIMIT_S} s: {why}")
        return found.at_us

    def end(self) -> None:
        """End the process."""
        self._process.kill()


class Pair:
    """Two members of one client's group."""

    def __init__(self, client: str, bootstrap: str, stack: ExitStack) -> None:
        self._client, self._bootstrap, self._stack = client, bootstrap, stack
        self._start()

    def round_ms(self, pause_ms: float) -> float:
        """The second leaves, and joins so long after the first was given everything: how long the join takes.

        Raises:
            InternalProblem: a member was not told of its partitions; of other clients than ours again and again.
        """
        try:
            return self._round_ms(pause_ms)
        except InternalProblem:
            if self._client in OURS:
                raise
            self._start()
            return self._round_ms(pause_ms)

    def _start(self) -> None:
        for _ in range(0 if self._client in OURS else TRIES - 1):
            with suppress(InternalProblem):
                self._begin()
                return
        self._begin()

    def _begin(self) -> None:
        """Two new processes; those before them end. The first join loads classes and modules."""
        self._stack.close()
        self._first, self._second = (Member(self._client, name, self._bootstrap) for name in "AB")
        for member in (self._first, self._second):
            self._stack.callback(member.end)
        begun_us = now_us()
        self._first.join()
        self._first.told_us(PARTITIONS, begun_us)
        self._join_ms()

    def _round_ms(self, pause_ms: float) -> float:
        begun_us = now_us()
        self._second.leave()
        self._first.told_us(PARTITIONS, begun_us)
        time.sleep(pause_ms / 1_000)
        return self._join_ms()

    def _join_ms(self) -> float:
        begun_us = now_us()
        self._second.join()
        half = PARTITIONS // 2
        return (max(self._first.told_us(half, begun_us), self._second.told_us(half, begun_us)) - begun_us) / 1_000


def measure(now: Callable[[str], None], rounds: int = ROUNDS) -> list[Figure]:
    """Every client, in every round."""
    clients = [*OURS, *GOALS, *(other for other in OTHERS if other != "java" or shutil.which("mvn"))]
    took: dict[str, list[float]] = {client: [] for client in clients}
    for client in BUILDS.keys() & clients:
        now(f"rebalance: building {client}, unless it is")
        BUILDS[client].install()
    with broker(now, "rebalance") as bootstrap, ExitStack() as stack:
        create_topic(bootstrap, TOPIC)
        pairs = {}
        for client in clients:
            now(f"rebalance: starting two members of {client}")
            pairs[client] = Pair(client, bootstrap, stack.enter_context(ExitStack()))
        for done in range(rounds):
            now(f"rebalance: round {done + 1} of {rounds}")
            for client, pair in pairs.items():
                took[client].append(pair.round_ms(HEARTBEAT_MS * (done + 0.5) / rounds))
    note = f"a heartbeat every {HEARTBEAT_MS} ms; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    return [
        no_more(f"second member's join to both stable, {own}", "ms", took[own], peer, took[peer], peer in GOALS, note)
        for own in OURS
        for peer in clients
        if peer not in OURS
    ]
