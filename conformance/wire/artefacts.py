"""What a run leaves behind: the log as NDJSON, the log for people, a sequence diagram, a trace.

<report>/<client>/<case>[.run-N]/log.ndjson      every entry, decoded: `conform --judge` judges it again (large ones:
.gz)
                                /wire.txt        the same, to be read
                                /sequence.svg    the same, to be looked at
                                /trace.ndjson    the same, in the trace schema
                                /repro/          where a must was broken: to be run again without the kit
                                /stderr.txt      the end of the client's stderr, if there is any
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from groupspec.conformance.checks.verdicts import BROKEN
from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.history.exchange import GROUP_APIS
from groupspec.conformance.outputs import write_lines, write_text
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.recording import save
from groupspec.conformance.wire.reproduction import write_reproduction
from groupspec.conformance.wire.to_trace import write_trace
from groupspec.conformance.wire.wire_text import describe, short, text_lines
from groupspec.diagrams import sequence as diagram
from groupspec.spec.rules import RULES

LARGE_ENTRIES: Final = 20_000
SHOWN_APIS: Final = ("FindCoordinator", *GROUP_APIS)


def write_artefacts(result: CaseResult, report: Path, repeat: int) -> Path:
    """Writes them all; returns the folder."""
    name = result.case.id.replace("/", "--")
    folder = report / result.client.folder / (f"{name}.run-{repeat + 1}" if repeat else name)
    folder.mkdir(parents=True, exist_ok=True)
    save(result, folder / ("log.ndjson" if len(result.entries) < LARGE_ENTRIES else "log.ndjson.gz"))
    write_lines(folder / "wire.txt", _page(result))
    write_text(folder / "sequence.svg", sequence(result))
    write_trace(result, f"{result.client.folder}/{result.case.id}/{repeat + 1}", folder / "trace.ndjson")
    write_reproduction(result, folder)
    if result.stderr:
        write_lines(folder / "stderr.txt", result.stderr.splitlines())
    return folder


def _page(result: CaseResult) -> Iterator[str]:
    """The log for people: what was judged, then what happened."""
    yield f"{result.case.id} against {result.client_name or result.client.name} {result.client_version}".rstrip()
    yield ""
    yield from (line.strip() for line in result.case.scenario.doc.strip().splitlines())
    yield ""
    for rule, judgement in result.judgements.items():
        at = f" (at {(judgement.at_us - result.started_us) / 1000:.1f} ms)" if judgement.at_us is not None else ""
        yield f"{judgement.verdict.value:<13}{rule:<4}{judgement.reason}{at}"
        if judgement.verdict in BROKEN:
            yield f"{'':<17}the rule: {RULES[rule].statement}"
            yield f"{'':<17}source:   {result.case.sources(RULES[rule])}"
    yield ""
    yield from text_lines(result.entries, result.started_us)


def sequence(result: CaseResult) -> str:
    """The run as an SVG: the application, the client, the brokers; what broke a rule is marked."""
    broken: dict[int, list[diagram.Entry]] = {}
    for rule, judgement in result.judgements.items():
        if judgement.verdict in BROKEN and judgement.at_us is not None:
            at_ms = (judgement.at_us - result.started_us) / 1000
            mark = diagram.Entry(at_ms, "client", "", f"{rule} is broken", "violation", judgement.reason)
            broken.setdefault(judgement.at_us, []).append(mark)
    drawn: list[diagram.Entry] = []
    for entry in result.entries:
        if _is_shown(entry):
            drawn.append(_drawn(entry, result.started_us))
        drawn += broken.pop(entry.at_us, [])
    title = f"{result.case.id} against {result.client_name or result.client.name} {result.client_version}".strip()
    brokers = (_broker(node) for node in sorted({1, 2} | {max(1, entry.node) for entry in result.entries}))
    return diagram.sequence_svg(("application", "client", *brokers), drawn, title)


def _broker(node: int) -> str:
    return f"broker {max(1, node)}"


def _drawn(entry: Entry, started_us: int) -> diagram.Entry:
    at_ms = (entry.at_us - started_us) / 1000
    label = short(entry)
    if entry.source == "kit":
        return diagram.Entry(at_ms, "broker 1", "", label, "note")
    if entry.source == "client":
        if entry.kind in protocol.CALLBACKS:
            return diagram.Entry(at_ms, "client", "application", label, "callback")
        if isinstance(entry.event, protocol.CallbackReturned):
            return diagram.Entry(at_ms, "application", "client", f"{entry.event.callback} returned", "callback")
        return diagram.Entry(at_ms, "application", "", label, "call")
    broker = _broker(entry.node)
    note = describe(entry)
    if entry.kind == "request":
        return diagram.Entry(at_ms, "client", broker, label, "request", note)
    if entry.kind == "response":
        failed = entry.error not in ("", "NONE")
        return diagram.Entry(at_ms, broker, "client", label, "error" if failed else "response", note)
    return diagram.Entry(at_ms, "client", broker, label, "connection")


def _is_shown(entry: Entry) -> bool:
    """The group's requests and answers, callbacks and commands; no polls, no fetches."""
    if entry.source == "wire":
        return entry.api in SHOWN_APIS or entry.kind in ("disconnect", "garbage", "sent_raw")
    if entry.source == "client":
        hidden = (protocol.PollStarted, protocol.PollReturned, protocol.CommandDone, protocol.RecordsConsumed)
        return not isinstance(entry.event, hidden)
    return entry.kind in ("note", "milestone", "client_ended")
