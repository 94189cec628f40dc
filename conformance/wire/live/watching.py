"""Records whoever passes by on the way to a cluster, for a bounded time, and what the rules say of each member."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from groupspec.conformance.errors import InconclusiveProblem, UsageProblem
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.history.history import History
from groupspec.conformance.history.settings import Settings
from groupspec.conformance.history.timing import together
from groupspec.conformance.wire.case import CLOSE_WITHIN_MS
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.judging import Outcome, judge_case
from groupspec.conformance.wire.live.admin import Admin
from groupspec.conformance.wire.live.members import Seen, members_in, speaks_the_new_protocol
from groupspec.conformance.wire.live.recorder import LOST, STOPPED, Recorded, end_all
from groupspec.conformance.wire.live.tap import Tap
from groupspec.conformance.wire.live_cases import REBALANCES, watched
from groupspec.conformance.wire.log import Log
from groupspec.conformance.wire.stalls import StallClock
from groupspec.impl.network.addresses import Address

KAFKAS_BACKOFF_MS: Final = 100


def watch(
    addresses: Sequence[Address],
    port: int,
    seconds: float,
    heartbeat_ms: int,
    command: str,
    began: Callable[[str], None] = lambda bootstrap: None,
) -> Recorded:
    """Whoever connects to this port of loopback within the time, on the way to this cluster; nothing is written there.

    Args:
        addresses: Brokers of the cluster.
        port: Where clients find the first of them; 0: anywhere.
        seconds: For how long.
        heartbeat_ms: The clients' heartbeat interval, which they do not say on the wire; 0: not known.
        command: What does so again.
        began: Told what clients are to be given as bootstrap.servers.

    Raises:
        UsageProblem: no broker answers there, or the port is taken.
        InconclusiveProblem: nobody joined a group by JoinGroup in that time.
    """
    with Admin(addresses):
        pass
    begun, log, stopped = time.monotonic(), Log(), ""
    started_us = log.note("note", f"watching for {seconds:.0f} s").at_us
    with StallClock() as clock, _tap_at(port, addresses, log) as tap:
        began(tap.bootstrap)
        try:
            log.wait(lambda entry: entry.kind == LOST, seconds)
        except KeyboardInterrupt:
            stopped = STOPPED
    took_s = time.monotonic() - begun
    stalls_us = together(clock.stalls_us(started_us), tap.stalls_us())
    entries = log.in_order()
    outcome = Outcome(inconclusive=tap.problem, no_occasion=f"the recording ended after {took_s:.0f} s")
    results = [
        _of_member(seen, outcome, stalls_us, heartbeat_ms, command, started_us, took_s) for seen in members_in(entries)
    ]
    if not results:
        raise InconclusiveProblem(*_nobody(entries, tap.problem, took_s))
    return Recorded(results, [], stopped)


def _tap_at(port: int, addresses: Sequence[Address], log: Log) -> Tap:
    try:
        return Tap(addresses, log.append, lambda why: end_all([log], why), port)
    except OSError as problem:
        raise UsageProblem(
            f"nobody can listen there: {problem.strerror}",
            where=f"--listen {port}",
            allowed="a port of this machine that is free; 0 takes any",
        ) from problem


def _nobody(entries: Sequence[Entry], problem: str, took_s: float) -> tuple[str, str, str, str]:
    """Why there is nothing to judge: what, where, what was allowed, what next."""
    joined_otherwise = "by KIP-848's protocol, which the kit does not judge (group.protocol=classic is Kafka's other)"
    connected = sum(entry.kind == "connect" for entry in entries)
    what = f"no member of a group was seen within {took_s:.0f} s"
    if problem:
        return f"{what}: {problem}", "", "", "record it again"
    if speaks_the_new_protocol(entries):
        return f"{what}, but one {joined_otherwise}", "", "", ""
    where = f"{connected} connections were made" if connected else "nobody connected"
    return what, where, "", "start the client while it is recorded, with the proxy's address in bootstrap.servers"


def _of_member(
    seen: Seen,
    outcome: Outcome,
    stalls_us: Sequence[tuple[int, int]],
    heartbeat_ms: int,
    command: str,
    started_us: int,
    took_s: float,
) -> CaseResult:
    """The verdicts on one member that was watched."""
    first = seen.joins[0]
    case = watched(seen.rebalance, shared=seen.shared, interval=heartbeat_ms > 0)
    settings = Settings(
        rebalance=seen.rebalance,
        session_timeout_ms=first.session_timeout_ms,
        heartbeat_interval_ms=heartbeat_ms or first.session_timeout_ms // 3,
        max_poll_interval_ms=first.rebalance_timeout_ms,
        retry_backoff_ms=KAFKAS_BACKOFF_MS,
        close_within_ms=CLOSE_WITHIN_MS,
        features=frozenset(REBALANCES),
    )
    history = History(seen.entries, settings, stalls_us)
    return CaseResult(
        client=Client(seen.name, ()),
        case=case,
        client_name=seen.name,
        client_version="",
        history=history,
        outcome=outcome,
        judgements=judge_case(case, history, outcome),
        seconds=took_s,
        started_us=started_us,
        again=command,
    )
