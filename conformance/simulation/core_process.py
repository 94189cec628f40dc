"""A process that is a core alone, and an application in steps: the quick kind."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock

from groupspec.conformance.simulation.logs import RangeDecoder
from groupspec.conformance.simulation.member import CoreMember
from groupspec.conformance.simulation.plan import MemberPlan
from groupspec.conformance.simulation.process import Process, World
from groupspec.conformance.simulation.stepped import SteppedApplication
from groupspec.impl.core import events
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import ConsumerEvent, InputEvent, Output, ResponseReceived, SendRequest
from groupspec.impl.core.messages import Response
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.records import Records


class CoreProcess(Process, CoreMember):
    """Everything in it happens at once, in the thread of the run."""

    application: SteppedApplication

    def __init__(self, run: World, plan: MemberPlan, incarnation: int) -> None:
        super().__init__(run, plan, incarnation)
        self.subscription = SubscriptionState(Lock)  # quicker than none
        self.core = Core(plan.config, self.subscription, self.told)
        self.records = Records(self.subscription.positions, RangeDecoder())
        self.consumer_events: deque[ConsumerEvent] = deque()
        self.outcomes: dict[int, Exception | None] = {}
        self._next_future = 1
        self.application = SteppedApplication(self, run.ledger, run.watch)

    def start(self) -> None:
        """See Process."""
        self.application.start()

    def give(self, event: InputEvent) -> None:
        """See CoreMember."""
        self._carry_out(self.core.handle(event, self.loop.now_ms))

    def call(self, make_event: Callable[[int], InputEvent]) -> int:
        """See CoreMember."""
        number, self._next_future = self._next_future, self._next_future + 1
        self.give(make_event(number))
        return number

    def answered(self, request_id: int, response: Response, throttle_ms: int = 0) -> None:
        """See Peer."""
        self._run.taken(self, response)
        self.give(ResponseReceived(request_id, response, throttle_ms))

    def next_deadline_ms(self) -> int | None:
        """See Process."""
        return self.core.next_deadline_ms()

    def time_passes(self) -> None:
        """See Process."""
        self._carry_out(self.core.advance(self.loop.now_ms))

    def _carry_out(self, outputs: list[Output]) -> None:
        for output in outputs:
            self._do(output)
        self.arm()
        self.application.nudge()

    def _do(self, output: Output) -> None:
        match output:
            case SendRequest():
                self.link.send(output)
            case events.ConnectCoordinator(node_id):
                self.link.connect_coordinator(node_id)
            case events.DisconnectCoordinator():
                self.link.disconnect_coordinator()
            case events.Error() | events.RevokePartitions() | events.AssignPartitions():
                self.consumer_events.append(output)
            case events.CompleteFuture(number, _, error):
                self.outcomes[number] = error
            case events.Closed():
                pass  # the future of the Close is completed, too
