"""A run's log, read once for the rules: requests with their answers, callbacks with their ends, polls, ownership.

A rule is judged from this and nothing else. Times are the log's, in microseconds. `History.timing` says for how much of
a stretch of time the client is not responsible: the kit stood still, or the client's process waited for a processor.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, wraps
from itertools import pairwise
from typing import Any, Final, TypeVar

from groupspec.conformance.history.calls import Callback, PollCall, Returned
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.history.exchange import (
    COORDINATOR_GONE,
    GROUP_APIS,
    REBALANCE,
    Exchange,
    Identity,
    is_readable,
    names,
)
from groupspec.conformance.history.fetched import NOTHING, Fetched, asked_for, fetched
from groupspec.conformance.history.harness_protocol import (
    AnyCommand,
    Assign,
    BrokenLine,
    CallbackReturned,
    CallbackStarted,
    Command,
    CommandDone,
    ErrorRaised,
    PollReturned,
    PollStarted,
    RecordsConsumed,
    Seek,
    ShutdownRequested,
    Unsubscribe,
    decode_command,
    name_of,
)
from groupspec.conformance.history.pairing import pairs
from groupspec.conformance.history.settings import Settings
from groupspec.conformance.history.timing import ON_THE_WIRE, Exactness, Timing, longest_wait_us
from groupspec.impl.broker.controls import CUT, REFUSES
from groupspec.impl.coordinator.rebalancing import DID_NOT_JOIN, NO_SIGN_OF_LIFE
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetCommitRequest,
    SyncGroupRequest,
    TopicPartition,
)

CLOCKLESS_SLACK_US: Final = 30_000
"""An event without a stamp of its own has the time of its arrival."""
BEHIND_ANOTHER_US: Final = 1_000
"""Callbacks of one round have nothing between them."""
SOONER: Final = 0.5
"""Of the heartbeat interval: clearly sooner than a timer that was late once."""
RUNS_ON_US: Final = 75_000
"""Who starts a poll, or comes back from one, as often as this runs: the kit's polls take 50 ms, and what was waited is
told for each 50 ms (`SAMPLE_S`)."""
POLLS_ENOUGH: Final = 4
"""In so many polls a client that joins in poll() has joined."""
HANGS_UP_US: Final = 100_000
"""Between the note that a node refuses connections and the end of those that it had."""
FLOOD: Final = 2_000
"""So many requests within a second are a flood: the kit stands still because of the client, not because of the machine.
"""

Message = TypeVar("Message")
AskedFor = TypeVar("AskedFor", bound=Command)


@dataclass(frozen=True)
class History:
    """The log of one run, in order."""

    entries: Sequence[Entry]
    settings: Settings
    stalls_us: Sequence[tuple[int, int]] = ()
    """When the kit itself was not scheduled: start and end of each stall."""
    waits_us: Sequence[tuple[int, int, int]] = ()
    """Start and end of each stretch in which threads of the client's process waited for a processor, and for how long.
    """
    exact: Exactness = ON_THE_WIRE

    @cached_property
    def listed(self) -> dict[object, Any]:
        """What functions that are decorated with `once` have found."""
        return {}

    # Wire -------------------------------------------------------------------------------------------------------------

    @cached_property
    def exchanges(self) -> list[Exchange]:
        """Every request with its answer, in the order in which the requests arrived."""
        ended = pairs(self.entries)
        return [Exchange(sent, end if end is not None and end.kind == "response" else None) for sent, end in ended]

    @cached_property
    def _of_apis(self) -> dict[tuple[str, ...], list[Exchange]]:
        return {}

    def of(self, *apis: str) -> list[Exchange]:
        """The exchanges of these APIs."""
        found = self._of_apis.get(apis)
        if found is None:
            found = self._of_apis[apis] = [exchange for exchange in self.exchanges if exchange.api in apis]
        return found

    def first(self, api: str, after_us: int) -> Exchange | None:
        """The first request of this API at or after that time."""
        exchanges = self.of(api)
        place = bisect_left(exchanges, after_us, key=_sent_us)
        return exchanges[place] if place < len(exchanges) else None

    def between(self, from_us: int, to_us: int, *apis: str) -> list[Exchange]:
        """The exchanges of these APIs whose requests came after the one time and before the other."""
        exchanges = self.of(*apis)
        first = bisect_right(exchanges, from_us, key=_sent_us)
        return exchanges[first : bisect_left(exchanges, to_us, key=_sent_us)]

    def answers(self, api: str, error: str) -> Iterator[Exchange]:
        """The exchanges that were answered with this error."""
        return (exchange for exchange in self.of(api) if exchange.answer is not None and exchange.error == error)

    @cached_property
    def syncs(self) -> list[Exchange]:
        """Rounds that were completed: SyncGroups that succeeded, with an assignment that can be read."""
        return [sync for sync in self.answers("SyncGroup", "NONE") if is_readable(sync)]

    @cached_property
    def identities(self) -> list[Identity]:
        """Every identity that the member was given, in order."""
        joins = ((join.answered(JoinGroupResponse), join.told_us) for join in self.answers("JoinGroup", "NONE"))
        return [Identity(answer.member_id, answer.generation, at_us) for answer, at_us in joins if answer is not None]

    def is_stale(self, exchange: Exchange) -> bool:
        """Whether the answer is about an identity that the member has not any more: it says nothing to it (rule J9)."""
        message = exchange.request.message
        known = bisect_right(self.identities, exchange.told_us, key=lambda identity: identity.from_us)
        if not known or not isinstance(message, HeartbeatRequest | SyncGroupRequest | OffsetCommitRequest):
            return False
        latest = self.identities[known - 1]
        return (message.member_id, message.generation) != (latest.member_id, latest.generation)

    def left(self, from_us: int, to_us: int) -> bool:
        """Whether the member left in between: by LeaveGroup, or as the application wants no topics any more."""
        unsubscribed = any(from_us < at_us < to_us for at_us, _ in self.commands(Unsubscribe))
        return unsubscribed or bool(self.between(from_us, to_us, "LeaveGroup"))

    @cached_property
    def _of_kinds(self) -> Mapping[str, list[Entry]]:
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.kind, []).append(entry)
        return found

    def of_kind(self, kind: str) -> list[Entry]:
        """The entries of a kind."""
        return self._of_kinds.get(kind, [])

    def connections_closed(self, from_us: int, to_us: int) -> bool:
        """Whether a connection was closed in between, by whichever side."""
        return any(from_us <= entry.at_us <= to_us for entry in self.of_kind("disconnect"))

    def refuses_connections(self, node: int, at_us: int) -> bool:
        """Whether no connection to this node could be made then."""
        return any(abs(refused_us - at_us) < HANGS_UP_US for refused_us in self.refused_us(node))

    def refused_us(self, node: int) -> list[int]:
        """Since when no connection to this node could be made: each time."""
        told = REFUSES.format(node=node)
        return [entry.at_us for entry in self.of_kind("note") if entry.text == told]

    def left_unanswered(self, from_us: int, to_us: int) -> bool:
        """Whether the broker left a group request without an answer in between, as its script has it: it notes that."""
        notes = (entry for entry in self.of_kind("note") if entry.source == "wire" and from_us <= entry.at_us <= to_us)
        asked = {exchange.request.connection for exchange in self.of(*GROUP_APIS)}
        return any(entry.api in GROUP_APIS or (entry.text == CUT and entry.connection in asked) for entry in notes)

    def answered_before(self, exchange: Exchange) -> Exchange | None:
        """The Heartbeat or OffsetCommit whose answer this one was sent for, as the order on their connection shows.

        A Heartbeat comes half an interval after the one before, or later; if its timer was late once, not twice in a
        row (rule H7). A commit that was refused is asked for by somebody else once, as by the revocation, not twice
        (rule M5). So what repeats itself sooner, each time when it had been answered, was sent by who had read that
        answer, and before it all that had come on that connection.
        """
        last = self._right_before(exchange)
        if last is None or self._right_before(last) is not None:
            return last
        interval_us = 1000 * self.settings.heartbeat_interval_ms
        held_up_ms = self.busy_us(last.sent_us - interval_us, last.sent_us) / 1000  # then it was due before
        too_soon = self.apart_ms(last.sent_us, exchange.sent_us) + held_up_ms < SOONER * interval_us / 1000
        return last if exchange.api == "Heartbeat" and too_soon else None

    def _right_before(self, exchange: Exchange) -> Exchange | None:
        """One of its kind that was answered before it on the same connection, so alike that both are not due."""
        earlier = self.between(0, exchange.sent_us, exchange.api)
        last = next((e for e in reversed(earlier) if e.request.connection == exchange.request.connection), None)
        if last is None or not last.ended_before(exchange.sent_us):
            return None
        if exchange.api == "Heartbeat":
            least_ms = SOONER * self.settings.heartbeat_interval_ms
            return last if self.apart_ms(last.sent_us, exchange.sent_us) < least_ms else None
        refused = exchange.api == "OffsetCommit" and last.error in REBALANCE
        return last if refused and exchange.request.message == last.request.message else None

    def was_read(self, exchange: Exchange) -> bool:
        """Whether the client can have read the answer: not if it gave its coordinator up before, or as the answer came.

        Who looks for its coordinator, or closes that connection, has given up what was still to come. Java does both
        when its session has run out, and drops what has arrived (AbstractCoordinator.markCoordinatorUnknown,
        NetworkClient.disconnect, cancelInFlightRequests). Who sends the coordinator more on that connection has not:
        sarama looks it up after whatever error a commit was answered with (offsetManager.handleResponse), kafkajs
        before each JoinGroup.
        """
        told_us, connection = exchange.told_us, exchange.request.connection
        lookup = self.first("FindCoordinator", exchange.sent_us)
        later = self.between(lookup.sent_us if lookup else self.ends_us, self.ends_us + 1, *GROUP_APIS)
        if any(e.sent_us > told_us and e.request.connection == connection for e in later):
            return True
        closed = (e.at_us for e in self.of_kind("disconnect") if e.connection == connection)
        given_up_us = min(
            lookup.sent_us if lookup is not None else self.ends_us,
            next((at_us for at_us in closed if at_us >= told_us), self.ends_us),
        )
        under_way = given_up_us - self.busy_us(told_us, given_up_us) <= told_us + self.exact.in_flight_us
        return not under_way or self.says_lost(told_us, given_up_us)

    def looks_for_coordinator(self, at_us: int) -> bool:
        """Whether the client had no coordinator at that time, and had asked for it.

        It has none after an answer that says so, or the end of its connection, until FindCoordinator is answered.
        """
        asked = self.of(*GROUP_APIS)
        lost = [e.told_us for e in asked if e.error in COORDINATOR_GONE and e.told_us <= at_us]
        to_it = {e.request.connection for e in asked}
        lost += [e.at_us for e in self.of_kind("disconnect") if e.connection in to_it and e.at_us <= at_us]
        since_us = max(lost, default=None)
        lookups = [] if since_us is None else self.between(since_us, at_us, "FindCoordinator")
        return bool(lookups) and not any(e.error == "NONE" and e.told_us <= at_us for e in lookups)

    def was_expelled(self) -> bool:
        """Whether the coordinator expelled the member, which was silent for too long, or did not join in time."""
        return any(NO_SIGN_OF_LIFE in note.text or DID_NOT_JOIN in note.text for note in self.of_kind("note"))

    # Client -----------------------------------------------------------------------------------------------------------

    @cached_property
    def _events(self) -> dict[type, list[tuple[int, Any]]]:
        return {}

    def events(self, kind: type[Message]) -> list[tuple[int, Message]]:
        """The harness's events of one kind, with their times."""
        found = self._events.get(kind)
        if found is None:
            said = ((entry.at_us, entry.event) for entry in self.entries)
            found = self._events[kind] = [(at_us, event) for at_us, event in said if isinstance(event, kind)]
        return found

    @cached_property
    def close_us(self) -> int | None:
        """When close() was called; None if it was not."""
        return next((at_us for at_us, _ in self.events(ShutdownRequested)), None)

    @property
    def how_closed(self) -> ShutdownRequested:
        """How close() was called, if it was."""
        return next((event for _, event in self.events(ShutdownRequested)), ShutdownRequested())

    @property
    def until_close_us(self) -> int:
        """When close() was called, or the end of the run."""
        return self.ends_us if self.close_us is None else self.close_us

    def before_close(self, at_us: int) -> bool:
        """Whether close() had not been called by then."""
        return self.close_us is None or at_us < self.close_us

    @cached_property
    def callbacks(self) -> list[Callback]:
        """The listener's calls, in order."""
        found: list[Callback] = []
        for index, entry in enumerate(self.entries):
            if isinstance(event := entry.event, CallbackStarted):
                later = ((e.at_us, e.event) for e in self.entries[index + 1 :])
                ends = (at_us for at_us, e in later if isinstance(e, CallbackReturned) and e.callback == entry.kind)
                owned = None if event.owned is None else names(event.owned)
                moved = names(event.partitions)
                thread = event.application_thread
                found.append(Callback(entry.kind, moved, entry.at_us, next(ends, None), thread, owned))
        return found

    @cached_property
    def polls(self) -> list[PollCall]:
        """The calls of poll(), in order."""
        found: list[PollCall] = []
        started: tuple[int, int] | None = None
        for entry in self.entries:
            if isinstance(entry.event, PollStarted):
                started = (entry.event.poll_ms, entry.at_us)
            elif isinstance(entry.event, PollReturned) and started is not None:
                found.append(PollCall(*started, entry.at_us))
                started = None
        return found if started is None else [*found, PollCall(*started, None)]

    def next_poll_us(self, at_us: int) -> int:
        """When the application is in poll() again, or still; the end of the run if it is not any more.

        That time itself where no poll is known.
        """
        if not self.polls:
            return at_us
        polls = (max(each.started_us, at_us) for each in self.polls if each.ended_us is None or each.ended_us > at_us)
        return next(polls, self.ends_us)

    def is_fenced(self, at_us: int) -> bool:
        """Whether another process was the member by then (rule X2), and the application had not begun anew."""
        told = (e.told_us for e in self.of(*GROUP_APIS) if e.error == "FENCED_INSTANCE_ID" and e.told_us <= at_us)
        asked = (asked_us for asked_us, _ in self.commands(Unsubscribe) if asked_us <= at_us)
        return max(told, default=0) > max(asked, default=0)

    def able_to_join_ms(self, from_us: int, to_us: int, by_time: bool = False) -> float:
        """For how long of that time a client could join.

        One that joins in poll() cannot while the application pauses, or while a callback runs there. Where each moment
        between polls counts as a pause, some polls are enough, however short they are; but not `by_time`.
        """
        took_ms = self.took_ms(from_us, to_us)
        if "listener_in_poll" in self.settings.features:
            ran = ((max(c.started_us, from_us), min(c.ended_us or self.ends_us, to_us)) for c in self.callbacks)
            took_ms = max(0.0, took_ms - sum(max(0, end - start) for start, end in ran) / 1000)
        polls = sum(from_us < poll.started_us < to_us for poll in self.polls)
        enough = self.exact.paused_us == 0 and polls >= POLLS_ENOUGH and not by_time
        if enough or "join_needs_poll" not in self.settings.features:
            return took_ms
        until_us = [*(poll.started_us for poll in self.polls[1:]), to_us]
        pauses = zip((poll.ended_us for poll in self.polls), until_us, strict=False)
        long = ((start or end, end) for start, end in pauses if end - (start or end) > self.exact.paused_us)
        paused = (min(end, to_us) - max(start, from_us) for start, end in long)
        return max(0.0, took_ms - sum(max(0, each) for each in paused) / 1000)

    def between_polls(self, from_us: int, to_us: int) -> list[int]:
        """When the application was between two polls in that time: the next one's start, or `to_us` before it."""
        over_us = (min(poll.ended_us or 0, poll.over_us) for poll in self.polls)
        pauses = zip(over_us, self.polls[1:], strict=False)
        return [min(poll.started_us, to_us) for over, poll in pauses if poll.started_us >= from_us and over <= to_us]

    @cached_property
    def returned(self) -> list[Returned]:
        """What polls returned, in order."""
        return [
            Returned(at_us, f"{part.topic}-{part.partition}", part.min_offset, part.max_offset)
            for at_us, event in self.events(RecordsConsumed)
            for part in event.partitions
        ]

    @cached_property
    def fetches(self) -> list[tuple[Exchange, Mapping[TopicPartition, int]]]:
        """The Fetches, each with the offsets that it asks for; see `asked_for`."""
        sent = self.of("Fetch")
        return list(zip(sent, asked_for((each.request, each.answer) for each in sent), strict=True))

    @cached_property
    def _fetched(self) -> Mapping[str, Fetched]:
        answered = ((offsets, each.answered(FetchResponse)) for each, offsets in self.fetches)
        return fetched((offsets, answer) for offsets, answer in answered if answer is not None)

    def next_record(self, partition: str, offset: int) -> int:
        """The first offset from there on that has a record, as far as Fetches were told; see `fetched`."""
        return self._fetched.get(partition, NOTHING).next_record(offset)

    @cached_property
    def out_of_range_us(self) -> Mapping[str, list[int]]:
        """By partition: when a Fetch of it was answered OFFSET_OUT_OF_RANGE."""
        found: dict[str, list[int]] = {}
        for fetch in self.of("Fetch"):
            answer = fetch.answered(FetchResponse)
            for where, told in answer.partitions.items() if answer is not None else ():
                if told.error is ErrorCode.OFFSET_OUT_OF_RANGE:
                    found.setdefault(str(where), []).append(fetch.told_us)
        return found

    @cached_property
    def _commands(self) -> list[tuple[int, AnyCommand]]:
        found = []
        for entry in self.of_kind("command"):
            with suppress(BrokenLine):  # a command that another version of the protocol had
                found.append((entry.at_us, decode_command(entry.text.encode())))
        return found

    def commands(self, kind: type[Message]) -> list[tuple[int, Message]]:
        """What the kit asked the harness for, of one kind, with the times."""
        return [(at_us, command) for at_us, command in self._commands if isinstance(command, kind)]

    def carried_out(self, kind: type[AskedFor]) -> list[tuple[int, int, AskedFor]]:
        """What the kit asked for and the client did without raising: asked for when, done when."""
        name = name_of(kind)
        done = [at_us for at_us, event in self.events(CommandDone) if event.command == name]
        failed = [at_us for at_us, event in self.events(ErrorRaised) if event.call == name]
        spans = ((*each, at_us) for each, at_us in zip(self.commands(kind), done, strict=False))
        return [
            (from_us, to_us, command)
            for from_us, command, to_us in spans
            if not any(from_us <= at_us <= to_us for at_us in failed)
        ]

    def sought(self, partition: str, from_us: int, to_us: int) -> list[tuple[int, int]]:
        """Where the application had it read a partition from in between: when that was done, and the offset."""
        seeks = self.carried_out(Seek)
        return [(done, self.target(s)) for _, done, s in seeks if str(s) == partition and from_us <= done <= to_us]

    def seeks(self, partition: str, from_us: int, to_us: int) -> bool:
        """Whether the application's call to read a partition from elsewhere was under way in between."""
        calls = self.carried_out(Seek)
        return any(str(seek) == partition and from_us <= done and asked <= to_us for asked, done, seek in calls)

    def target(self, seek: Seek) -> int:
        """The offset that a seek is to; of one to an end of the log what ListOffsets said last, or 0."""
        if seek.offset >= 0:
            return seek.offset
        where, found = TopicPartition(seek.topic, seek.partition), 0
        for exchange in self.answers("ListOffsets", "NONE"):
            answer = exchange.answered(ListOffsetsResponse)
            if answer is not None and exchange.asked(ListOffsetsRequest).timestamps.get(where) == seek.offset:
                found = answer.offsets[where].offset
        return found

    def listens_since_us(self, at_us: int) -> int:
        """Since when callbacks have run one behind another then; that time itself if none does."""
        since_us = at_us
        for callback in reversed(self.callbacks):
            ended_us = self.ends_us if callback.ended_us is None else callback.ended_us
            if callback.started_us <= since_us <= ended_us + BEHIND_ANOTHER_US:
                since_us = callback.started_us
        return since_us

    def goes_on_with(self, callback: Callback, at_us: int) -> bool:
        """Whether this is the assigned callback of a round whose revoked one ran then.

        It is called behind that, whatever has become of the membership meanwhile (Java:
        ConsumerCoordinator.onJoinComplete).
        """
        return callback.name == "partitions_assigned" and self.listens_since_us(callback.started_us) < at_us

    @cached_property
    def assigned_by_hand(self) -> frozenset[str]:
        """The partitions that the application has assigned itself."""
        return frozenset().union(*(names(command.partitions) for _, command in self.commands(Assign)))

    def owned_at(self, at_us: int) -> frozenset[str]:
        """What the client's callbacks say it owned: from the start of `assigned` to the end of `revoked` or `lost`.

        And what the application has assigned itself, of which no callback tells.
        """
        owned = self.assigned_by_hand
        for callback in self.callbacks:
            if callback.name == "partitions_assigned":
                if callback.started_us <= at_us:
                    owned |= callback.partitions
            elif callback.ended_us is not None and callback.ended_us <= at_us:
                owned -= callback.partitions
        return owned

    @cached_property
    def _lost_us(self) -> Sequence[int]:
        return [each.started_us for each in self.callbacks if each.name == "partitions_lost" and each.partitions]

    def says_lost(self, from_us: int, to_us: int) -> bool:
        """Whether the client said in between that it lost its partitions.

        The coordinator expelled it, or it gave up hope, as librdkafka does when no heartbeat was answered for a session
        timeout.
        """
        return any(from_us <= at_us <= to_us for at_us in self._lost_us)

    @cached_property
    def gave_up_us(self) -> Sequence[int]:
        """When the client took its membership for lost: its callback, or, without one, a JoinGroup as a new member.

        And when its application had not polled in time.
        """
        if "lost_callback" in self.settings.features:
            return sorted([*self._lost_us, *self.expired_us])
        joined = self.identities[0].from_us if self.identities else self.ends_us
        anew = (e for e in self.of("JoinGroup") if e.sent_us > joined and not e.asked(JoinGroupRequest).member_id)
        return sorted([*(exchange.sent_us for exchange in anew), *self.expired_us])

    @cached_property
    def expired_us(self) -> Sequence[int]:
        """When the application had not polled for its interval: a LeaveGroup may tell that as well, but not always.

        A static member sends none, nor one that has no coordinator just then.

        It counts from the last poll, or from the answer to JoinGroup (see rule P1), or from the callback in it.
        """
        return [at_us for at_us, _ in self._expired]

    @cached_property
    def _expired(self) -> Sequence[tuple[int, bool]]:
        """When that was, and whether it surely noticed: not if it stood still so long that the next poll came first."""
        if not {"poll_interval", "pull"} <= self.settings.features:
            return ()
        interval_us = 1000 * self.settings.max_poll_interval_ms
        joined_us = [join.told_us for join in self.answers("JoinGroup", "NONE")]
        until_us = [*(poll.started_us for poll in self.polls[1:]), self.until_close_us]
        ends = [
            (max([poll.ended_us, *(at_us for at_us in joined_us if at_us < end_us)]), end_us)
            for poll, end_us in zip(self.polls, until_us, strict=False)
            if poll.ended_us is not None
        ]
        if "listener_in_poll" in self.settings.features:  # no poll begins while a callback runs
            ends += ((each.started_us, each.ended_us or self.until_close_us) for each in self.callbacks)
        found = [
            (since_us + interval_us, start_us - since_us - self.busy_us(since_us, start_us) > interval_us)
            for since_us, start_us in ends
            if start_us - since_us > interval_us
        ]
        for poll, start_us in zip(self.polls, until_us, strict=False):
            since_us = self.counts_from_us(poll)
            if since_us is not None and start_us - since_us > interval_us:
                found.append((since_us + interval_us, False))
        return sorted(found)

    def counts_from_us(self, poll: PollCall) -> int | None:
        """From when on a client may count the poll interval after this poll; None while it lasts.

        From its end, or from the callbacks that ran in it just before (Java: KafkaConsumer.poll, whose loop tells the
        heartbeat thread of itself before callbacks, and once in a heartbeat interval at least).
        """
        if poll.ended_us is None:
            return None
        inside = [each for each in self.callbacks if poll.started_us <= each.started_us <= poll.ended_us]
        soon_us = poll.ended_us - 1000 * self.settings.heartbeat_interval_ms
        if not inside or inside[-1].ended_us is None or inside[-1].ended_us < soon_us:
            return poll.ended_us
        return self.listens_since_us(inside[-1].started_us)

    def gave_up(self, from_us: int, to_us: int) -> bool:
        """Whether the client took its membership for lost in between, or may have."""
        return any(from_us <= at_us <= to_us for at_us in self.gave_up_us)

    def surely_gave_up(self, from_us: int, to_us: int) -> bool:
        """The same, less the poll intervals of whose end a client that stood still may not know."""
        missed = {at_us for at_us, noticed in self._expired if not noticed}
        return any(from_us <= at_us <= to_us for at_us in self.gave_up_us if at_us not in missed)

    @cached_property
    def enforced_us(self) -> Sequence[int]:
        """When the application asked for a rebalance (KIP-568)."""
        return [entry.at_us for entry in self.of_kind("enforce_rebalance")]

    def milestone(self, name: str) -> int | None:
        """When the scenario reached a point that it named; None when it did not."""
        return next((entry.at_us for entry in self.of_kind("milestone") if entry.text == name), None)

    @property
    def ends_us(self) -> int:
        """The last entry's time."""
        return self.entries[-1].at_us if self.entries else 0

    # Time -------------------------------------------------------------------------------------------------------------

    @cached_property
    def slack_us(self) -> int:
        """How far the stamps of client and wire may be off: more if the kit has to stamp the harness's events."""
        clockless = any(entry.event is not None and entry.event.at_us is None for entry in self.entries)
        return CLOCKLESS_SLACK_US if clockless else self.exact.same_time_us

    def timing(self, from_us: int, to_us: int, bound_ms: float) -> Timing:
        """A stretch of time, and what of it is not the client's."""
        stalled_us = self._stalled_us(from_us, to_us)
        waited_us = 0
        for start, end, waited in _during(self._own_waits_us, from_us, to_us):
            both = max(0, min(end, to_us) - max(start, from_us))
            waited_us += max(0, min(waited, both) - self._stalled_us(max(start, from_us), min(end, to_us)))
        return Timing((to_us - from_us) / 1000, bound_ms, stalled_us / 1000, waited_us / 1000)

    def took_ms(self, from_us: int, to_us: int) -> float:
        """The time in between, less the stalls of the machine, in ms."""
        timing = self.timing(from_us, to_us, 0)
        return max(0.0, timing.took_ms - timing.excused_ms)

    def busy_us(self, from_us: int, to_us: int) -> int:
        """How long the machine stalled in between."""
        return int(1000 * self.timing(from_us, to_us, 0).excused_ms)

    def apart_ms(self, earlier_us: int, later_us: int) -> float:
        """How far apart a client meant to send two requests, at most."""
        return (later_us - self.sent_from_us(earlier_us)) / 1000

    def sent_from_us(self, at_us: int) -> int:
        """When a request that the kit read then was meant to be sent, at the earliest.

        A stall of the kit may have come between, or the client's wait for a processor: a timer counts from when it was
        set, as Java's for the next commit from when the poll began (ConsumerCoordinator.maybeAutoCommitOffsetsAsync).
        """
        for start, end in reversed(_during(self._own_stalls_us, 0, at_us)):
            if end < at_us - self.exact.two_connections_us:
                break
            at_us = start
        for start, end, waited in reversed(_during(self._own_waits_us, 0, at_us)):
            if end < at_us - self.exact.same_time_us or 2 * waited <= end - start:
                break
            at_us = max(start, min(end, at_us) - waited)
        return at_us

    def longest_stall_ms(self) -> float:
        """The longest stretch in which the kit stood still or the client's process waited for the machine.

        From the client's first request on: before it nothing can be late, and processes that start side by side always
        wait.
        """
        first_us = self.exchanges[0].sent_us if self.exchanges else 0
        stalls = [end - start for start, end in self._own_stalls_us if end > first_us]
        return (
            max([*stalls, longest_wait_us(wait for wait in self._own_waits_us if wait[0] >= first_us)], default=0)
            / 1000
        )

    def _stalled_us(self, from_us: int, to_us: int) -> int:
        stalls = _during(self._own_stalls_us, from_us, to_us)
        return sum(max(0, min(stall[1], to_us) - max(stall[0], from_us)) for stall in stalls)

    @cached_property
    def _own_stalls_us(self) -> Sequence[tuple[int, int]]:
        """The kit's stalls, without those that a flood of requests from this client explains."""
        sent = [exchange.sent_us for exchange in self.exchanges]

        def flooded(from_us: int, to_us: int) -> bool:
            first, last = bisect_left(sent, from_us), bisect_left(sent, to_us)
            return any(sent[i + FLOOD] - sent[i] < 1_000_000 for i in range(first, last - FLOOD))

        return [(start, end) for start, end in self.stalls_us if not flooded(start - 1_000_000, end)]

    @cached_property
    def _own_waits_us(self) -> Sequence[tuple[int, int, int]]:
        """The client's waits for a processor, without those in which its application polled on, again and again.

        They are the sum of all its threads': with some that wait for each other by turns, each for a moment, it comes
        to as much as the time itself. A thread that came back from one short poll after the other has run.
        """
        polled_us = [at_us for poll in self.polls for at_us in (poll.started_us, poll.ended_us) if at_us is not None]

        def ran(from_us: int, to_us: int) -> bool:
            first, last = bisect_right(polled_us, from_us) - 1, bisect_left(polled_us, to_us)
            seen = polled_us[max(first, 0) : last + 1]
            whole = first >= 0 and last < len(polled_us)
            return whole and all(later - earlier <= RUNS_ON_US for earlier, later in pairwise(seen))

        return [wait for wait in self.waits_us if not ran(wait[0], wait[1])]


Listed = TypeVar("Listed")


def once(listing: Callable[[History], Iterable[Listed]]) -> Callable[[History], Sequence[Listed]]:
    """A function that lists what there is of something in a history, which it goes through only once."""

    @wraps(listing)
    def listed(history: History) -> Sequence[Listed]:
        found: Sequence[Listed] | None = history.listed.get(listing)
        if found is None:
            found = history.listed[listing] = list(listing(history))
        return found

    return listed


def _sent_us(exchange: Exchange) -> int:
    return exchange.request.at_us


Span = TypeVar("Span", tuple[int, int], tuple[int, int, int])


def _during(spans: Sequence[Span], from_us: int, to_us: int) -> Sequence[Span]:
    """Those of a list in order, none overlapping another, that overlap this time."""
    first = bisect_left(spans, from_us, key=lambda span: span[1])
    return spans[first : bisect_left(spans, to_us, key=lambda span: span[0])]
