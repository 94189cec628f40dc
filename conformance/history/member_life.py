"""A member's life in any world as the history that the rules of the wire kit read.

What the member knows is what it has taken: an answer counts from then on, and none where it never came. The harness's
events are made of the application's calls and callbacks. Times are exact, and nothing stands still but what the life
says did. What an answer says of the member's quota is left out: a life tells when the core hands a request over, not
when a throttled connection sends it (rule W2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, takewhile
from typing import Any, Final, cast

import msgspec

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.history.event import TIMERS_RACE, TIMERS_WAIT, Event
from groupspec.conformance.history.harness_protocol import BEGINNING, CallbackName, Partition
from groupspec.conformance.history.history import History
from groupspec.conformance.history.life import Life
from groupspec.conformance.history.settings import Settings
from groupspec.conformance.history.timing import INSIDE, together
from groupspec.impl.broker.controls import CUT
from groupspec.impl.core.config import RebalanceProtocol
from groupspec.impl.core.events import COORDINATOR
from groupspec.impl.core.messages import ErrorCode, ListOffsetsRequest, NoAnswer, OffsetFetchRequest
from groupspec.impl.network.answers import error_of
from groupspec.impl.network.versions import CLIENT_VERSIONS

END: Final = -1
"""The offset of a seek to the end, as ListOffsets has it."""
EAGER: Final = RebalanceProtocol.EAGER.value
CLOSE_WITHIN_MS: Final = 30_000
"""The reference's own limit, where the application gives none."""
FEATURES: Final = frozenset({
    *("listener", "lost_callback", "listener_in_poll", "join_needs_poll", "pull", "poll_interval", "auto_commit"),
    *("static", "seek", "pause", "wakeup", "raising_listener", "close_timeout", "callback_commit", "callback_seek"),
})  # fmt: skip
"""What the reference offers."""
TRIED_ANEW: Final = 1_000_000
"""Beyond the numbers of a world's connections."""
OF_CALLS: Final = frozenset({"raising_listener", "wakeup"})
"""Which of that a core alone does not offer: no call can raise."""
_CALLBACKS: Final[
    Mapping[str, type[protocol.PartitionsAssigned | protocol.PartitionsRevoked | protocol.PartitionsLost]]
] = {
    "on_partitions_assigned": protocol.PartitionsAssigned,
    "on_partitions_revoked": protocol.PartitionsRevoked,
    "on_partitions_lost": protocol.PartitionsLost,
}


def members(life: Life) -> list[str]:
    """The processes in it, in the order of their first event."""
    return list(dict.fromkeys(event.member for event in life.events if event.member))


def history_of(life: Life, member: str) -> History:
    """What the rules may read of it."""
    events = list(_one_after_the_other(takewhile(lambda event: event.kind != "ended", life.of(member))))
    stalls_us = together(_stalls_us(events))
    events = [event for event in events if event.member]
    return History(list(_Reader(life, events).entries()), _settings(life, member, events), stalls_us, exact=INSIDE)


def _one_after_the_other(events: Iterable[Event]) -> Iterator[Event]:
    """In virtual time much happens in one moment, in the order in which it is noted: each a microsecond later."""
    at_us = -1
    for event in events:
        at_us = max(at_us + 1, event.at_us)
        yield event if at_us == event.at_us else msgspec.structs.replace(event, at_us=at_us)


def _refused(events: Iterable[Event]) -> Iterator[int]:
    """The beginning and the end of calls that were refused: at once, inside of a callback, or after close()."""
    under_way: dict[str, list[Event]] = {}
    closed, after_close = False, set[int]()
    for event in events:
        closed |= event.kind == "called" and event.name == "close"
        calls = under_way.setdefault(event.thread, [])
        if event.kind == "called":
            calls.append(event)
            if closed:
                after_close.add(id(event))
        elif event.kind in ("returned", "raised") and calls and calls[-1].name == event.name:
            call = calls.pop()
            inside = bool(calls) or event.at_us - call.at_us < 1_000  # a listener's own may end the poll it runs in
            if (event.error == "IllegalStateError" and inside) or (
                event.error == "ConsumerClosedError" and id(call) in after_close
            ):
                yield from (id(call), id(event))


_ASKS: Final[Mapping[str, int | None]] = {
    "beginning_offsets": BEGINNING,
    "end_offsets": END,
    "offsets_for_times": None,
    "committed": None,
}
"""Calls by which the application asks for offsets; which time stamp each asks for, if it is not in the call."""


