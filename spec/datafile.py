"""Data files: what the project says once, as TOML, read into records.

Each entry of a file is a table whose name is the entry's id. A record type is the schema: its first field holds the id,
the others are the keys of the table. Text may be wrapped as its author likes: a line break in it is read as a space.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar, get_args

import msgspec

from groupspec.spec.problems import shown_path


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a data file holds, or a part of it."""


RecordT = TypeVar("RecordT", bound=Record)


class DataError(ValueError):
    """A data file that does not follow its schema; the message names file, line, entry, field and what is allowed."""


def read_entries(path: Path, kind: type[RecordT]) -> Mapping[str, RecordT]:
    """The entries of a data file by id, in the order of the file.

    Raises:
        DataError: the file is no TOML, or an entry of it does not follow the schema.
    """
    text, tables = _read(path)
    identity = kind.__struct_fields__[0]
    entries = {}
    for name, table in tables.items():
        raw = _unwrapped(table)
        try:
            entries[name] = msgspec.convert({identity: name, **raw} if isinstance(raw, dict) else raw, kind)
        except msgspec.ValidationError as error:
            place = f"{shown_path(str(path))}:{_line(text, name)}"
            raise DataError(f"{place}: [{name}]: {error}\n    an entry has: {_schema(kind)}") from error
    return MappingProxyType(entries)


def read_record(path: Path, kind: type[RecordT]) -> RecordT:
    """A data file that is one record: its tables are the record's fields.

    Raises:
        DataError: the file is no TOML, or does not follow the schema.
    """
    try:
        return msgspec.convert(_unwrapped(_read(path)[1]), kind)
    except msgspec.ValidationError as error:
        raise DataError(f"{shown_path(str(path))}: {error}") from error


def _read(path: Path) -> tuple[str, dict[str, object]]:
    text = path.read_text(encoding="utf-8")
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{shown_path(str(path))}: this is not TOML: {error}") from error


def _unwrapped(value: object) -> object:
    if isinstance(value, str):
        return re.sub(r"\s*\n\s*", " ", value).strip()
    if isinstance(value, list):
        return [_unwrapped(each) for each in value]
    return {key: _unwrapped(each) for key, each in value.items()} if isinstance(value, dict) else value


def _line(text: str, name: str) -> int:
    heading = re.compile(rf'\["?{re.escape(name)}"?\]|"?{re.escape(name)}"? *=')
    return next((n for n, line in enumerate(text.splitlines(), 1) if heading.match(line)), 1)


def _schema(kind: type[Record]) -> str:
    """The keys of an entry, and what each may be: `level (must | should), sources (tuple[str, ...]), …`."""
    return ", ".join(f"{field.name} ({_allowed(field.type)})" for field in msgspec.structs.fields(kind)[1:])


def _allowed(kind: type) -> str:
    values = [value for value in get_args(kind) if isinstance(value, str)]
    names = {str: "text", bool: "true | false", tuple[str, ...]: "list of texts"}
    return " | ".join(values) or names.get(kind, "list of tables")
