"""One consumer under a drawn schedule, as a life: its calls, callbacks and threads, its requests and their answers.

It is noted from outside, by a `Seam`, so that neither the world nor the consumer need know of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from groupspec.conformance.history.event import TIMERS_RACE, TIMERS_WAIT, json_value
from groupspec.conformance.history.life import VERSION, Header, Life
from groupspec.conformance.history.notes import Notes, settings_of
from groupspec.conformance.mutation.mutant import Method, Seam
from groupspec.conformance.schedules.application import Application
from groupspec.conformance.schedules.group import RacingGroup
from groupspec.conformance.schedules.logs import EpochDecoder, HolesDecoder
from groupspec.conformance.schedules.network import RacingTransport
from groupspec.conformance.schedules.reading import Reading
from groupspec.conformance.schedules.scenario import Scenario
from groupspec.impl.choice_calls import ChoiceCalls
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.events import ResponseReceived, SendRequest
from groupspec.impl.core.messages import Response
from groupspec.impl.partition_calls import PartitionCalls
from groupspec.impl.scheduling import ScheduledRuntime
from groupspec.impl.testing import PLAIN_DECODER
from groupspec.impl.threads.designs import Design

API: Final = (
    *(ChoiceCalls.subscribe, ChoiceCalls.assign, ChoiceCalls.unsubscribe, ChoiceCalls.subscription),
    *(ChoiceCalls.assignment, Consumer.poll, Consumer.wakeup, Consumer.commit, Consumer.commit_async),
    *(Consumer.committed, Consumer.group_metadata, Consumer.enforce_rebalance, Consumer.close, Consumer.__exit__),
    *(PartitionCalls.position, PartitionCalls.seek, PartitionCalls.seek_to_beginning, PartitionCalls.seek_to_end),
    *(PartitionCalls.pause, PartitionCalls.resume, PartitionCalls.paused, PartitionCalls.highwater),
    *(PartitionCalls.current_lag, PartitionCalls.beginning_offsets, PartitionCalls.end_offsets),
    *(PartitionCalls.offsets_for_times, PartitionCalls.partitions_for_topic, PartitionCalls.topics),
)
"""The calls of a consumer that an application makes, and what it is told by them."""


MEMBER: Final = "member"
CALLBACKS: Final = (
    *(Application.on_partitions_assigned, Application.on_partitions_revoked, Application.on_partitions_lost),
    Reading.deserialize,
)


class Noted:
    """A run that is noted. A note is no yield point: the schedule is the same with and without."""

    def __init__(self, seam: Seam, scenario: Scenario, runtime: ScheduledRuntime) -> None:
        self._runtime, self._scenario = runtime, scenario
        self._settings: dict[str, Any] = {}
        self._race = False
        decoder = EpochDecoder() if scenario.elects_ms else HolesDecoder() if scenario.holes else PLAIN_DECODER
        self._notes = Notes(self._now_us, decoder, self._looks)
        note_calls(seam, self._notes, lambda consumer: (MEMBER, self._thread()))
        replaced: tuple[tuple[Method, Method], ...] = (
            (Consumer.__init__, self._init),
            (RacingTransport.send, self._send),
            (RacingTransport.poll, self._poll),
            (RacingTransport.connect_coordinator, self._connect),
            (RacingTransport.disconnect_coordinator, self._disconnect),
            (RacingGroup.serve, self._serve),
            (ScheduledRuntime.run_until, self._run_until),
            *((each, self._callback) for each in CALLBACKS),
        )
        for target, replacement in replaced:
            seam.replace(target, replacement, is_checked=False)  # each run does it

    def life(self, design: Design) -> Life:
        """What has happened so far."""
        header = Header(VERSION, "schedules", design, 0, plan=str(self._scenario), settings={MEMBER: self._settings})
        return Life(header, self._notes.events)

    def _now_us(self) -> int:
        return 1_000 * self._runtime._now_ms

    def _looks(self) -> None:
        """Whether threads can be held up for any time now, as on a machine that is overloaded."""
        race = self._runtime.timers_race
        if race != self._race:
            self._race = race
            self._notes.add("fault", name=TIMERS_RACE if race else TIMERS_WAIT)

    def _thread(self) -> str:
        return self._runtime.current().name

    def _init(self, original: Any, consumer: Consumer, *topics: str, **named: Any) -> None:
        original(consumer, *topics, **named, trace=lambda event: self._notes.told(MEMBER, event, thread=self._thread()))
        self._settings |= settings_of(consumer._config)

    def _send(self, original: Any, transport: RacingTransport, request: SendRequest, now_ms: int) -> None:
        self._notes.request(MEMBER, request, thread=self._thread())
        try:
            original(transport, request, now_ms)
        except Exception as error:
            self._notes.add("disconnected", MEMBER, to=str(request.node), number=request.request_id, text=str(error))
            raise

    def _poll(self, original: Any, transport: RacingTransport, timeout_ms: int) -> list[ResponseReceived]:
        received: list[ResponseReceived] = original(transport, timeout_ms)
        for each in received:
            self._notes.reached("taken", MEMBER, each, thread=self._thread())
        return received

    def _connect(self, original: Any, transport: RacingTransport, node_id: int, host: str, port: int) -> None:
        self._notes.add("connected", MEMBER, to="coordinator", value=node_id, thread=self._thread())
        original(transport, node_id, host, port)

    def _disconnect(self, original: Any, transport: RacingTransport) -> None:
        self._notes.add("disconnected", MEMBER, to="coordinator", thread=self._thread())
        original(transport)

    def _serve(self, original: Any, group: RacingGroup, sent: SendRequest) -> Response | None:
        self._notes.add("arrived", MEMBER, number=sent.request_id)
        response: Response | None = original(group, sent)
        if response is not None:
            self._notes.answered(MEMBER, sent.request_id, response)
        return response

    def _callback(self, original: Any, owner: object, given: object) -> object:
        name, thread, error = original.__name__, self._thread(), ""
        self._notes.add("callback", MEMBER, name=name, value=json_value(given), thread=thread)
        try:
            return original(owner, given)
        except Exception as raised:
            error = type(raised).__name__
            raise
        finally:
            self._notes.add("callback_ended", MEMBER, name=name, error=error, thread=thread)

    def _run_until(
        self, original: Any, runtime: ScheduledRuntime, happened: Callable[[], bool], within_ms: int
    ) -> None:
        try:
            original(runtime, happened, within_ms)
        finally:
            self._notes.add("over", name="threads alive", value=runtime.alive())


def note_calls(seam: Seam, notes: Notes, whose: Callable[[Consumer], tuple[str, str]]) -> None:
    """Note every call of every consumer. `whose`: the member, and the thread that makes the call."""

    def noted(name: str, original: Callable[..., object], *given: Any, **named: object) -> object:
        consumer, *arguments = given
        member, thread = whose(consumer)
        told = [*arguments, *([named] if named else [])]
        if name == "__exit__":
            name, told = "close", [{"block raises": bool(arguments and arguments[0])}]
        with notes.call(member, name, told, thread=thread) as result:
            result.append(original(*given, **named))
        return result[0]

    for each in API:
        seam.replace(each, partial(noted, each.__name__), is_checked=False)
