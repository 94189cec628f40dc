"""How the calls of an application end: each with an outcome of its own, and nothing that is to be told is kept secret.

C4   What a callback raises is raised by a call, and by one only.
H4   What the group refuses for good is raised by a call; H6: so is what ends a thread, and by one call only.
L2   A call is out of time when it says so, and where something keeps it from its outcome.
M6   Each asynchronous commit has one outcome, in the order of the calls.
P4   A call that has nothing to wait for returns at once.
T2   Errors are those that the API has for the call; T4: each wakeup interrupts at most one call.
X2   Who is fenced by another process with its name hears of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from groupspec.conformance.schedules.group import RacingGroup
from groupspec.conformance.schedules.network import CannotSend, RacingTransport
from groupspec.conformance.schedules.requests import Requests
from groupspec.conformance.schedules.scenario import ASKS_LOG, ASKS_TOPICS, SEEKS, Scenario
from groupspec.conformance.schedules.times import LOOK_MS
from groupspec.impl.consumer import WakeupError
from groupspec.impl.core.errors import (
    CommitFailedError,
    ConsumerClosedError,
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    NoOffsetForPartitionError,
    ProtocolError,
    RebalanceInProgressError,
    RetriableCommitFailedError,
)
from groupspec.impl.core.messages import OffsetAndMetadata, TopicPartition
from groupspec.impl.scheduling import ScheduledRuntime

CALL_MS: Final = 5_000
"""How long a call may take that has a time limit of its own."""

DEFAULT_MS: Final = 60_000
"""How long one may take that has none: default.api.timeout.ms as Kafka has it (KIP-266)."""

MOST_REFUSALS: Final = 4
"""By brokers that lead no more, and the Metadata in between, before a call has found who does."""

WAITING: Final = (WakeupError, KafkaTimeoutError, ConsumerClosedError)
MAY_RAISE: Final[dict[str, tuple[type[KafkaError], ...]]] = {
    **dict.fromkeys(
        ("commit", "commit one", "commit nothing"), (*WAITING, CommitFailedError, RebalanceInProgressError)
    ),
    "commit_async": (ConsumerClosedError,),
    "commit_async that raises": (ConsumerClosedError,),
    "committed": WAITING,
    "position": (*WAITING, IllegalStateError),
    "seek": (IllegalStateError,),
    **dict.fromkeys(("pause", "pause one", "resume", "resume one"), (IllegalStateError,)),
    "unsubscribe": (KafkaTimeoutError, ConsumerClosedError),
    "group_metadata": WAITING,
    **dict.fromkeys((*ASKS_LOG, *ASKS_TOPICS), WAITING),
    **dict.fromkeys(("look", *SEEKS), (IllegalStateError,)),
    "enforce_rebalance": (ConsumerClosedError,),
    "subscribe again": (ConsumerClosedError,),
    "other topics": (ConsumerClosedError,),
}
"""What each call may raise of its own. `IllegalStateError`: a partition that it names has been lost meanwhile."""

WAITS_FOR_ANSWERS: Final = (
    *("commit", "commit one", "commit nothing", "committed", "position", "unsubscribe"),
    *(*ASKS_LOG, *ASKS_TOPICS),
)
"""The calls that need the network, or run callbacks; the others return at once."""

OF_A_COMMIT: Final = (
    *(CommitFailedError, RebalanceInProgressError, RetriableCommitFailedError, KafkaTimeoutError, ConsumerClosedError),
)
"""With which errors an asynchronous commit may end."""


HEARTBEAT: Final = "heartbeat"
"""The name of the heartbeat design's second thread."""


class CallbackRaised(Exception):
    """The application's callback raises this."""


