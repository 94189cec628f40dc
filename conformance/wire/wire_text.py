"""A run's log for people: a line an entry, frames decoded, times from the start of the run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Final

from msgspec import Struct

from groupspec.conformance.history.entry import Entry
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.protocol import MalformedProtocolData, decode_assignment, decode_subscription

WIDEST: Final = 400


def text_lines(entries: Sequence[Entry], started_us: int) -> Iterator[str]:
    """The whole log."""
    for entry in entries:
        yield f"{(entry.at_us - started_us) / 1000:10.1f} ms  {_direction(entry)}  {describe(entry)}"


def _direction(entry: Entry) -> str:
    if entry.source == "kit":
        return "         kit         "
    if entry.source == "client":
        return "client               "
    arrow = {"request": "------------>", "response": "<------------", "sent_raw": "<~~~~~~~~~~~~"}.get(
        entry.kind, "- - - - - - -"
    )
    return f"client {arrow} "[:20] + str(entry.node if entry.node >= 0 else " ")


def describe(entry: Entry) -> str:
    """One entry without its time."""
    if entry.source == "client":
        return entry.text
    if entry.source == "kit":
        return f"[{entry.kind}] {entry.text}"
    if entry.kind not in ("request", "response"):
        return f"{entry.kind} connection {entry.connection} {entry.text}".rstrip()
    head = f"{entry.api} v{entry.version} #{entry.correlation_id}"
    error = f" {entry.error}" if entry.kind == "response" and entry.error else ""
    error += f" over its quota, for {entry.throttle_ms} ms" if entry.throttle_ms else ""
    body = json.dumps(plain(entry.message), ensure_ascii=False)
    return f"{head}{error} {body if len(body) <= WIDEST else body[:WIDEST] + ' ...'}"


def short(entry: Entry) -> str:
    """One entry in a few words, for a diagram."""
    if entry.source == "kit":
        return entry.text
    if entry.source == "client":
        if not entry.kind.startswith("partitions_"):
            return entry.kind
        partitions = ", ".join(map(str, getattr(entry.event, "partitions", ())))
        return f"{entry.kind}: {partitions or 'none'}"
    if entry.kind == "response":
        over = f", over its quota for {entry.throttle_ms} ms" if entry.throttle_ms else ""
        return f"{entry.api}: {entry.error or 'answered'}{over}"
    if entry.kind == "request":
        return f"{entry.api}{_about(entry.message)}"
    return f"{entry.kind} {entry.text}".strip()


def _about(message: object) -> str:
    words = []
    member_id = getattr(message, "member_id", None)
    if member_id is not None:
        words.append(member_id[-8:] or "no id")
    generation = getattr(message, "generation", None)
    if generation is not None:
        words.append(f"generation {generation}")
    return f" ({', '.join(words)})" if words else ""


def plain(value: object, name: str = "") -> object:
    """A decoded message as JSON-ready values; subscriptions and assignments inside are decoded too."""
    if isinstance(value, TopicPartition):
        return str(value)
    if isinstance(value, Struct):
        return {field: plain(getattr(value, field), field) for field in value.__struct_fields__}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, name) for each in value]
    if isinstance(value, bytes):
        return _inside(value, name)
    if isinstance(value, int) and not isinstance(value, bool):
        return getattr(value, "name", value)
    return value


def _inside(data: bytes, name: str) -> object:
    try:
        if name in ("assignment", "assignments"):
            return plain(decode_assignment(data)) if data else "(empty)"
        if name in ("protocols", "metadata"):
            return plain(decode_subscription(data))
    except MalformedProtocolData:
        pass
    return f"{len(data)} bytes" if len(data) > 32 else data.hex()
