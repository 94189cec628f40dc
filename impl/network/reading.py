"""Bytes to fields, by the description of a message that kio's class for it carries.

All bytes of a peer pass here, so here are the bounds: no length is believed beyond the bytes that are left, and no
message becomes more than MOST_FIELDS. Kafka has the former since CVE-2022-34917 ("Tried to allocate a collection of
size ..., but there are only ... bytes remaining": MessageDataGenerator). kio's own reader reserves what a list claims
to hold, and where the system refuses that, the whole process ends.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any, Final
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.serial._introspect import (
    EntityField,
    EntityTupleField,
    classify_field,
    get_field_tag,
    get_schema_field_type,
    is_optional,
)

MOST_FIELDS: Final = 4_000_000
"""In one message. Metadata of 200,000 partitions with three replicas each has 2,800,000; four million take 400 MB."""

_READERS: dict[type[Any], Callable[[Cursor], Mapping[str, object]]] = {}
_VARINT_BYTES: Final = 5
_MORE: Final = 0x80
_NULL_STRUCT: Final = b"\xff"  # KIP-893


Read = Callable[["Cursor"], dict[str, object]]
"""Reads a struct as fields by name."""
Tagged = Callable[["Cursor", dict[str, object]], None]
"""Reads what is tagged into the fields that were read before."""


class Unreadable(Exception):
    """Bytes that contradict the description of their message."""


class ErrorCodeNotListed(Unreadable):
    """An error code that Kafka's list lacks."""

    def __init__(self, code: int) -> None:
        super().__init__(f"error code {code} is unknown")
        self.code = code


class Cursor:
    """Bytes, how far they have been read, and how many fields may still come of them."""

    __slots__ = ("at", "data", "fields_left")

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self.at = at
        self.fields_left = MOST_FIELDS

    def take(self, size: int) -> bytes:
        """The next bytes. Raises Unreadable if there are fewer."""
        start, end = self.at, self.at + size
        if end > len(self.data):
            raise Unreadable(f"{size} bytes are announced at byte {start}, and {len(self.data) - start} are left")
        self.at = end
        return self.data[start:end]

    def compact_length(self) -> int:
        """Of what may be null (-1): one less than is written (KIP-482)."""
        value = self.data[self.at]
        self.at += 1
        return value - 1 if value < _MORE else self._rest_of(value) - 1

    def varint(self) -> int:
        """An unsigned one, of five bytes at most."""
        return self.compact_length() + 1

    def _rest_of(self, value: int) -> int:
        value -= _MORE
        for place in range(1, _VARINT_BYTES):
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & ~_MORE) << (7 * place)
            if byte < _MORE:
                return value
        raise Unreadable(f"a number of more than {_VARINT_BYTES} bytes before byte {self.at}")


@dataclass(frozen=True, slots=True)
class Number:
    """A type of one size: its letter of Python's struct module, and what becomes of the number."""

    letter: str
    convert: Callable[[Any], object] | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """Of one type: how it is read, the bytes that each of it takes at least, and the fields that it becomes."""

    read: Callable[[Cursor], Any]
    least_bytes: int
    fields: int = 1
    number: Number | None = None


def reader_of(entity: type[Any]) -> Callable[[Cursor], Mapping[str, object]]:
    """Reads a message, or a header, as fields by name.

    It raises Unreadable, and what bytes lead to that are missing or no text: struct.error, IndexError, ValueError.
    """
    if entity not in _READERS:
        _READERS[entity] = _struct_reader(entity).read
    return _READERS[entity]


# Structs -------------------------------------------------------------------------------------------------------------


def _struct_reader(entity: type[Any]) -> Reader:
    readers = [(field, get_field_tag(field), _field_reader(entity, field)) for field in fields(entity)]
    plain = [(field.name, reader) for field, tag, reader in readers if tag is None]
    tagged = {int(tag): (field.name, reader) for field, tag, reader in readers if tag is not None}
    defaults = {field.name: _as_read(field.default) for field, tag, _ in readers if tag is not None}
    flexible = entity.__flexible__

    def read_tagged(cursor: Cursor, values: dict[str, object]) -> None:
        for _ in range(cursor.varint()):
            _read_tagged(cursor, tagged, values)

    read = _compiled(plain, defaults, read_tagged if flexible else None)
    return Reader(read, sum(reader.least_bytes for _, reader in plain) + flexible, len(readers))


