"""What is known of topics: their partitions and leaders.

Refreshed when something is missing or wrong, at most once per retry backoff, and otherwise when it is too old. A topic
that the cluster does not know is asked for again once in a while: it may be created later (rule J8).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol
from uuid import UUID

from groupspec.impl.core.context import Context
from groupspec.impl.core.errors import error_for
from groupspec.impl.core.events import ANY_NODE
from groupspec.impl.core.messages import (
    NO_TOPIC_ID,
    ErrorCode,
    MetadataRequest,
    MetadataResponse,
    TopicMetadata,
    TopicPartition,
)
from groupspec.impl.core.partition_state import LeaderAndEpoch
from groupspec.impl.core.requests import Requests, Sent

MISSING_TOPIC_RETRY_MS = 1_000
"""How long to wait before asking again for a topic that does not exist, or a partition without a leader."""

BEHIND_AT_MOST_MS = 300_000
"""For how long a broker may tell of a topic that is gone: as long as metadata are used by default."""


class Leader(Protocol):
    """What divides the partitions among the group (`leading`)."""

    def watched_topics(self) -> tuple[str, ...]:
        """The topics of the whole group, if this member leads it."""

    def metadata_updated(self) -> None:
        """Something may have changed."""


class Subscriber(Protocol):
    """Who subscribes by pattern (`membership`)."""

    def topics_listed(self, names: Iterable[str]) -> None:
        """These topics exist."""


class Metadata:
    """The cluster as last seen."""

    def __init__(self, context: Context, requests: Requests) -> None:
        self._context = context
        self._subscription = context.subscription
        self._positions = context.positions
        self._requests = requests
        self._wanted: set[str] = set()
        self._asked: set[str] = set()  # of the last request: only other topics are asked for before the backoff is over
        self._leaders: dict[str, dict[int, int]] = {}  # of topics that exist: partition -> leading node
        self._epochs: dict[TopicPartition, int] = {}  # the how-manieth leader that is, as far as brokers say
        self._heard_of: dict[TopicPartition, int] = {}  # later ones, of which something else has told
        self._ids: dict[str, bytes] = {}  # of topics, as far as brokers name them: one that was made anew has another
        self._past_ids: dict[bytes, int] = {}  # of topics that are gone, and since when (ms)
        self._made_anew: dict[str, int] = {}  # topics that are not those of before any more, and since when (ms)
        self._missing: set[str] = set()  # topics that the cluster said it does not have
        self._told: set[str] = set()  # topics of whose refusal the application was told since it last polled
        self._wants_all = False  # a pattern is matched with all topics
        self._asked_all = False
        self._in_flight: Sent | None = None
        self._stale = False  # something is known to be wrong
        self._not_before_ms = 0
        self._failures = 0  # since the last answer

    def attach(self, leader: Leader, subscriber: Subscriber) -> None:
        """The parts above this one."""
        self._leader = leader
        self._subscriber = subscriber

    def want(self, topics: Iterable[str]) -> None:
        """These topics matter from now on."""
        self._wanted.update(topics)

    def polled(self) -> None:
        """The application polled: what matters now is what it subscribed to, what it has, and what its group has."""
        self._told.clear()
        self._wants_all = self._subscription.has_pattern()
        before, self._wanted = self._wanted, {partition.topic for partition in self._subscription.assignment()}
        self.want(self._subscription.topics())
        self.want(self._leader.watched_topics())
        self._missing -= self._wanted - before  # nobody has asked for these meanwhile: they may be there by now

    def refresh(self, topics: Iterable[str] = ()) -> None:
        """Ask again as soon as the backoff allows: also of what was subscribed to or assigned since the last poll.

        (As Java's ConsumerMetadata.newMetadataRequestBuilder, which names what is subscribed to as it asks.)
        """
        self.want(topics)
        self.want(self._subscription.topics())
        self.want(partition.topic for partition in self._subscription.assignment())
        self._stale = True

    def knows(self, topics: Iterable[str]) -> bool:
        """Whether the cluster has said something about each of these, be it that it does not exist."""
        return not set(topics).difference(self._leaders, self._missing)

    def partition_counts(self, topics: Iterable[str]) -> dict[str, int]:
        """How many partitions the existing ones of these topics have."""
        return {topic: len(self._leaders[topic]) for topic in topics if topic in self._leaders}

    def is_of_the_past(self, partition: TopicPartition) -> bool:
        """Whether the topic was made anew, not long ago and as seen here, without this partition.

        If it was long ago, or not seen here, others may have heard of partitions that were added since.
        """
        made_ms = self._made_anew.get(partition.topic)
        is_new = made_ms is not None and self._context.now_ms < made_ms + BEHIND_AT_MOST_MS
        return is_new and partition.partition not in self._leaders.get(partition.topic, {})

    def has_no_id(self, topic: str) -> bool:
        """Whether brokers know the topic, and name no id of it."""
        return topic in self._leaders and topic not in self._ids

    def exist(self, topics: Iterable[str]) -> bool:
        """Whether the cluster has all of these, as far as is known."""
        return self._leaders.keys() >= set(topics)

    def leader(self, partition: TopicPartition) -> int | None:
        """The node to fetch from; None if that is not known, and then it is asked for."""
        node = self._leaders.get(partition.topic, {}).get(partition.partition, -1)
        if node < 0 or partition in self._heard_of:
            self.want([partition.topic])
            if partition.topic in self._leaders:
                self._look_again()
            return None
        return node

    def topic_ids(self, partitions: Iterable[TopicPartition]) -> dict[str, bytes]:
        """The ids of the topics that are known by these names; without those of which brokers say none."""
        return {name: self._ids[name] for name in {each.topic for each in partitions} if name in self._ids}

    def leader_epoch(self, partition: TopicPartition) -> int:
        """The how-manieth leader `leader` is; -1 if no broker has said so. The leader refuses a fetch with another one.

        A fetch that a former leader answers could otherwise miss records that the present one has (KIP-320).
        """
        return self._epochs.get(partition, -1)

    def leader_epochs(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The same of several, as far as it is known."""
        return {partition: epoch for partition in partitions if (epoch := self.leader_epoch(partition)) >= 0}

    def leader_and_epoch(self, partition: TopicPartition) -> LeaderAndEpoch:
        """Both of them, and -1 for what is not known."""
        node = self._leaders.get(partition.topic, {}).get(partition.partition, -1)
        return LeaderAndEpoch(node, self.leader_epoch(partition))

    def heard_of(self, partition: TopicPartition, leader_epoch: int) -> None:
        """There is a leader of this epoch, as a committed offset or a leader says: no earlier one counts any more.

        (As Java's Metadata.updateLastSeenEpochIfNewer.)
        """
        known = self._epochs.get(partition, -1)
        if 0 <= known < leader_epoch:
            self._heard_of[partition] = max(leader_epoch, self._heard_of.get(partition, -1))
            self.refresh([partition.topic])

    def progress(self) -> None:
        """Ask if something is missing or wrong."""
        if self._in_flight is not None or not (self._wanted or self._wants_all):
            return
        lists = self._wants_all and not self._subscription.is_resolved()
        if not self._stale and not lists and self.knows(self._wanted):
            return
        is_news = not self._asked_all and (self._wants_all or not self._wanted <= self._asked)
        if not is_news and self._context.now_ms < self._not_before_ms:
            self._context.timers.arm("metadata", self._not_before_ms)
            return
        self._stale = False
        self._asked, self._asked_all = set(self._wanted), self._wants_all
        self._not_before_ms = self._context.now_ms + self._context.config.retry_backoff_ms
        self._context.timers.disarm("metadata")
        config, topics = self._context.config, None if self._wants_all else tuple(sorted(self._wanted))
        request = MetadataRequest(topics, config.allow_auto_create_topics)
        self._in_flight = self._requests.send(request, ANY_NODE, config.request_timeout_ms)

    def timer_expired(self) -> None:
        """Too old, or time to look again for what is missing."""
        self._context.timers.disarm("metadata")
        self._stale = True

    def received(self, response: MetadataResponse) -> None:
        """Take over what the answer says, topics with an error excepted; then the leader compares (rule J8)."""
        sent, self._in_flight = self._in_flight, None
        self._failures = 0
        if sent is not None and isinstance(sent.request, MetadataRequest) and sent.request.topics is None:
            self._list(response)
        for topic in response.topics:
            if topic.error is ErrorCode.NONE:
                self._missing.discard(topic.topic)
                self._context.journal.over(__name__, f"Topic {topic.topic} exists now", topic.topic)
                self._take(topic)
        if self._heard_of or any(leader < 0 for leaders in self._leaders.values() for leader in leaders.values()):
            self._look_again()
        elif not self._context.timers.is_armed("metadata"):
            self._context.arm("metadata", self._context.config.metadata_max_age_ms)
        self._leader.metadata_updated()

    def _take(self, topic: TopicMetadata) -> None:
        """Its leaders; but a broker that is behind may name one of the past: then what is known stays (rule O8).

        (As Java's Metadata.updateLatestMetadata.) Not for ever: no id tells which of two topics is the later one, and
        the broker that has told of the other one may have been behind.
        """
        gone_ms = self._past_ids.get(topic.topic_id)
        if gone_ms is not None and self._context.now_ms < gone_ms + BEHIND_AT_MOST_MS:
            self._look_again()
            return
        if topic.topic_id != NO_TOPIC_ID:
            self._identify(topic.topic, topic.topic_id)
        before = self._leaders.get(topic.topic, {})
        leaders: dict[int, int] = {}
        for p in topic.partitions:
            place = TopicPartition(topic.topic, p.partition)
            heard_of = self._heard_of.get(place, -1)
            is_past = 0 <= p.leader_epoch < max(self._epochs.get(place, -1), heard_of)
            if is_past and p.partition in before:
                leaders[p.partition] = before[p.partition]
                self._tell_of_the_past(place, p.leader_epoch)
                continue
            leaders[p.partition] = p.leader
            self._epochs[place] = p.leader_epoch
            if self._heard_of.pop(place, None) is not None:
                self._context.journal.over(__name__, f"{place} has a leader of epoch {p.leader_epoch} now", place)
        self._leaders[topic.topic] = leaders

    def _tell_of_the_past(self, place: TopicPartition, epoch: int) -> None:
        """Why this leader does not count where a later one is awaited, and what can be done: it may be for ever.

        For ever: an offset that was committed of a topic that was deleted, by its name, has the epoch of that one's
        leader, and the leaders of the topic that was made anew begin with 0. (Java waits as long, and says nothing.)
        """
        if (awaited := self._heard_of.get(place)) is not None:
            text = (
                f"Nothing is read of {place}: its leader epoch is {epoch}, and {awaited} was told of, by a committed "
                "offset or a leader; a later leader is awaited. If the topic was deleted and made anew, that offset is "
                "one of the old topic: reset the offsets of the group, and start the consumer again"
            )
            self._context.journal.seldom(__name__, text, self._context.now_ms, place)

    def _identify(self, topic: str, topic_id: bytes) -> None:
        """The topic of this name has this id: if it had another one, that topic is gone (rule O7, KIP-516)."""
        before = self._ids.get(topic, topic_id)
        self._ids[topic] = topic_id
        if topic_id == before:
            return
        self._past_ids.pop(topic_id, None)
        self._past_ids[before] = self._made_anew[topic] = self._context.now_ms
        self._leaders.pop(topic, None)
        for known in (self._epochs, self._heard_of):
            for place in [place for place in known if place.topic == topic]:
                del known[place]
        if ended := self._positions.topic_recreated(topic):
            self._context.journal.seldom(
                __name__,
                f"Topic {topic} was deleted and made anew (its id was {_shown(before)}, and is {_shown(topic_id)}): "
                f"what was kept of {', '.join(map(str, ended))} ends, positions as well; reading begins where "
                "auto_offset_reset says, or at what was committed since",
                self._context.now_ms,
            )

    def _list(self, response: MetadataResponse) -> None:
        """All topics: those that match a pattern are subscribed to; what is not among them does not exist."""
        excluded = self._context.config.exclude_internal_topics
        found = {topic.topic for topic in response.topics}
        self._leaders = {topic: leaders for topic, leaders in self._leaders.items() if topic in found}
        self._subscriber.topics_listed(t.topic for t in response.topics if not (excluded and t.is_internal))
        if absent := tuple(sorted(self._wanted - found)):
            self.topic_missing(absent)

    def topic_missing(self, topics: tuple[str, ...]) -> None:
        """The cluster does not have these topics, now."""
        for topic in topics:
            self._leaders.pop(topic, None)
            self._missing.add(topic)
            text = f"Topic {topic} does not exist (yet); asking again"
            self._context.journal.seldom(__name__, text, self._context.now_ms, topic)
        self._look_again()

    def topic_not_ready(self, topics: tuple[str, ...]) -> None:
        """Nothing certain about these topics: what was known stays, and they are asked for again."""
        self._missing.update(topic for topic in topics if topic not in self._leaders)
        self._look_again()

    def topic_refused(self, topics: tuple[str, ...], code: ErrorCode) -> None:
        """The application gets an error, once until it polls again; the topic may be allowed later.

        No topic: the request was refused as a whole. It is sent again after the backoff, or nobody would ask again.
        """
        if not topics:
            self.failed()
        news = [topic for topic in topics or ("the cluster",) if topic not in self._told]
        if news:
            self._told.update(news)
            self._context.report(error_for(code, f"Metadata of {', '.join(news)} refused"))
        self.topic_not_ready(topics)

    def failed(self) -> None:
        """No answer, or a useless one: again after the backoff."""
        self._in_flight = None
        self._stale = True
        self._not_before_ms = self._context.now_ms + self._context.config.growing_backoff_ms(self._failures)
        self._failures += 1

    def stop(self) -> None:
        """The end."""
        self._requests.give_up(self._in_flight)
        self._wanted.clear()
        self._wants_all = False
        self._context.timers.disarm("metadata")

    def _look_again(self) -> None:
        """Ask for what is missing in a while, if that is not going to happen sooner anyway."""
        deadline_ms = self._context.timers.deadline_ms("metadata")
        soon_ms = self._context.now_ms + max(MISSING_TOPIC_RETRY_MS, self._context.config.retry_backoff_ms)
        if deadline_ms is None or deadline_ms > soon_ms:
            self._context.timers.arm("metadata", soon_ms)


def _shown(topic_id: bytes) -> str:
    return str(UUID(bytes=topic_id))
