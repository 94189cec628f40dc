"""Request handling: the requests, timers and commands that have no state in any machine, and what they must lead to.

The machines of the specification wait for the answers that decide about membership. A consumer sends other requests
too: OffsetFetch and ListOffsets for positions, Metadata for leaders, Fetch, and LeaveGroup. These have no states of
their own: a request is sent and answered, and each answer has one required outcome. The request is sent again after a
backoff, or the coordinator is looked up first, or the application gets an error. The table of those outcomes
is `data/request_handling.toml`.

A row says: when the precondition `when` holds and the event happens, the postcondition `then` must hold. A
postcondition that repeats a request includes that the request succeeds in the end. "other" is every error that the
request's rows do not name; "late" is an answer to a request of an identity that the member no longer has (rule J9).
`TIMER` rows name the event of the timer that expires; `COMMAND` rows name the application's command.

Some rows are choices that Kafka's Java clients make differently. The classic one repeats a ListOffsets that failed for
an unknown reason, with a warning, and it keeps one metadata error at a time; here the application is told of both. It
sends the commit of the interval although the one before is unanswered
(ConsumerCoordinator.maybeAutoCommitOffsetsAsync), which the KIP-848 client does not; and that one, which alone asks for
committed offsets by topic id, tells its application of an UNKNOWN_TOPIC_ID, instead of looking the topic up (rule O7).

Sources: Kafka ConsumerCoordinator (OffsetFetchResponseHandler, OffsetCommitResponseHandler), AbstractCoordinator
(LeaveGroupResponseHandler, HeartbeatResponseHandler), OffsetFetcherUtils, FetchCollector, Metadata; KIP-62 for the
session.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from groupspec.spec.datafile import Record, read_record

COMMAND: Final = "COMMAND"
TIMER: Final = "TIMER"


@dataclass(frozen=True)
class Handling:
    """How one answer, timer or command is handled.

    Attributes:
        request: The API, as in the protocol guide; or COMMAND, or TIMER.
        error: The error's name, "NONE", "other" or "late"; or the command; or the timer's event.
        when: The precondition, one of PRECONDITIONS.
        then: The postcondition, one of POSTCONDITIONS.
        rules: The rules that say so, separated by blanks.
        source: The method of Kafka that does the same.
    """

    request: str
    error: str
    when: str
    then: str
    rules: str
    source: str


class _Block(Record, frozen=True):
    """Rows of one request and precondition: errors, separated by blanks; postcondition; rules."""

    request: str
    when: str
    source: str
    rows: tuple[tuple[str, str, str], ...]


class _Table(Record, frozen=True):
    preconditions: dict[str, str]
    postconditions: dict[str, str]
    handling: tuple[_Block, ...]


_TABLE: Final = read_record(Path(__file__).with_name("data") / "request_handling.toml", _Table)
PRECONDITIONS: Final[Mapping[str, str]] = MappingProxyType(_TABLE.preconditions)
"""What must hold before the event: a closed list, with the meaning of each."""
POSTCONDITIONS: Final[Mapping[str, str]] = MappingProxyType(_TABLE.postconditions)
"""What must hold after it: a closed list, with the meaning of each."""
HANDLINGS: Final = tuple(
    Handling(block.request, error, block.when, then, rules, block.source)
    for block in _TABLE.handling
    for errors, then, rules in block.rows
    for error in errors.split()
)
"""The table. No two of them have the same event and precondition."""
