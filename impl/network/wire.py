"""The door to kio, which knows every message of the protocol in every version, one class each.

Here such a class becomes something that no longer depends on the version. Writing: plain dicts with every field that
any version has, from which `encode` picks those of the version at hand. Reading: a `Struct`, whose fields are asked for
by name and type, and are the given default in versions without them.
"""

from __future__ import annotations

import dataclasses
import io
import struct
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cache
from typing import Any, get_args, get_origin

from kio import index
from kio.serial import entity_writer
from kio.serial.errors import SerialError

from groupspec.impl.network.errors import MalformedMessage, UnencodableMessage
from groupspec.impl.network.reading import Cursor, ErrorCodeNotListed, Unreadable, reader_of

Fields = Mapping[str, object]
"""Field names (kio's) and values: numbers, strings, bytes, milliseconds for durations, error codes, lists of Fields."""

# kio's classes are looked up by API and version at run time, so here and only here their types are not known.
EntityType = type[Any]

load_request_schema = cache(index.load_request_schema)  # kio itself goes by the module's name, each time
load_response_schema = cache(index.load_response_schema)

Plan = tuple[tuple[str, Callable[[Any], object], bool], ...]
_PLANS: dict[EntityType, Plan] = {}


LACKING = object()
"""In place of a field that the version does not have."""


class Struct:
    """A struct that was read. What it lacks is looked for in the struct `around` it, if that is given."""

    __slots__ = ("_around", "_fields")

    def __init__(self, fields: Fields, around: Struct | None = None) -> None:
        self._fields = fields
        self._around = around

    def __contains__(self, field: str) -> bool:
        return self.get(field, LACKING) is not LACKING

    def get(self, field: str, default: object = None) -> Any:
        """The field's value; the default if the version has no such field."""
        value = self._fields.get(field, LACKING)
        if value is LACKING:
            return default if self._around is None else self._around.get(field, default)
        return value

    def structs(self, field: str, around: Struct | None = None) -> list[Struct]:
        """A list of structs; null, or none at all, counts as empty."""
        return [Struct(item, around) for item in self.get(field) or ()]


def encode_request(api_key: int, version: int, correlation_id: int, client_id: str | None, body: Fields) -> bytes:
    """Header and body of a request. Raises UnencodableMessage."""
    payload = load_request_schema(api_key, version)
    header = {
        "request_api_key": api_key,
        "request_api_version": version,
        "correlation_id": correlation_id,
        "client_id": client_id,
    }
    return _encode(payload.__header_schema__, header) + _encode(payload, body)


def encode_response(api_key: int, version: int, correlation_id: int, body: Fields, throttle_time_ms: int = 0) -> bytes:
    """Header and body of an answer. Raises UnencodableMessage."""
    payload = load_response_schema(api_key, version)
    return _encode(payload.__header_schema__, {"correlation_id": correlation_id}) + _encode(
        payload, {"throttle_time": throttle_time_ms, **body}
    )


def decode_request(api_key: int, version: int, data: bytes) -> Struct:
    """The body of a request. Raises MalformedMessage.

    What comes behind its last field is not looked at, as in Kafka (AbstractRequest.parseRequest): librdkafka's Metadata
    for all topics has three bytes more than it should.
    """
    payload = load_request_schema(api_key, version)
    _, start = _decode(payload.__header_schema__, data, 0)
    return Struct(_decode(payload, data, start)[0])


def decode_response_header(api_key: int, version: int, data: bytes) -> tuple[int, int]:
    """The correlation id of an answer, and where its body begins. Raises MalformedMessage."""
    header, end = _decode(load_response_schema(api_key, version).__header_schema__, data, 0)
    return int(str(header["correlation_id"])), end


def decode_response_body(api_key: int, version: int, data: bytes, start: int) -> Struct:
    """The body of an answer, which must end where the bytes end. Raises MalformedMessage."""
    return Struct(_decode_to_end(load_response_schema(api_key, version), data, start))


