"""The only door to kio, which knows every message of the protocol in every version, one class each.

Here such a class becomes something that no longer depends on the version. Writing: plain dicts with every field that
any version has, from which `encode` picks those of the version at hand. Reading: a `Node`, whose fields are asked for
by name and type, and are the given default in versions without them.
"""

from __future__ import annotations

import dataclasses
import io
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, get_args, get_origin
from uuid import UUID

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError

from groupspec.impl.core.messages import ErrorCode
from groupspec.impl.network.errors import MalformedMessage, UnencodableMessage

Fields = Mapping[str, object]
"""Field names (kio's) and values: numbers, strings, bytes, milliseconds for durations, error codes, lists of Fields."""

# kio's classes are looked up by API and version at run time, so here and only here their types are not known.
EntityType = type[Any]

_DEFAULTS: Fields = {"throttle_time": 0}
Plan = tuple[tuple[str, Callable[[object], object], bool], ...]
_PLANS: dict[EntityType, Plan] = {}
_NOT_IN_ENUM = re.compile(r"(-?\d+) is not a valid ErrorCode")


class Node:
    """A struct that was read."""

    def __init__(self, entity: object) -> None:
        self._entity = entity

    def __contains__(self, field: str) -> bool:
        return hasattr(self._entity, field)

    def text(self, field: str, default: str = "") -> str:
        """A string; null counts as the default."""
        return self.nullable_text(field) or default

    def nullable_text(self, field: str) -> str | None:
        """A string or null."""
        value = getattr(self._entity, field, None)
        return None if value is None else str(value)

    def number(self, field: str, default: int = -1) -> int:
        """A whole number."""
        return int(getattr(self._entity, field, default))

    def flag(self, field: str, default: bool = False) -> bool:
        """A truth value."""
        return bool(getattr(self._entity, field, default))

    def duration_ms(self, field: str, default: int = -1) -> int:
        """A duration, in milliseconds."""
        value = getattr(self._entity, field, None)
        return default if value is None else round(value / timedelta(milliseconds=1))

    def data(self, field: str) -> bytes:
        """Bytes; null counts as none."""
        value = getattr(self._entity, field, None)
        return b"" if value is None else bytes(value)

    def error(self, field: str = "error_code") -> ErrorCode:
        """An error code. One that Kafka has and a consumer never meets becomes UNKNOWN_SERVER_ERROR."""
        value = int(getattr(self._entity, field, 0))
        try:
            return ErrorCode(value)
        except ValueError:
            return ErrorCode.UNKNOWN_SERVER_ERROR

    def topic_id(self, field: str = "topic_id") -> UUID | None:
        """A topic's id, None for the id of zeros."""
        value = getattr(self._entity, field, None)
        return value if isinstance(value, UUID) else None

    def nodes(self, field: str) -> list[Node]:
        """A list of structs; null counts as empty."""
        return [Node(item) for item in getattr(self._entity, field, None) or ()]

    def is_null(self, field: str) -> bool:
        """Whether the version has the field and it is null."""
        return field in self and getattr(self._entity, field) is None

    def numbers(self, field: str) -> list[int]:
        """A list of whole numbers."""
        return [int(item) for item in getattr(self._entity, field, None) or ()]

    def texts(self, field: str) -> list[str]:
        """A list of strings."""
        return [str(item) for item in getattr(self._entity, field, None) or ()]


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


def encode_response(api_key: int, version: int, correlation_id: int, body: Fields) -> bytes:
    """Header and body of an answer. Raises UnencodableMessage."""
    payload = load_response_schema(api_key, version)
    return _encode(payload.__header_schema__, {"correlation_id": correlation_id}) + _encode(payload, body)


def decode_request_header(api_key: int, version: int, data: bytes) -> tuple[Node, int]:
    """The header of a request, and where its body begins. Raises MalformedMessage."""
    return _decode(load_request_schema(api_key, version).__header_schema__, data, 0)


def decode_request_body(api_key: int, version: int, data: bytes, start: int) -> Node:
    """The body of a request, which must end where the bytes end. Raises MalformedMessage."""
    return _decode_to_end(load_request_schema(api_key, version), data, start)


def decode_response_header(api_key: int, version: int, data: bytes) -> tuple[int, int]:
    """The correlation id of an answer, and where its body begins. Raises MalformedMessage."""
    header, end = _decode(load_response_schema(api_key, version).__header_schema__, data, 0)
    return header.number("correlation_id"), end


def decode_response_body(api_key: int, version: int, data: bytes, start: int) -> Node:
    """The body of an answer, which must end where the bytes end. Raises MalformedMessage."""
    return _decode_to_end(load_response_schema(api_key, version), data, start)


class ErrorCodeNotKnown(MalformedMessage):
    """kio met an error code that is not in its list; `code` is None if its message does not say which."""

    def __init__(self, code: int | None) -> None:
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


def _build(entity_type: EntityType, body: Fields) -> object:
    values = {}
    for name, convert, required in _plan(entity_type):
        if name in body:
            values[name] = convert(body[name])
        elif name in _DEFAULTS:
            values[name] = convert(_DEFAULTS[name])
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


def _converter(field_type: object) -> Callable[[object], object]:
    types = [field_type, *get_args(field_type)]
    types += [inner for outer in types for inner in get_args(outer)]
    entity = next((t for t in types if dataclasses.is_dataclass(t)), None)
    is_list = any(get_origin(t) is tuple for t in types)
    if entity is not None and isinstance(entity, type):
        return _list_of(entity) if is_list else lambda value: _build(entity, _as_fields(value))
    if is_list:
        return lambda value: None if value is None else tuple(_as_iterable(value))
    if any(isinstance(t, type) and issubclass(t, timedelta) for t in types):
        return lambda value: timedelta(milliseconds=_as_number(value))
    return lambda value: value


def _list_of(entity: EntityType) -> Callable[[object], object]:
    return lambda value: None if value is None else tuple(_build(entity, _as_fields(v)) for v in _as_iterable(value))


def _as_fields(value: object) -> Fields:
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r} is no struct")
    return value


def _as_iterable(value: object) -> Iterable[object]:
    if not isinstance(value, Iterable):
        raise TypeError(f"{value!r} is no list")
    return value


def _as_number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is no number of milliseconds")
    return value


# Reading -------------------------------------------------------------------------------------------------------------


def _decode(entity_type: EntityType, data: bytes, start: int) -> tuple[Node, int]:
    try:
        entity, size = entity_reader(entity_type)(data, start)
    except (SerialError, ValueError, TypeError, OverflowError, MemoryError, KeyError) as problem:
        # KeyError: a tagged field that kio has no name for. KIP-482 wants such fields skipped; kio can't.
        unknown = _NOT_IN_ENUM.search(str(problem))
        if unknown or "ErrorCode" in str(problem):
            raise ErrorCodeNotKnown(int(unknown[1]) if unknown else None) from problem
        what = f"{entity_type.__name__} version {entity_type.__version__}, {len(data)} bytes"
        raise MalformedMessage(f"{what}: {type(problem).__name__} {problem}".rstrip()) from problem
    return Node(entity), start + size


def _decode_to_end(entity_type: EntityType, data: bytes, start: int) -> Node:
    node, end = _decode(entity_type, data, start)
    if end != len(data):
        name, version = entity_type.__name__, entity_type.__version__
        raise MalformedMessage(f"{name} version {version} ends at byte {end}, but {len(data)} bytes came")
    return node
