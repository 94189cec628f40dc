"""A group in virtual time, as a life: the messages of all its members, their callbacks and calls, faults and logs.

It is noted from outside, by a `Seam`, so that neither the run nor its members need know of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import inf
from typing import Any, Final

from groupspec.conformance.history.event import json_value, offsets
from groupspec.conformance.history.life import VERSION, Header, Life
from groupspec.conformance.history.notes import Notes, settings_of
from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.schedules.noted import note_calls
from groupspec.conformance.simulation.application import Application
from groupspec.conformance.simulation.consumer_process import ConsumerProcess, LinkTransport
from groupspec.conformance.simulation.core_process import CoreProcess
from groupspec.conformance.simulation.ledger import Ledger
from groupspec.conformance.simulation.logs import Logs, RangeDecoder
from groupspec.conformance.simulation.loop import Loop
from groupspec.conformance.simulation.network import Connection, Link, Peer
from groupspec.conformance.simulation.plan import Fault, Plan
from groupspec.conformance.simulation.process import Process
from groupspec.conformance.simulation.run import Driver, Run
from groupspec.conformance.simulation.stepped import SteppedApplication, Steps
from groupspec.conformance.simulation.threaded import ThreadedApplication
from groupspec.impl.broker.controls import CUT
from groupspec.impl.consumer import Consumer
from groupspec.impl.core import events
from groupspec.impl.core.events import InputEvent, Output, ResponseReceived, SendRequest, ServerEvent
from groupspec.impl.core.messages import Response, TopicPartition
from groupspec.impl.core.positions import Positions
from groupspec.impl.records import ConsumerRecord
from groupspec.impl.trace import TraceEvent

MOVED: Final = (Positions.seek, Positions.pause, Positions.resume)
"""What an application without a consumer calls by itself; a consumer calls it, too."""


class Noted:
    """A run that is noted, up to some time. To be made before the run is."""

    def __init__(self, seam: Seam, until_ms: float = inf) -> None:
        self._loop = Loop()
        self.notes = Notes(lambda: 1_000 * self._loop.now_ms, RangeDecoder(), until_us=1_000 * until_ms)
        self.settings: dict[str, dict[str, Any]] = {}
        self._connections: dict[Connection, int] = {}
        self._latest: Connection | None = None
        self._who_cuts = ""  # "": the member does
        self._gives_up = False  # a member has waited long enough for an answer
        self._consumers: dict[int, tuple[Process, Any]] = {}
        self._positions: dict[int, str] = {}
        self._of_processes(seam)
        self._of_messages(seam)
        self._of_applications(seam)
        self._of_the_world(seam)

    def life(self, plan: Plan, driver: Driver) -> Life:
        """What has happened so far."""
        settings = {"": {"record_every_ms": plan.record_every_ms}, **self.settings}
        return Life(
            Header(VERSION, "simulation", driver, plan.seed, plan=str(plan), settings=settings), self.notes.events
        )

    # Processes --------------------------------------------------------------------------------------------------------

    def _of_processes(self, seam: Seam) -> None:
        seam.replace(CoreProcess.start, self._starts)
        seam.replace(ConsumerProcess.start, self._starts)
        seam.replace(Process.told, self._told)
        for each in (Process.kill, Process.stand_still, Process.go_on):
            seam.replace(each, self._happens_to)
        seam.replace(Process.end, self._ends)

    def _starts(self, original: Any, process: Process) -> None:
        self.settings[process.name] = {**settings_of(process.plan.config), "commits": process.plan.commits}
        self.notes.add("started", process.name)
        if isinstance(process, CoreProcess):
            self._positions[id(process.subscription.positions)] = process.name
        original(process)

    def _told(self, original: Any, process: Process, event: TraceEvent) -> None:
        self.notes.told(process.name, event)
        original(process, event)

    def _happens_to(self, original: Any, process: Process) -> None:
        if process.is_alive:
            self.notes.add("fault", process.name, name=original.__name__)
        original(process)

    def _ends(self, original: Any, process: Process) -> None:
        self.notes.add("ended", process.name)
        original(process)

    # Messages ---------------------------------------------------------------------------------------------------------

    def _of_messages(self, seam: Seam) -> None:
        seam.replace(Link._connection, self._connection)
        seam.replace(Link._break, self._breaks)
        seam.replace(Link._timed_out, self._timed_out)
        seam.replace(Link._cut, self._cut)
        seam.replace(Run.sent, self._sent)
        seam.replace(Run.served, self._served)
        seam.replace(Run.received, self._received)
        seam.replace(CoreProcess.answered, self._answered)
        seam.replace(LinkTransport.poll, self._polled)

    def _connection(self, original: Any, link: Link, key: str | int) -> Connection:
        found: Connection = original(link, key)
        self._connections.setdefault(found, len(self._connections))
        self._latest = found
        return found

    def _breaks(self, original: Any, link: Link, connection: Connection) -> None:
        self._who_cuts = "" if self._gives_up else CUT
        original(link, connection)
        self._who_cuts = ""

    def _timed_out(self, original: Any, link: Link, number: int) -> None:
        self._gives_up = True
        original(link, number)
        self._gives_up = False

    def _cut(self, original: Any, link: Link, connection: Connection) -> None:
        number = self._connections.get(connection, -1)
        said = {"text": self._who_cuts, "connection": number}
        self.notes.add("disconnected", link._peer.name, to=str(connection.node), **said)
        original(link, connection)

    def _sent(self, original: Any, run: Run, peer: Peer, request: SendRequest, node: int) -> None:
        number = -1 if self._latest is None else self._connections[self._latest]
        self.notes.request(peer.name, request, connection=number, text=str(node))
        original(run, peer, request, node)

    def _served(
        self, original: Any, run: Run, peer: Peer, request: SendRequest, response: Response, is_stale: bool
    ) -> None:
        said = {"text": "its connection is broken"} if is_stale else {}
        self.notes.answered(peer.name, request.request_id, response, **said)
        original(run, peer, request, response, is_stale)

    def _received(self, original: Any, run: Run, peer: Peer, request: SendRequest, response: Response) -> None:
        self.notes.reached("response", peer.name, ResponseReceived(request.request_id, response))
        original(run, peer, request, response)

    def _answered(
        self, original: Any, process: CoreProcess, request_id: int, response: Response, throttle_ms: int = 0
    ) -> None:
        self.notes.reached("taken", process.name, ResponseReceived(request_id, response, throttle_ms))
        original(process, request_id, response, throttle_ms)

    def _polled(self, original: Any, transport: LinkTransport, timeout_ms: int) -> list[ResponseReceived]:
        received: list[ResponseReceived] = original(transport, timeout_ms)
        for each in received:
            self.notes.reached("taken", transport._link._peer.name, each)
        return received

    # Applications -----------------------------------------------------------------------------------------------------

    def _of_applications(self, seam: Seam) -> None:
        note_calls(seam, self.notes, self._whose)
        seam.replace(ThreadedApplication.__init__, self._consumes)
        seam.replace(CoreProcess.give, self._gives)
        seam.replace(CoreProcess._do, self._does)
        seam.replace(SteppedApplication._poll, self._polls)
        for each in MOVED:
            seam.replace(each, partial(self._moves, each.__name__))
        seam.replace(Application.assigned, self._assigned)
        seam.replace(Ledger.release_begins, self._releases)
        seam.replace(Application.callback_ends, self._callback_ends)
        seam.replace(Application.raised, self._raised)
        seam.replace(Application.close_begins, self._close_begins)
        seam.replace(Application.close_ends, self._close_ends)
        seam.replace(Ledger.returned, self._records("records"))
        seam.replace(Ledger.processed, self._records("processed"))

    def _whose(self, consumer: Consumer) -> tuple[str, str]:
        process, runtime = self._consumers[id(consumer)]
        return process.name, runtime.current().name

    def _consumes(
        self, original: Any, application: Any, process: Process, ledger: Any, watch: Any, consumer: Any, runtime: Any
    ) -> None:
        self._consumers[id(consumer)] = process, runtime
        original(application, process, ledger, watch, consumer, runtime)

    def _gives(self, original: Any, process: CoreProcess, event: InputEvent) -> None:
        if isinstance(event, ServerEvent) and not isinstance(event, events.Poll | events.Fetch):  # of each poll many
            given = [json_value(getattr(event, name)) for name in event.__struct_fields__]
            self.notes.add("called", process.name, name=type(event).__name__, value=given or None)
        original(process, event)

    def _does(self, original: Any, process: CoreProcess, output: Output) -> None:
        if isinstance(output, events.CompleteFuture):
            error = "" if output.error is None else type(output.error).__name__
            value, text = (
                [output.future_id, json_value(output.result)],
                "" if output.error is None else str(output.error),
            )
            self.notes.add("returned", process.name, name="future", value=value, error=error, text=text)
        original(process, output)

    def _polls(self, original: Any, application: SteppedApplication, timeout_ms: int) -> Steps:
        name = application._process.name
        self.notes.add("called", name, name="poll", value=[timeout_ms])
        yield from original(application, timeout_ms)
        self.notes.add("returned", name, name="poll")

    def _moves(self, name: str, original: Any, positions: Positions, *given: object, **named: object) -> object:
        if (member := self._positions.get(id(positions))) is not None:
            self.notes.add("called", member, name=name, value=json_value([*given, *named.values()]))
        return original(positions, *given, **named)

    def _assigned(self, original: Any, application: Application, partitions: Iterable[TopicPartition]) -> None:
        partitions = list(partitions)
        name = application._process.name
        self.notes.add("callback", name, name="on_partitions_assigned", value=json_value(partitions))
        original(application, partitions)

    def _releases(
        self, original: Any, ledger: Ledger, process: Process, partitions: Iterable[TopicPartition], is_lost: bool
    ) -> None:
        partitions = list(partitions)
        name = f"on_partitions_{'lost' if is_lost else 'revoked'}"
        self.notes.add("callback", process.name, name=name, value=json_value(partitions))
        original(ledger, process, partitions, is_lost)

    def _callback_ends(self, original: Any, application: Application) -> bool:
        raises: bool = original(application)
        self.notes.add("callback_ended", application._process.name, error="CallbackError" if raises else "")
        return raises

    def _raised(self, original: Any, application: Application, error: Exception) -> None:
        if isinstance(application, SteppedApplication):  # of a whole consumer its call is noted
            said = {"error": type(error).__name__, "text": str(error)}
            self.notes.add("raised", application._process.name, name="poll", **said)
        original(application, error)

    def _close_begins(self, original: Any, application: Application) -> int:
        self.notes.add("called", application._process.name, name="close", value=[application.close_limit_ms])
        deadline_ms: int = original(application)
        return deadline_ms

    def _close_ends(self, original: Any, application: Application) -> None:
        self.notes.add("returned", application._process.name, name="close")
        original(application)

    def _records(self, kind: Any) -> Callable[..., None]:
        def noted(original: Any, ledger: Ledger, process: Process, records: Sequence[ConsumerRecord]) -> None:
            if records:
                self.notes.add(kind, process.name, value=offsets(records))
            original(ledger, process, records)

        return noted

    # The world --------------------------------------------------------------------------------------------------------

    def _of_the_world(self, seam: Seam) -> None:
        seam.replace(Loop.__init__, self._begins)
        seam.replace(Run._happens, self._fault)
        seam.replace(Run._calm, self._calm)
        seam.replace(Run._expect_processed, self._over)
        for each in (Logs._create, Logs.delete, Logs.make_anew, Logs.elect):
            seam.replace(each, self._log)

    def _begins(self, original: Any, loop: Loop) -> None:
        self._loop = loop
        original(loop)

    def _fault(self, original: Any, run: Run, fault: Fault) -> None:
        self.notes.add("fault", name=fault.kind, value=[fault.member, fault.ms, fault.what])
        original(run, fault)

    def _calm(self, original: Any, run: Run) -> None:
        self.notes.add("fault", name="faults end")
        original(run)

    def _log(self, original: Any, logs: Logs, *given: object, **named: object) -> object:
        found = original(logs, *given, **named)
        self.notes.add("log", name=original.__name__.strip("_"), value=json_value([*given, *named.values(), found]))
        return found

    def _over(self, original: Any, run: Run, there: dict[TopicPartition, int]) -> None:
        living = [process.name for process in run.alive()]
        ends: Iterator[list[object]] = ([str(partition), end] for partition, end in there.items())
        self.notes.add("over", name="quiet", value=[run.plan.quiet_ms, living, list(ends)])
        original(run, there)