def _compiled(plain: Sequence[tuple[str, Reader]], defaults: Mapping[str, object], read_tagged: Tagged | None) -> Read:
    """One function for a struct, of the lines that one would write by hand; a call for each field takes twice as long.

    Of a partition in an answer to Fetch, shortened:

        def read(cursor):
            v0, v1, v2, = take0(cursor.data, cursor.at); cursor.at += 14
            v3 = read3(cursor)
            values = {"partition_index": v0, "error_code": convert1(v1), "offset": v2, "records": v3, "leader": d0}
            if cursor.data[cursor.at]: read_tagged(cursor, values)
            else: cursor.at += 1
            return values

    Numbers that stand side by side are taken at once: most of a struct is numbers. There are seldom tagged fields.
    """
    space: dict[str, Any] = {"read_tagged": read_tagged}
    lines, items = ["def read(cursor):"], []
    for are_numbers, group in groupby(enumerate(plain), lambda each: each[1][1].number is not None):
        readers = {at: reader for at, (_, reader) in group}
        if are_numbers:
            packed = struct.Struct(">" + "".join(each.number.letter for each in readers.values() if each.number))
            space[f"take{min(readers)}"] = packed.unpack_from
            values = "".join(f"v{at}, " for at in readers)
            lines.append(f" {values}= take{min(readers)}(cursor.data, cursor.at); cursor.at += {packed.size}")
        else:
            space |= {f"read{at}": reader.read for at, reader in readers.items()}
            lines += [f" v{at} = read{at}(cursor)" for at in readers]
    for at, (name, reader) in enumerate(plain):
        space[f"convert{at}"] = convert = reader.number and reader.number.convert
        items.append(f"{name!r}: convert{at}(v{at})" if convert else f"{name!r}: v{at}")
    for at, (name, default) in enumerate(defaults.items()):
        space[f"d{at}"] = default
        items.append(f"{name!r}: d{at}")
    lines.append(f" values = {{{', '.join(items)}}}")
    if read_tagged:
        lines += [" if cursor.data[cursor.at]: read_tagged(cursor, values)", " else: cursor.at += 1"]
    exec("\n".join([*lines, " return values"]), space)
    read: Read = space["read"]
    return read


def _read_tagged(cursor: Cursor, known: Mapping[int, tuple[str, Reader]], values: dict[str, object]) -> None:
    """KIP-482: whoever does not know a tag skips it by its size."""
    tag, size, start = cursor.varint(), cursor.varint(), cursor.at
    if tag not in known:
        cursor.take(size)
        return
    name, reader = known[tag]
    values[name] = reader.read(cursor)
    if cursor.at != start + size:
        raise Unreadable(f"tagged field {tag} is said to have {size} bytes, and has {cursor.at - start}")


def _as_read(default: Any) -> object:
    """A default of kio's in the form in which values are read."""
    if is_dataclass(default):
        return {field.name: _as_read(getattr(default, field.name)) for field in fields(default)}
    return default


def _nullable_struct(inner: Reader) -> Reader:
    def read(cursor: Cursor) -> object:
        return None if cursor.take(1) == _NULL_STRUCT else inner.read(cursor)

    return Reader(read, 1, inner.fields)


# Fields --------------------------------------------------------------------------------------------------------------


def _field_reader(entity: type[Any], field: Field[Any]) -> Reader:
    flexible, described = entity.__flexible__, classify_field(field)
    if entity.__name__ == "RequestHeader" and field.name == "client_id":
        return _text_reader("string", flexible=False, nullable=True)  # in every version (RequestHeader.json)
    nullable = is_optional(field) and get_field_tag(field) is None
    if isinstance(described, EntityField):
        inner = _struct_reader(described.type_)
        return _nullable_struct(inner) if is_optional(field) else inner
    if isinstance(described, EntityTupleField):
        return _list_reader(field.name, _struct_reader(described.type_), flexible, nullable)
    kafka_type = get_schema_field_type(field)
    if described.is_array:
        return _list_reader(field.name, _value_reader(kafka_type, flexible, False), flexible, nullable)
    return _value_reader(kafka_type, flexible, nullable)