@dataclass
class _Asking:
    """A call that asks for offsets: of which partitions it has still to ask, and for which time stamps, if any."""

    name: str
    open: dict[str, int | None]
    ended_us: int | None = None

    @classmethod
    def of(cls, call: Event) -> _Asking:
        given = call.value[0]
        if call.name == "offsets_for_times":
            return cls(call.name, dict(given))
        return cls(call.name, dict.fromkeys(given, _ASKS[call.name]))

    def takes(self, asked: Mapping[str, int | None], lookup: bool) -> bool:
        """Whether this request is its own: then it asks no more for these."""
        if lookup is not (self.name == "committed") or not asked.items() <= self.open.items():
            return False
        if lookup and asked != self.open:
            return False
        self.open = {where: time for where, time in self.open.items() if where not in asked}
        return True


def _asked_by_calls(events: Iterable[Event]) -> Iterator[int]:
    """Requests that only such a call has made, by number: they say nothing about where the member reads on.

    It asks once for each partition, and again after an error. That of a call which has timed out may go out at once.
    """
    under_way: dict[tuple[str, str], _Asking] = {}
    sent: dict[int, tuple[_Asking, Mapping[str, int | None]]] = {}
    for event in events:
        call = event.thread, event.name
        if event.name in _ASKS and event.kind == "called":
            under_way[call] = _Asking.of(event)
        elif event.name in _ASKS and event.kind == "returned":
            under_way.pop(call, None)
        elif event.name in _ASKS and event.kind == "raised" and call in under_way:
            under_way[call].ended_us = event.at_us
        elif event.kind == "request" and under_way:
            asked, lookup = _offsets_asked(event.message)
            for asking in under_way.values():
                in_time = asking.ended_us is None or event.at_us - asking.ended_us < 1_000
                if asked and in_time and asking.takes(asked, lookup):
                    sent[event.number] = asking, asked
                    yield event.number
                    break
        elif event.kind == "answered" and event.number in sent and error_of(event.message) is not ErrorCode.NONE:
            asking, asked = sent[event.number]
            asking.open |= asked


def _offsets_asked(request: object) -> tuple[Mapping[str, int | None], bool]:
    """What a request asks the offsets of, with the time stamps, and whether it asks for what is committed."""
    if isinstance(request, OffsetFetchRequest):
        return dict.fromkeys(map(str, request.partitions)), True
    if isinstance(request, ListOffsetsRequest):
        return {str(where): time for where, time in request.timestamps.items()}, False
    return {}, False


_STALLS: Final = {
    ("fault", TIMERS_RACE): ("fault", TIMERS_WAIT),
    ("fault", "stand_still"): ("fault", "go_on"),
    ("callback", "deserialize"): ("callback_ended", "deserialize"),
}
"""What holds a member up, the application's own deserializer among it, and what ends that: kind and name."""


def _stalls_us(events: Sequence[Event]) -> Iterator[tuple[int, int]]:
    """From when to when the member was held up."""
    begun_us: dict[tuple[str, str], int] = {}
    for event in events:
        what = event.kind, event.name
        if what in _STALLS:
            begun_us.setdefault(_STALLS[what], event.at_us)
        elif what in begun_us:
            yield begun_us.pop(what), event.at_us
    yield from ((since_us, events[-1].at_us) for since_us in begun_us.values())


def _settings(life: Life, member: str, events: list[Event]) -> Settings:
    given = life.header.settings[member]
    told = (dict(event.value["detail"]) for event in events if event.name == "config")
    eager = next(told, {"rebalance": EAGER})["rebalance"] == EAGER  # who is closed at once has told nothing
    return Settings(
        rebalance="eager" if eager else "cooperative",
        close_within_ms=CLOSE_WITHIN_MS,
        auto_commit=given["enable_auto_commit"],
        instance_id=given["group_instance_id"] or "",
        features=(FEATURES if life.header.design != "core" else FEATURES - OF_CALLS)
        | {"eager" if eager else "cooperative"},
        **{
            name: given[name]
            for name in (
                *("session_timeout_ms", "heartbeat_interval_ms", "max_poll_interval_ms", "retry_backoff_ms"),
                *("auto_commit_interval_ms", "request_timeout_ms", "auto_offset_reset"),
            )
        },
    )


