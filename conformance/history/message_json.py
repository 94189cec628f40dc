"""Decoded requests and answers as JSON, and back, without loss: what a recorded run is made of.

A message is an object with its class in `is`; bytes are base64, an error code is its name, and a mapping is a list of
pairs, since its keys are partitions. Fields that a message lacks in an older recording have their defaults.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
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
        return _object(value, CLASSES[name])
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
def _types(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _object(value: Mapping[str, Any], kind: type) -> object:
    types = _types(kind)
    return kind(**{name: _typed(value[name], types[name]) for name in types if name in value})


def _typed(value: Any, kind: Any) -> object:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Union or type(None) in arguments:
        return None if value is None else _typed(value, next(each for each in arguments if each is not NoneType))
    if origin is tuple:
        kinds = [arguments[0]] * len(value) if arguments[-1] is ... else arguments
        return tuple(_typed(each, one) for each, one in zip(value, kinds, strict=True))
    if origin is not None and issubclass(origin, Mapping):
        return {_typed(key, arguments[0]): _typed(each, arguments[1]) for key, each in value}
    if kind is bytes:
        return b64decode(value)
    if issubclass(kind, IntEnum):
        return kind[value]
    if kind in _OBJECTS:
        return _object(value, kind)
    if type(value) is not kind:
        raise TypeError(f"{value!r:.80} is no {kind.__name__}")
    return value
