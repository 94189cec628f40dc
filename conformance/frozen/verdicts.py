"""What each judge that reads histories says of each history of the frozen net.

Frozen are: the wire kit's recordings, with what its rules say (`wire`), and the trace checker of the traces that are
made of them (`trace`); samples of traces (`trace`); captured logs (`why`); and lives, with what the judge of their
world said while they ran (`world`), and the trace checker of what their cores told (`trace`), or the judge of the
stress run (`stress`); of schedules also which rules the shared checks call broken (`checks`), rightly or not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from groupspec.conformance.checks import CHECKERS
from groupspec.conformance.checks.lives import breaches
from groupspec.conformance.frozen.stressed import judged_again
from groupspec.conformance.history.event import Event
from groupspec.conformance.history.life import Life, load
from groupspec.conformance.traces import engine, inputs, layout
from groupspec.conformance.traces.dialects.times import Clock
from groupspec.conformance.traces.reading import to_table
from groupspec.conformance.traces.recorder import Recorder
from groupspec.conformance.traces.schema import SourceName, TraceLine
from groupspec.conformance.traces.trace_rules import Violation
from groupspec.conformance.traces.why import Question, explain_logs
from groupspec.conformance.wire import recording
from groupspec.conformance.wire.to_trace import trace_events
from groupspec.impl.trace import TraceEvent

CONFORMANCE: Final = Path(__file__).resolve().parents[1]
CORPUS: Final = Path(__file__).resolve().with_name("corpus")
SAID: Final = Path(__file__).resolve().with_name("verdicts.json")
RECORDED: Final = CONFORMANCE / "wire" / "recorded"
SAMPLES: Final = CONFORMANCE / "traces" / "samples"
CAPTURES: Final = CONFORMANCE / "traces" / "captures"

GROUP: Final = "billing"
Said = dict[str, Any]
"""By judge."""


def all_said(prefix: str = "") -> Iterator[tuple[str, Said]]:
    """Every history whose name begins so, by its name, and what is said of it."""
    for name, judge in _histories(prefix):
        if name.startswith(prefix):
            yield name, judge()


def _histories(prefix: str) -> Iterator[tuple[str, Callable[[], Said]]]:
    for file in recording.recordings_in([RECORDED]):
        yield f"recorded/{file.relative_to(RECORDED)}", partial(of_recording, file)
    for file in sorted(SAMPLES.glob("*.ndjson")):
        yield f"samples/{file.name}", partial(of_sample, file)
    for folder in sorted(each for each in CAPTURES.iterdir() if each.is_dir()):
        yield f"captures/{folder.name}", partial(of_capture, folder)
    if not prefix or prefix.startswith("lives"):  # they take a while to read
        for file in sorted(CORPUS.glob("*.ndjson.gz")):
            for life in load(file):
                yield name_of(life), partial(of_life, life)


def frozen() -> dict[str, Said]:
    """What was said of each."""
    found: dict[str, Said] = json.loads(SAID.read_text(encoding="utf-8"))
    return found


def freeze() -> None:
    """Has every history judged, and writes what is said: a line each, so that a change shows in a review."""
    lines = (f"{json.dumps(name)}: {json.dumps(said)}" for name, said in all_said())
    SAID.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def name_of(life: Life) -> str:
    """Of a life, among all: schedules/background/17, or with the mutant that it is of."""
    header = life.header
    parts = (header.world, header.design, *([header.mutant] if header.mutant else []), str(header.seed))
    return f"lives/{'/'.join(parts)}"


def of_recording(file: Path) -> Said:
    """A recorded run of a client."""
    result = recording.judge_recording(recording.load(file), file)
    recorder = Recorder("frozen", "wire", len)
    lines = [recorder.line(event) for event in trace_events(result)]
    wire = {rule: judgement.verdict.value for rule, judgement in sorted(result.judgements.items())}
    return {"wire": wire, "trace": violations(judged(lines))}


def of_sample(file: Path) -> Said:
    """A trace."""
    return {"trace": violations(engine.check(inputs.named([str(file)])).found)}


def of_capture(folder: Path) -> Said:
    """A coordinator's log: its rebalances, each with its cause."""
    answer = explain_logs(Question(None), [folder / "broker.log"], Clock(ZoneInfo("UTC")))
    found = (one for explanation in answer.explanations for one in explanation.rebalances)
    return {"why": [f"{one.group} {one.generation} {one.cause} {one.outcome}" for one in found]}


def of_life(life: Life) -> Said:
    """A life."""
    said: Said = {"world": list(life.header.judged)}
    if life.header.world == "stress":
        return said | {"stress": [f"{one.promise} {one.process} {one.text}" for one in judged_again(life).findings]}
    said["trace"] = violations(judged(told(life)))
    return said | ({"checks": list(broken_in(life))} if life.header.world == "schedules" else {})


def broken_in(life: Life) -> Iterator[str]:
    """The rules that a member breaks, by all shared checks."""
    return (rule for _, rule, _ in breaches(life, CHECKERS))


def told(life: Life) -> list[TraceLine]:
    """What the cores of a life told, as lines of a trace."""
    source: SourceName = "wire" if life.header.design == "heartbeat" else "reference"  # as the simulation has it
    by_member: dict[str, list[Event]] = {}
    for event in life.events:
        if event.kind == "told":
            by_member.setdefault(event.member, []).append(event)
    found: list[TraceLine] = []
    for member, events in by_member.items():
        recorder = Recorder("frozen", source, len, member)
        found += [recorder.line(_trace_event(seq, event)) for seq, event in enumerate(events)]
    return found


def _trace_event(seq: int, event: Event) -> TraceEvent:
    given: dict[str, Any] = {**(event.value or {})}
    given |= {"partitions": tuple(given.get("partitions", ())), "detail": dict(given.get("detail", ()))}
    error, throttle_ms = event.error or None, event.throttle_ms
    who = GROUP, event.member, seq, event.at_us, event.name, error
    return TraceEvent(*who, throttle_time_ms=throttle_ms, **given)


def judged(lines: list[TraceLine]) -> list[Violation]:
    """What the columnar checker says of these."""
    return engine.check_tables([layout.sort(to_table(lines))]).found if lines else []


def violations(found: Iterable[Violation]) -> list[str]:
    """Each in a line."""
    return [f"{one.rule} {one.process or one.member} {one.event} {one.at_us}" for one in found]
