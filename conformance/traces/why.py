"""Why did my group rebalance: logs in, for each rebalance its cause, the member to blame, the proof and what to change.

`explain_logs` is the whole interface; `story` has the reasoning, `causes` the vocabulary and the advice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.traces import causes
from groupspec.conformance.traces.dialects import Clock, LogEvent, LogLine
from groupspec.conformance.traces.dialects.reading import Logs, log_files, read_logs
from groupspec.conformance.traces.findings import Explanation, Rebalance
from groupspec.conformance.traces.member_names import MemberNames
from groupspec.conformance.traces.story import RebalanceExplainer

_LOGGERS: Final = "the loggers org.apache.kafka.coordinator.group (Kafka 3: kafka.coordinator.group)"
"""GroupMetadataManager and GroupCoordinatorService; in Kafka 3 GroupCoordinator and GroupMetadataManager."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An explanation, and the account of the logs that it rests on.

    Attributes:
        explanation: `rebalances`, in order, each with its cause, member and the lines that prove it; notes.
        logs: What was read; `doubts()` says what was not understood.
    """

    explanation: Explanation
    logs: Logs


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    group                 the group's id
    max_poll_interval_ms  max.poll.interval.ms of its members; logs do not say it
    since                 from the time of the last line to the first that is wanted (milliseconds since 1970)
    """

    group: str
    max_poll_interval_ms: int = 300_000
    since: Callable[[int], int] = lambda _: 0


def explain_logs(
    question: Question, paths: Sequence[Path], clock: Clock, megabytes_read: Callable[[int], None] = lambda _: None
) -> Answer:
    """Explain every rebalance of a group that the logs show.

    Raises:
        UsageProblem: no file can be read as a log that we know, or the logs do not name the group.
    """
    logs = read_logs(log_files(paths), clock, question.group, megabytes_read)
    groups = logs.groups()
    if question.group not in groups and not logs.doubts():
        raise UsageProblem(
            f"the logs have nothing about group {question.group}",
            where=", ".join(logs.parsed),
            found=", ".join(f"{name} ({count} lines)" for name, count in sorted(groups.items())) or _no_group(logs),
            next_step="check the group's id, and pass the log of the broker that coordinates the group"
            if groups
            else f"pass the log of the broker that coordinates the group, with {_LOGGERS} at level INFO",
        )
    return Answer(explain(question, logs.events), logs)


def _no_group(logs: Logs) -> str:
    """Why logs of a broker name no group."""
    if any(parsed.has_info for parsed in logs.parsed.values()):
        return "no line of a group coordinator"
    return "no line of level INFO, and the coordinator writes of its groups at that level"


def explain(question: Question, events: Iterable[LogEvent]) -> Explanation:
    """Explain every rebalance of a group; `events` are those of all groups, in the order of time.

    What happened before `since` is read, since it may be the cause, and left out of the explanation.
    """
    mine = [event for event in events if event.group in {question.group, ""}]
    cooperative = any(_proves_cooperative(event) for event in mine)
    story = RebalanceExplainer(question.group, MemberNames(mine), cooperative, question.max_poll_interval_ms)
    for event in mine:
        story.read(event)
    found = story.finish()
    first_ms = question.since(mine[-1].at_ms if mine else 0)
    found.rebalances = [rebalance for rebalance in found.rebalances if rebalance.at_ms >= first_ms]
    found.notes = [note for note in found.notes if note.at_ms >= first_ms]
    return found


def _proves_cooperative(event: LogEvent) -> bool:
    rejoined = event.reason in {"leader_rejoined", "member_rejoined"} and event.said != ""
    return rejoined and causes.of_rejoin(event.said) == "follow_up"


def advice(rebalance: Rebalance) -> str:
    """What to change so that this rebalance does not come again."""
    if rebalance.follow_up:
        return "The second half of the rebalance before it (cooperative): nothing of its own to cure."
    first = rebalance.contributions[0]
    if rebalance.cause == "leave" and rebalance.alternatives and first.back_after_ms >= 0:
        return causes.LEFT_WITHOUT_A_WORD
    told = causes.TOLD[rebalance.cause]
    return (told.consumer_protocol_advice if rebalance.consumer_protocol else "") or told.advice


def as_json(answer: Answer, seconds: float) -> dict[str, object]:
    """The machine-readable result; its schema is conformance/reports/schemas/trace-why.json."""
    found, logs = answer.explanation, answer.logs
    return {
        "group": found.group,
        "groups": sorted(logs.groups()),
        "doubts": logs.doubts(),
        "repeated": logs.repeated,
        "rebalances": [_rebalance_json(rebalance) for rebalance in found.rebalances],
        "notes": [{"at_ms": note.at_ms, "what": note.what, **_place(note.place)} for note in found.notes],
        "files": [
            {
                "file": file,
                "dialect": parsed.dialect,
                "variant": parsed.variant,
                "lines": parsed.lines,
                "understood": parsed.understood,
                "harmless": parsed.harmless,
                "other": parsed.other,
                "continuation": parsed.continuation,
                "not_understood": parsed.not_understood,
                "cut_off": parsed.cut_off,
                "samples": [_place(place) for place in parsed.samples],
            }
            for file, parsed in logs.parsed.items()
        ],
        "skipped": [{"file": left.file, "dialect": left.dialect, "why": left.why} for left in logs.skipped],
        "seconds": seconds,
    }


def _rebalance_json(rebalance: Rebalance) -> dict[str, object]:
    return {
        "group": rebalance.group,
        "generation": rebalance.generation,
        "old_generation": rebalance.old_generation,
        "at_ms": rebalance.at_ms,
        "cause": rebalance.cause,
        "member": rebalance.member,
        "alternatives": list(rebalance.alternatives),
        "follow_up": rebalance.follow_up,
        "outcome": rebalance.outcome,
        "members": rebalance.members,
        "duration_ms": rebalance.duration_ms,
        "contributions": [
            {
                "role": part.role,
                "cause": part.cause,
                "member": part.member,
                "member_id": part.member_id,
                "at_ms": part.at_ms,
                "alternatives": list(part.alternatives),
                "back_after_ms": part.back_after_ms,
            }
            for part in rebalance.contributions
        ],
        "evidence": [_place(place) for place in rebalance.evidence],
        "advice": advice(rebalance),
    }


def _place(place: LogLine) -> dict[str, object]:
    return {"file": place.file, "line": place.line, "text": place.text}
