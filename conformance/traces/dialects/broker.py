"""The broker's group-coordinator log, INFO: Apache Kafka 4.x (Java coordinator); 3.x (Scala) is a variant.

The coordinator writes one line for each step of a group: a member is added, expelled or leaves, a rebalance is prepared
(with its reason), the join barrier is passed ("Stabilized", which means CompletingRebalance, not Stable), the leader's
assignment arrives, the group is empty. Two things make reading it less simple than it looks. A join or leave that falls
into a rebalance under way prints no "Preparing to rebalance". And only some clients say why they leave or join again
("client reason: not provided" for the rest).

Lines are recognised by the messages of GroupMetadataManager, ClassicGroup and the Scala GroupCoordinator
(`broker.toml`), wherever they stand in the line: collectors put host names, container names and time stamps in front,
and layouts differ.

Event kinds: member_id_given, joining, static_new, static_replaced, rebalance, formed, assigned, empty, dropped,
leader_failed, nobody_rejoined, session_expired, pending_expired, left, pending_left, fenced, sync_expired, loaded,
unloaded, started; and for groups of the consumer protocol (KIP-848): epoch_bumped, epoch_joined, epoch_left,
epoch_fenced, epoch_subscription. Reasons of a `rebalance`: added, left, session_expired, sync_expired, leader_rejoined,
member_rejoined, static_updated, static_protocol, store_failed, over_capacity, other. Reasons of an `epoch_fenced`:
session_expired, rebalance_timeout, other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from groupspec.conformance.traces.dialects.base import Dialect, LogEvent, LogLine, ParsedLog
from groupspec.conformance.traces.dialects.layouts import message_in, unwrap
from groupspec.conformance.traces.dialects.times import Clock, is_stamped
from groupspec.spec.datafile import Record, read_record

JAVA: Final = "4.x (Java coordinator)"
SCALA: Final = "3.x (Scala coordinator)"

_COORDINATOR: Final = re.compile(
    r"\[GroupCoordinator (?:id=(?P<java>\d+)(?P<place> topic=[\w.-]+ partition=\d+)?\]|(?P<scala>\d+)\]:) ?"
    r"|\[GroupMetadataManager brokerId=(?P<store>\d+)\] "
)
_MARKS: Final = ("[GroupCoordinator ", "[GroupMetadataManager ")
# Loggers of a broker, whole or with abbreviated packages, in a log4j layout or in a field of JSON.
_BROKER_LINE: Final = re.compile(
    r"[(\"](?:(?:kafka|k)\.(?!clients|consumer|c\.)[\w.$]+|(?:org\.apache\.kafka|o\.a\.k)\."
    r"(?:coordinator|controller|server|storage|raft|metadata|image|network|security|s|r|i|m)\.[\w.$]+)[)\"]"
)
# Not "Elected as the group coordinator for", nor "offsets and group metadata from".
_NAMED_GROUP: Final = re.compile(
    r"(?:\bgroup (?!coordinator (?:for|with)\b|metadata from\b)(?:metadata for )?|\[Group(?:Id)?[ =])([^\s\]]+)"
)
_FOR_DEVELOPERS: Final = re.compile(r"\b(?:DEBUG|TRACE)\b")
_INFO: Final = re.compile(r"\bINFO\b|level\W{1,5}info\b|\"level\": ?6\b")
_NOT_PROVIDED: Final = {"not provided", "null", "none", ""}


_PIECE: Final = re.compile(r"\[\[|\]\]|\{\.\.\.\}|\{\w+\}")
_GAPS: Final = {
    "[[": "(?:",
    "]]": ")?",
    "{...}": ".*?",
    "{generation}": r"(?P<generation>-?\d+)",
    "{count}": r"(?P<count>-?\d+)",
}


def _compiled(template: str) -> re.Pattern[str]:
    """The expression that a whole message of this template matches.

    `{member}` is a gap (any text, as short as possible), `{generation}` and `{count}` are numbers, `{...}` is a gap
    without a name, `[[…]]` may be missing. Everything else stands for itself, so a template can be compared with the
    program's source.
    """
    pattern, done = "", 0
    for piece in _PIECE.finditer(template):
        gap = _GAPS.get(piece[0], f"(?P<{piece[0][1:-1]}>.*?)")
        pattern += re.escape(template[done : piece.start()]) + gap
        done = piece.end()
    return re.compile(pattern + re.escape(template[done:]), re.DOTALL)


class _Messages(Record, frozen=True):
    """`broker.toml`."""

    lines: tuple[tuple[str, str], ...]
    reasons: tuple[tuple[str, str], ...]
    harmless: tuple[str, ...]


_MESSAGES: Final = read_record(Path(__file__).with_suffix(".toml"), _Messages)
_REASONS: Final = tuple((kind, _compiled(template)) for kind, template in _MESSAGES.reasons)
_LINES: Final = tuple((kind, _compiled(template)) for kind, template in _MESSAGES.lines)
_HARMLESS: Final = re.compile("|".join(_MESSAGES.harmless))


class BrokerCoordinatorLog(Dialect):
    """Lines with `[GroupCoordinator id=1 topic=__consumer_offsets partition=0]`, or with `[GroupCoordinator 1]:`."""

    def __init__(self) -> None:
        super().__init__("broker group-coordinator log", _BROKER_LINE)

    def sniff(self, lines: Sequence[str]) -> float:
        """The share of lines that a broker writes; one coordinator line is enough to be sure."""
        return 1.0 if any(_COORDINATOR.search(line) for line in lines) else super().sniff(lines)

    def parse(self, file: str, lines: Iterable[str], clock: Clock, group: str | None = None) -> ParsedLog:
        """The events of the group (None: of all groups) in the log.

        The variant is that of the last coordinator line.
        """
        log = ParsedLog(dialect=self.name)
        puzzled_at = -1
        for number, line in enumerate(lines, start=1):
            log.lines += 1
            log.longest = max(log.longest, len(line.rstrip("\r\n")))
            log.has_info = log.has_info or _INFO.search(line) is not None
            if _MARKS[0] in line or _MARKS[1] in line:
                before = log.not_understood
                _read_line(LogLine(file, number, line), clock, group, log)
                puzzled_at = number if log.not_understood > before else puzzled_at
            elif is_stamped(line[:80]):
                log.other += 1
            else:
                log.continuation += 1
                log.folded += puzzled_at == number - 1 and line.strip() != ""
        return log


def _read_line(whole: LogLine, clock: Clock, group: str | None, log: ParsedLog) -> None:
    """Takes a line of the coordinator into the account."""
    line = unwrap(whole.text)
    prefix = _COORDINATOR.search(line.text)
    if prefix is None:
        log.other += 1
        return
    log.variant = SCALA if prefix["scala"] or prefix["store"] else JAVA
    if group is not None and group not in line.text and (another := _NAMED_GROUP.search(line.text, prefix.end())):
        log.other += 1  # a busy broker has thousands of groups: their lines are counted, not read
        log.groups[another[1]] += 1
        return
    head = line.text[: prefix.start()]
    place = replace(whole, text=message_in(line.text, prefix.end()))
    stamps = (head, line.stamp) if clock.read(head) else (line.stamp, "")
    at_ms = clock.read(*stamps)
    if not log.events and at_ms is not None:
        log.zoned = clock.has_zone(*stamps)
    length = len(whole.text.rstrip("\r\n"))
    event = None if at_ms is None else read_message(place.text, at_ms, place)
    if event is not None:
        log.groups.update([event.group] if event.group else [])
        if group is None or event.group in {group, ""}:
            log.events.append(replace(event, source=prefix["java"] or prefix["scala"] or prefix["store"] or ""))
        if event.kind == "rebalance" and event.reason == "other":
            log.puzzle(place, group, length, timed=True)
        else:
            log.understood += 1
    elif at_ms is not None and _is_harmless(place.text, prefix, f"{head} {line.level}"):
        log.harmless += 1
    elif at_ms is None:
        log.puzzle(replace(whole, text=line.text), group, length, timed=False)
    else:
        log.puzzle(place, group, length, timed=True)


def _is_harmless(message: str, prefix: re.Match[str], head: str) -> bool:
    """Whether the line is known not to matter, or is for the coordinator's developers, or is about itself (INFO)."""
    about_itself = prefix["java"] is not None and prefix["place"] is None and "INFO" in head
    return about_itself or _FOR_DEVELOPERS.search(head) is not None or _HARMLESS.match(message) is not None


