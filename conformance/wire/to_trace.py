"""A run's log as a trace in the one trace schema, for the pipeline that checks the reference and logs.

Requests become `…_sent` when they arrive at the broker, answers `…_answered` when they are written; callbacks and polls
come from the harness. A request whose connection ends is answered DISCONNECTED; a JoinGroup or SyncGroup at the latest
when the next one comes on another connection, which the broker may hear of before that end (rule J1). What a trace from
outside cannot know (that the coordinator was given up, that a timer ran out) is left out; the checker knows that this
source does not show it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry, is_request, silences
from groupspec.conformance.history.exchange import GROUP_APIS
from groupspec.conformance.history.pairing import pairs
from groupspec.conformance.traces.recorder import Recorder
from groupspec.conformance.wire.case_broker import GROUP
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.scenario_context import CLIENT_ID
from groupspec.impl.trace import Detail, TraceEvent

APIS: Final = {
    "FindCoordinator": "lookup",
    "JoinGroup": "join",
    "SyncGroup": "sync",
    "Heartbeat": "heartbeat",
    "LeaveGroup": "leave",
    "OffsetCommit": "commit",
}
AGAIN_US: Final = 200_000
"""How often a poll that lasts is written down."""


_event = partial(TraceEvent, GROUP, CLIENT_ID, 0)
"""An event of the one member there is; it is numbered later."""


def write_trace(result: CaseResult, run: str, file: Path) -> None:
    """Writes the trace of one run."""
    with file.open("wb") as out:
        recorder = Recorder(run, "wire", out.write)
        for event in trace_events(result):
            recorder(event)


def trace_events(result: CaseResult) -> Iterator[TraceEvent]:
    """The events of one run, numbered, by a clock that stands still while the machine stalls.

    Kit and trace judge the same time. Of a wait is known how long it was and within which stretch, so it is asked for
    from the beginning on: between each two events that fall into the stretch it would be taken off again.
    """
    started_us = clock_us = result.started_us
    for seq, event in enumerate(_shown(result)):
        clock_us = max(clock_us, event.at_us - result.history.busy_us(started_us, event.at_us))
        yield replace(event, seq=seq, at_us=clock_us)


def places(result: CaseResult, moments_us: Iterable[int]) -> dict[int, int]:
    """For each moment of the run's log: the number (`seq`) of the last event that the trace has up to then.

    A trace's clock stands still while the machine stalls, so that a time of the log names another moment there.
    """
    times = [event.at_us for event in _shown(result)]
    return {at_us: max((seq for seq, time in enumerate(times) if time <= at_us), default=0) for at_us in moments_us}


def _shown(result: CaseResult) -> Iterator[TraceEvent]:
    """The events. A client blocked in poll() is polling (rule P2): a long poll gives several poll events."""
    offered = result.history.settings.features
    settings: Detail = {
        "rebalance": result.case.scenario.rebalance,
        "static": False,
        **result.case.scenario.timeouts,
        "listener": "listener" in offered,
        "lost_callback": "lost_callback" in offered,
    }
    yield _event(result.started_us, "config", detail=settings)
    # A member's trace has what the member saw.
    expelling = (e for e in result.history.of(*GROUP_APIS) if e.error == "UNKNOWN_MEMBER_ID")
    unread = {id(exchange.answer) for exchange in expelling if not result.history.was_read(exchange)}
    blocked, polled_us = False, result.started_us
    ended = pairs(result.entries)
    asked = {id(end): request for request, end in ended if end is not None and end.kind == "response"}
    for event, entry in _told([entry for entry in result.entries if id(entry) not in unread], asked):
        while blocked and entry.at_us - polled_us > AGAIN_US:
            polled_us += AGAIN_US
            yield _event(polled_us, "poll", detail={"blocked": True})
        if isinstance(entry.event, (protocol.PollStarted, protocol.PollReturned)):
            blocked, polled_us = isinstance(entry.event, protocol.PollStarted), entry.at_us
        if event is not None:
            yield event


def _told(entries: Sequence[Entry], asked: Mapping[int, Entry]) -> Iterator[tuple[TraceEvent | None, Entry]]:
    """Each entry with the event that it is; None for those that a trace has no word for.

    `asked`: the request of each answer, by `id`.
    """
    identity: tuple[int, str] = (-1, "")
    running: tuple[str, ...] = ()
    out: dict[int, tuple[int, str, tuple[int, str]]] = {}
    of_the_group = {entry.connection for entry in entries if entry.kind == "request" and entry.api in GROUP_APIS}
    unsubscribes = False  # it was told to, and has not left yet: when it obeys shows in its LeaveGroup
    begins_to_close = _begins_to_close(entries)
    answered = {id(request) for request in asked.values()}
    for entry in entries:
        event = None
        if entry.kind == "command":
            unsubscribes = json.loads(entry.text)["command"] == "unsubscribe"
        elif unsubscribes and is_request("LeaveGroup")(entry):
            unsubscribes = False
            yield _event(entry.at_us, "unsubscribed"), entry
        if entry.connection in of_the_group and silences(entry):
            yield _event(entry.at_us, "throttled", throttle_time_ms=entry.throttle_ms), entry
        if entry.source == "wire" and entry.api in APIS and entry.kind in ("request", "response"):
            name = APIS[entry.api]
            said = _identity(entry, out.pop(id(asked.get(id(entry))), (0, name, identity))[2])
            if entry.kind == "request":
                given_up = [
                    each
                    for each, (connection, of, _) in out.items()
                    if {name, of} <= {"join", "sync"} and each not in answered and connection != entry.connection
                ]
                for _, of, was in map(out.pop, given_up):
                    yield _event(entry.at_us, f"{of}_answered", "DISCONNECTED", *was), entry
                out[id(entry)] = entry.connection, name, said
                event = _event(entry.at_us, f"{name}_sent", None, *said)
            else:
                event = _event(entry.at_us, f"{name}_answered", entry.error or "NONE", *said)
            identity = said if entry.kind == "request" or entry.api == "JoinGroup" else identity
        elif entry.kind == "disconnect":
            for _, name, said in [out.pop(each) for each in [*out] if out[each][0] == entry.connection]:
                yield _event(entry.at_us, f"{name}_answered", "DISCONNECTED", *said), entry
        elif isinstance(entry.event, protocol.CallbackStarted):
            running = tuple(map(str, entry.event.partitions))
            name = f"{entry.kind.removeprefix('partitions_')}_started"
            event = _event(entry.at_us, name, None, *identity, running)
        elif isinstance(entry.event, protocol.CallbackReturned):
            name = entry.event.callback.removeprefix("partitions_")
            event = _event(entry.at_us, name, None, *identity, running)
        elif name := _application_event(entry.event):
            event = _event(entry.at_us, name)
        yield event, entry
        if entry is begins_to_close:
            yield _event(entry.at_us, "unsubscribed"), entry


def _begins_to_close(entries: Sequence[Entry]) -> Entry | None:
    """The call of close(); or the end of the callback by which close() first hands over what was assigned before it."""
    asked = next((n for n, entry in enumerate(entries) if isinstance(entry.event, protocol.ShutdownRequested)), None)
    if asked is None:
        return None
    for entry in entries[asked:]:
        if entry.api == "SyncGroup" or entry.kind in ("partitions_revoked", "partitions_lost"):
            break
        if isinstance(entry.event, protocol.CallbackReturned) and entry.event.callback == "partitions_assigned":
            return entry
    return entries[asked]


def _application_event(event: protocol.AnyEvent | None) -> str:
    """What the application did; "" for what a trace has no word for."""
    match event:
        case protocol.PollStarted():
            return "poll"
        case protocol.CommandDone(command="subscribe"):
            return "subscribed"
        case protocol.ShutdownComplete():
            return "closed"
    return ""


def _identity(entry: Entry, before: tuple[int, str]) -> tuple[int, str]:
    """Generation and member id as this message has them; what it does not have stays as it was."""
    generation = getattr(entry.message, "generation", None)
    member_id = getattr(entry.message, "member_id", None)
    return (before[0] if generation is None else generation, before[1] if member_id is None else member_id)
