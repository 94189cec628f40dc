"""One thing that happened in a client's run: on the wire, in its harness, or by the kit; and tests of such things."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from groupspec.conformance.history.harness_protocol import (
    TO_FILL_IN,
    AnyEvent,
    Command,
    CommandDone,
    ErrorRaised,
    PollReturned,
    RecordsConsumed,
    name_of,
)
from groupspec.impl.network.versions import API_VERSIONS, THROTTLED_FROM

Source = Literal["wire", "client", "kit"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened.

    `kind` is request, response, connect, disconnect, ... for the wire; an event's name for the client; command or note
    for the kit. The fields after `event` are the wire's. `error` is an error code's name, "" where there is none to
    tell. `throttle_ms` is what an answer says of the client's quota. `raw`, a frame without its length prefix, is there
    of the scripted broker's frames, until the run is over.
    """

    at_us: int
    source: Source
    kind: str
    text: str = ""
    event: AnyEvent | None = None
    api: str = ""
    error: str = ""
    throttle_ms: int = 0
    message: object = None
    node: int = -1
    connection: int = -1
    correlation_id: int = -1
    version: int = -1
    client_id: str = ""
    raw: bytes = b""


Test = Callable[[Entry], bool]


def is_request(api: str) -> Test:
    """Whether an entry is a request of this API."""
    return lambda entry: entry.kind == "request" and entry.api == api


def is_event(kind: str) -> Test:
    """Whether an entry is an event of the harness of this name."""
    return lambda entry: entry.source == "client" and entry.kind == kind


def is_done(command: Command) -> Test:
    """Whether an entry says that a command of this name has been carried out."""
    name = name_of(type(command))
    return lambda entry: isinstance(entry.event, CommandDone) and entry.event.command == name


def silences(entry: Entry) -> bool:
    """Whether an answer says that nothing is to be sent on its connection for a while (KIP-219).

    In an older version it says how long the broker has waited.
    """
    return entry.throttle_ms > 0 and entry.version >= THROTTLED_FROM.get(entry.api, 0)


def has_records(partition: str, up_to: int = 0) -> Test:
    """Whether an entry is a poll's result with records of this partition, at the offset `up_to` or behind it."""
    return lambda entry: (
        isinstance(entry.event, RecordsConsumed)
        and any(
            f"{part.topic}-{part.partition}" == partition and part.max_offset >= up_to
            for part in entry.event.partitions
        )
    )


def is_harness_error(entry: Entry) -> bool:
    """Whether an entry tells what the harness's own code raised."""
    return isinstance(entry.event, ErrorRaised) and entry.event.harness_line != ""


def is_woken(entry: Entry) -> bool:
    """Whether an entry tells that a wakeup ended a call."""
    return isinstance(entry.event, ErrorRaised) and entry.event.woken


def raised(entries: Sequence[Entry], *calls: str) -> list[str]:
    """What these calls of the application's raised, in order: "`configure` raised NameError: ..."."""
    errors = (entry.event for entry in entries if isinstance(entry.event, ErrorRaised))
    return [_told(each) for each in errors if each.call in calls]


def raised_by_harness(entries: Sequence[Entry]) -> str:
    """What the harness's own code raised first; "" if nothing."""
    errors = (entry.event for entry in entries if is_harness_error(entry))
    return next((_told(each) for each in errors if isinstance(each, ErrorRaised)), "")


def _told(error: ErrorRaised) -> str:
    where = f" ({error.harness_line})" if error.harness_line else ""
    open_yet = error.error == TO_FILL_IN
    happened = f"is still to be filled in: {error.message}" if open_yet else f"raised {error.said}"
    return f"{f'`{error.call}`' if error.call else 'the harness'} {happened}{where}"


def every_poll_raised(entries: Sequence[Entry]) -> str:
    """What the first poll raised, if every one of several raised; "" if not."""
    polls = sum(isinstance(entry.event, PollReturned) for entry in entries)
    failed = raised(entries, "poll")
    return f"{failed[0]} (so did all {polls} polls)" if 1 < polls <= len(failed) else ""


def why_it_never_began(entries: Sequence[Entry]) -> str:
    """What keeps the client from joining at all: what making it raised, or each of its polls; "" if nothing does."""
    for reason in raised(entries, "configure", "subscribe"):
        return reason
    return "" if any(map(is_request("FindCoordinator"), entries)) else every_poll_raised(entries)


_NOT_SERVED: Final = re.compile(r"(\w+) version (-?\d+) (?:from .* )?is not served(?:; served are (versions .*)?)?")
"""How `impl.network.errors.UnservedRequest` puts it."""


class Unserved(NamedTuple):
    """A request that the broker does not serve. `served`: which versions are, "1 to 11"; "" if the API is not."""

    api: str
    version: int
    served: str

    @property
    def before_kafka_4(self) -> bool:
        """Whether it is one of those that Kafka 4 removed (KIP-896): API_VERSIONS begin with the oldest of Kafka 4."""
        return self.api in API_VERSIONS and 0 <= self.version < API_VERSIONS[self.api].lowest

    def __str__(self) -> str:
        served = f" ({self.served})" if self.served else ""
        return f"{self.api} v{self.version}, which is not served{served}"


def unserved(entry: Entry) -> Unserved | None:
    """The request that this entry is about; None if it is about something else."""
    told = _NOT_SERVED.match(entry.text) if entry.kind == "garbage" else None
    return Unserved(told[1], int(told[2]), (told[3] or "").removeprefix("versions ")) if told else None
