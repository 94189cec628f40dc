"""Why did my group rebalance: logs in, for each rebalance its cause, the member to blame, the proof and what to change.

`explain_logs` is the whole interface; `story` has the reasoning, `causes` the vocabulary and the advice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import msgspec

from groupspec.conformance.errors import InconclusiveProblem, UsageProblem
from groupspec.conformance.traces import causes, holes
from groupspec.conformance.traces.clusters import find_clash
from groupspec.conformance.traces.dialects import Clock, LogEvent
from groupspec.conformance.traces.dialects.reading import Logs, log_files, read_logs
from groupspec.conformance.traces.findings import Contribution, Explanation, Rebalance
from groupspec.conformance.traces.holes import find_holes
from groupspec.conformance.traces.member_names import MemberNames
from groupspec.conformance.traces.story import RebalanceExplainer

_LOGGERS: Final = "the loggers org.apache.kafka.coordinator.group (Kafka 3: kafka.coordinator.group)"
"""GroupMetadataManager and GroupCoordinatorService; in Kafka 3 GroupCoordinator and GroupMetadataManager."""


_NAMED_GROUPS: Final = 5
_NEAREST: Final = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """Explanations, and the account of the logs that they rest on.

    Attributes:
        explanations: One of each group that was asked for, the worst first: most expulsions, then most rebalances
            that no join or leave began, then longest in rebalances.
        logs: What was read.
    """

    explanations: list[Explanation]
    logs: Logs

    @property
    def explanation(self) -> Explanation:
        """The worst group's: `rebalances`, in order, each with its cause, member and the lines that prove it; notes."""
        return self.explanations[0]

    def doubts(self) -> list[str]:
        """Why this may not be everything, or not right: lines not understood, parts of the logs that are missing."""
        others = [found.group for found in self.explanations[1:] if found.holes]
        listed = ", ".join(others[:_NAMED_GROUPS]) + (", ..." if len(others) > _NAMED_GROUPS else "")
        clashes = [str(found.clash) for found in self.explanations if found.clash is not None]
        doubts = clashes[:_NAMED_GROUPS] + self.logs.doubts() + holes.doubts(self.explanation.holes)
        return doubts + ([f"parts of the history of {len(others)} other group(s) are missing: {listed}"] * bool(others))


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    group                 the group's id; None: all groups that the logs name
    max_poll_interval_ms  max.poll.interval.ms of its members; logs do not say it
    since                 from the time of the last line to the first that is wanted (milliseconds since 1970)
    until                 the same to the last that is wanted
    """

    group: str | None
    max_poll_interval_ms: int = 300_000
    since: Callable[[int], int] = lambda _: 0
    until: Callable[[int], int] = lambda last_ms: last_ms


def explain_logs(
    question: Question, paths: Sequence[Path], clock: Clock, megabytes_read: Callable[[int], None] = lambda _: None
) -> Answer:
    """Explain every rebalance of a group, or of all groups, that the logs show.

    Raises:
        UsageProblem: no file can be read as a log that we know.
        InconclusiveProblem: the logs do not name the group, or files are empty and no other is a log.
    """
    logs = read_logs(log_files(paths), clock, question.group, megabytes_read)
    groups = logs.groups()
    found = explain(question, logs.events)
    if not found or (question.group is not None and question.group not in groups and not logs.doubts()):
        of_group = "any group" if question.group is None else f"group {question.group}"
        raise InconclusiveProblem(
            f"the logs have nothing about {of_group}",
            where=", ".join(logs.parsed),
            found=_named(groups, question.group or "") or _no_group(logs),
            next_step="check the group's id, and pass the log of the broker that coordinates the group"
            if groups
            else f"pass the log of the broker that coordinates the group, with {_LOGGERS} at level INFO",
        )
    return Answer(found, logs)


def _named(groups: Counter[str], asked: str) -> str:
    """The groups of the logs for a message; of many those that are most like the one asked for."""
    few = len(groups) <= _NAMED_GROUPS
    shown = sorted(groups) if few else get_close_matches(asked, sorted(groups), _NEAREST, cutoff=0)
    listed = ", ".join(f"{name} ({groups[name]} lines)" for name in shown)
    return listed if few else f"did you mean {listed}? and {len(groups) - len(shown)} more"


def _no_group(logs: Logs) -> str:
    """Why logs of a broker name no group."""
    if any(parsed.has_info for parsed in logs.parsed.values()):
        return "no line of a group coordinator"
    return "no line of level INFO, and the coordinator writes of its groups at that level"


def explain(question: Question, events: Sequence[LogEvent]) -> list[Explanation]:
    """Explain every rebalance of the groups asked for; `events` are those of all groups, in the order of time.

    What happened before `since` or after `until` is read, as it may be the cause or the end of a rebalance, and left
    out of the explanation.

    Raises:
        UsageProblem: `since` is later than `until`.
    """
    groups = {event.group for event in events} - {""} if question.group is None else {question.group}
    by_group: dict[str, list[LogEvent]] = {group: [] for group in sorted(groups)}
    for event in events:
        for group in [event.group] if event.group else by_group:  # what names none is of the whole broker
            if group in by_group:
                by_group[group].append(event)
    end_ms = max((own[-1].at_ms for own in by_group.values() if own), default=0)
    first_ms, last_ms = question.since(end_ms), question.until(end_ms)
    if first_ms > last_ms and last_ms < end_ms:
        raise UsageProblem("--since is later than --until: no time is left between them")
    found = [
        _explain(group, own, question.max_poll_interval_ms, (first_ms, last_ms)) for group, own in by_group.items()
    ]
    return sorted(found, key=_rank)


def _explain(
    group: str, events: Sequence[LogEvent], max_poll_interval_ms: int, wanted_ms: tuple[int, int]
) -> Explanation:
    cooperative = any(_proves_cooperative(event) for event in events)
    clash = find_clash(events)
    missing = find_holes(events) if clash is None else []  # numbers of two clusters have no holes
    story = RebalanceExplainer(group, MemberNames(events, missing), cooperative, max_poll_interval_ms, missing)
    for event in events:
        story.read(event)
    found = story.finish()
    found.clash = clash
    found.only(*wanted_ms)
    return found


def _rank(found: Explanation) -> tuple[int, int, int, int]:
    """The worst first; how often it rebalanced is all that is known of a group of KIP-848."""
    return -found.expulsions, -found.unplanned, -found.duration_ms, -len(found.rebalances)


def _proves_cooperative(event: LogEvent) -> bool:
    rejoined = event.reason in {"leader_rejoined", "member_rejoined"} and event.said != ""
    return rejoined and causes.of_rejoin(event.said) == "follow_up"


def advice(rebalance: Rebalance) -> str:
    """What to change so that this rebalance does not come again."""
    if rebalance.follow_up:
        return "The second half of the rebalance before it (cooperative): nothing of its own to cure."
    first, waited_for = rebalance.contributions[0], waited_for_the_dead(rebalance)
    if waited_for is not None and waited_for.member == rebalance.member:
        return causes.DIED_AND_STARTED_ANEW
    if waited_for is not None:
        return causes.TOLD[waited_for.cause].advice
    if rebalance.cause == "leave" and rebalance.alternatives and first.back_after_ms >= 0:
        return causes.LEFT_WITHOUT_A_WORD
    told = causes.TOLD[rebalance.cause]
    return (told.consumer_protocol_advice if rebalance.consumer_protocol else "") or told.advice


def waited_for_the_dead(rebalance: Rebalance) -> Contribution | None:
    """The silent member whose session had to end before the rebalance could; None: there was none.

    What made it long is then to be cured, whatever began it.
    """
    silent = (part for part in rebalance.contributions if (part.role, part.cause) == ("waited_for", "session_timeout"))
    return next(silent, None)


def as_json(answer: Answer, seconds: float) -> dict[str, object]:
    """The machine-readable result; its schema is conformance/reports/schemas/trace-why.json."""
    found, logs = answer.explanations, answer.logs
    result: dict[str, object] = msgspec.to_builtins(
        {
            "group": found[0].group if len(found) == 1 else "",
            "groups": sorted(logs.groups()),
            "doubts": answer.doubts(),
            "holes": [{"group": one.group, **_fields(hole, _HOLE)} for one in found for hole in one.holes],
            "repeated": logs.repeated,
            "ranking": [{**_fields(one, _RANKING), "rebalances": len(one.rebalances)} for one in found],
            "rebalances": [_rebalance_json(rebalance) for one in found for rebalance in one.rebalances],
            "notes": [
                {"at_ms": note.at_ms, "what": note.what, **msgspec.to_builtins(note.place)}
                for one in found
                for note in one.notes
            ],
            "files": [{"file": file, **_fields(parsed, _ACCOUNT)} for file, parsed in logs.parsed.items()],
            "skipped": [_fields(left, "file dialect why") for left in logs.skipped],
            "seconds": seconds,
        }
    )
    return result


def _rebalance_json(rebalance: Rebalance) -> dict[str, object]:
    return {
        **_fields(rebalance, _REBALANCE),
        "contributions": [_fields(part, _CONTRIBUTION) for part in rebalance.contributions],
        "evidence": rebalance.evidence,
        "advice": advice(rebalance),
    }


def _fields(thing: object, names: str) -> dict[str, object]:
    return {name: getattr(thing, name) for name in names.split()}


_ACCOUNT: Final = (
    "dialect variant lines understood harmless other continuation not_understood without_time cut_off cut_at zoned "
    "samples"
)
_REBALANCE: Final = (
    "number group generation old_generation at_ms cause member alternatives follow_up outcome members duration_ms"
)
_RANKING: Final = "group expulsions unplanned duration_ms before"
_HOLE: Final = "first last unbegun after before after_ms before_ms"
_CONTRIBUTION: Final = "role cause member member_id at_ms alternatives back_after_ms"
