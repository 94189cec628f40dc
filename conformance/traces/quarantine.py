"""Quarantine: every line that is not a trace event, with its reason, its place and its text.

Nothing is dropped silently: a line either becomes an event or an entry here, and the readers' callers check that the
two counts add up to the lines read. Blank lines carry nothing and are not counted.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from groupspec.conformance.outside import decoded
from groupspec.conformance.traces.schema import Settings, TraceLine

Reason = Literal[
    "not_utf8",
    "truncated",
    "damaged",
    "not_json",
    "wrong_version",
    "missing_field",
    "unknown_field",
    "unknown_event",
    "bad_value",
]
REASONS: Final[dict[Reason, str]] = {
    "not_utf8": "the bytes are not UTF-8 text (another encoding, or compressed)",
    "truncated": "the file ends in the middle of this line",
    "damaged": "the compressed data, or part of a Parquet file, is damaged from here on",
    "not_json": "the line is not one JSON object",
    "wrong_version": "the field v names a schema version that this program does not read",
    "missing_field": "a required field is missing",
    "unknown_field": "a field that the schema does not have",
    "unknown_event": "the event is not one of the schema's",
    "bad_value": "a field has the wrong type or is out of range",
}
EXCERPT_LENGTH: Final = 200
_OTHER_ENCODINGS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_FIELD: Final = re.compile(r"`\$\.(\w+)")


class Quarantined(msgspec.Struct, frozen=True, order=True):
    """One line that is no event. `line` counts from 1; `text` is its beginning, undecodable bytes escaped."""

    file: str
    line: int
    reason: Reason
    problem: str
    text: str


class BadLine(Exception):
    """A line that is no event: the reason, what is wrong in words, and the line where it is not known otherwise."""

    def __init__(self, reason: Reason, problem: str, line: bytes = b"") -> None:
        super().__init__(f"{reason}: {problem}")
        self.reason: Reason = reason
        self.problem = problem
        self.line = line


_LINE: Final = msgspec.json.Decoder(TraceLine)
_SETTINGS: Final = msgspec.json.Decoder(Settings)


def count_reasons(lines: Iterable[Quarantined]) -> dict[str, int]:
    """How many lines there are of each reason."""
    return dict(sorted(Counter(line.reason for line in lines).items()))


def excerpt(line: bytes) -> str:
    """The beginning of a line, fit for a report."""
    return line[:EXCERPT_LENGTH].decode("utf-8", "backslashreplace").rstrip("\r\n")


def parse_line(line: bytes) -> TraceLine:
    """One line as an event.

    Raises:
        BadLine: it is none, with the first reason that holds, in the order of REASONS.
    """
    try:
        parsed = decoded(_LINE.decode, line)
        if not line.isascii():
            line.decode()  # the decoder passes over what it leaves raw
        if parsed.detail is not msgspec.UNSET or parsed.event == "config":
            _check_detail(parsed)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _what_is_wrong(line, error) from None
    return parsed


def _check_detail(line: TraceLine) -> None:
    """What the decoder cannot say: `detail` is an object, and that of `config` holds the settings. Raises BadLine."""
    detail = b"null" if line.detail is msgspec.UNSET else bytes(line.detail)
    if line.event == "config":
        try:
            decoded(_SETTINGS.decode, detail)
        except msgspec.DecodeError as error:
            raise BadLine("bad_value", f"the detail of config: {error}") from None
    elif not (detail.startswith(b"{") or detail == b"null"):
        raise BadLine("bad_value", f"detail must be an object, got {detail[:40]!r}")


def _what_is_wrong(line: bytes, error: Exception) -> BadLine:
    """Why a line cannot be decoded. One without a line end is its file's last: what is not whole there is cut off."""
    cut_off = not line.endswith(b"\n")
    if line.startswith(_OTHER_ENCODINGS) or b"\0" in line:
        return BadLine("not_utf8", "UTF-16 or binary data; write the trace as UTF-8")
    try:
        line.decode()
    except UnicodeDecodeError as problem:
        return BadLine("truncated" if cut_off and problem.end >= len(line) else "not_utf8", str(problem))
    if isinstance(error, msgspec.ValidationError):
        return _classify(line, str(error))
    return BadLine("truncated" if cut_off else "not_json", str(error))


def _classify(line: bytes, problem: str) -> BadLine:
    """Why a line of valid JSON is no event. Another version explains everything else, so it comes first."""
    try:
        fields = decoded(msgspec.json.decode, line)
    except msgspec.DecodeError as error:  # something stands after the object
        return BadLine("not_json", str(error))
    if not isinstance(fields, dict):
        return BadLine("not_json", "the line is JSON, but not an object")
    version = fields.get("v", 1)
    if version != 1 or isinstance(version, bool) or not isinstance(version, int):
        return BadLine("wrong_version", f"schema version {version!r}; this program reads version 1")
    if "missing required field" in problem:
        return BadLine("missing_field", problem)
    if "contains unknown field" in problem:
        return BadLine("unknown_field", problem)
    field = _FIELD.search(problem)
    if field is not None and field.group(1) == "event" and isinstance(fields.get("event"), str):
        return BadLine("unknown_event", f"no event is called {fields['event']!r}")
    return BadLine("bad_value", problem)
