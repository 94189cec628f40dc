"""The broker of one run: `groupspec.impl.broker`, with the topics, records and offsets that every scenario starts from.

    orders     4 partitions, 6 records in each; offset 3 is committed for partitions 0 and 2, nothing for the others
    one        1 partition, 6 records
    __consumer_offsets    as on any broker that has coordinated a group: sarama asks for it before it looks for one

Everything that crosses the broker's wire goes to the run's log.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Final

from groupspec.conformance.endings import is_out_of_memory
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.wire.delays import DelayingBroker, Delays
from groupspec.conformance.wire.log import Log
from groupspec.impl.broker.actions import DEFAULT, Action, Hold, Match, Reply, ReplyAfter, Throttle
from groupspec.impl.broker.log import BrokerFailure, WireEvent
from groupspec.impl.broker.one_client import ONE_CLIENT
from groupspec.impl.core.messages import TopicMetadata, TopicPartition
from groupspec.impl.network.records import COMMIT_MARK, Gaps

GROUP: Final = "orders-readers"
TOPICS: Final = {"orders": 4, "one": 1}
OFFSETS_TOPIC: Final = {"__consumer_offsets": 50}
RECORDS: Final = 6
RECORDS_ANEW: Final = 3 * RECORDS
NODES: Final = 2
NEWEST: Final[Mapping[str, int]] = {}
"""No API ends at an older version than the broker's newest."""
NOBODY: Final[Mapping[str, Log]] = {}
SEVERAL_CLIENTS: Final = ONE_CLIENT
"""The group's settings: they are as short as for one client."""
COMMITTED: Final = {TopicPartition("orders", 0): 3, TopicPartition("orders", 2): 3}
COMPACTED: Final = Gaps((1, 3, 4), 7)
EMPTIED: Final = Gaps((), 2)
MARK: Final = Gaps((0,), 1, control=True)
LIFETIME_S: Final = 120.0
SAME_IN_BOTH_LOGS: Final = {each.name for each in fields(WireEvent)} & {each.name for each in fields(Entry)}
"""What the broker's log and the run's say of the wire, under one name."""


class NoOccasion(Exception):
    """The client did not come to the point of the scenario: there is nothing to judge, and nothing said against it."""


