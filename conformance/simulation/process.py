"""One process of a member: what is the same for a core alone and for a whole consumer with its threads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from random import Random
from typing import Protocol

from groupspec.conformance.simulation.application import Application
from groupspec.conformance.simulation.cluster import Cluster
from groupspec.conformance.simulation.encoded import EncodedLink
from groupspec.conformance.simulation.ledger import Ledger
from groupspec.conformance.simulation.loop import Event, Loop
from groupspec.conformance.simulation.member import Member
from groupspec.conformance.simulation.network import Link, Witness
from groupspec.conformance.simulation.plan import MemberPlan, Plan
from groupspec.conformance.simulation.situations import Watch
from groupspec.impl.core.messages import Response
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

    def taken(self, process: Process, response: Response) -> None:
        """A process reads an answer; where nobody polls that may be a while after it came."""

    def ended(self, process: Process) -> None:
        """A process is no more."""


class Process(Member):
    """A process that was started; one that is started again is another one. `is_alive`: it has not ended."""

    application: Application

    def __init__(self, run: World, plan: MemberPlan, incarnation: int) -> None:
        self.plan = plan
        self.name = f"m{plan.number}.{incarnation}"
        self.loop = run.loop
        self.trace: list[TraceEvent] = []
        self.link = _link(self, run)
        self.is_alive = True
        self.is_standing_still = False
        self.has_stood_still = False
        self._run = run
        self._random = Random(f"process {run.plan.seed} {self.name}")
        self._stands_from_ms = 0
        self._inbox: list[Callable[[], None]] = []
        self._timer: Event | None = None

    @abstractmethod
    def start(self) -> None:
        """The first thing that happens in it."""

    @abstractmethod
    def answered(self, request_id: int, response: Response, throttle_ms: int = 0) -> None:
        """See Peer."""

    @abstractmethod
    def next_deadline_ms(self) -> int | None:
        """When something happens in it by itself."""

    @abstractmethod
    def time_passes(self) -> None:
        """What is due by now happens."""

    def unwind(self) -> None:
        """The run is over: no thread is left."""

    def told(self, event: TraceEvent) -> None:
        """The core tells what it does."""
        self.trace.append(event)
        self._run.told(self, event)

    def happens(self, what: Callable[[], None]) -> None:
        """See Peer."""
        if not self.is_alive:
            return
        if self.is_standing_still:
            self._inbox.append(what)
        else:
            what()

    def arm(self) -> None:
        """Be there when the next timer is due; one that has moved away is looked at, and waited for again."""
        at_ms = self.next_deadline_ms()
        timer = self._timer
        if at_ms is None or (timer is not None and timer.at_ms <= at_ms):
            return
        if timer is not None:
            timer.cancel()
        self._timer = self.loop.at(at_ms, self._due)

    def _due(self) -> None:
        self._timer = None
        self.happens(self.time_passes)

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
                self.happens(self.time_passes)
            else:
                for what in waiting:
                    self.happens(what)

    def kill(self) -> None:
        """It ends without a word."""
        if self.is_alive:
            self._run.ledger.stopped(self)
            self.end()

    def end(self) -> None:
        """See Member."""
        self.is_alive = False
        self._run.ledger.forget(self)
        if self._timer is not None:
            self._timer.cancel()
        self.application.stop()
        self.link.break_all()
        self._run.ended(self)


def _link(process: Process, run: World) -> Link:
    """Its connections: of bytes, if the brokers of this run have something that only those can tell."""
    if run.plan.brokers is None:
        return Link(process, run.loop, run.cluster, run, run.plan)
    return EncodedLink(process, run.loop, run.cluster, run, run.plan, run.plan.brokers)
