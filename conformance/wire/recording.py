"""A run in one file: all that its verdicts are based on, to be judged again without a client.

NDJSON, with gzip where the name ends in `.gz`. The first line says what was run and how it ended (`Header`), the others
are the log's entries in order; times are microseconds since the run began. Lines lack what has its default.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final

import msgspec

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.history.history import History
from groupspec.conformance.history.message_json import CLASSES, from_json, to_json
from groupspec.conformance.history.settings import Settings
from groupspec.conformance.outside import contents, decoded
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.judging import Outcome, judge_case
from groupspec.conformance.wire.scenarios import FULL, case_of, scenarios
from groupspec.spec.rules import RULES

VERSION: Final = 1
RECORDINGS: Final = "a log.ndjson(.gz) that `groupspec conform CLIENT --report DIR` wrote, or a folder with such files"
SUFFIXES: Final = (".ndjson", ".ndjson.gz")


class Header(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first line.

    Attributes:
        recording: The version of this format.
        case: Scenario and variant, as `--scenario` takes them.
        client: What the client was called on the command line.
        stalls_us: As in History; so is `waits_us`.
        about: In the corpus: what is recorded here, and how it came about.
        edited: In the corpus: what was changed by hand; "" for a run as it was.
        expected: In the corpus: the verdict that any kit must give, by rule.
        entries: How many lines follow; 0 where nobody has counted them.
    """

    recording: int
    case: str
    client: str
    settings: Settings
    client_name: str = ""
    client_version: str = ""
    seconds: float = 0.0
    stalls_us: tuple[tuple[int, int], ...] = ()
    waits_us: tuple[tuple[int, int, int], ...] = ()
    outcome: Outcome = Outcome()
    stderr: str = ""
    about: str = ""
    edited: str = ""
    expected: dict[str, str] = {}
    entries: int = 0


@dataclass(frozen=True, slots=True)
class Line(Entry):
    """One entry of the log; `stamped`: the event had a time of its own."""

    stamped: bool = False


_INT32: Final = 2**31
_INT64: Final = 2**63
_NUMBERS: Final = re.compile(rb'(?:"(generation)":|[:,\[])(-?\d{10,1000})')
"""Of ten digits and more. What is judged becomes a trace, which holds what a message does."""
_HEADER: Final = msgspec.json.Decoder(Header)
_LINE: Final = msgspec.json.Decoder(Line)


@dataclass(frozen=True)
class Recording:
    """A recorded run; `cut_short`: how much of it is left, if its end is missing."""

    header: Header
    entries: Sequence[Entry]
    cut_short: str = ""


def save(result: CaseResult, file: Path) -> None:
    """Writes a run to a file, with gzip if its name ends in `.gz`."""
    since, outcome = result.started_us, result.outcome
    if outcome.missed_since_us is not None:
        outcome = replace(outcome, missed_since_us=outcome.missed_since_us - since)
    header = Header(
        recording=VERSION,
        case=result.case.id,
        client=result.client.name,
        settings=result.history.settings,
        client_name=result.client_name,
        client_version=result.client_version,
        seconds=round(result.seconds, 3),
        stalls_us=tuple((start - since, end - since) for start, end in result.history.stalls_us),
        waits_us=tuple((start - since, end - since, waited) for start, end, waited in result.history.waits_us),
        outcome=outcome,
        stderr=result.stderr,
        entries=len(result.entries),
    )
    encode = msgspec.json.Encoder(order="deterministic").encode
    data = b"".join(encode(line) + b"\n" for line in (header, *(_line(entry, since) for entry in result.entries)))
    file.write_bytes(gzip.compress(data, mtime=0) if file.suffix == ".gz" else data)


def load(file: Path) -> Recording:
    """Reads it, as far as it goes: its end may be missing.

    Raises:
        UsageProblem: it cannot be read, or is something else.
    """
    try:
        first, *others = contents(file).splitlines(keepends=True)
        header = decoded(_HEADER.decode, first)
        if header.recording != VERSION:
            raise ValueError(f"version {header.recording} of the format, this kit reads {VERSION}")
        if header.outcome.missed_rule not in ("", *RULES):
            missed = header.outcome.missed_rule
            raise ValueError(f"a run that ended for the rule {missed!r}, which this kit does not have")
        whole = [_entry(line) for line in others if line.endswith(b"\n")]
    except (OSError, zlib.error, ValueError) as problem:
        raise UsageProblem(
            f"this is no recorded run: {problem}" if _is_log(file) else "this is no recorded run",
            where=str(file),
            allowed=RECORDINGS,
            next_step="record the run again" if _is_log(file) else f"judge the folder: `--judge {file.parent}`",
        ) from problem
    is_cut = len(whole) < max(header.entries, len(others))
    left = f"{len(whole)} of {header.entries or 'more'} entries are left"
    return Recording(header, whole, f"the recording is cut short: {left}" if is_cut else "")


