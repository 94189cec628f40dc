"""What stands around a program's message: colours, JSON, CSV, the logger's name, the thread.

A broker's log reaches its reader through a log4j layout, a container runtime and a collector, and each puts something
around the line. `unwrap` takes off what the collector added; `message_in` finds the end of the message in what is left.

Known: any text in front (host, container, `grep -H`, journald, CRI, compose); ANSI colours; JSON lines (docker's
json-file, ECS, logstash, log4j's JsonLayout and JsonTemplateLayout, journald's export, GELF), also with text in front;
a quoted field of CSV or logfmt (Splunk); and after the message the logger, whole or abbreviated, and the thread
(Strimzi).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from groupspec.conformance.outside import decoded

_ANSI: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# (logger), (logger) [thread]: %c whole, or with abbreviated packages (%c{1.}: o.a.k.c.g.GroupMetadataManager).
_LOGGER_AND_THREAD: Final = re.compile(r"\s*\((?:[\w$-]+\.)+[\w$-]+\)\s*(?:\[[^\]]*\]\s*)?$")
_QUOTE_ENDS: Final = re.compile(r'(?<!\\)"(?!")')
_MESSAGE_KEYS: Final = ("message", "log", "msg", "short_message", "MESSAGE", "_raw", "event.original")
_LEVEL_KEYS: Final = ("log.level", "level", "severity", "levelname")
_TIME_KEYS: Final = ("@timestamp", "timestamp", "time", "ts", "timeMillis", "_time", "__REALTIME_TIMESTAMP")


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """A line as the program wrote it, and its time and level from JSON fields ("" where there are none)."""

    text: str
    stamp: str = ""
    level: str = ""


def unwrap(line: str) -> Unwrapped:
    """The program's line in a line of a log file."""
    line = line.rstrip("\r\n")
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    begin = line.find('{"')
    if begin < 0 or not line.endswith("}"):
        return Unwrapped(line)
    try:
        fields = decoded(msgspec.json.decode, line[begin:])
    except msgspec.DecodeError:
        return Unwrapped(line)
    if isinstance(fields.get("result"), dict):  # Splunk's export
        fields = fields["result"]
    text = next((fields[key] for key in _MESSAGE_KEYS if isinstance(fields.get(key), str)), None)
    if text is None:
        return Unwrapped(line)
    level = next((str(fields[key]) for key in _LEVEL_KEYS if key in fields), "")
    return Unwrapped(_ANSI.sub("", text).rstrip("\r\n"), _stamp(fields), level)


def message_in(text: str, begins: int) -> str:
    """The message that begins at `begins`, without logger, thread, and what follows the end of a quoted field."""
    message = text[begins:]
    if len(re.findall(r'(?<!\\)"', text[:begins])) % 2:
        ends = next((found.start() for found in _closing_quotes(message)), len(message))
        message = message[:ends].replace('""', '"').replace('\\"', '"')
    return _LOGGER_AND_THREAD.sub("", message)


def _closing_quotes(message: str) -> list[re.Match[str]]:
    """Quotes that end a field: a doubled one (CSV) or one behind a backslash (logfmt) is part of it."""
    doubled = {place for pair in re.finditer('""', message) for place in range(*pair.span())}
    return [found for found in _QUOTE_ENDS.finditer(message) if found.start() not in doubled]


def _stamp(fields: Mapping[str, object]) -> str:
    instant = fields.get("instant")
    if isinstance(instant, Mapping):  # log4j's JsonLayout
        return f"{instant.get('epochSecond')}.{int(instant.get('nanoOfSecond', 0)):09d}"
    found = next((fields[key] for key in _TIME_KEYS if key in fields), "")
    return f"{found:.3f}" if isinstance(found, float) else str(found)
