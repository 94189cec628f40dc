"""Chapter W, and rule J10: whether what the client sends can be read, by the broker and by the other members."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from groupspec.conformance.checks.checker import Finding, broken, checks, held
from groupspec.conformance.history.entry import Entry, unserved
from groupspec.conformance.history.history import History
from groupspec.impl.core.messages import JoinGroupRequest, SyncGroupRequest
from groupspec.impl.core.protocol import MalformedProtocolData, decode_assignment, decode_subscription

MORE_THAN_WAS_READ: Final = "bytes came"
"""Said of a frame that goes on behind its last field: Kafka's broker does not look there
(AbstractRequest.parseRequest)."""
CUT_OFF: Final = "the connection ended in the middle of a frame"
"""A client may give a connection up at any time."""


@checks("W1")
def requests_can_be_read(history: History) -> Iterator[Finding]:
    """No frame ended its connection."""
    for entry in history.entries:
        if entry.kind == "garbage" and MORE_THAN_WAS_READ not in entry.text and entry.text != CUT_OFF:
            yield broken(f"a request that {_who_cannot_read(entry)}: {entry.text}", entry.at_us)
    if history.exchanges:
        yield held(f"{len(history.exchanges)} requests, each of which could be read", history.ends_us)


def _who_cannot_read(entry: Entry) -> str:
    request = unserved(entry)
    if request is None:
        return "no broker can read"
    before = request.before_kafka_4
    return "no broker of Kafka 4 or later can read (KIP-896)" if before else "the broker does not serve"


@checks("J10")
def what_members_tell_each_other_can_be_read(history: History) -> Iterator[Finding]:
    """The subscription under each assignor's name, and each member's assignment."""
    for exchange in history.of("JoinGroup", "SyncGroup"):
        message = exchange.request.message
        if isinstance(message, JoinGroupRequest) and message.protocol_type == "consumer":
            for name, metadata in message.protocols:
                yield from readable(decode_subscription, metadata, f"JoinGroup, {name}", exchange.sent_us)
        elif isinstance(message, SyncGroupRequest):
            for member_id, assignment in message.assignments:
                yield from readable(decode_assignment, assignment, f"SyncGroup for {member_id}", exchange.sent_us)


def readable(decode: Callable[[bytes], object], data: bytes, where: str, at_us: int) -> Iterator[Finding]:
    """Whether it can be decoded, or which field is missing."""
    try:
        decode(data)
    except MalformedProtocolData as problem:
        yield broken(f"{where}: {problem}", at_us)
    else:
        yield held(f"{where} could be read", at_us)