def judge_recording(recording: Recording, file: Path | None = None) -> CaseResult:
    """The verdicts of this kit on a recorded run; nothing is held against who ends with the recording.

    Raises:
        UsageProblem: there is no such scenario any more.
    """
    header = recording.header
    case = case_of(header.case)
    if case is None:
        raise UsageProblem(
            f"this kit has no scenario {header.case!r}",
            where=str(file or ""),
            allowed=[*scenarios(FULL)],
            next_step="judge the run with the kit that recorded it",
        )
    history = History(recording.entries, header.settings, header.stalls_us, header.waits_us)
    outcome = header.outcome
    if recording.cut_short and not (outcome.inconclusive or outcome.unsupported):
        outcome = Outcome(no_occasion=recording.cut_short)
    return CaseResult(
        client=Client(header.client, ()),
        case=case,
        client_name=header.client_name,
        client_version=header.client_version,
        history=history,
        outcome=outcome,
        judgements=judge_case(case, history, outcome),
        seconds=header.seconds,
        stderr=header.stderr,
        recording=file,
    )


def recordings_in(paths: Sequence[Path]) -> list[Path]:
    """The files among these, and those below the folders among these, in order.

    Raises:
        UsageProblem: there are none, or there is no such path.
    """
    found = []
    for path in paths:
        if not path.exists():
            raise UsageProblem(
                "there is no such file or folder",
                where=str(path),
                allowed="what `groupspec conform CLIENT --report DIR` wrote",
            )
        below = sorted(each for each in path.rglob("*") if _is_log(each)) if path.is_dir() else [path]
        if not below:
            raise UsageProblem(
                "there are no recorded runs", where=str(path), allowed="files named log.ndjson, *.run.ndjson"
            )
        found += below
    return found


def _is_log(file: Path) -> bool:
    """By its name: a report's folder has traces beside the logs."""
    return file.is_file() and file.name.removesuffix(".gz") != "trace.ndjson" and file.name.endswith(SUFFIXES)


def _line(entry: Entry, since_us: int) -> dict[str, object]:
    """The fields that do not have their defaults, but not the bytes; an event's time is the entry's."""
    line = {each.name: value for each in fields(entry) if (value := getattr(entry, each.name)) != each.default}
    line["at_us"] = entry.at_us - since_us
    line.pop("raw", None)
    if entry.message is not None:
        line["message"] = to_json(entry.message)
    if entry.event is not None:
        line.pop("text", None)
        line["event"] = msgspec.structs.replace(entry.event, at_us=None)
        if entry.event.at_us is not None:
            line["stamped"] = True
    return line


def _entry(data: bytes) -> Entry:
    for name, number in _NUMBERS.findall(data):
        if abs(int(number)) >= (_INT32 if name else _INT64):
            raise ValueError(f"{number.decode()} is more than a message can hold")
    line = decoded(_LINE.decode, data)
    values = {each.name: getattr(line, each.name) for each in fields(Entry)}
    if line.event is not None:
        values["text"] = protocol.encode(line.event).decode()
        if line.stamped:
            values["event"] = msgspec.structs.replace(line.event, at_us=line.at_us)
    if line.message is not None:
        values["message"] = from_json(line.message)
    entry = Entry(**values)
    if not _says_what_was_sent(entry):
        raise ValueError(f"a {entry.kind} of {entry.api} whose message is {type(entry.message).__name__}")
    return entry


def _says_what_was_sent(entry: Entry) -> bool:
    """Whether a request holds a message of its API; an answer may also hold none, and so may ApiVersions."""
    right = CLASSES.get(entry.api + {"request": "Request", "response": "Response"}.get(entry.kind, ""))
    may_lack = entry.kind == "response" or entry.api == "ApiVersions"
    return right is None or type(entry.message) is right or (may_lack and entry.message is None)