def change_response(api_key: int, version: int, data: bytes, change: Callable[[Struct], Fields]) -> bytes:
    """An answer in which some fields of some structs are others.

    `change` gives them for a struct; the same bytes come back if it gives none. Raises MalformedMessage,
    UnencodableMessage.
    """
    payload = load_response_schema(api_key, version)
    _, start = _decode(payload.__header_schema__, data, 0)
    fields = _decode_to_end(payload, data, start)
    changed = _changed(fields, change)
    return data if changed is fields else data[:start] + _encode(payload, changed)


class ErrorCodeNotKnown(MalformedMessage):
    """An error code that is not in Kafka's list."""

    def __init__(self, code: int) -> None:
        super().__init__(f"error code {code} is unknown")
        self.code = code


# Writing -------------------------------------------------------------------------------------------------------------


def _encode(entity_type: EntityType, body: Fields) -> bytes:
    buffer = io.BytesIO()
    try:
        entity_writer(entity_type)(buffer, _build(entity_type, body))
    except (SerialError, ValueError, TypeError, OverflowError, struct.error, AttributeError) as problem:
        name, version = entity_type.__name__, entity_type.__version__
        raise UnencodableMessage(f"{name} version {version} can't hold {dict(body)!r}: {problem}") from problem
    return buffer.getvalue()


def _changed(fields: Fields, change: Callable[[Struct], Fields]) -> Fields:
    """The same object if nothing in it changes."""
    changes = dict(change(Struct(fields)))
    for name, value in fields.items():
        if isinstance(value, tuple) and value and isinstance(value[0], Mapping):
            inside = tuple(_changed(each, change) for each in value)
            if any(new is not old for new, old in zip(inside, value, strict=True)):
                changes[name] = inside
    return {**fields, **changes} if changes else fields


def _build(entity_type: EntityType, body: Fields) -> object:
    values = {}
    for name, convert, required in _plan(entity_type):
        if name in body:
            values[name] = convert(body[name])
        elif required:
            raise TypeError(f"field {name} is missing")
    return entity_type(**values)


def _plan(entity_type: EntityType) -> Plan:
    """Of each field: its name, what makes kio's value of ours, and whether it must be given."""
    if entity_type not in _PLANS:
        _PLANS[entity_type] = tuple(
            (field.name, _converter(field.type), field.default is dataclasses.MISSING)
            for field in dataclasses.fields(entity_type)
        )
    return _PLANS[entity_type]


def _converter(field_type: object) -> Callable[[Any], object]:
    types = [field_type, *get_args(field_type)]
    types += [inner for outer in types for inner in get_args(outer)]
    entity = next((t for t in types if isinstance(t, type) and dataclasses.is_dataclass(t)), None)
    if any(get_origin(t) is tuple for t in types):
        if entity is None:
            return lambda value: None if value is None else tuple(value)
        return lambda value: None if value is None else tuple(_build(entity, item) for item in value)
    if entity is not None:
        return lambda value: _build(entity, value)
    if any(isinstance(t, type) and issubclass(t, timedelta) for t in types):
        return lambda value: timedelta(milliseconds=value)
    return lambda value: value


# Reading -------------------------------------------------------------------------------------------------------------


def _decode(entity_type: EntityType, data: bytes, start: int) -> tuple[Fields, int]:
    cursor = Cursor(data, start)
    try:
        return reader_of(entity_type)(cursor), cursor.at
    except ErrorCodeNotListed as problem:
        raise ErrorCodeNotKnown(problem.code) from problem
    except (Unreadable, ValueError, IndexError, struct.error) as problem:
        what = f"{entity_type.__name__} version {entity_type.__version__}, {len(data)} bytes"
        raise MalformedMessage(f"{what}: {problem}") from problem


def _decode_to_end(entity_type: EntityType, data: bytes, start: int) -> Fields:
    fields, end = _decode(entity_type, data, start)
    if end != len(data):
        name, version = entity_type.__name__, entity_type.__version__
        raise MalformedMessage(f"{name} version {version} ends at byte {end}, but {len(data)} bytes came")
    return fields