def _value_reader(kafka_type: str, flexible: bool, nullable: bool) -> Reader:
    if kafka_type in _TEXTS:
        return _text_reader(kafka_type, flexible, nullable)
    number = _NUMBERS[kafka_type]
    packed, convert = struct.Struct(">" + number.letter), number.convert

    def read(cursor: Cursor) -> object:
        (value,) = packed.unpack_from(cursor.data, cursor.at)
        cursor.at += packed.size
        return convert(value) if convert else value

    return Reader(read, packed.size, number=number)


class _ErrorCodes(dict[int, ErrorCode]):
    """By number."""

    def __missing__(self, code: int) -> ErrorCode:
        raise ErrorCodeNotListed(code)


@lru_cache(4096)  # one takes as long to make as all that is around it in a Fetch
def _uuid(raw: Any) -> UUID | None:
    return UUID(bytes=raw) if any(raw) else None


_NUMBERS: Final[Mapping[str, Number]] = {
    "int8": Number("b"),
    "int16": Number("h"),
    "int32": Number("i"),
    "int64": Number("q"),
    "uint8": Number("B"),
    "uint16": Number("H"),
    "uint32": Number("I"),
    "uint64": Number("Q"),
    "float64": Number("d"),
    "bool": Number("?"),  # any byte but 0 is true (the protocol guide's primitive types)
    "timedelta_i32": Number("i"),
    "timedelta_i64": Number("q"),
    "datetime_i64": Number("q"),
    "error_code": Number("h", _ErrorCodes({code.value: code for code in ErrorCode}).__getitem__),
    "uuid": Number("16s", _uuid),
}
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_TEXTS: Final = {"string": _INT16, "bytes": _INT32, "records": _INT32}
"""And the length before each where lengths are not compact."""


def _text_reader(kafka_type: str, flexible: bool, nullable: bool) -> Reader:
    length_of = _length_reader(_TEXTS[kafka_type], flexible)
    is_text = kafka_type == "string"

    def read(cursor: Cursor) -> str | bytes | None:
        length = length_of(cursor)
        if length < 0:
            _check_null(kafka_type, length, nullable)
            return None
        raw = cursor.take(length)
        return raw.decode() if is_text else raw

    return Reader(read, 1 if flexible else _TEXTS[kafka_type].size)


def _list_reader(name: str, item: Reader, flexible: bool, nullable: bool) -> Reader:
    length_of = _length_reader(_INT32, flexible)
    read_items = _items_reader(item)
    least_bytes, item_fields = item.least_bytes, item.fields

    def read(cursor: Cursor) -> tuple[object, ...] | None:
        length = length_of(cursor)
        if length < 0:
            _check_null(name, length, nullable)
            return None
        left = len(cursor.data) - cursor.at
        if length * least_bytes > left:
            raise Unreadable(
                f"{name} is said to have {length} elements of {least_bytes} bytes or more; {left} bytes are left"
            )
        cursor.fields_left -= length * item_fields
        if cursor.fields_left < 0:
            raise Unreadable(f"it has more than {MOST_FIELDS} fields")
        return read_items(cursor, length) if length else ()

    return Reader(read, 1 if flexible else _INT32.size)


def _items_reader(item: Reader) -> Callable[[Cursor, int], tuple[object, ...]]:
    if item.number is None or item.number.convert:
        read_item = item.read
        return lambda cursor, length: tuple([read_item(cursor) for _ in range(length)])
    letter, size = item.number.letter, item.least_bytes

    def read(cursor: Cursor, length: int) -> tuple[object, ...]:
        numbers = struct.unpack_from(f">{length}{letter}", cursor.data, cursor.at)
        cursor.at += length * size
        return numbers

    return read


def _length_reader(legacy: struct.Struct, flexible: bool) -> Callable[[Cursor], int]:
    if flexible:
        return Cursor.compact_length
    take, size = legacy.unpack_from, legacy.size

    def read(cursor: Cursor) -> int:
        (length,) = take(cursor.data, cursor.at)
        cursor.at += size
        return int(length)

    return read


def _check_null(what: str, length: int, nullable: bool) -> None:
    if length < -1:
        raise Unreadable(f"{what} of length {length}")
    if not nullable:
        raise Unreadable(f"{what} is null, and must not be")
