"""One member, as oracles hear it: a test says what it sends and is answered, or what happens around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from groupspec.conformance.schedules.choosing import Choosing
from groupspec.conformance.schedules.further import draw
from groupspec.conformance.schedules.group import RacingGroup
from groupspec.conformance.schedules.ledger import Ledger
from groupspec.conformance.schedules.network import RacingTransport
from groupspec.conformance.schedules.outcomes import Outcomes
from groupspec.conformance.schedules.questions import Questions
from groupspec.conformance.schedules.reading import Reading
from groupspec.conformance.schedules.requests import Requests
from groupspec.conformance.schedules.scenario import Scenario
from groupspec.conformance.schedules.times import SETTINGS
from groupspec.impl.core.events import COORDINATOR, ResponseReceived, SendRequest
from groupspec.impl.core.messages import (
    ErrorCode,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    ListOffsetsRequest,
    MetadataRequest,
    MetadataResponse,
    PartitionMetadata,
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicMetadata,
    TopicPartition,
)
from groupspec.impl.core.protocol import Assignment, Subscription, encode_assignment, encode_subscription
from groupspec.impl.runtime import Thread
from groupspec.impl.scheduling import ScheduledRuntime, run
from groupspec.impl.scheduling.strategies import RandomWalk

INTERVAL_MS = SETTINGS["max_poll_interval_ms"]
LIMIT_MS = INTERVAL_MS + 5_000
HEARTBEAT = HeartbeatRequest("billing", 1, "m", None)
SYNC = SyncGroupRequest("billing", 1, "m", None, "cooperative-sticky")
CALM = replace(
    next(one for one in map(draw, range(1, 500)) if one.cooperative and one.is_calm and not one.static),
    topics=("orders",),
    leads=False,
    auto_commit=False,
    manual=False,
    elects_ms=0,
    moves_ms=0,
)


def join_group(
    *topics: str, owned: Sequence[TopicPartition] = (), generation: int = -1, assignor: str = "cooperative-sticky"
) -> JoinGroupRequest:
    subscription = encode_subscription(Subscription(topics, None, tuple(owned), generation))
    protocols = ((assignor, subscription),)
    return JoinGroupRequest("billing", SETTINGS["session_timeout_ms"], INTERVAL_MS, "m", None, protocols)


PLACE = TopicPartition("orders", 0)
WHERE = ListOffsetsRequest({PLACE: -1})


class Heard:
    """What one member sends and is answered, at `at_ms`."""

    def __init__(
        self,
        assignor: str = "cooperative-sticky",
        leads: bool = False,
        calls: tuple[str, ...] = ("poll", "commit one"),
        at_once: bool = True,
    ) -> None:
        self.requests = Requests(replace(CALM, assignors=(assignor,), leads=leads, calls=calls), at_once)
        self.assignor = assignor
        self.requests.finding.is_needed = True
        self.there: set[str] = set()
        self.at_ms = 1_000
        self._last = 0

    def joins(self, *topics: str) -> int:
        """Returns the number of its JoinGroup."""
        return self.sends(join_group(*topics, assignor=self.assignor))

    def sends(self, request: Request, node: str = COORDINATOR) -> int:
        """Returns its number."""
        self._last += 1
        self.requests.sent(SendRequest(self._last, node, request, LIMIT_MS), self.at_ms)
        return self._last

    def takes(self, *answers: tuple[int, Response]) -> None:
        """These answers, one after the other."""
        self.requests.answered([ResponseReceived(number, answer) for number, answer in answers], self.at_ms)

    def lists(self, *topics: str) -> None:
        """It is told that there are these topics, and no others."""
        self.there = set(topics)
        listed = tuple(TopicMetadata(topic, (PartitionMetadata(0, 1),)) for topic in topics)
        self.takes((self.sends(MetadataRequest(None), "any"), MetadataResponse((), listed)))

    def stable(self, *topics: str, share: tuple[TopicPartition, ...] = ()) -> None:
        """It has subscribed to these topics, or to orders, and was assigned nothing, or this."""
        found = FindCoordinatorResponse(ErrorCode.NONE, 2, "localhost", 9093)
        self.takes((self.sends(FindCoordinatorRequest("billing"), "any"), found))
        joined = JoinGroupResponse(ErrorCode.NONE, 1, self.assignor, "other", "m")
        self.takes((self.joins(*topics or ("orders",)), joined))
        self.takes((self.sends(SYNC), SyncGroupResponse(ErrorCode.NONE, encode_assignment(Assignment(share)))))


class World:
    """What is around an application; timers wait."""

    def __init__(self, runtime: ScheduledRuntime, scenario: Scenario) -> None:
        runtime.timers_race = False
        self.scenario = scenario
        self._runtime = runtime
        self.requests = Requests(scenario)
        self.transport = RacingTransport(runtime, self.requests)
        self.group = RacingGroup(runtime, scenario, self.transport)
        self.outcomes = Outcomes(runtime, scenario, self.group, self.transport)
        self.ledger = Ledger(scenario, self.group)
        self.questions = Questions(runtime, scenario, self.group, self.requests, self.ledger, self.outcomes)
        self.reading = Reading(runtime, scenario, self.requests, self.ledger, self.outcomes, self.questions)
        self.choosing = Choosing(runtime, scenario, self.group, self.requests, self.ledger, self.questions)

    def run(self, *works: Callable[[], None] | Thread) -> None:
        """All of them at once, until the last has ended."""
        threads = [self._runtime.thread(work, "work") if callable(work) else work for work in works]
        for thread in threads:
            thread.start()
        self._runtime.run_until(lambda: not any(thread.is_alive() for thread in threads), 2 * LIMIT_MS)


def expect(work: Callable[[ScheduledRuntime], None], told: str | None) -> None:
    """The oracles say this, or nothing."""
    error = run(work, RandomWalk(1)).error
    assert error is None if told is None else told in str(error), error
