"""One consumer under a drawn schedule, as a life: its calls, callbacks and threads, its requests and their answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from groupspec.conformance.frozen.notes import Notes, note_calls, seam_of_a_run, settings_of
from groupspec.conformance.history.event import TIMERS_RACE, TIMERS_WAIT, json_value
from groupspec.conformance.history.life import VERSION, Header, Life
from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.schedules.application import Application
from groupspec.conformance.schedules.campaign import play, strategy
from groupspec.conformance.schedules.further import draw
from groupspec.conformance.schedules.group import RacingGroup
from groupspec.conformance.schedules.logs import EpochDecoder, HolesDecoder
from groupspec.conformance.schedules.network import RacingTransport
from groupspec.conformance.schedules.reading import Reading
from groupspec.conformance.schedules.scenario import Scenario
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.events import ResponseReceived, SendRequest
from groupspec.impl.core.messages import Response
from groupspec.impl.scheduling import ScheduledRuntime, run
from groupspec.impl.testing import PLAIN_DECODER
from groupspec.impl.threads.designs import Design

MEMBER: Final = "member"
CALLBACKS: Final = (
    *(Application.on_partitions_assigned, Application.on_partitions_revoked, Application.on_partitions_lost),
    Reading.deserialize,
)


def life(seed: int, design: Design, mutant: str = "") -> Life:
    """The schedule of this number, with a mutant of the reference or without."""
    scenario = draw(seed)
    with seam_of_a_run(mutant) as seam:
        noted = _Noted(seam, scenario)
        outcome = run(noted.playing(play(scenario, design)), strategy(seed))
    error = outcome.error
    judged = ("", "") if error is None else (type(error).__name__, str(error).partition("\n")[0])
    header = Header(VERSION, "schedules", design, seed, mutant, str(scenario), {MEMBER: noted.settings}, judged)
    return Life(header, noted.notes.events)


class _Noted:
    """A run that is noted. A note is no yield point: the schedule is the same with and without."""

    def __init__(self, seam: Seam, scenario: Scenario) -> None:
        self._runtime: ScheduledRuntime | None = None
        self.settings: dict[str, Any] = {}
        self._race = False
        decoder = EpochDecoder() if scenario.elects_ms else HolesDecoder() if scenario.holes else PLAIN_DECODER
        self.notes = Notes(self._now_us, decoder, self._looks)
        note_calls(seam, self.notes, lambda consumer: (MEMBER, self._thread()))
        seam.replace(Consumer.__init__, self._init)
        seam.replace(RacingTransport.send, self._send)
        seam.replace(RacingTransport.poll, self._poll)
        seam.replace(RacingTransport.connect_coordinator, self._connect)
        seam.replace(RacingTransport.disconnect_coordinator, self._disconnect)
        seam.replace(RacingGroup.serve, self._serve)
        seam.replace(ScheduledRuntime.run_until, self._run_until)
        for each in CALLBACKS:
            seam.replace(each, self._callback)

    def playing(self, work: Callable[[ScheduledRuntime], None]) -> Callable[[ScheduledRuntime], None]:
        """The same work, whose clock and threads are known."""

        def begun(runtime: ScheduledRuntime) -> None:
            self._runtime = runtime
            work(runtime)

        return begun

    def _now_us(self) -> int:
        return 0 if self._runtime is None else 1_000 * self._runtime._now_ms

    def _looks(self) -> None:
        """Whether threads can be held up for any time now, as on a machine that is overloaded."""
        race = self._runtime is not None and self._runtime.timers_race
        if race != self._race:
            self._race = race
            self.notes.add("fault", name=TIMERS_RACE if race else TIMERS_WAIT)

    def _thread(self) -> str:
        return "" if self._runtime is None else self._runtime.current().name

    def _init(self, original: Any, consumer: Consumer, *topics: str, **named: Any) -> None:
        original(consumer, *topics, **named, trace=lambda event: self.notes.told(MEMBER, event, thread=self._thread()))
        self.settings |= settings_of(consumer._config)

    def _send(self, original: Any, transport: RacingTransport, request: SendRequest, now_ms: int) -> None:
        self.notes.request(MEMBER, request, thread=self._thread())
        try:
            original(transport, request, now_ms)
        except Exception as error:
            self.notes.add("disconnected", MEMBER, to=str(request.node), number=request.request_id, text=str(error))
            raise

    def _poll(self, original: Any, transport: RacingTransport, timeout_ms: int) -> list[ResponseReceived]:
        received: list[ResponseReceived] = original(transport, timeout_ms)
        for each in received:
            self.notes.reached("taken", MEMBER, each, thread=self._thread())
        return received

    def _connect(self, original: Any, transport: RacingTransport, node_id: int, host: str, port: int) -> None:
        self.notes.add("connected", MEMBER, to="coordinator", value=node_id, thread=self._thread())
        original(transport, node_id, host, port)

    def _disconnect(self, original: Any, transport: RacingTransport) -> None:
        self.notes.add("disconnected", MEMBER, to="coordinator", thread=self._thread())
        original(transport)

    def _serve(self, original: Any, group: RacingGroup, sent: SendRequest) -> Response | None:
        self.notes.add("arrived", MEMBER, number=sent.request_id)
        response: Response | None = original(group, sent)
        if response is not None:
            self.notes.answered(MEMBER, sent.request_id, response)
        return response

    def _callback(self, original: Any, owner: object, given: object) -> object:
        name, thread, error = original.__name__, self._thread(), ""
        self.notes.add("callback", MEMBER, name=name, value=json_value(given), thread=thread)
        try:
            return original(owner, given)
        except Exception as raised:
            error = type(raised).__name__
            raise
        finally:
            self.notes.add("callback_ended", MEMBER, name=name, error=error, thread=thread)

    def _run_until(
        self, original: Any, runtime: ScheduledRuntime, happened: Callable[[], bool], within_ms: int
    ) -> None:
        try:
            original(runtime, happened, within_ms)
        finally:
            self.notes.add("over", name="threads alive", value=runtime.alive())
