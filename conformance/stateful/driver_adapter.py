"""Brings events about in the whole consumer: threads, two queues, run to idle on a virtual clock.

The application calls its API, or stands still in a poll(); its listener stays inside callbacks until it is told to
return, the coordinator answers when told, and timers expire when told. What the background thread makes of all this
passes the core's front door, and the model follows that: one call of poll() may be three events to it. An event that
this design can't bring about at the moment (a second call while a callback runs, an answer to nothing, which would end
the background thread) is not offered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from groupspec.conformance.stateful.core_adapter import (
    ANSWERED_BY_ITSELF,
    NEVER_MS,
    TIMER_OF,
    CoreAdapter,
    settings_for,
)
from groupspec.conformance.stateful.standstill import Standstill
from groupspec.conformance.stateful.translation import EVENTS_OF, Observation, is_asked, probe
from groupspec.impl.consumer import Consumer
from groupspec.impl.core import events as impl
from groupspec.impl.core.config import Settings
from groupspec.impl.core.core import Core
from groupspec.impl.core.errors import KafkaError
from groupspec.impl.core.events import Description
from groupspec.impl.core.messages import Request, Response
from groupspec.impl.core.transport import Transport
from groupspec.impl.runtime import Runtime
from groupspec.impl.testing import Call, DrivenConsumer, RecordedDriver
from groupspec.impl.threads.designs import Design
from groupspec.impl.trace import TraceSink
from groupspec.spec.compiler.member import Member, MemberState, Offer

T = TypeVar("T")

AT_ONCE: Final = 2
"""In variants with this bit a callback begins as soon as it is due; in the heartbeat design alone."""
STANDING: Final = 4
"""In variants with this bit the application is always in a poll(), and stands still there (`standstill`)."""

STANDING_MS: Final = 1_000
"""How long such a poll() waits for records."""

LOOKS: Final = 4
"""So often at most it looks for callbacks before the one that is due begins: another may come before it."""

_QUEUED = (
    "application_polled",
    "poll_raised",
    "leave_requested",
    "subscription_changed",
    "rejoin_requested",
    "commit_or_fetch_requested",
)
"""Events that can be put into the server event queue whatever the application does."""

_CALLBACK_DUE = {"callback_started": "REVOKING_PARTITION", "partitions_assigned": "ASSIGNING_PARTITIONS"}
"""Events that a poll brings about, if the member is in this state and no callback runs."""

_ANSWER_OF = {"callback_started": impl.CallbackStarted, "partitions_assigned": impl.PartitionsAssigned}
"""What the core is told by them."""


class ProbedConsumer(DrivenConsumer):
    """A driven consumer whose core is watched from its first event on.

    The heartbeat design does what a machine's event makes possible only inside poll(), so the application is always in
    one, and its calls are made from there, as those of a commit's callback are. Between two polls less happens, and
    later: `impl/threads/tests/test_heartbeat.py`.
    """

    def __init__(self, record: list[Observation], settings: Settings, design: Design) -> None:
        self._record = record
        self._calls: list[Call[Any]] = []
        super().__init__(driver=design, **settings)
        self.standstill = Standstill(self.driver, self.runtime)
        self._always_polling = self.driver.polling()
        self._always_polling.__enter__()

    def settle(self) -> None:
        """Let the threads run until all of them wait; a callback that waits for its release waits inside a call."""
        self.runtime.run_until_idle()
        self.driver.attend(in_call=False)
        self.runtime.run_until_idle()
        for call in self._calls:
            known = call.error is None or isinstance(call.error, KafkaError)
            assert known, f"a call of the application's raises {call.error!r}"

    def begin(self, work: Callable[[Consumer], T]) -> Call[T]:
        """The application makes a call, and does not stand still in it."""
        self.standstill.end()
        return self._begin(work)

    def _begin(self, work: Callable[[Consumer], T]) -> Call[T]:
        self._calls = [call for call in self._calls if not call.done]
        call = self._application.begin(lambda: work(self.consumer))
        self._calls.append(call)
        self.settle()
        return call

    def stand_in_poll(self) -> None:
        """The application begins a poll(), and stands still in it."""
        self.standstill.begin()
        self._begin(lambda consumer: consumer.poll(STANDING_MS))

    def go_on(self) -> None:
        """The application's thread, which stands still, goes on to the end of the poll(), or until it stands again."""
        self.standstill.step()
        self.settle()

    def leave_poll(self) -> None:
        """The application, if it stands still, goes on, and is woken up: no callback begins any more."""
        if self.standstill.stands:
            self.standstill.end()
            self.consumer.wakeup()
            self.go_on()

    def pass_time(self) -> None:
        """The clock jumps to the next deadline: of the core's timers, where a thread looks at them again and again."""
        if self.design == "background":
            self.runtime.advance_to_next_deadline()
            return
        deadline_ms = self.core.timers.next_deadline_ms()
        if deadline_ms is not None and deadline_ms - self.runtime.now_ms() < NEVER_MS // 2:
            self.advance(max(0, deadline_ms - self.runtime.now_ms()))
            self.settle()

    def _make_driver(self, core: Core, transport: Transport, runtime: Runtime) -> RecordedDriver:
        probe(core, self._record)
        return super()._make_driver(core, transport, runtime)

    def take(self, event: impl.InputEvent) -> None:
        """One event, by whoever brings it about in a consumer; returns when all is idle."""
        match event:
            case impl.ResponseReceived():
                self.answer(event.request_id, event.response)
            case impl.TimerExpired():
                self.expire(event.timer)
            case impl.Unsubscribe() | impl.Commit() | impl.FetchCommitted() as asked:
                self.driver.call(lambda number: replace(asked, future_id=number))
                self.settle()
            case _:
                self.submit(event)