class _Reader:
    """Goes through a member's events once."""

    def __init__(self, life: Life, events: list[Event]) -> None:
        self._events = events
        self._answers = {event.number: event.message for event in events if event.kind == "answered"}
        self._asked: dict[int, Entry] = {}
        self._connections: dict[str, int] = {}
        self._numbers = count()  # of connections, where the world does not number them
        self._over: set[int] = set()  # connections that have ended
        self._coordinator = -1
        self._polled_us = 0
        self._polls = ""  # which thread does
        self._closes = ""  # which thread does, of which call only the first one counts

        self._running: list[CallbackName] = []
        self._on: dict[str, Callable[[Event], Iterator[Entry]]] = {
            "connected": self._connected,
            "request": self._request,
            "taken": self._taken,
            "disconnected": self._disconnected,
            "called": self._called,
            "returned": self._ended,
            "raised": self._ended,
            "callback": self._callback,
            "callback_ended": self._callback_ended,
        }
        # There who hangs up takes nothing more, but what had arrived while it stood still.
        self._takes_only_what_counts = life.header.world == "simulation"
        self._is_core = life.header.design == "core"  # without a consumer no call returns
        if self._is_core:
            self._on["records"] = self._records

    def entries(self) -> Iterator[Entry]:
        """What the log of the wire kit would have of it."""
        refused = set(_refused(self._events))
        by_calls = set(_asked_by_calls(self._events))
        for event in self._events:
            if (
                id(event) not in refused
                and event.number not in by_calls
                and (handler := self._on.get(event.kind)) is not None
            ):
                yield from handler(event)

    # Wire -------------------------------------------------------------------------------------------------------------

    def _connected(self, event: Event) -> Iterator[Entry]:
        self._coordinator = event.value
        return iter(())

    def _request(self, event: Event) -> Iterator[Entry]:
        message = event.message
        api = type(message).__name__.removesuffix("Request")
        number = event.connection
        if number < 0:
            number = self._connections.setdefault(event.to, next(self._numbers))
        if number in self._over:  # so another one was tried
            number = TRIED_ANEW + event.number
        node = event.text or (str(self._coordinator) if event.to == COORDINATOR else event.to)
        self._asked[event.number] = entry = Entry(
            *(event.at_us, "wire", "request"),
            api=api,
            message=message,
            node=int(node) if node.isdigit() else -1,
            connection=number,
            correlation_id=event.number,
            version=CLIENT_VERSIONS[api].highest,
        )
        yield entry

    def _taken(self, event: Event) -> Iterator[Entry]:
        asked = self._asked.get(event.number)
        is_over = asked is not None and asked.connection in self._over
        if asked is None or (is_over and not self._takes_only_what_counts):
            return
        message = event.message or self._answers[event.number]
        if isinstance(message, NoAnswer):
            if message.error is ErrorCode.DISCONNECTED and not is_over:
                yield _cut(event, asked)
                yield Entry(event.at_us, "wire", "disconnect", node=asked.node, connection=asked.connection)
            return
        yield replace(
            asked,
            at_us=event.at_us,
            kind="response",
            error=error_of(message).name,
            message=message,
        )

    def _disconnected(self, event: Event) -> Iterator[Entry]:
        number = event.connection if event.connection >= 0 else self._connections.pop(event.to, -1)
        self._over.add(number)
        if (asked := self._asked.get(event.number)) is not None:  # which could not be sent
            yield _cut(event, asked)
        elif event.text == CUT:
            yield Entry(event.at_us, "wire", "note", CUT, node=int(event.to), connection=number)
        yield Entry(event.at_us, "wire", "disconnect", connection=number)

    # Application ------------------------------------------------------------------------------------------------------

    def _called(self, event: Event) -> Iterator[Entry]:
        if event.name == "poll":
            given = event.value[0] if event.value and isinstance(event.value[0], int) else 0
            self._polled_us, self._polls = event.at_us, event.thread
            yield _said(event, protocol.PollStarted(poll_ms=given))
        elif event.name == "enforce_rebalance":
            yield Entry(event.at_us, "kit", event.name)
        elif event.name == "close":
            yield from self._closed(event)
        for command in _commands(event):
            yield Entry(event.at_us, "kit", "command", protocol.encode(command).decode())
            if event.name not in _RETURN or self._is_core:
                yield _said(event, protocol.CommandDone(command=protocol.name_of(type(command))))

    def _closed(self, event: Event) -> Iterator[Entry]:
        """Of all calls only the first one counts, as of the kit's harnesses."""
        if self._closes:
            return
        self._closes = event.thread or "the application"
        given = event.value[0] if event.value else CLOSE_WITHIN_MS
        raised = given == [["block raises", True]]
        limit = given if isinstance(given, int) else CLOSE_WITHIN_MS
        yield Entry(event.at_us, "kit", "command", protocol.encode(protocol.Close(limit)).decode())
        yield _said(
            event, protocol.ShutdownRequested(another_thread=event.thread not in ("", self._polls), block_raised=raised)
        )

    def _ended(self, event: Event) -> Iterator[Entry]:
        if event.kind == "raised":
            call = "seek" if event.name.startswith("seek") else event.name
            woken = event.error == "WakeupError"
            yield _said(event, protocol.ErrorRaised(error=event.error, message=event.text, call=call, woken=woken))
        if event.name == "poll":
            if event.value:
                yield _consumed(event, _ranges(event.value))
            yield _said(event, protocol.PollReturned(elapsed_ms=(event.at_us - self._polled_us) // 1_000))
        elif event.name == "close" and self._closes == (event.thread or "the application"):
            yield _said(event, protocol.ShutdownComplete())
        elif event.name in _RETURN:
            yield _said(event, protocol.CommandDone(command=event.name))

    def _callback(self, event: Event) -> Iterator[Entry]:
        if (kind := _CALLBACKS.get(event.name)) is not None:
            self._running.append(cast("CallbackName", protocol.name_of(kind)))
            yield _said(event, kind(partitions=[_partition(name) for name in event.value], application_thread=True))

    def _callback_ended(self, event: Event) -> Iterator[Entry]:
        if self._running and event.name in ("", *_CALLBACKS):
            yield _said(event, protocol.CallbackReturned(callback=self._running.pop(), raised=bool(event.error)))

    def _records(self, event: Event) -> Iterator[Entry]:
        found = [(name, [offset for offset, *_ in records]) for name, records in event.value]
        yield _consumed(event, [_range(_partition(name), offsets) for name, offsets in found])


def _cut(event: Event, asked: Entry) -> Entry:
    return Entry(event.at_us, "wire", "note", CUT, api=asked.api, node=asked.node, connection=asked.connection)


_RETURN: Final = ("subscribe", "unsubscribe", "assign", "commit", "seek", "pause", "resume")
"""Calls whose end is noted; those of a core are events, and done at once."""


def _commands(event: Event) -> Iterator[protocol.AnyCommand]:
    """What the kit would have asked for, for the application to make this call."""
    given = event.value or []
    match event.name:
        case "subscribe" | "Subscribe":
            topics = given[0] if given and isinstance(given[0], list) else []
            named = [each for each in (given[-1] if given and isinstance(given[-1], list) else []) if len(each) == 2]
            pattern = next((value for name, value in named if name == "pattern" and value), "")
            yield protocol.Subscribe([one for one in topics if isinstance(one, str)], pattern)
        case "unsubscribe" | "Unsubscribe":
            yield protocol.Unsubscribe()
        case "assign":
            yield protocol.Assign([_partition(name) for name in given[0]])
        case "commit" | "commit_async" | "Commit":
            yield protocol.Commit()
        case "wakeup":
            yield protocol.Wakeup()
        case "seek":
            where, offset = _partition(given[0]), given[1]
            yield protocol.Seek(where.topic, where.partition, offset if isinstance(offset, int) else offset["offset"])
        case "seek_to_beginning" | "seek_to_end":
            end = BEGINNING if event.name == "seek_to_beginning" else END
            yield from (protocol.Seek(each.topic, each.partition, end) for each in map(_partition, given))
        case "pause":
            yield protocol.Pause([_partition(name) for name in given[0]])
        case "resume":
            yield protocol.Resume([_partition(name) for name in given[0]])


def _said(event: Event, said: protocol.AnyEvent) -> Entry:
    stamped = msgspec.structs.replace(said, at_us=event.at_us)
    return Entry(event.at_us, "client", protocol.name_of(type(said)), event=stamped)


def _consumed(event: Event, ranges: list[protocol.ConsumedRange]) -> Entry:
    return _said(event, protocol.RecordsConsumed(count=sum(one.count for one in ranges), partitions=ranges))


def _ranges(records: list[list[Any]]) -> list[protocol.ConsumedRange]:
    by_partition: dict[Partition, list[int]] = {}
    for topic, number, offset, *_ in records:
        by_partition.setdefault(Partition(topic, number), []).append(offset)
    return [_range(partition, offsets) for partition, offsets in by_partition.items()]


def _range(partition: Partition, offsets: list[int]) -> protocol.ConsumedRange:
    return protocol.ConsumedRange(partition.topic, partition.partition, len(offsets), offsets[0], offsets[-1])


def _partition(name: str) -> Partition:
    topic, _, number = name.rpartition("-")
    return Partition(topic, int(number))
