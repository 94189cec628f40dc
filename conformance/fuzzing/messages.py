"""Frames of every API in every version, with any value in any field, made by kio's descriptions."""

from __future__ import annotations

import dataclasses
from random import Random
from typing import Any, Final
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.serial._introspect import classify_field, get_field_tag, get_schema_field_type, is_optional

from groupspec.impl.network import wire
from groupspec.impl.network.records import NewRecord, encode_records
from groupspec.impl.network.versions import API_KEYS, API_VERSIONS

VERSIONS: Final = [
    (api, version) for api, versions in API_VERSIONS.items() for version in range(versions.lowest, versions.highest + 1)
]
_BITS: Final = {"8": 8, "16": 16, "32": 32, "64": 64}
_TEXTS: Final = ("", "g", "orders", "?ff", "ä", "member-1", "consumer", "range", "127.0.0.1")
_CODES: Final = [*ErrorCode]
_MOST: Final = 3


def a_request(random: Random) -> tuple[str, int, bytes]:
    """API, version and frame."""
    api, version = random.choice(VERSIONS)
    body = _struct(wire.load_request_schema(API_KEYS[api], version), random)
    return api, version, wire.encode_request(API_KEYS[api], version, random.randrange(2**31), "fuzz", body)


def an_answer(random: Random) -> tuple[str, int, bytes]:
    """API, version and frame."""
    api, version = random.choice(VERSIONS)
    body = _struct(wire.load_response_schema(API_KEYS[api], version), random)
    throttle_ms = body.pop("throttle_time", 0)
    return api, version, wire.encode_response(API_KEYS[api], version, random.randrange(2**31), body, throttle_ms)


def some_records(random: Random) -> bytes:
    """A batch or two."""
    return b"".join(
        encode_records(
            [NewRecord(_blob(random), _blob(random), random.randrange(2**40))] * random.randrange(1, 4), first
        )
        for first in range(random.randrange(1, 3))
    )


def _struct(entity: type[Any], random: Random) -> dict[str, Any]:
    return {
        field.name: _value(field, random)
        for field in dataclasses.fields(entity)
        if get_field_tag(field) is None or random.random() < 0.5
    }


def _value(field: dataclasses.Field[Any], random: Random) -> object:
    described = classify_field(field)
    if is_optional(field) and get_field_tag(field) is None and random.random() < 0.2:
        return None
    if dataclasses.is_dataclass(described.type_):
        inner = described.type_
        if described.is_array:
            return [_struct(inner, random) for _ in range(random.randrange(_MOST))]
        return _struct(inner, random)
    kind = get_schema_field_type(field)
    if described.is_array:
        return [_plain(kind, random) for _ in range(random.randrange(_MOST))]
    return _plain(kind, random)


def _plain(kind: str, random: Random) -> object:
    if kind == "string":
        return random.choice(_TEXTS)
    if kind == "bytes":
        return _blob(random)
    if kind == "records":
        return some_records(random)
    if kind == "bool":
        return random.random() < 0.5
    if kind == "error_code":
        return random.choice(_CODES) if random.random() < 0.3 else ErrorCode.none
    if kind == "uuid":
        return UUID(int=random.getrandbits(128)) if random.random() < 0.8 else None
    if kind.startswith("timedelta"):
        return random.randrange(60_000)
    bits = _BITS[kind.lstrip("uint")]
    return random.choice((0, 1, -1, random.getrandbits(bits - 1), random.randrange(100)))


def _blob(random: Random) -> bytes:
    return random.randbytes(random.randrange(20))
