"""Decoded requests and answers as JSON, and back, without loss: what a recorded run is made of.

A message is an object with its class in `is`; bytes are base64, an error code is its name, and a mapping is a list of
pairs, since its keys are partitions. Fields that a message lacks in an older recording have their defaults.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import cache
from types import NoneType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from groupspec.impl.core import messages

CLASSES: Final[Mapping[str, type]] = {
    each.__name__: each for each in (*get_args(messages.Request), *get_args(messages.Response))
}
"""What can be kept: ApiVersions and frames that could not be read are not, and no rule looks into them."""
_STRUCTS: Final = {each for each in vars(messages).values() if isinstance(each, type) and issubclass(each, Struct)}
_OBJECTS: Final = frozenset({messages.TopicPartition, *_STRUCTS})


def to_json(message: object) -> dict[str, object] | None:
    """A message as JSON-ready values; None for what cannot be kept."""
    name = type(message).__name__
    return {"is": name, **_fields(message)} if CLASSES.get(name) is type(message) else None


def from_json(value: object) -> object:
    """The message again.

    Raises:
        ValueError: there is no such message, or a field is not what it should be.
    """
    name = str(value.get("is")) if isinstance(value, Mapping) else ""
    if not isinstance(value, Mapping) or name not in CLASSES:
        raise ValueError(f"there is no message {name!r}")
    try:
        return _object_reader(CLASSES[name])(value)
    except (KeyError, TypeError, AttributeError) as problem:
        raise ValueError(f"this is no {name}: {problem}") from problem


def _fields(value: Any) -> dict[str, object]:
    return {name: plain(getattr(value, name)) for name in value.__struct_fields__}


def plain(value: object) -> object:
    """A field's value as JSON-ready values."""
    if isinstance(value, IntEnum):
        return value.name
    if isinstance(value, messages.TopicPartition):
        return value._asdict()
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, Mapping):
        return [[plain(key), plain(each)] for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return _fields(value) if isinstance(value, Struct) else value


@cache
def _reader(kind: Any) -> Callable[[Any], object]:
    """What makes a field of this type from its JSON: for each type it is put together once."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Union or NoneType in arguments:
        some = _reader(next(each for each in arguments if each is not NoneType))
        return lambda value: None if value is None else some(value)
    if origin is tuple:
        return _tuple_reader(arguments)
    if origin is not None and issubclass(origin, Mapping):
        of_key, of_value = map(_reader, arguments)
        return lambda value: {of_key(key): of_value(each) for key, each in value}
    if kind is bytes:
        return b64decode
    if issubclass(kind, IntEnum):
        return lambda name: kind[name]
    return _object_reader(kind) if kind in _OBJECTS else _plain_reader(kind)


def _tuple_reader(kinds: tuple[Any, ...]) -> Callable[[Any], object]:
    if kinds[-1] is ...:
        of_each = _reader(kinds[0])
        return lambda value: tuple(map(of_each, value))
    readers = [_reader(kind) for kind in kinds]
    return lambda value: tuple(of_one(each) for of_one, each in zip(readers, value, strict=True))


@cache
def _object_reader(kind: type) -> Callable[[Any], object]:
    readers = {name: _reader(one) for name, one in get_type_hints(kind).items()}
    return lambda value: kind(**{name: of_one(value[name]) for name, of_one in readers.items() if name in value})


def _plain_reader(kind: type) -> Callable[[Any], object]:
    def read(value: object) -> object:
        if type(value) is not kind:
            raise TypeError(f"{value!r:.80} is no {kind.__name__}")
        return value

    return read