class CaseBroker:
    """A scripted broker that writes what happens to the log, for a client of one topic. A context manager."""

    def __init__(
        self,
        log: Log,
        topic: str,
        version_caps: Mapping[str, int] = NEWEST,
        beside: Mapping[str, Log] = NOBODY,
        race: int | None = None,
    ) -> None:
        """`beside`: the logs of other clients, by their client ids; the groups have any number of members then.

        `race`: the seed that draws how late each answer is; None: what the story does not delay comes at once.
        """
        self._log = log
        self._beside = beside
        self._received: set[str] = set()
        self._receives = threading.Condition()
        self._topic = topic
        topics = TOPICS | OFFSETS_TOPIC
        groups = SEVERAL_CLIENTS if beside else None
        self._broker = DelayingBroker(NODES, topics, version_caps=version_caps, lifetime_s=LIFETIME_S, groups=groups)
        self._broker.delays = Delays(race)

    def __enter__(self) -> CaseBroker:
        self._broker.log.listen(self._take)
        try:
            self._broker.start()
        except BrokerFailure as failure:
            raise OSError(str(failure)) from failure
        for topic, partitions in TOPICS.items():
            for partition in range(partitions):
                self._broker.append(topic, partition, [b"record"] * RECORDS)
        self._broker.commit(GROUP, COMMITTED)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(BrokerFailure):  # `problem` tells it
            self._broker.close()

    def problem(self) -> str:
        """What broke the broker itself; "" if nothing did. Raises it if it was too little memory."""
        failure = self._broker.log.failure
        if failure is not None and is_out_of_memory(failure):
            raise failure
        return "" if failure is None else f"the scripted broker broke: {failure!r}"

    def stalls_us(self) -> Sequence[tuple[int, int]]:
        """When the broker stood still: start and end."""
        return self._broker.stalls_us()

    @property
    def bootstrap(self) -> str:
        """For bootstrap.servers."""
        return self._broker.bootstrap

    def has_received(self, api: str, within_s: float) -> bool:
        """Whether a request of this API has come, or comes in time: also from a client that has ended."""
        with self._receives:
            return self._receives.wait_for(lambda: api in self._received, within_s)

    def _take(self, event: WireEvent) -> None:
        if event.kind == "request":
            with self._receives:
                self._received.add(event.api)
                self._receives.notify_all()
        same = {name: getattr(event, name) for name in SAME_IN_BOTH_LOGS}
        whose = [self._beside[event.client_id]] if event.client_id in self._beside else [self._log]
        for log in whose if event.client_id else (self._log, *self._beside.values()):
            log.append(Entry(source="wire", **same))

    def _note(self, what: str) -> None:
        self._log.note("note", what)

    # What a scenario may have it do, each noted in the log ------------------------------------------------------------

    def answer_next(self, api: str, error: str, times: int = 1) -> None:
        """The next request of this API, or that many of them, gets this error."""
        self._note(f"the next {api} is {'' if times == 1 else f'{times} times '}answered {error}")
        self._broker.on_next(api, Reply(error), times)

    def do_next(self, api: str, action: Action, what: str, match: Match | None = None) -> None:
        """This with the next request of this API that `match` accepts; `what` says it."""
        self._note(f"the next {api}: {what}")
        self._broker.on_next(api, action, match=match)

    def do_always(self, api: str, action: Action, what: str, match: Match | None = None) -> None:
        """This with every request of this API that `match` accepts from now on."""
        self._note(f"every {api} from now on: {what}")
        self._broker.always(api, action, match)

    def answer_late(self, api: str, ms: int) -> None:
        """The next request of this API gets its ordinary answer, that much later."""
        self._note(f"the next {api} is answered {ms} ms late")
        self._broker.on_next(api, ReplyAfter(ms))

    def throttle(self, api: str, ms: int, then: Action = DEFAULT, match: Match | None = None) -> None:
        """The answer to the next request of this API says that the client is over its quota, for so long."""
        self.do_next(api, Throttle(ms, then), f"its answer says that the client is over its quota, for {ms} ms", match)

    def hold(self, api: str, error: str) -> Callable[[], None]:
        """The next request of this API gets this error when the returned function is called."""
        self._note(f"the next {api} is not answered until later, with {error}")
        held = Hold(Reply(error))
        self._broker.on_next(api, held)
        return held.release

    def other_member_joins(self) -> None:
        """A second member, which is not there, is in the next round; the client leads."""
        self._note("another member is in the group")
        self._broker.add_phantom(GROUP)

    def member_with_claims(self, *partitions: int, generation: int) -> None:
        """A second member, which is not there, says that it owns these, since that generation; the client leads."""
        claims = [TopicPartition(self._topic, number) for number in partitions]
        self._note(f"another member claims {', '.join(map(str, claims))}, of generation {generation}")
        self._broker.add_phantom(GROUP, claims=claims, generation=generation)

    def member_of_topics(self, *topics: str) -> None:
        """A second member, which is not there, subscribes to these; the client leads."""
        self._note(f"another member subscribes to {', '.join(topics)}")
        self._broker.add_phantom(GROUP, topics=topics)

    def other_member_leaves(self) -> None:
        """The second member is gone."""
        self._note("the other member leaves")
        self._broker.remove_phantom(GROUP)

    def take_one_partition(self) -> str:
        """From the next round on a second member leads, and keeps one of the client's partitions; returns which.

        Raises NoOccasion: the client has none, as its session has run out meanwhile.
        """
        taken = max(self._assigned(), default=None)
        if taken is None:
            raise NoOccasion("the client has no partition that could be taken away: the coordinator has expelled it")
        self._note(f"the next round takes {taken} away")
        self._broker.add_phantom(GROUP, leads=True, takes=[taken])
        return str(taken)

    def move_coordinator(self, node: int = 2) -> None:
        """Another node coordinates from now on; the one that did says so."""
        self._note("the coordinator moves to the other node")
        self._broker.coordinator = node

    def begin_to_move(self) -> None:
        """Node 2 coordinates, and is loading the group: until `end_move`."""
        self._note("the coordinator moves to the other node, which loads the group")
        self._broker.begin_move(2)

    def end_move(self) -> None:
        """It has loaded the group."""
        self._note("the group is loaded")
        self._broker.end_move()

    def add_partitions(self, partitions: int) -> None:
        """The client's topic has so many from now on, with six records in each new one."""
        before = self._broker.partitions_of(self._topic)
        self._broker.set_partitions(self._topic, partitions)
        for number in range(before, partitions):
            self._broker.append(self._topic, number, [b"record"] * RECORDS)

    def add_topic(self, topic: str) -> None:
        """There is another topic from now on, with one partition and six records."""
        self._broker.set_partitions(topic, 1)
        self._broker.append(topic, 0, [b"record"] * RECORDS)

    def have_committed(self, offset: int) -> None:
        """The group has committed this offset in each partition of the client's topic."""
        self._note(f"the group has committed {offset} in each partition")
        count = self._broker.partitions_of(self._topic)
        self._broker.commit(GROUP, {TopicPartition(self._topic, number): offset for number in range(count)})

    def make_topic_anew(self) -> None:
        """The client's topic is deleted and made anew, with another id and more records than there were, all at once.

        So that no Fetch from where the client was is out of range.
        """
        self._note("the topic is deleted, and another one of its name has records in each partition")
        self._broker.make_anew(self._topic, [b"record of the new topic"] * RECORDS_ANEW)

    def elect(self, partition: int, end: int | None = None, *, again: bool = False) -> None:
        """The other node leads this partition from now on; `end`: where its log ends, if it is short.

        `again`: the one that led it first.
        """
        led = 1 + partition % NODES
        self._broker.elect(self._topic, partition, led if again else NODES + 1 - led, end)

    def refuse_connections(self, node: int) -> None:
        """Nothing listens on this node's port, and its connections are closed: until `accept_connections`."""
        self._note(f"no connection to node {node} can be made")
        self._broker.refuse_connections(node)

    def accept_connections(self, node: int) -> None:
        """It listens again."""
        self._note(f"connections to node {node} can be made again")
        self._broker.accept_connections(node)

    def metadata(self) -> Mapping[str, TopicMetadata]:
        """What Metadata say of all topics."""
        return self._broker.metadata()

    def be_behind(self, known: Mapping[str, TopicMetadata]) -> None:
        """From now on Metadata say this again, as brokers do that have not heard of it yet; with nothing, what is."""
        self._note("Metadata are of an earlier time" if known else "Metadata are of now again")
        self._broker.be_behind(known)

    def cut_connections(self) -> None:
        """Every connection is closed, from the broker's side."""
        self._note("the broker closes every connection")
        self._broker.disconnect()

    def append_records(self, records: int = RECORDS, *, only_first: bool = False) -> None:
        """So many more records in each partition, or in the first one."""
        self._note("more records are appended")
        for partition in range(1 if only_first else self._broker.partitions_of(self._topic)):
            self._broker.append(self._topic, partition, [b"another record"] * records)

    def append_with_gaps(self) -> None:
        """In each partition what a compacted log with transactions has.

        A batch with records at the second, fourth and fifth of its seven offsets; one that nothing is left of; the mark
        of a transaction; and records one after the other.
        """
        self._note("records are appended, with offsets between them that have none")
        for partition in range(self._broker.partitions_of(self._topic)):
            self._broker.append(self._topic, partition, [b"kept"] * len(COMPACTED.deltas), COMPACTED)
            self._broker.append(self._topic, partition, [], EMPTIED)
            self._broker.append(self._topic, partition, [COMMIT_MARK], MARK)
            self._broker.append(self._topic, partition, [b"another record"] * RECORDS)

    def partitions(self) -> frozenset[str]:
        """All partitions of the topic that the client subscribes to."""
        return frozenset(f"{self._topic}-{number}" for number in range(self._broker.partitions_of(self._topic)))

    def assigned(self) -> frozenset[str]:
        """What the client was assigned last."""
        return frozenset(map(str, self._assigned()))

    def _assigned(self) -> frozenset[TopicPartition]:
        return frozenset(self._broker.assigned(GROUP))