class Outcomes:
    """Of all calls so far.

    Attributes:
        errors: What was raised, the oldest first.
        raised: How often a callback has raised.
        commits: How many commits were asked for that nobody waits for.
        interrupted_ms: When another thread has called wakeup() or close().
    """

    def __init__(
        self, runtime: ScheduledRuntime, scenario: Scenario, group: RacingGroup, transport: RacingTransport
    ) -> None:
        self._runtime = runtime
        self._scenario = scenario
        self._group = group
        self._transport = transport
        self._ended: list[int] = []
        self.errors: list[Exception] = []
        self.raised = 0
        self.commits = 0
        self.interrupted_ms: list[int] = []

    @contextmanager
    def of(self, call: str, requests: Requests) -> Iterator[None]:
        """A call: it takes no time that it does not need, and whatever it raises is allowed to."""
        races = self._runtime.timers_race  # the application may end that while another thread's callback is in here
        began_ms = self._runtime.now_ms()
        try:
            yield
        except KafkaError as error:
            chooses = self._scenario.reset == "none" and isinstance(error, NoOffsetForPartitionError)
            leaves = requests.leaving and isinstance(error, KafkaTimeoutError)  # an unsubscribe() that goes on
            if not (isinstance(error, MAY_RAISE[call]) or chooses or leaves or self._is_told(error, requests)):
                raise AssertionError(f"{call} raises {error!r} (rule T2)") from error
            raise
        finally:
            took_ms = self._runtime.now_ms() - began_ms
            waits = call in WAITS_FOR_ANSWERS or races
            assert waits or not took_ms, f"{call} takes {took_ms} ms, and has nothing to wait for (rule P4)"

    def expect_of_poll(self, error: KafkaError, idle: bool, requests: Requests) -> None:
        """Whatever the group answers here is for the consumer to get over, refusals apart."""
        known = isinstance(error, WakeupError | ConsumerClosedError) or self._is_told(error, requests)
        assert known or (idle and isinstance(error, IllegalStateError)), f"poll() raises {error!r} (rules M2, D3)"

    def _is_told(self, error: KafkaError, requests: Requests) -> bool:
        garbled = requests.is_garbled and "can't be read" in str(error)
        return garbled or (isinstance(error, ProtocolError) and error.code in requests.refusals)

    def raises(self, error: Exception, may_time_out: bool = False) -> None:
        """A call has raised this. No call is out of time where nothing keeps it from its outcome.

        Nothing but slow answers that fill its time, maybe those to an earlier call, with ones that are not slow between
        them: a broker answers what comes by one connection in order. And a leader that is another one.
        """
        self.errors.append(error)
        scenario = self._scenario
        kept = scenario.has_faults or scenario.works_long or scenario.is_closed_by_others or self._runtime.timers_race
        if isinstance(error, KafkaTimeoutError) and not (kept or may_time_out):
            now_ms = self._runtime.now_ms()
            moved = any(0 < at_ms <= now_ms for at_ms in (scenario.elects_ms, scenario.moves_ms))
            most_ms = MOST_REFUSALS * (scenario.latency_ms + LOOK_MS) if moved else 0
            assert self._group.idle_ms(now_ms - CALL_MS) <= most_ms, f"{error!r} (rule L2)"

    def has_told(self, requests: Requests) -> bool:
        """Whether everything was told that the group has refused this member."""
        return requests.to_tell <= {error.code for error in self.errors if isinstance(error, ProtocolError)}

    def commit_ended(
        self,
        number: int,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        error: Exception | None,
        raises: bool = False,
    ) -> None:
        """The callback of an asynchronous commit. AssertionError if it says what is not so."""
        self._ended.append(number)
        if error is None:
            left = {tp: at.offset for tp, at in offsets.items() if (tp, at.offset) not in self._group.commits}
            assert not left, f"a commit has ended without error, and {left} has not arrived (rule M6)"
        elif not isinstance(error, OF_A_COMMIT):
            assert isinstance(error, ProtocolError), f"a commit has ended with {error!r} (rule T2)"
        if raises:
            self.raised += 1
            raise CallbackRaised

    def expect_earlier_commits(self) -> None:
        """A commit is done that was waited for: so are those that were asked for before it."""
        left = self.commits - len(self._ended)
        assert not left or self._scenario.is_closed_by_others, f"commit() returns before {left} earlier ones (rule M6)"

    def expect_all(self, wakeups_due: bool, close_raised: bool, living: Collection[str]) -> None:
        """The application is at its end.

        Args:
            wakeups_due: wakeup() was called before its last polls; else nobody knows.
            close_raised: close() has raised one error; there may have been others, and no call after it raises them.
            living: The threads that ran when close() began. What ends the heartbeat thread from then on hinders nobody,
                and need not be told: Kafka's AbstractCoordinator.closeHeartbeatThread joins it, and nobody asks how it
                ended (only pollHeartbeat does, for poll()). The background thread's work is all of a close().
        """
        asked = [what for what, _ in self._scenario.others if what == "wakeup"]
        assert self._count(WakeupError) <= len(asked), "a wakeup has interrupted two calls (rule T4)"
        assert self._count(CallbackRaised) <= self.raised, "a callback's error was raised twice (rule C4)"
        assert self._count(CannotSend) <= len(self._transport.broken_ms), (
            "what ended a thread was raised twice (rule H6)"
        )
        assert self._scenario.is_closed_by_others or self._count(WakeupError) or not wakeups_due, (
            "a wakeup has interrupted no call (rule T4)"
        )
        if self._scenario.is_closed_by_others:
            return
        assert self._ended == sorted(set(self._ended)), f"outcomes {self._ended} (rule M6)"
        assert len(self._ended) == self.commits, f"{self.commits} commits, outcomes {self._ended} (rule M6)"
        if close_raised:
            return
        assert self._count(CallbackRaised) or not self.raised, "a callback's error is lost (rule C4)"
        due = [thread for thread in self._transport.broken_in if thread != HEARTBEAT or thread not in living]
        assert self._count(CannotSend) or not due, "what ended a thread is kept secret (rule H6)"

    def broken_ms(self) -> list[int]:
        """When what has ended a thread, and no call has told of yet."""
        return self._transport.broken_ms[self._count(CannotSend) :]

    def is_woken(self) -> bool:
        """Whether a wakeup has interrupted a call."""
        return self._count(WakeupError) > 0

    def _count(self, kind: type[Exception]) -> int:
        return sum(isinstance(error, kind) for error in self.errors)
