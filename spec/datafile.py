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

from groupspec.spec.problems import DataError, shown_path


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a data file holds, or a part of it."""


RecordT = TypeVar("RecordT", bound=Record)


def read_entries(path: Path, kind: type[RecordT]) -> Mapping[str, RecordT]:
    """The entries of a data file by id, in the order of the file.

    Raises:
        DataError: the file is no TOML, or an entry of it does not follow the schema.
    """
    tables = _read(path)
    identity = kind.__struct_fields__[0]
    entries = {}
    for name, table in tables.items():
        raw = _unwrapped(table)
        try:
            entries[name] = msgspec.convert({identity: name, **raw} if isinstance(raw, dict) else raw, kind)
        except msgspec.ValidationError as error:
            raise DataError(
                place_of_entry(path, name), f"[{name}]: {error}", f"an entry has: {_schema(kind)}"
            ) from error
    return MappingProxyType(entries)


def read_record(path: Path, kind: type[RecordT]) -> RecordT:
    """A data file that is one record: its tables are the record's fields.

    Raises:
        DataError: the file is no TOML, or does not follow the schema.
    """
    try:
        return msgspec.convert(_unwrapped(_read(path)), kind)
    except msgspec.ValidationError as error:
        raise DataError(shown_path(str(path)), str(error)) from error


def place_of_entry(path: Path, name: str) -> str:
    """File and line of an entry: `spec/data/rules.toml:12`."""
    heading = re.compile(rf'\["?{re.escape(name)}"?\]|"?{re.escape(name)}"? *=')
    lines = path.read_text(encoding="utf-8").splitlines()
    line = next((number for number, line in enumerate(lines, 1) if heading.match(line)), 1)
    return f"{shown_path(str(path))}:{line}"


def _read(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise DataError(shown_path(str(path)), f"this is not TOML: {error}") from error


def _unwrapped(value: object) -> object:
    if isinstance(value, str):
        return re.sub(r"\s*\n\s*", " ", value).strip()
    if isinstance(value, list):
        return [_unwrapped(each) for each in value]
    return {key: _unwrapped(each) for key, each in value.items()} if isinstance(value, dict) else value


def _schema(kind: type[Record]) -> str:
    """The keys of an entry, and what each may be: `level (must | should), sources (tuple[str, ...]), …`."""
    return ", ".join(f"{field.name} ({_allowed(field.type)})" for field in msgspec.structs.fields(kind)[1:])


def _allowed(kind: type) -> str:
    values = [value for value in get_args(kind) if isinstance(value, str)]
    names = {str: "text", bool: "true | false", tuple[str, ...]: "list of texts"}
    return " | ".join(values) or names.get(kind, "list of tables")
