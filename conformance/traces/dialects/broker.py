"""The broker's group-coordinator log, INFO: Apache Kafka 4.x (Java coordinator); 3.x (Scala) is a variant.

The coordinator writes one line for each step of a group: a member is added, expelled or leaves, a rebalance is prepared
(with its reason), the join barrier is passed ("Stabilized", which means CompletingRebalance, not Stable), the leader's
assignment arrives, the group is empty. Two things make reading it less simple than it looks. A join or leave that falls
into a rebalance under way prints no "Preparing to rebalance". And only some clients say why they leave or join again
("client reason: not provided" for the rest).

Lines are recognised by the messages of GroupMetadataManager, ClassicGroup and the Scala GroupCoordinator, wherever they
stand in the line: collectors put host names, container names and time stamps in front, and layouts differ.

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
from dataclasses import dataclass, replace
from typing import Final

from groupspec.conformance.traces.dialects.base import LogEvent, ParsedLog, Place
from groupspec.conformance.traces.dialects.layouts import message_in, unwrap
from groupspec.conformance.traces.dialects.templates import compiled
from groupspec.conformance.traces.dialects.times import Clock

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
_NAMED_GROUP: Final = re.compile(r"(?:\bgroup |\[Group(?:Id)?[ =])([^\s\]]+)")
_FOR_DEVELOPERS: Final = re.compile(r"\b(?:DEBUG|TRACE)\b")
_NOT_PROVIDED: Final = {"not provided", "null", "none", ""}

_REASON_TEMPLATES: Final[tuple[tuple[str, str], ...]] = (
    ("added", "Adding new member {member} with group instance id {instance}[[; client reason: {said}]]"),
    ("left", "explicit `LeaveGroup` request for ({members}) members[[.]]"),
    ("left", "Removing member {member} on LeaveGroup[[; client reason: {said}]]"),
    ("left", "removing member {member} on LeaveGroup"),
    ("session_expired", "removing member {member} on heartbeat expiration[[.]]"),
    ("sync_expired", "Removing {members} on pending sync request expiration[[.]]"),
    ("leader_rejoined", "Leader {member} re-joining group during {state}[[; client reason: {said}]]"),
    ("leader_rejoined", "leader {member} re-joining group during {state}"),
    ("member_rejoined", "Updating metadata for member {member} during {state}[[; client reason: {said}]]"),
    ("member_rejoined", "Member {member} [[is ]]joining group during {state}[[; client reason: {said}]]"),
    (
        "static_updated",
        "Updating metadata for static member {member} with instance id {instance}[[; client reason: {said}]]",
    ),
    (
        "static_protocol",
        "Group's selectedProtocol will change because static member {member} with instance id {instance}"
        " joined with change of protocol[[; client reason: {said}]]",
    ),
    # The Java coordinator prints no space between "assignment" and "during".
    ("store_failed", "Error {said} when storing group assignment[[ ]]during SyncGroup (member: {member})[[.]]"),
    ("over_capacity", "Freshly-loaded group {...} over capacity {...}"),
)

# 4.x and 3.x differ in a final stop, in the name of the offsets partition, and in a few words.
_LINE_TEMPLATES: Final[tuple[tuple[str, str], ...]] = (
    (
        "rebalance",
        "Preparing to rebalance group {group} in state {state} with old generation {generation}[[ ({log})]]"
        " (reason: {reason})[[.]]",
    ),
    ("formed", "Stabilized group {group} generation {generation}[[ ({log})]] with {count} members[[.]]"),
    (
        "assigned",
        "Assignment received from leader {member} for group {group} for generation {generation}."
        " The group has {count} members, {static} of which are static.",
    ),
    ("empty", "Group {group} with generation {generation} is now empty[[ ({log})]][[.]]"),
    (
        "left",
        "[Group {group}] Member {member} has left group through explicit `LeaveGroup`[[ request]]"
        "[[; client reason: {said}]]",
    ),
    (
        "left",
        "[GroupId {group}] Dynamic member {member} has left group through explicit `LeaveGroup` request"
        "[[; client reason: {said}]]",
    ),
    (
        "left",
        "[GroupId {group}] Static member {member} with instance id {instance} has left group"
        " through explicit `LeaveGroup` request[[; client reason: {said}]]",
    ),
    (
        "left",
        "Member MemberMetadata(memberId={member}, groupInstanceId={instance}, clientId={client}, clientHost={...})"
        " has left group {group} through explicit `LeaveGroup`[[ request]][[; client reason: {said}]]",
    ),
    (
        "pending_left",
        "[Group {group}] Pending member {member} has left group through explicit `LeaveGroup` request{...}",
    ),
    ("pending_left", "Pending member with memberId={member} has left group {group} through explicit `LeaveGroup`{...}"),
    (
        "joining",
        "Pending dynamic member with id {member} joins group {group} in {state} state. Adding to the group now.",
    ),
    (
        "member_id_given",
        "Dynamic member with unknown member id joins group {group} in {state} state. Created a new member id {member}"
        " and request[[ing]] the member to rejoin with this id.",
    ),
    (
        "joining",  # JoinGroup before version 4
        "Dynamic member with unknown member id joins group {group} in state {state}. Created a new member id {member}"
        " and added the member to the group.",
    ),
    (
        "joining",
        "Dynamic Member with unknown member id joins group {group} in {state} state. Created a new member id {member}"
        " for this member and add to the group.",
    ),
    (
        "static_replaced",
        "Static member with groupInstanceId={instance} and unknown member id joins group {group} in {state} state."
        " Replacing previously mapped member {member} with this groupInstanceId.",
    ),
    (
        "static_new",
        "Static member with groupInstanceId={instance} and unknown member id joins group {group} in {state} state."
        " Created a new member id {member} for this member and add[[ed]] to the group.",
    ),
    ("session_expired", "Member {member} in group {group} has failed, removing it from the group[[.]]"),
    (
        "pending_expired",
        "Pending member {member} in group {group} has been removed after session timeout expiration[[.]]",
    ),
    ("dropped", "Group {group} removed dynamic members who haven't joined: {members}"),
    ("sync_expired", "Group {group} removed members who haven't sent their sync request[[s]]: {members}"),
    ("nobody_rejoined", "Group {group} could not complete rebalance because no members rejoined[[.]]"),
    ("loaded", "Loaded classic group {group} with {count} members."),
    ("loaded", "Loaded consumer group {group} with {count} members."),
    ("loaded", "Loading group metadata for {group} with generation {generation}"),
    ("unloaded", "[GroupId={group}] Unloading group metadata for generation {generation}."),
    ("unloaded", "[GroupId={group}] Unloaded group metadata for group epoch {generation}."),
    ("unloaded", "Unloading group metadata for {group} with generation {generation}"),
    ("started", "Starting up."),
    ("epoch_bumped", "[GroupId {group}] Bumped group epoch to {generation}[[ with metadata hash {hash}]]."),
    ("epoch_joined", "[GroupId {group}] Member {member} joins the consumer group using the {protocol} protocol."),
    (
        "epoch_joined",
        "[GroupId {group}] Static member {member} with instance id {instance} joins the consumer group"
        " using the {protocol} protocol.",
    ),
    ("epoch_left", "[GroupId {group}] Member {member} left the consumer group."),
    ("epoch_left", "[GroupId {group}] Static member {member} with instance id {instance} left the consumer group."),
    ("epoch_fenced", "[GroupId {group}] Member {member} fenced from the group because {said}[[.]]"),
    ("epoch_subscription", "[GroupId {group}] Member {member} updated its subscribed topics to: {...}"),
    ("epoch_subscription", "[GroupId {group}] Member {member} updated its subscribed regex to: {...}"),
    (
        "fenced",
        "Request memberId={member} for static member with groupInstanceId={instance}"
        " is fenced by existing memberId={...}",
    ),
    (
        "fenced",
        "Request memberId={member} for static member with groupInstanceId={instance}"
        " is fenced by current memberId={...}",
    ),
    ("leader_failed", "Group leader [memberId: {member}, groupInstanceId: {...}] failed to join before{...}"),
)

_REASONS: Final = tuple((kind, compiled(template)) for kind, template in _REASON_TEMPLATES)
_LINES: Final = tuple((kind, compiled(template)) for kind, template in _LINE_TEMPLATES)

# Known lines of the coordinator that say nothing about who is in a group.
_HARMLESS: Final = re.compile(
    r"Startup complete|Shutting down|Shutdown complete|Closing coordinator runtime|Coordinator runtime closed"
    r"|Event processor closed|Scheduling (?:un)?loading|(?:Started|Finished) (?:un)?loading|Elected as the group"
    r"|Resigned as the group|Static member which joins during Stable stage|Setting empty assignments"
    r"|Sending empty assignment|Loaded (?:member|share|streams)|The following (?:groups|offsets)|Attempt to add"
    r"|\[GroupId .+\] (?:Computed|Member .+ new assignment state|Static member .+ (?:re-joins|temporarily left)"
    r"|Received|Converted|Dynamic member with unknown|Ignoring rebalance timeout|Assignment delayed)"
    r"|Group .+ transitioned to Dead|.*expired offsets|Removed .* offsets|Received (?:un)?expected notification"
    r"|.*has already been removed|Member id .* was not found|Skip downgrading"
)


@dataclass(frozen=True, slots=True)
class BrokerCoordinatorLog:
    """Lines with `[GroupCoordinator id=1 topic=__consumer_offsets partition=0]`, or with `[GroupCoordinator 1]:`."""

    name: str = "broker group-coordinator log"

    def sniff(self, lines: Sequence[str]) -> float:
        """The share of lines that a broker writes; one coordinator line is enough to be sure."""
        written = [line for line in lines if line.strip()]
        if any(_COORDINATOR.search(line) for line in written):
            return 1.0
        return sum(1 for line in written if _BROKER_LINE.search(line)) / max(1, len(written))

    def parse(self, file: str, lines: Iterable[str], clock: Clock, group: str | None = None) -> ParsedLog:
        """The events of the group (None: of all groups) in the log.

        The variant is that of the last coordinator line.
        """
        log = ParsedLog(dialect=self.name)
        for number, line in enumerate(lines, start=1):
            log.lines += 1
            if _MARKS[0] in line or _MARKS[1] in line:
                _read_line(Place(file, number, line), clock, group, log)
            elif clock.is_stamped(line[:80]):
                log.other += 1
            else:
                log.continuation += 1
        return log


def _read_line(whole: Place, clock: Clock, group: str | None, log: ParsedLog) -> None:
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
    at_ms = clock.read(head) or clock.read(line.stamp)
    event = None if at_ms is None else read_message(place.text, at_ms, place)
    if event is not None:
        log.groups.update([event.group] if event.group else [])
        if group is None or event.group in {group, ""}:
            log.events.append(replace(event, source=prefix["java"] or prefix["scala"] or prefix["store"] or ""))
        if event.kind == "rebalance" and event.reason == "other":
            log.puzzle(place, group)
        else:
            log.understood += 1
    elif at_ms is not None and _is_harmless(place.text, prefix, f"{head} {line.level}"):
        log.harmless += 1
    else:
        log.puzzle(place, group)


def _is_harmless(message: str, prefix: re.Match[str], head: str) -> bool:
    """Whether the line is known not to matter, or is for the coordinator's developers, or is about itself (INFO)."""
    about_itself = prefix["java"] is not None and prefix["place"] is None and "INFO" in head
    return about_itself or _FOR_DEVELOPERS.search(head) is not None or _HARMLESS.match(message) is not None


def read_message(message: str, at_ms: int, place: Place) -> LogEvent | None:
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
