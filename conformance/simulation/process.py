"""One process: a core, its surroundings, and the application in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from threading import Lock
from typing import Protocol

from groupspec.conformance.simulation.application import Application
from groupspec.conformance.simulation.cluster import Cluster, RangeDecoder
from groupspec.conformance.simulation.ledger import Ledger
from groupspec.conformance.simulation.loop import Event, Loop
from groupspec.conformance.simulation.member import Member
from groupspec.conformance.simulation.network import Link, Witness
from groupspec.conformance.simulation.plan import MemberPlan, Plan
from groupspec.conformance.simulation.situations import Watch
from groupspec.impl.core import events
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import ConsumerEvent, InputEvent, Output, ResponseReceived, SendRequest
from groupspec.impl.core.messages import Response
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.records import Records
from groupspec.impl.trace import TraceEvent


class World(Witness, Protocol):
    """The run that a process is in."""

    plan: Plan
    loop: Loop
    cluster: Cluster
    ledger: Ledger
    watch: Watch

    def told(self, process: Process, event: TraceEvent) -> None:
        """A core has told something."""

    def ended(self, process: Process) -> None:
        """A process is no more."""


class Process(Member):
    """A process that was started; one that is started again is another one. `is_alive`: it has not ended."""

    application: Application

    def __init__(self, run: World, plan: MemberPlan, incarnation: int) -> None:
        self.plan = plan
        self.name = f"m{plan.number}.{incarnation}"
        self._run = run
        self.loop = run.loop
        self._random = Random(f"process {run.plan.seed} {self.name}")
        self.trace: list[TraceEvent] = []
        self.subscription = SubscriptionState(Lock)  # quicker than none
        self.core = Core(plan.config, self.subscription, self._told)
        self.records = Records(self.subscription, RangeDecoder())
        self.link = Link(self, run.loop, run.cluster, run, run.plan)
        self.consumer_events: deque[ConsumerEvent] = deque()
        self.outcomes: dict[int, Exception | None] = {}
        self.is_alive = True
        self.is_standing_still = False
        self.has_stood_still = False
        self._stands_from_ms = 0
        self._inbox: list[Callable[[], None]] = []
        self._timer: Event | None = None
        self._next_future = 1
        self.application = Application(self, run.ledger, run.watch)

    def start(self) -> None:
        """The first thing that happens in it."""
        self.application.start()

    def _told(self, event: TraceEvent) -> None:
        self.trace.append(event)
        self._run.told(self, event)

    # What the core is given, and what it wants -----------------------------------------------------------------------

    def give(self, event: InputEvent) -> None:
        """An event for the core, now."""
        self._carry_out(self.core.handle(event, self.loop.now_ms))

    def call(self, make_event: Callable[[int], InputEvent]) -> int:
        """An event with an outcome, which is in `outcomes` then by the number that is returned."""
        number, self._next_future = self._next_future, self._next_future + 1
        self.give(make_event(number))
        return number

    def answered(self, request_id: int, response: Response) -> None:
        """See Peer."""
        self.give(ResponseReceived(request_id, response))

    def happens(self, what: Callable[[], None]) -> None:
        """See Peer."""
        if not self.is_alive:
            return
        if self.is_standing_still:
            self._inbox.append(what)
        else:
            what()

    def _carry_out(self, outputs: list[Output]) -> None:
        for output in outputs:
            self._do(output)
        self._arm()
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

    def _arm(self) -> None:
        """Be there when the core's next timer is due; one that has moved away is looked at, and waited for again."""
        at_ms = self.core.next_deadline_ms()
        timer = self._timer
        if at_ms is None or (timer is not None and timer.at_ms <= at_ms):
            return
        if timer is not None:
            timer.cancel()
        self._timer = self.loop.at(at_ms, self._due)

    def _due(self) -> None:
        self._timer = None
        self.happens(self._advance)

    def _advance(self) -> None:
        self._carry_out(self.core.advance(self.loop.now_ms))

    # What happens to it ----------------------------------------------------------------------------------------------

    def stand_still(self) -> None:
        """From now on it does nothing."""
        if self.is_alive and not self.is_standing_still:
            self.is_standing_still = self.has_stood_still = True
            self._stands_from_ms = self.loop.now_ms
            self._run.ledger.stopped(self)

    def go_on(self) -> None:
        """It does not know that it stood still: answers, timers and the application come in any order."""
        if not self.is_standing_still:
            return
        self.is_standing_still = False
        self._run.watch.went_on(self, self.loop.now_ms - self._stands_from_ms)
        waiting, self._inbox = self._inbox, []
        self._random.shuffle(first := [0, 1])
        for which in first:
            if which:
                self.happens(self._advance)
            else:
                for what in waiting:
                    self.happens(what)

    def kill(self) -> None:
        """It ends without a word."""
        if self.is_alive:
            self._run.ledger.stopped(self)
            self.end()

    def end(self) -> None:
        """It is no more; its connections break."""
        self.is_alive = False
        self._run.ledger.forget(self)
        if self._timer is not None:
            self._timer.cancel()
        self.application.stop()
        self.link.break_all()
        self._run.ended(self)