class DriverAdapter(CoreAdapter):
    """One consumer with its threads, and a coordinator that answers when told."""

    driven: ProbedConsumer

    def __init__(self, member: Member, start: MemberState, design: Design) -> None:
        self._design: Design = design
        super().__init__(member, start)

    def new_core(self, trace: TraceSink | None = None) -> None:
        """There is no consumer before it is started."""
        self._is_started = False

    def describe(self) -> Description:
        """The state of the consumer's core."""
        return self.driven.describe()

    def do(self, event: impl.InputEvent) -> list[impl.Output]:
        """One event in its queue; what came out of the core is in `record`."""
        self.driven.take(event)
        return []

    def pass_time(self) -> list[Observation]:
        """The clock jumps to the next deadline."""
        self.record.clear()
        deadline_ms = self.driven.runtime.next_deadline_ms() if self._is_started else None
        if deadline_ms is not None and deadline_ms < NEVER_MS:
            self.driven.pass_time()
        return list(self.record)

    def end(self) -> None:
        """Take the threads down."""
        if self._is_started:
            self.driven.close()

    # What can happen --------------------------------------------------------------------------------------------------

    def can(self, offer: Offer, state: MemberState, illegal: bool) -> bool:
        """Whether a consumer with two threads could bring this about at this moment."""
        if not self._is_started or self.core.leaving.closed:
            return offer.event == "started"
        if illegal or offer.event == "started" or not super().can(offer, state, illegal):
            return False
        if offer.event in TIMER_OF:
            return self.core.timers.is_armed(TIMER_OF[offer.event])
        return offer.event in EVENTS_OF or self._can_call(offer.event)

    def _can_call(self, event: str) -> bool:
        inside = self.driven.listener.inside
        if event == "partitions_revoked":
            return inside is not None and inside.kind != "assigned"
        if event == "partitions_assigned" and inside is not None:
            return inside.kind == "assigned"
        if event in _QUEUED:
            return True
        if self.driven.is_busy() and not (self.driven.standstill.stands and event in _CALLBACK_DUE):
            return False
        return event not in _CALLBACK_DUE or self.describe().rebalance == _CALLBACK_DUE[event]

    # Making it happen -------------------------------------------------------------------------------------------------

    def perform(self, offer: Offer, variant: int, state: MemberState, illegal: bool) -> list[Observation]:
        """See CoreAdapter. Variants differ in what the application does besides: AT_ONCE, STANDING."""
        super().perform(offer, variant, state, illegal)
        is_due = self.describe().rebalance in _CALLBACK_DUE.values() and self.driven.listener.inside is None
        if self._design == "heartbeat" and variant & AT_ONCE and is_due and not self.driven.is_busy():
            self._poll()
        if not variant & STANDING:
            self.driven.leave_poll()
        elif self.describe().subscribed and not self.driven.is_busy():
            self.driven.stand_in_poll()
        return list(self.record)

    def _start(self) -> None:
        self.end()
        self.translation.sent.clear()
        self.translation.topics = ()
        self.driven = ProbedConsumer(self.record, settings_for(self.member, self.start), self._design)
        self.core, self.subscription = self.driven.core, self.driven.core.subscription
        self._is_started = True
        self.driven.listener.park = True
        for kind in ANSWERED_BY_ITSELF:
            self.driven.transport.answer_always(kind, self._answer_by_itself)

    def _answer_by_itself(self, request: Request) -> Response | None:
        return None if is_asked(request) else self.coordinator.answer(request)

    def _tick(self) -> None:
        self.now_ms = self.driven.runtime.now_ms()

    def _timer_expires(self, timer: str) -> None:
        if timer == "offsets_deadline":
            self.driven.advance(2)
            if not self.core.timers.is_armed(timer):
                return
        self.driven.expire(timer)

    def _command(self, offer: Offer, variant: int, state: MemberState) -> None:
        """By a call of the application's; where one can't be made, or for an odd variant, by an event in its queue.

        An event may lie in the queue while a callback is due or runs: the polling thread is only the usual one to put
        it there.
        """
        event, topics = offer.event, self._topics(offer, state)
        queued = self.driven.is_busy() or variant % 2 == 1
        calls: dict[str, Callable[[Consumer], object]] = {
            "subscribed_to_topics": lambda consumer: consumer.subscribe(topics, self.driven.listener),
            "subscription_changed": lambda consumer: consumer.subscribe(topics, self.driven.listener),
            "leave_requested": lambda consumer: consumer.unsubscribe(),
            "stopped": lambda consumer: consumer.close(10_000),
        }
        if event in ("partitions_revoked", "partitions_assigned") and self.driven.listener.inside is not None:
            self.driven.release()
        elif event in _CALLBACK_DUE:
            self._run_callback(_ANSWER_OF[event])
            inside = self.driven.listener.inside
            if inside is not None and inside.kind == "assigned":
                self.driven.release()  # for a revocation: a callback that was due before it
        elif event == "application_polled" and not queued and not self.driven.driver.has_consumer_events():
            self._poll()
        elif event in calls and not (queued and event in _QUEUED):
            self.driven.begin(calls[event])
        else:
            super()._command(offer, variant, state)

    def _run_callback(self, answer: type[impl.InputEvent]) -> None:
        """Have a callback begin that is due: in the poll() in which the application stands still, or in another one."""
        for _ in range(LOOKS):
            if self.driven.standstill.stands and self.driven.listener.inside is None:
                self.driven.go_on()
            if any(isinstance(seen.event, answer) for seen in self.record):
                return
        if not self.driven.is_busy():
            self._poll()

    def _poll(self) -> None:
        """Poll until there is no error left to raise: the first poll may do nothing but that."""
        for _ in range(3):
            call = self.driven.begin(lambda consumer: consumer.poll(0))
            if not call.done or call.error is None:
                return
