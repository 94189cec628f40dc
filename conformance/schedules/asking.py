"""What a member asks the brokers for: nothing twice, nothing that nobody wants, and nobody who is not the leader.

O1   A position is looked up once: not again while the answer may come.
O5   Records that are here are not fetched again.
J8   Metadata are asked for of topics that the application, or its group, wants; and anew when a leader is another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from groupspec.conformance.schedules.answers import LEADER_IS_ANOTHER
from groupspec.conformance.schedules.scenario import Scenario
from groupspec.impl.core.events import SendRequest
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetFetchRequest,
    OffsetForLeaderEpochRequest,
    Request,
    Response,
    TopicPartition,
)
from groupspec.impl.scripted import api_of

OF_LEADERS: Final = (FetchRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest)
ANOTHER_LEADER: Final = {ErrorCode[name] for name in LEADER_IS_ANOTHER}
MOST_REPEATS: Final = 2
"""How often the same may be asked while Metadata are on their way."""

SETTLED_MS: Final = 200
"""How long after its beginning a poll() has said to all threads what is wanted."""


class Asking:
    """Of one member.

    Attributes:
        subscribed: The topics that the application wants.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._last_id = 0  # of all requests so far
        self._anew: dict[TopicPartition, int] = {}  # answers to requests before these say nothing of the partition
        self._brought: dict[TopicPartition, range] = {}
        self._in_vain: Counter[str] = Counter()  # by API: answers by who leads no more, since Metadata were asked for
        self._wanted: list[tuple[int, frozenset[str]]] = [(0, frozenset(scenario.topics))]
        self.subscribed = frozenset(scenario.topics)

    # What happens -----------------------------------------------------------------------------------------------------

    def begins_anew(self, partitions: Iterable[TopicPartition]) -> None:
        """These are read from elsewhere from now on, or are not owned any more."""
        for partition in partitions:
            self._anew[partition] = self._last_id
            self._brought.pop(partition, None)

    def polled(self, began_ms: int, owned: Iterable[TopicPartition]) -> None:
        """A poll() that began then, when this was owned, has returned: it has said what is wanted."""
        self._wanted.append((began_ms, self.subscribed | {partition.topic for partition in owned}))

    def answered(self, sent: SendRequest, response: Response, errors: set[ErrorCode]) -> None:
        """The member takes this answer."""
        if isinstance(sent.request, OF_LEADERS) and errors & ANOTHER_LEADER:
            self._in_vain[api_of(sent.request)] += 1
        if isinstance(sent.request, FetchRequest) and isinstance(response, FetchResponse):
            for partition, part in response.partitions.items():
                at = sent.request.offsets[partition]
                if part.record_bytes and sent.request_id > self._anew.get(partition, 0):
                    self._brought[partition] = range(at, at + part.record_bytes.count(b"\n"))

    # What must hold ---------------------------------------------------------------------------------------------------

    def sent(
        self, sent: SendRequest, unanswered: Iterable[SendRequest], owned: Iterable[TopicPartition], now_ms: int
    ) -> None:
        """A request is on its way. Raises AssertionError for what nobody needs."""
        self._last_id = sent.request_id
        request, scenario = sent.request, self._scenario
        if isinstance(request, MetadataRequest):
            self._in_vain.clear()
        if scenario.timers_race or scenario.breaks:
            return
        moves = scenario.elects_ms or "seek" in scenario.all_calls  # while a request or an answer may be on its way
        if isinstance(request, FetchRequest) and not moves:
            again = {tp: at for tp, at in request.offsets.items() if at in self._brought.get(tp, ())}
            assert not again, f"{again} are fetched again, and are here (rule O5)"
        if isinstance(request, OffsetFetchRequest) and "committed" not in scenario.all_calls:
            self._expect_once(request, unanswered)
        if isinstance(request, MetadataRequest) and request.topics is not None and not scenario.leads:
            foreign = set(request.topics) - self._may_want(owned, now_ms)
            assert not foreign, f"Metadata of {foreign}, which nobody wants any more (rule J8)"
        self._expect_leader(request, unanswered)

    def _expect_once(self, request: OffsetFetchRequest, unanswered: Iterable[SendRequest]) -> None:
        for other in unanswered:
            if isinstance(other.request, OffsetFetchRequest):
                same = set(request.partitions) & set(other.request.partitions)
                twice = {tp for tp in same if other.request_id > self._anew.get(tp, 0)}
                assert not twice, f"{twice} are looked up again while the answer may come (rule O1)"

    def _may_want(self, owned: Iterable[TopicPartition], now_ms: int) -> set[str]:
        """What is wanted now, or was when the last poll() but one began of those that all threads know of."""
        known = [number for number, (began_ms, _) in enumerate(self._wanted) if began_ms + SETTLED_MS <= now_ms]
        recent = (topics for _, topics in self._wanted[max(0, len(known) - 2) :])
        return set().union(self.subscribed, (partition.topic for partition in owned), *recent)

    def _expect_leader(self, request: Request, unanswered: Iterable[SendRequest]) -> None:
        fails = any(answer != "ok" for answer in self._scenario.answers.get("Metadata", ()))  # and waits for backoffs
        if isinstance(request, OF_LEADERS) and not fails:
            asks = any(isinstance(other.request, MetadataRequest) for other in unanswered)
            in_vain = self._in_vain[api_of(request)]
            assert in_vain < MOST_REPEATS or asks, (
                f"{api_of(request)} goes out after {in_vain} answers that the leader is another one, without Metadata "
                "in between (rule J8)"
            )
