"""Records a plain life at a broker that nobody scripts: two members of one client, and what the rules say of each."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from groupspec.conformance.endings import is_out_of_memory
from groupspec.conformance.history.history import History
from groupspec.conformance.history.timing import together
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_run import CaseResult, judged, settings_of, tell
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.harness_process import HarnessProcess
from groupspec.conformance.wire.judging import Outcome
from groupspec.conformance.wire.live.admin import PREFIX, Admin, Topic
from groupspec.conformance.wire.live.life import (
    LIFE_WITHIN_S,
    WITHIN_MS,
    Member,
    MemberOfConsumerGroup,
    Points,
    Stage,
)
from groupspec.conformance.wire.live.tap import Tap
from groupspec.conformance.wire.live_cases import Group, lived
from groupspec.conformance.wire.log import Log
from groupspec.conformance.wire.scenario_context import Surroundings
from groupspec.conformance.wire.stalls import StallClock, WaitClock
from groupspec.impl.network.addresses import Address

REQUEST_TIMEOUT_MS: Final = 15_000
STOPPED: Final = "stopped by the user"
LOST: Final = "lost"
"""The kit's entry that says why nothing more was recorded."""


@dataclass
class Recorded:
    """What was recorded, and what the kit could not take away again from the cluster."""

    results: list[CaseResult]
    left_behind: list[str]
    stopped: str = ""


def live(client: Client, group: Group, addresses: Sequence[Address], topic_name: str, command: str) -> Recorded:
    """Two members of this client live a plain life at this cluster.

    Args:
        client: Whose.
        group: By which protocol.
        addresses: Brokers of the cluster.
        topic_name: A topic that is there; "": one of the kit's own, which is deleted afterwards.
        command: What does so again.

    Raises:
        UsageProblem: no broker answers there, or there is no such topic, or none can be made.
        InconclusiveProblem: the cluster has no coordinator for a group, or no leader for a topic.
    """
    with Admin(addresses) as admin, StallClock() as clock:
        topic = admin.find_topic(topic_name) if topic_name else admin.create_topic()
        group_id = f"{PREFIX}{time.time_ns():x}"
        try:
            if topic.is_ours:
                admin.append(topic)
            admin.coordinator(group_id)
            results, stopped = _both(_Life(client, addresses, group_id, topic, admin, clock, command), lived(group))
        finally:
            left = admin.remove(topic, group_id)
        return Recorded(results, left, stopped)


@dataclass(frozen=True)
class _Life:
    client: Client
    addresses: Sequence[Address]
    group_id: str
    topic: Topic
    admin: Admin
    clock: StallClock
    command: str


def _both(life: _Life, cases: tuple[Case, Case]) -> tuple[list[CaseResult], str]:
    logs = Log(), Log()
    writing = threading.Lock()

    def refill() -> None:
        if life.topic.is_ours:
            with writing:
                life.admin.append(life.topic)

    stage = Stage(life.topic, Points(), refill)
    with ThreadPoolExecutor(2, "member") as pool:
        futures = [pool.submit(_one, life, case, stage, log, logs) for case, log in zip(cases, logs, strict=True)]
        try:
            return [future.result() for future in futures], ""
        except KeyboardInterrupt:
            end_all(logs, STOPPED)
            return [future.result() for future in futures], STOPPED


def _one(life: _Life, case: Case, stage: Stage, log: Log, logs: Sequence[Log]) -> CaseResult:
    """One member's part."""
    begun = time.monotonic()
    started_us = log.note("note", f"{case.id} against {life.client.name}").at_us
    outcome, trace, stderr = Outcome(), "", ""
    member: Member | None = None
    stalls_us: Sequence[tuple[int, int]] = ()
    waits_us: Sequence[tuple[int, int, int]] = ()
    try:
        with Tap(life.addresses, log.append, lambda why: end_all(logs, why)) as tap:
            with HarnessProcess(life.client.command, log) as process, WaitClock(process.pid) as waits:
                around = Surroundings(
                    tap.bootstrap,
                    life.topic.name,
                    life.group_id,
                    f"under-test-{case.variant.name}",
                    REQUEST_TIMEOUT_MS,
                    WITHIN_MS,
                    LIFE_WITHIN_S,
                )
                kind = MemberOfConsumerGroup if "consumer_protocol" in case.scenario.needs else Member
                member = kind(case, around, stage, process, log)
                outcome, trace = tell(member, process)
            waits_us, stalls_us, stderr = waits.waits_us(), tap.stalls_us(), process.stderr_tail()
    except OSError as problem:
        if is_out_of_memory(problem):
            raise
        outcome = Outcome(inconclusive=f"the kit could not start: {problem}")
    finally:
        stage.points.end()
    if why := next((e.text for e in log.as_it_came() if e.kind == LOST), ""):
        outcome = Outcome(inconclusive=why)
    every_stall_us = together(life.clock.stalls_us(started_us), stalls_us)
    history = History(log.in_order(), settings_of(case, member), every_stall_us, waits_us)
    seconds = time.monotonic() - begun
    return judged(life.client, case, member, history, outcome, seconds, started_us, stderr, trace, again=life.command)


def end_all(logs: Sequence[Log], why: str) -> None:
    """Nothing more comes into these logs: whoever waits stops waiting."""
    for log in logs:
        log.note(LOST, why)
        log.end(why)
