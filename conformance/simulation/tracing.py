"""The traces of a run's members, judged by the project's checker."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from groupspec.conformance.simulation.ledger import Broken
from groupspec.conformance.simulation.member import Member
from groupspec.conformance.traces import engine, layout
from groupspec.conformance.traces.reading import to_table
from groupspec.conformance.traces.recorder import Recorder
from groupspec.conformance.traces.schema import TraceLine
from groupspec.conformance.traces.trace_rules import Violation
from groupspec.impl.trace import TraceEvent

OF_SILENCE: Final = ("T-HEARTBEAT-GAP", "T-HEARTBEAT-RARE", "T-POLL-GAP")
"""What a process that stands still can't help. A trace shows that it did only if that lasted for a session timeout."""


def _is_excused(found: Violation, process: Member, undone: Collection[int]) -> bool:
    """Whether that is nothing that the member could help, and that its trace does not show.

    A member in close() or unsubscribe() waits for its callbacks without a poll(), and heartbeats until they return
    (P1); a trace has no line for the call. A heartbeat thread looks at the session once in a retry backoff, as Kafka's
    (AbstractCoordinator.HeartbeatThread.run), and may be that late. The generation falls after a round whose
    coordinator was replaced before the leader's assignment had come.
    """
    if found.rule == "T-GENERATION-BACKWARDS":
        return int(found.detail.split()[-1]) in undone
    if found.rule == "T-HEARTBEAT-GAP" and found.event == "session_expired" and process.trace_source == "wire":
        config = process.plan.config
        if int(found.detail.split()[0]) <= config.session_timeout_ms + config.retry_backoff_ms:
            return True
    leaves_ms = process.application.leaves_from_ms
    leaves = found.rule == "T-POLL-GAP" and leaves_ms is not None and found.at_us >= leaves_ms * 1_000
    return leaves or (process.has_stood_still and found.rule in OF_SILENCE)


def trace_lines(processes: Sequence[Member]) -> Iterator[TraceLine]:
    """Every event of every process as a line of a trace."""
    for process in processes:
        recorder = Recorder("simulated", process.trace_source, len, process.name)
        yield from map(recorder.line, _with_calls(process) if process.trace_source == "wire" else process.trace)


def _with_calls(process: Member) -> Iterator[TraceEvent]:
    """A trace from the wire has a line for the call of close(), too: LeaveGroup follows from it."""
    events, at_ms = list(process.trace), process.application.closes_from_ms
    if at_ms is not None:
        who = events[0]
        call = TraceEvent(who.group, who.member, 0, at_ms * 1_000, "unsubscribed")
        events.insert(process.application.told_before_close, call)
    for seq, event in enumerate(events):
        yield replace(event, seq=seq)


def check_traces(processes: Sequence[Member], undone: Collection[int]) -> None:
    """Broken: a member, or its coordinator, did what a rule forbids. `undone`: see Cluster."""
    lines = list(trace_lines(processes))
    if not lines:
        return
    verdict = engine.combine([engine.check_tables([layout.sort(to_table(lines))])], (), (), 0.0)
    by_name = {process.name: process for process in processes}
    found = [one for one in verdict.violations if not _is_excused(one, by_name[one.process], undone)]
    if found:
        first = min(found, key=lambda one: one.at_us)
        at_ms = first.at_us // 1_000
        raise Broken(first.rule, f"{first.process} at {at_ms:,} ms, {first.event}: {first.detail}", at_ms)
