"""One place in the group, and the processes that fill it one after the other: clients behind the harness protocol."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Final

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.stress.plan import (
    BACKOFF_MS,
    GROUP,
    HEARTBEAT_MS,
    METADATA_AGE_MS,
    POLL_INTERVAL_MS,
    POLL_MS,
    REQUEST_MS,
    SESSION_MS,
    TOPIC,
    MemberPlan,
)
from groupspec.conformance.stress.proxy import Way
from groupspec.conformance.stress.timeline import Happening, Timeline, process_name
from groupspec.conformance.wire.clients import find_client
from groupspec.conformance.wire.harness_process import HarnessProcess
from groupspec.conformance.wire.log import Log

EVENTS_PER_SECOND: Final = 100_000
SILENCE_US: Final = 2_000_000
CLOSE_LIMIT_S: Final = 20.0
CLOSED_BY: Final = "exit code 0"


class _Told(Log):
    """What a process says, as it comes, told to the timeline; nothing is kept here."""

    def __init__(self, name: str, timeline: Timeline) -> None:
        super().__init__()
        self._name = name
        self._timeline = timeline
        self._heard_us = 0
        self.is_forgotten = False
        """Whether it was killed on purpose: what follows is no news."""
        self.is_fenced = False
        """Whether it was told that another member has its instance id: it sends nothing more."""

    @property
    def is_heard(self) -> bool:
        """Whether there was an event."""
        return self._heard_us > 0

    def append(self, entry: Entry) -> None:
        """An event."""
        if entry.source != "client":
            return
        if self._heard_us and entry.at_us - self._heard_us > SILENCE_US:
            self._tell(entry.at_us, "silence", first=self._heard_us)
        self._heard_us = entry.at_us
        match entry.event:
            case protocol.PartitionsAssigned(partitions=partitions):
                self._tell(entry.at_us, "assigned", partitions)
            case protocol.PartitionsRevoked(partitions=partitions):
                self._tell(entry.at_us, "revoked", partitions)
            case protocol.PartitionsLost(partitions=partitions):
                self._tell(entry.at_us, "lost", partitions)
            case protocol.CallbackReturned(callback=callback):
                self._tell(entry.at_us, "callback returned", text=callback)
            case protocol.RecordsConsumed(partitions=ranges):
                for one in ranges:
                    self._timeline.add(
                        Happening(entry.at_us, "consumed", self._name, (one.partition,), one.min_offset, one.max_offset)
                    )
            case protocol.ErrorRaised(error=error, message=message, call=call):
                text = f"{call}: {error}: {message}"[:300]
                self._tell(entry.at_us, "raised", text=text)
                if "fenced" in text.lower() and not self.is_fenced:
                    self.is_fenced = True
                    self._tell(entry.at_us, "fenced", text=text)
            case protocol.ShutdownComplete():
                self._tell(entry.at_us, "closed")
            case _:
                pass

    def end(self, reason: str) -> None:
        """The process is gone."""
        super().end(reason)
        if not self.is_forgotten:
            self._timeline.note("ended", self._name, "" if CLOSED_BY in reason else reason)

    def _tell(
        self,
        at_us: int,
        kind: str,
        partitions: list[protocol.Partition] | None = None,
        text: str = "",
        first: int = -1,
    ) -> None:
        numbers = tuple(one.partition for one in partitions or ())
        self._timeline.add(Happening(at_us, kind, self._name, numbers, first=first, text=text))


class Member:
    """A place.

    Attributes:
        name: Of the process that fills it, or was the last to.
        stderr: The last lines of the process that ended last.
    """

    def __init__(self, plan: MemberPlan, rebalance: str, way: Way, timeline: Timeline) -> None:
        self.plan = plan
        self.way = way
        self._rebalance = rebalance
        self._timeline = timeline
        self._command = find_client(plan.client).command
        self._starts = 0
        self._process: HarnessProcess | None = None
        self._told = _Told("", timeline)
        self.name = ""
        self.stderr = ""

    @property
    def is_running(self) -> bool:
        """Whether there is a process, stopped or not."""
        return self._process is not None and self._process.ending is None

    @property
    def is_heard(self) -> bool:
        """Whether its process has come up."""
        return self._told.is_heard

    @property
    def is_fenced(self) -> bool:
        """Whether its process is of no more use, and has to be started anew."""
        return self.is_running and self._told.is_fenced

    def start(self, callback_ms: int = 0) -> None:
        """A process that joins the group, and polls."""
        self._starts += 1
        plan = self.plan
        self.name = process_name(plan.client, plan.number, self._starts)
        self._told = _Told(self.name, self._timeline)
        self._timeline.note("started", self.name)
        self._process = HarnessProcess(self._command, self._told, EVENTS_PER_SECOND)
        static = {"group.instance.id": plan.instance_id} if plan.instance_id else {}
        self._process.send(
            protocol.Configure(
                bootstrap=self.way.bootstrap,
                group_id=GROUP,
                client_id=self.name,
                rebalance="cooperative" if self._rebalance == "cooperative" else "eager",
                session_timeout_ms=SESSION_MS,
                heartbeat_interval_ms=HEARTBEAT_MS,
                max_poll_interval_ms=POLL_INTERVAL_MS,
                request_timeout_ms=REQUEST_MS,
                retry_backoff_ms=BACKOFF_MS,
                auto_commit=True,
                auto_commit_interval_ms=plan.commit_ms,
                auto_offset_reset="earliest",
                fetch_max_wait_ms=200,
                callback_ms=callback_ms,
                more={"metadata.max.age.ms": str(METADATA_AGE_MS)} | static,
            )
        )
        self._process.send(protocol.Subscribe(topics=[TOPIC]))
        self._process.send(protocol.Poll(poll_ms=POLL_MS))

    def stop(self) -> None:
        """SIGSTOP."""
        self._timeline.note("stopped", self.name)
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)
        self._timeline.note("resumed", self.name)

    def busy(self) -> None:
        """The application polls no more."""
        self._timeline.note("busy", self.name)
        self._send(protocol.StopPolling())

    def poll_again(self) -> None:
        """It does."""
        self._send(protocol.Poll(poll_ms=POLL_MS))
        self._timeline.note("polls again", self.name)

    def kill(self) -> None:
        """SIGKILL, and nothing is left of it."""
        if self._process is None:
            return
        had_ended = self._process.ending is not None
        self._told.is_forgotten = not had_ended
        self._process.kill()
        self.stderr = self._process.stderr_tail()
        if not had_ended:
            self._timeline.note("killed", self.name)
        self._process = None

    def close(self) -> bool:
        """Have it close its client and end; one that does not is killed. Whether it ended by itself."""
        if self._process is None:
            return True
        self._timeline.note("closing", self.name)
        self._send(protocol.Close())
        process, until = self._process, time.monotonic() + CLOSE_LIMIT_S
        ended = self._timeline.wait_until(lambda: process.ending is not None, until - time.monotonic())
        self.kill()
        return ended

    def _send(self, command: protocol.AnyCommand) -> None:
        if self._process is not None:
            self._process.send(command)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self.is_running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, number)
