"""`trace why` for people: a line for each rebalance, the proof, the advice, and what the logs could not tell."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, tzinfo

from groupspec.conformance.terminal import Column, Styled, Table, Terminal
from groupspec.conformance.traces import causes
from groupspec.conformance.traces.causes import Cause
from groupspec.conformance.traces.dialects import ParsedLog
from groupspec.conformance.traces.dialects.reading import UNKNOWN
from groupspec.conformance.traces.findings import EXPULSIONS, Contribution, Explanation, Rebalance
from groupspec.conformance.traces.why import Answer, advice, waited_for_the_dead

# Piped output is read in editors and tickets: it gets more room than the 80 columns of no terminal.
_PIPED_WIDTH = 130
_TROUBLE = {"session_timeout", "poll_timeout", "sync_timeout", "abandoned_consumer", "coordinator_restart", "unknown"}

_RANKED_BY = (
    "by expulsions (session, poll and sync timeouts), then by rebalances that no join or leave began, then by the time "
    "they took (without the silence before an expulsion)"
)
_COME_AND_GO: frozenset[Cause] = frozenset({"join", "leave"})
_CURE_EXPULSIONS_FIRST = "As in every deployment; cure the expulsions first."
# Of so many members of one cause the headline names each.
_NAMED_MEMBERS = 3
# So many numbers of rebalances stand beside an advice, the last ones.
_NUMBERS = 10


def show(answer: Answer, terminal: Terminal, zone: tzinfo, evidence: bool = True, last: int = 0) -> None:
    """Print the explanation; of several groups a ranking, and the explanation of the worst.

    Args:
        answer: What was found.
        terminal: Where to.
        zone: That of the times shown.
        evidence: Whether the log lines are shown.
        last: How many rebalances are shown one by one, the last ones, and how many groups; 0: all. The summary counts
            all.
    """
    found = answer.explanation
    terminal.widen(_PIPED_WIDTH)
    if len(answer.explanations) > 1:
        _show_ranking(answer.explanations, terminal, last)
    missing = _missing_before(found)
    doubts = answer.doubts()
    why = "these logs look like several clusters, " if found.clash is not None else ""
    sure = (f" (not sure: {why}see the end)" if found.rebalances else " that could be read (see the end)") * bool(
        doubts
    )
    terminal.line("Group ", Styled(found.group, "bold"), f": {_summary(found, zone)}{sure}")
    if answer.logs.repeated:
        terminal.line(f"{answer.logs.repeated} line(s) of the group were found more than once, and count once.")
    if found.rebalances or found.before or found.after:
        terminal.line(_zone(answer, zone))
    if found.rebalances and (found.before or found.after):
        terminal.line(f"Only {_left_out(found, zone)}.")
    shown = found.rebalances[-last:]
    if len(shown) < len(found.rebalances):
        terminal.line(f"Below: the last {len(shown)} of {len(found.rebalances)} (--last 0 shows all).")
    if shown:
        terminal.table(_timeline(shown, zone, missing, " -> " if terminal.ascii_only else " → "))
        terminal.line(_what_took_means(shown))
    if evidence:
        for rebalance in shown:
            _show_evidence(rebalance, terminal)
    _show_advice(found.rebalances, terminal)
    first_ms = shown[0].at_ms if len(shown) < len(found.rebalances) else 0
    for note in (note for note in found.notes if note.at_ms >= first_ms):
        terminal.line(
            Styled(f"note: {_time(note.at_ms, zone)} {note.what} ({note.place.file}:{note.place.line})", "dim")
        )
    _show_logs(answer, terminal)
    for doubt in doubts:
        terminal.line(Styled(f"not sure: {doubt}", "bold yellow"))


def _show_ranking(found: list[Explanation], terminal: Terminal, most: int) -> None:
    restless = [one for one in found if one.rebalances]
    shown = restless[: most or None]
    terminal.line(f"{len(found)} groups, {len(restless)} of them rebalanced; the worst first: {_RANKED_BY}.")
    counted = (Column(name, justify="right") for name in ("rebalances", "expulsions", "no join or leave"))
    table = Table(["group", *counted, Column("took", whole=True), Column("most often", folded=True)], plain=True)
    for one in shown:
        counts = map(str, (len(one.rebalances), one.expulsions, one.unplanned))
        took = _in_all(one).replace(" in all", "")
        most_often = max(_begun(one.rebalances), key=lambda begun: begun.count, default=None)
        table.add(one.group, *counts, took, most_often.text if most_often is not None else "")
    terminal.table(table)
    if len(shown) < len(restless):
        terminal.line(f"... and {len(restless) - len(shown)} more (--last 0 shows all).")
    terminal.lines("In full below: the worst; `groupspec trace why GROUP PATH` explains another.", "")


def _summary(found: Explanation, zone: tzinfo) -> str:
    rebalances = found.rebalances
    if not rebalances and (found.before or found.after):
        return f"no rebalance {_left_out(found, zone)}"
    if not rebalances:
        return "no rebalance in these logs"
    follow_ups = sum(1 for rebalance in rebalances if rebalance.follow_up)
    second = f" ({follow_ups} of them follow-up rounds)" if follow_ups else ""
    begun = ", ".join(each.text for each in _begun(rebalances))
    return f"{len(rebalances)} rebalance(s){second}, {_in_all(found)}: {begun}"


def _left_out(found: Explanation, zone: tzinfo) -> str:
    """The period that was asked for, and what the logs have outside of it."""
    period, outside = [], []
    if found.before:
        period.append(f"since {_time(found.since_ms, zone)}")
        outside.append(f"{found.before} before, the last at {_time(found.before_ms, zone)}")
    if found.after:
        period.append(f"until {_time(found.until_ms, zone)}")
        outside.append(f"{found.after} behind, the first at {_time(found.after_ms, zone)}")
    return f"{' '.join(period)}; the logs have {', and '.join(outside)}"


@dataclass(frozen=True, slots=True)
class _Begun:
    """How many rebalances had one cause, by one member (`leave by m1 x3`) or many (`join x40 (40 members)`)."""

    cause: Cause
    count: int
    text: str


def _begun(rebalances: list[Rebalance]) -> list[_Begun]:
    """What began them: expulsions first, joins and leaves last, and of each what was most often."""
    by_cause: dict[Cause, Counter[str]] = {}
    for rebalance in rebalances:
        if not rebalance.follow_up:
            by_cause.setdefault(rebalance.cause, Counter())[rebalance.member] += 1
    begun = []
    for cause, members in by_cause.items():
        if len(members) > _NAMED_MEMBERS:
            count = members.total()
            begun.append(_Begun(cause, count, f"{cause} x{count} ({len(members)} members)"))
            continue
        for member, count in members.most_common():
            by = f" by {member}" if member else ""
            begun.append(_Begun(cause, count, f"{cause}{by}{f' x{count}' if count > 1 else ''}"))
    return sorted(begun, key=lambda each: (each.cause not in EXPULSIONS, each.cause in _COME_AND_GO, -each.count))


def _in_all(found: Explanation) -> str:
    """How long they took together, as far as the logs say it."""
    if found.duration_ms < 0:
        return "how long is not known"
    unknown = sum(1 for rebalance in found.rebalances if rebalance.duration_ms < 0)
    silence = "+" if any(map(_expelled, found.rebalances)) else ""
    without = f" (without {unknown} of unknown length)" if unknown else ""
    return f"{found.duration_ms / 1000:.1f} s{silence} in all{without}"


def _timeline(shown: list[Rebalance], zone: tzinfo, missing: dict[int, list[str]], to: str) -> Table:
    days = {_time(rebalance.at_ms, zone)[:10] for rebalance in shown}
    columns = (
        Column("#", justify="right"),
        Column("began at" if len(days) > 1 else f"{days.pop()}", whole=True),
        Column("generation", whole=True),
        Column("members", justify="right", whole=True),
        Column("cause", whole=True),
        Column("who", folded=True, min_width=8),
        Column("took", justify="right", whole=True),
        Column("remarks", folded=True, min_width=12),
    )
    table = Table(columns, plain=True)
    for rebalance in shown:
        began = _time(rebalance.at_ms, zone)
        table.add(
            str(rebalance.number),
            began if days else began[11:],
            _generations(rebalance, to),
            str(rebalance.members) if rebalance.members >= 0 else "",
            Styled(rebalance.cause, "red" if rebalance.cause in _TROUBLE else "cyan"),
            rebalance.member or "-",
            _took(rebalance),
            Styled("; ".join([*missing.get(id(rebalance), []), *_remarks(rebalance)]), "dim"),
        )
    return table


def _missing_before(found: Explanation) -> dict[int, list[str]]:
    """By the first rebalance behind it (its `id`), which generations are missing from the logs."""
    said: dict[int, list[str]] = {}
    for hole in found.holes:
        behind = next((one for one in found.rebalances if one.at_ms >= hole.before_ms), None)
        if behind is not None and not hole.unbegun:
            several = f"s {hole.first}-{hole.last} are" if hole.last > hole.first else f" {hole.first} is"
            said[id(behind)] = [f"generation{several} missing before it"]
    return said


def _remarks(rebalance: Rebalance) -> list[str]:
    said = ["second round"] if rebalance.follow_up else []
    said += [_contribution(part) for part in _others(rebalance)]
    told = {part.cause for part in rebalance.contributions}
    alternatives = [cause for cause in rebalance.alternatives if cause not in told]
    if alternatives:
        said.append("or " + " or ".join(alternatives))
    back_after_ms = rebalance.contributions[0].back_after_ms
    if back_after_ms >= 0 and not rebalance.follow_up:
        said.append(f"back after {back_after_ms / 1000:.1f} s")
    if rebalance.outcome == "empty":
        said.append("the group is empty then")
    return said


def _others(rebalance: Rebalance) -> list[Contribution]:
    named = (rebalance.cause, rebalance.member)
    return [part for part in rebalance.contributions if (part.cause, part.member) != named]


def _contribution(part: Contribution) -> str:
    words = {
        "began": "begun by {cause} of {member}",
        "merged": "also {cause} of {member}",
        "waited_for": "waited for {member} ({cause})",
    }
    told = words[part.role].format(cause=part.cause, member=part.member)
    return f"{told} (or {' or '.join(part.alternatives)})" if part.alternatives else told


def _generations(rebalance: Rebalance, to: str) -> str:
    return f"{rebalance.old_generation}{to}{rebalance.generation if rebalance.generation >= 0 else '?'}"


def _took(rebalance: Rebalance) -> str:
    if rebalance.duration_ms >= 0:
        return f"{rebalance.duration_ms / 1000:.1f} s{'+' if _expelled(rebalance) else ''}"
    return "unknown" if rebalance.outcome == "completed" else rebalance.outcome


def _expelled(rebalance: Rebalance) -> bool:
    return not rebalance.follow_up and any(part.cause in EXPULSIONS for part in rebalance.contributions)


def _what_took_means(shown: list[Rebalance]) -> str:
    silence = "; +: without the silence before an expulsion, which no log tells" if any(map(_expelled, shown)) else ""
    settings = " (session.timeout.ms or max.poll.interval.ms; the member's partitions stood still)" if silence else ""
    return f"took: from its beginning to the leader's assignment{silence}{settings}."


def _zone(answer: Answer, zone: tzinfo) -> str:
    """In which zone times are printed, and whether it mattered for reading them."""
    if not all(parsed.zoned for parsed in answer.logs.parsed.values() if parsed.events):
        assumed = ", assumed" if str(zone) == "UTC" else ""
        return f"Times are {zone}{assumed} (--timezone): the logs name no zone."
    unused = "" if str(zone) == "UTC" else ", so --timezone had no use in reading them"
    return f"Times are those of {zone}; the lines of the logs tell their own zone{unused}."


def _time(at_ms: int, zone: tzinfo) -> str:
    moment = datetime.fromtimestamp(at_ms / 1000, zone)
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{at_ms % 1000:03d}"


def _show_evidence(rebalance: Rebalance, terminal: Terminal) -> None:
    what = f"#{rebalance.number} {rebalance.cause} {rebalance.member}"
    terminal.line()
    terminal.line(Styled(f"{what}: {causes.TOLD[rebalance.cause].meaning}", "bold"))
    for place in rebalance.evidence:
        terminal.line(Styled(f"  {place.file}:{place.line}: ", "dim"), place.text)


def _show_advice(rebalances: list[Rebalance], terminal: Terminal) -> None:
    """What to change, for all of them: the headline names their causes, also of those that are not shown."""
    first: dict[tuple[str, str], list[str]] = {}
    for rebalance in rebalances:
        if not rebalance.follow_up:
            first.setdefault((_label(rebalance), advice(rebalance)), []).append(f"#{rebalance.number}")
    if first:
        terminal.line()
        terminal.line(Styled("What to change", "bold"))
    expelled = any(_expelled(rebalance) for rebalance in rebalances)
    for (label, text), numbers in first.items():
        if expelled and label in _COME_AND_GO and text == causes.TOLD[label].advice:
            text = _CURE_EXPULSIONS_FIRST
        more = f" and {len(numbers) - _NUMBERS} before" if len(numbers) > _NUMBERS else ""
        terminal.line(Styled(f"  {label} ({', '.join(numbers[-_NUMBERS:])}{more}): ", "bold"), text)


def _label(rebalance: Rebalance) -> str:
    waited_for = waited_for_the_dead(rebalance)
    return f"{rebalance.cause}, waited for {waited_for.cause}" if waited_for is not None else rebalance.cause


def _show_logs(answer: Answer, terminal: Terminal) -> None:
    terminal.line()
    terminal.line(Styled("Logs", "bold"))
    for file, parsed in answer.logs.parsed.items():
        terminal.line(f"  {file}: {_account(parsed)}")
        for place in parsed.samples:
            what = "without date and time" if place.line in parsed.untimed else "not understood"
            terminal.line(Styled(f"    {what}, line {place.line}: {place.text}", "yellow"))
        if parsed.cut_at:
            cut = f"they end after {parsed.cut_at} characters, as the longest line: something cuts long lines off"
            terminal.line(Styled(f"    {cut}", "yellow"))
        if parsed.is_folded:
            folded = (
                "lines that were not understood go on in the next line: something folds long lines; pass them whole"
            )
            terminal.line(Styled(f"    {folded}", "yellow"))
    unknown = [left.file for left in answer.logs.skipped if left.why == UNKNOWN]
    if unknown:
        more = ", ..." if len(unknown) > 1 else ""
        terminal.line(Styled(f"  {len(unknown)} file(s) left out, {UNKNOWN}: {unknown[0]}{more}", "yellow"))
    for left in answer.logs.skipped:
        if left.why != UNKNOWN:
            terminal.line(Styled(f"  {left.file}: {left.why}", "yellow"))


def _account(parsed: ParsedLog) -> str:
    kind = [parsed.dialect, parsed.variant] if parsed.variant else [parsed.dialect]
    parts = [*kind, f"{parsed.lines} lines", f"{parsed.understood} events"]
    if parsed.untimed:
        parts.append(f"{len(parsed.untimed)} without date and time")
    if parsed.not_understood > len(parsed.untimed):
        parts.append(f"{parsed.not_understood - len(parsed.untimed)} not understood")
    if parsed.not_understood > parsed.in_doubt:
        parts.append(f"{parsed.in_doubt} of these may concern the group")
    return ", ".join(parts)
