"""What a member asks the brokers for: nothing twice, nothing that nobody wants, and nobody who is not the leader.

O1   A position is looked up once: not again while the answer may come.
O5   Records that are here are not fetched again.
J8   Metadata are asked for of topics that the application, or its group, wants; and anew when a leader is another one.

And a leader of before is not taken for the present one again when a broker that is behind names it (KIP-320; Kafka's
Metadata.updateLatestMetadata).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from groupspec.conformance.schedules.answers import LEADER_IS_ANOTHER
from groupspec.conformance.schedules.scenario import ASKS_TOPICS, TOPICS, Scenario
from groupspec.impl.consumer import QUIET_MS
from groupspec.impl.core.events import SendRequest
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    MetadataRequest,
    MetadataResponse,
    OffsetFetchRequest,
    OffsetForLeaderEpochRequest,
    Request,
    Response,
    TopicPartition,
)
from groupspec.impl.scripted import api_of

EVERYTHING: Final = "*"
"""Stands for all topics, of which a pattern may match each."""

OF_LEADERS: Final = (FetchRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest)
ANOTHER_LEADER: Final = {ErrorCode[name] for name in LEADER_IS_ANOTHER}
MOST_REPEATS: Final = 2
"""How often the same may be asked while Metadata are on their way."""

BACKOFF_MS: Final = 100
MOST_BACKOFF_MS: Final = 1_000
"""Between them Metadata that fail are asked for again, each time after twice as long (Kafka's Metadata, KIP-580)."""

SETTLED_MS: Final = 200
"""How long after its beginning a poll() has said to all threads what is wanted."""


class Asking:
    """Of one member.

    Args:
        scenario: What happens to it.
        at_once: Whether one thread decides on requests, sends them and takes the answers.

    Attributes:
        subscribed: The topics that the application may want, with EVERYTHING if by pattern.
        inquired: Partitions and timestamps that it has asked about.
        places: Where the application goes on, of each partition that it owns; None: that is not known.
    """

    def __init__(self, scenario: Scenario, at_once: bool) -> None:
        self._scenario = scenario
        self._at_once = at_once
        self._in_network = False  # who decides on requests: none is decided on then that was not sent
        self._last_id = 0  # of all requests so far
        self._anew: dict[TopicPartition, int] = {}  # answers to requests up to these say nothing of the partition
        self._unsettled: set[TopicPartition] = set()  # nor do those to requests that may have been decided on before
        self._brought: dict[TopicPartition, range] = {}
        self._in_vain: Counter[object] = Counter()  # by question: answers by who leads no more, to requests since then
        self._metadata_id = 0  # of the last Metadata
        self._epochs: dict[TopicPartition, int] = {}  # the latest that Metadata have told, and the member knows
        self._news: dict[TopicPartition, int] = {}  # with those of the answers that it is working off
        self._failures = self._metadata_ms = 0  # Metadata in vain, one after the other, and when the last one failed
        self.subscribed = frozenset({*scenario.topics, *([EVERYTHING] if scenario.pattern else [])})
        self.inquired: set[tuple[TopicPartition, int]] = set()
        self._inquiries: list[tuple[int, set[tuple[TopicPartition, int]]]] = []  # until when each of them may go on
        self.places: Mapping[TopicPartition, int | None] = {}
        self._wanted: list[tuple[int, frozenset[str]]] = [(0, self.subscribed)]
        self._begun: frozenset[str] = frozenset()  # what was wanted when the last poll() began, however that ends

    # What happens -----------------------------------------------------------------------------------------------------

    def begins_anew(self, partitions: Iterable[TopicPartition]) -> None:
        """These are read from elsewhere from now on, or are not owned any more."""
        for partition in partitions:
            self._anew[partition] = self._last_id
            self._brought.pop(partition, None)
            if not self._in_network:
                self._unsettled.add(partition)

    def inquires(self, asked: set[tuple[TopicPartition, int]], until_ms: int) -> None:
        """The application asks, in a call that ends by then; if something interrupts it, its question goes on."""
        self.inquired |= asked
        self._inquiries.append((until_ms, asked))

    def turns(self) -> None:
        """It looks for answers: whatever it has decided on has been sent."""
        self._unsettled.clear()
        self._in_network = self._at_once

    def turned(self) -> None:
        """It goes on with those that there are."""
        self._in_network = False
        self._epochs = dict(self._news)

    def polls(self, owned: Iterable[TopicPartition]) -> None:
        """A poll() begins: until the next one does, what is wanted now may be asked for."""
        self._begun = self.subscribed | {partition.topic for partition in owned}

    def polled(self, began_ms: int, owned: Iterable[TopicPartition], subscribed: frozenset[str]) -> None:
        """A poll() that began then, when this was owned and subscribed to, has returned: it has said what is wanted."""
        wanted = self.subscribed | subscribed  # a callback may have chosen something else
        self._wanted.append((began_ms, wanted | {partition.topic for partition in owned}))

    def answered(self, sent: SendRequest, response: Response, errors: set[ErrorCode], now_ms: int) -> None:
        """The member takes this answer."""
        if isinstance(response, MetadataResponse):
            told = {TopicPartition(t.topic, p.partition): p.leader_epoch for t in response.topics for p in t.partitions}
            self._news |= {tp: epoch for tp, epoch in told.items() if epoch > self._news.get(tp, -1)}
        if isinstance(sent.request, MetadataRequest):
            self._failures = 0 if isinstance(response, MetadataResponse) else self._failures + 1
            self._metadata_ms = now_ms
        anew = sent.request_id > self._metadata_id
        if isinstance(sent.request, OF_LEADERS) and errors & ANOTHER_LEADER and anew:
            self._in_vain.update(_questions(sent.request))
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
        self._anew |= dict.fromkeys(self._unsettled, sent.request_id)
        request, scenario = sent.request, self._scenario
        if isinstance(request, MetadataRequest):
            self._in_vain.clear()
            self._metadata_id = sent.request_id
        if scenario.timers_race or scenario.breaks:
            return
        if isinstance(request, FetchRequest) and not scenario.elects_ms:
            again = {tp: at for tp, at in request.offsets.items() if at in self._brought.get(tp, ())}
            assert not again, f"{again} are fetched again, and are here (rule O5)"
        if isinstance(request, OffsetFetchRequest) and "committed" not in scenario.all_calls:
            self._expect_once(request, unanswered)
        if isinstance(request, ListOffsetsRequest) and self._at_once and not scenario.elects_ms:
            self._expect_wanted(request, now_ms)
        if isinstance(request, MetadataRequest) and not scenario.leads:
            asked = {EVERYTHING} if request.topics is None else set(request.topics)
            foreign = asked - self._may_want(owned, now_ms)
            foreign -= {partition.topic for partition, _ in self.inquired}
            foreign -= {TOPICS[0]} if scenario.remakes and "committed" in scenario.all_calls else set()
            foreign -= {EVERYTHING} if "topics" in scenario.all_calls else set()
            assert not foreign, f"Metadata of {foreign}, which nobody wants any more (rule J8)"
        self._expect_leader(request, unanswered, now_ms)
        # What an application asks about topics is for it alone (Kafka's TopicMetadataFetcher).
        others_ask = bool({*ASKS_TOPICS} & scenario.all_calls)
        if isinstance(request, OF_LEADERS) and self._at_once and not (scenario.remakes or others_ask):
            past = {tp for tp, epoch in request.leader_epochs.items() if epoch < self._epochs.get(tp, -1)}
            assert not past, f"{api_of(request)} of {past} with an earlier leader epoch than Metadata told (KIP-320)"

    def _expect_wanted(self, request: ListOffsetsRequest, now_ms: int) -> None:
        """A call asks, or there is no position: nobody goes on with a question when its call is out of time.

        In the heartbeat design what a wakeup has interrupted ends when a later call looks at the time (`Calls._await`).
        """
        asked: set[tuple[TopicPartition, int]] = set()
        for until_ms, questions in self._inquiries:
            asked |= questions if now_ms <= until_ms else set()
        known = {tp for tp, at in self.places.items() if at is not None and tp not in self._unsettled}
        unwanted = {tp for tp, timestamp in request.timestamps.items() if (tp, timestamp) not in asked and tp in known}
        unwanted -= {tp for tp in unwanted if self._is_remade(tp)}
        unwanted |= {tp for tp, timestamp in request.timestamps.items() if self._was_asked_for(tp, timestamp, asked)}
        assert not unwanted, f"ListOffsets of {unwanted}, which nobody waits for any more (rules L2, O1)"

    def _was_asked_for(self, partition: TopicPartition, timestamp: int, asked: set[tuple[TopicPartition, int]]) -> bool:
        """By a call that is over; and nobody needs a position of what is not subscribed to."""
        foreign = partition.topic not in self.subscribed and partition not in self.places
        question = (partition, timestamp)
        return foreign and EVERYTHING not in self.subscribed and question in self.inquired - asked

    def _is_remade(self, partition: TopicPartition) -> bool:
        """Its topic may be another one by now, of which whatever is known ends (rule O7)."""
        return self._scenario.remakes and partition.topic == TOPICS[0]

    def _expect_once(self, request: OffsetFetchRequest, unanswered: Iterable[SendRequest]) -> None:
        for other in unanswered:
            if isinstance(other.request, OffsetFetchRequest):
                same = set(request.partitions) & set(other.request.partitions)
                twice = {tp for tp in same if other.request_id > self._anew.get(tp, 0) and not self._is_remade(tp)}
                assert not twice, f"{twice} are looked up again while the answer may come (rule O1)"

    def _may_want(self, owned: Iterable[TopicPartition], now_ms: int) -> set[str]:
        """What is wanted now, or was when the last poll() began, or the last but one of those that all threads know of.

        They need not know of one that comes soon after another, and may have returned what was at hand.
        """
        began_ms = [before_ms for before_ms, _ in self._wanted if before_ms + SETTLED_MS <= now_ms]
        known = [0, *(n for n in range(1, len(began_ms)) if began_ms[n] - began_ms[n - 1] >= QUIET_MS)]
        recent = (topics for _, topics in self._wanted[known[max(0, len(known) - 2)] :])
        return set().union(self.subscribed, self._begun, (partition.topic for partition in owned), *recent)

    def _expect_leader(self, request: Request, unanswered: Iterable[SendRequest], now_ms: int) -> None:
        """Metadata are asked for meanwhile, or that waits for its backoff, as long as they fail.

        Nobody waits with a request for them: as Kafka's AbstractFetch.prepareFetchRequests, which goes by the leader
        that is known, while Metadata.timeToAllowUpdate holds the next request for another one back.
        """
        if isinstance(request, OF_LEADERS):
            asks = any(isinstance(other.request, MetadataRequest) for other in unanswered)
            backoff_ms = min(BACKOFF_MS << (self._failures - 1), MOST_BACKOFF_MS) if self._failures else 0
            asks |= bool(self._failures) and now_ms <= self._metadata_ms + backoff_ms
            for question in _questions(request):
                in_vain = self._in_vain[question]
                assert in_vain < MOST_REPEATS * self._askers(question) or asks, (
                    f"{api_of(request)} goes out after {in_vain} answers that the leader is another one, without "
                    "Metadata in between (rule J8)"
                )

    def _askers(self, question: tuple[object, ...]) -> int:
        """Who may ask it, each waiting by itself for the leader: the member, which looks for a position, and a call."""
        return 2 if question[1:] in self.inquired else 1


def _questions(request: Request) -> list[tuple[object, ...]]:
    """What it asks of each partition; about one the application and the member may ask different things at a time."""
    if isinstance(request, ListOffsetsRequest):
        return [(api_of(request), *asked) for asked in request.timestamps.items()]
    partitions: Iterable[TopicPartition] = ()
    if isinstance(request, FetchRequest):
        partitions = request.offsets
    elif isinstance(request, OffsetForLeaderEpochRequest):
        partitions = request.epochs
    return [(api_of(request), partition) for partition in partitions]
