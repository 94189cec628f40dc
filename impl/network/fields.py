"""The parts of a message's description, good for both ways: our object to kio's fields, and back.

A `Record` describes one class of `groupspec.impl.core.messages`. Each attribute of the class is a field on the wire, in
some versions or in all: a version that lacks it leaves it out on the way out, and has its default on the way in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import UnionType
from typing import Any, Final, TypeVar, get_type_hints

from msgspec import NODEFAULT, structs

from groupspec.impl.core.messages import ErrorCode, Request, TopicPartition
from groupspec.impl.network.errors import UnencodableMessage
from groupspec.impl.network.topic_ids import TopicIds
from groupspec.impl.network.wire import LACKING, Fields, Struct

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Context:
    """What a message does not say itself: its version, topics by id, and for an answer what was asked."""

    version: int
    topic_ids: TopicIds
    request: Request | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """One field on the wire, and the attribute of our message that it stands for.

    `read` gets the struct that has the field or lacks it. `write` gets the whole message; without it the attribute is
    written as it is. No `attribute`: the field is written only; no `name`: the attribute is read only.
    """

    name: str
    attribute: str
    read: Callable[[Struct, Context], object] = lambda struct, context: None
    write: Callable[[Any, Context], object] | None = None


@dataclass(frozen=True)
class Record:
    """One class of messages.

    Attributes:
        kind: The class.
        fields: Its fields, in all versions.
        inside: The list in which new versions have these fields, once for each of several groups or members; a consumer
            asks for one.
        error_from: The first version with a place for the error of the whole message. Before it that error is written
            for every partition. None: no version has.
    """

    kind: type[Any]
    fields: tuple[Field, ...]
    inside: str = ""
    error_from: int | None = 0

    def write(self, message: Any, context: Context) -> Fields:
        """The fields of this message. Raises UnencodableMessage if the version has no words for it."""
        if (self.error_from is None or context.version < self.error_from) and message.error is not ErrorCode.NONE:
            message = _with_error_on_each_part(message)
        written = {
            field.name: field.write(message, context) if field.write else getattr(message, field.attribute)
            for field in self.fields
            if field.name
        }
        return {**written, self.inside: [written]} if self.inside else written

    def read(self, struct: Struct, context: Context) -> Any:
        """The message. Raises UnencodableMessage if it asks for several groups or members at once."""
        if self.inside and self.inside in struct:
            struct = single(struct.structs(self.inside, around=struct), self.inside)
        return self.kind(**{attribute: read(struct, context) for attribute, read in self._read})

    @cached_property
    def _read(self) -> Sequence[tuple[str, Callable[[Struct, Context], object]]]:
        return [(field.attribute, field.read) for field in self.fields if field.attribute]


def record(kind: type[Any], *special: Field, inside: str = "", error_from: int | None = 0, **renamed: str) -> Record:
    """A record; an attribute without a `special` field gets one by its type, called as `renamed` or `NAMES` say."""
    own = {field.attribute for field in special}
    types = get_type_hints(kind)
    inferred = (
        _plain(renamed.get(a.name, NAMES.get(a.name, a.name)), a.name, types[a.name], a.default)
        for a in structs.fields(kind)
        if a.name not in own
    )
    return Record(kind, (*special, *inferred), inside, error_from)


NAMES: Final = {"generation": "generation_id", "error": "error_code"}
"""What the wire calls attributes of many messages."""


def single(items: list[Value], what: str) -> Value:
    """The only item of a list. Raises UnencodableMessage if there is not exactly one."""
    if len(items) != 1:
        raise UnencodableMessage(
            f"{len(items)} {what.replace('_', ' ')} in one message; exactly one is understood here"
        )
    return items[0]


def _with_error_on_each_part(message: Any) -> Any:
    name = next(name for name in message.__struct_fields__ if isinstance(getattr(message, name), Mapping))
    parts = {
        partition: message.error if isinstance(part, ErrorCode) else structs.replace(part, error=message.error)
        for partition, part in getattr(message, name).items()
    }
    return structs.replace(message, **{name: parts})


# Fields --------------------------------------------------------------------------------------------------------------


class _Codes(dict[int, ErrorCode]):
    """By number; to ask the class takes ten times as long."""

    def __missing__(self, code: int) -> ErrorCode:
        return ErrorCode(code)


_CODES: Final = _Codes({code.value: code for code in ErrorCode})
_READ: Final[Mapping[object, tuple[object, Callable[[Any], object] | None]]] = {
    str: ("", lambda value: value or ""),
    str | None: (None, None),
    int: (-1, None),
    bool: (False, None),
    bytes: (b"", lambda value: value or b""),
    ErrorCode: (ErrorCode.NONE, _CODES.__getitem__),
}
"""By the type of an attribute: what it is in versions without it, if the class has no default, and how it is read."""


def _plain(name: str, attribute: str, kind: object, default: object) -> Field:
    empty, convert = _READ[kind]
    missing = empty if default is NODEFAULT else default

    if convert is None:
        return Field(name, attribute, lambda struct, context: struct.get(name, missing))

    def read(struct: Struct, context: Context) -> object:
        value = struct.get(name, LACKING)
        return missing if value is LACKING else convert(value)

    return Field(name, attribute, read)


def value(name: str, kind: type[Any] | UnionType) -> Field:
    """A field by itself: one of a pair, or all that is said about a partition."""
    return _plain(name, "", kind, NODEFAULT)


def duration(name: str, otherwise: str) -> Field:
    """A time, of which the attribute has the milliseconds; in versions without it that of the field `otherwise`."""

    def read(struct: Struct, context: Context) -> object:
        return struct.get(name if name in struct else otherwise)

    return Field(name, f"{name}_ms", read)


def derived(name: str, value: Callable[[Any, Context], object]) -> Field:
    """A field that says what the message says elsewhere, or what is always the same. It is not read."""
    return Field(name, "", write=value)


def fixed(name: str, value: object) -> Field:
    """A field that always has this value, and is not read."""
    return derived(name, lambda message, context: value)


def null_if_empty(name: str, since: int) -> Field:
    """A string for which null is written if it is empty, from this version on."""

    def write(message: Any, context: Context) -> object:
        value = getattr(message, name)
        return value if context.version < since else value or None

    return replace(_plain(name, name, str, NODEFAULT), write=write)


# Lists ---------------------------------------------------------------------------------------------------------------


def records(name: str, of: Record) -> Field:
    """A list of structs; the attribute is a tuple."""
    return Field(
        name,
        name,
        lambda struct, context: tuple([of.read(item, context) for item in struct.structs(name)]),
        lambda message, context: [of.write(item, context) for item in getattr(message, name)],
    )


def pairs(name: str, first: Field, second: Field) -> Field:
    """A list of structs with two fields; the attribute is a tuple of pairs."""
    return Field(
        name,
        name,
        lambda s, context: tuple([(first.read(each, context), second.read(each, context)) for each in s.structs(name)]),
        lambda message, context: [{first.name: a, second.name: b} for a, b in getattr(message, name)],
    )


def partitions(name: str, attribute: str, of: Record | Field, number: str = "partition_index") -> Field:
    """Topics, and in each its partitions with a record or one field; the attribute is a mapping by TopicPartition."""

    def read(struct: Struct, context: Context) -> object:
        return {
            TopicPartition(topic_name, part.get(number)): of.read(part, context)
            for topic in struct.structs(name)
            for topic_name in [topic_of(topic, context)]
            for part in topic.structs("partitions")
        }

    def write(message: Any, context: Context) -> object:
        return by_topic(
            getattr(message, attribute),
            context,
            lambda place, value: {
                number: place,
                **(of.write(value, context) if isinstance(of, Record) else {of.name: value}),
            },
        )

    return Field(name, attribute, read, write)


def by_topic(
    values: Mapping[TopicPartition, Value],
    context: Context,
    part: Callable[[int, Value], Fields],
    *,
    keep_order: bool = False,
) -> list[Fields]:
    """Topics, by name and by id, and in each its partitions; sorted, unless their order means something."""
    topics: dict[str, list[Fields]] = defaultdict(list)
    for partition in values if keep_order else sorted(values):
        topics[partition.topic].append(part(partition.partition, values[partition]))
    return [
        {"name": name, "topic": name, "topic_id": context.topic_ids.id_of(name), "partitions": parts}
        for name, parts in topics.items()
    ]


def topic_of(topic: Struct, context: Context) -> str:
    """The name of a topic, which versions call "name" or "topic", or replace by an id."""
    for field in ("name", "topic"):
        if field in topic:
            return str(topic.get(field) or "")
    return context.topic_ids.name_of(topic.get("topic_id"))