def read_message(message: str, at_ms: int, place: LogLine) -> LogEvent | None:
    """The event that one message (without prefix and logger) means; None when it is not known."""
    for kind, pattern in _LINES:
        found = pattern.fullmatch(message)
        if found is None:
            continue
        words = {key: value or "" for key, value in found.groupdict().items()}
        reason, named = ("", words)
        if kind == "rebalance":
            reason, named = _read_reason(words["reason"])
        elif kind == "epoch_fenced":
            reason = _fencing(words["said"])
        return LogEvent(
            kind=kind,
            at_ms=at_ms,
            place=place,
            group=words.get("group", ""),
            member_ids=_members(named),
            instance_id=_instance(named.get("instance", "")),
            client_id=named.get("client", ""),
            generation=int(words.get("generation") or -1),
            count=int(words.get("count") or -1),
            reason=reason,
            said=_said(named.get("said", "")),
        )
    return None


def _read_reason(reason: str) -> tuple[str, dict[str, str]]:
    for kind, pattern in _REASONS:
        found = pattern.fullmatch(reason)
        if found is not None:
            return kind, {key: value or "" for key, value in found.groupdict().items()}
    return "other", {"said": reason}


def _fencing(why: str) -> str:
    if "session expired" in why:
        return "session_expired"
    timed_out = "failed to transition" in why or "rebalance timeout" in why or "failed to sync" in why
    return "rebalance_timeout" if timed_out else "other"


def _members(words: dict[str, str]) -> tuple[str, ...]:
    """One member id, or a list as Java ("[a, b]", "a, b") or Scala ("Set(a, b)") prints it."""
    if words.get("member"):
        return (words["member"],)
    listed = re.sub(r"^(?:\w+)?[\[(]|[\])]$", "", words.get("members", "").strip())
    named = re.findall(r"memberId='?([^',)]+)", listed)  # Scala and DEBUG lines print whole member objects
    return tuple(named) or tuple(part.strip() for part in listed.split(",") if part.strip())


def _instance(text: str) -> str:
    """`null` (Java) and `None` (Scala) mean a dynamic member; Scala wraps the id in `Some(…)`."""
    wrapped = re.fullmatch(r"Some\((.*)\)|Optional\[(.*)\]", text)
    if wrapped:
        return wrapped[1] or wrapped[2] or ""
    return "" if text in {"null", "None", "Optional.empty"} else text


def _said(text: str) -> str:
    return "" if text.strip().lower() in _NOT_PROVIDED else text.strip()
