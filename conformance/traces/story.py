"""Reads the coordinator's events of one group, and finds what began each rebalance.

The coordinator's own reason is where it starts, and it is not the answer. "Adding new member" is a join, unless the
same client was expelled before: then it is a rejoin, and the expulsion is what to cure. "Explicit LeaveGroup" is a
leave, unless the client said that its poll timeout expired; clients that say nothing leave two possibilities, and
both are reported. A member that joins again while the group is stable either completes a cooperative rebalance (the
first round took partitions away, the second gives them out), and then the cause is that of the first round; or its
topics or subscription changed. And a rebalance that was begun by a newcomer and then stood still until an old member
gave up or was dropped has one to blame who is in no reason at all.

What falls into a rebalance under way (no "Preparing to rebalance" is logged for it) is kept as a contribution to that
one. A rebalance whose beginning is missing from the logs is one of unknown cause, unless a line tells who had gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from groupspec.conformance.traces import causes
from groupspec.conformance.traces.causes import Cause
from groupspec.conformance.traces.dialects import LogEvent, LogLine
from groupspec.conformance.traces.findings import EXPULSIONS, Contribution, Explanation, Note, Outcome, Rebalance
from groupspec.conformance.traces.holes import Hole
from groupspec.conformance.traces.member_names import MemberNames, client_of

# A member that gives no reason and joins again so soon after the assignment is taken to complete a cooperative
# rebalance: clients do it as soon as their revocation callback is done. Longer where the log proves that the group is
# cooperative.
FOLLOW_UP_MS: Final = 2_000
FOLLOW_UP_COOPERATIVE_MS: Final = 30_000
# A round that ends this soon after a member is gone had waited for that member.
_WAITED_FOR_MS: Final = 2_000
# So soon after the group was loaded its members may still look for the coordinator: session.timeout.ms is 45 s by
# default.
_LOADED_LATELY_MS: Final = 60_000
# A client that polled too late comes back with its next poll; one that was restarted, as soon as it is up.
_BACK_SOON_MS: Final = 60_000
# So many rebalances back other instances may have been restarted.
_ROLLING_RESTART: Final = 8
# What a round takes anyway: members notice it with their next heartbeat.
_NORMAL_WAIT_MS: Final = 4_000

_DEPARTURES: Final = EXPULSIONS | {"leave"}


class RebalanceExplainer:
    """Walks the events once: each has a method `_on_KIND`, or says nothing about membership.

    What needs the future (did the member come back?) is settled when it comes, or in `finish`.

    Args:
        group: The group's id.
        names: What its members are called.
        cooperative: Whether the log proves that the group rebalances cooperatively.
        max_poll_interval_ms: That of the group's members (max.poll.interval.ms).
        holes: What the logs leave out of the group's history.
    """

    def __init__(
        self, group: str, names: MemberNames, cooperative: bool, max_poll_interval_ms: int, holes: Sequence[Hole] = ()
    ) -> None:
        self._found = Explanation(group, holes=list(holes))
        self._unbegun = {hole.before: hole for hole in holes if hole.unbegun}
        self._names = names
        self._max_poll_interval_ms = max_poll_interval_ms
        self._window_ms = FOLLOW_UP_COOPERATIVE_MS if cooperative else FOLLOW_UP_MS
        self._open: Rebalance | None = None
        self._last: Rebalance | None = None
        self._arriving: dict[str, list[LogLine]] = {}  # lines about a member before the line that adds it
        self._gone: dict[str, Contribution] = {}  # client -> how it was last seen going
        self._departing: list[Contribution] = []  # gone, and no rebalance begun for it yet
        self._seen_joining: dict[str, int] = {}  # client -> when it last joined
        self._instances: set[str] = set()  # static members of this group
        self._instance_of: dict[str, str] = {}  # member id -> group.instance.id
        self._host = ""
        self._interrupted = False
        self._loaded = -1  # members that the coordinator has loaded and not heard of yet; -1: not just loaded
        self._loaded_ms = -_LOADED_LATELY_MS  # when that was

    def read(self, event: LogEvent) -> None:
        """Take the next event; those of other groups must not be passed."""
        handler = getattr(self, f"_on_{event.kind}", None)
        if handler is not None:
            handler(event)
        if event.group:
            self._host = event.source or self._host

    def finish(self) -> Explanation:
        """What was found, once the last event was read."""
        for number, rebalance in enumerate(self._found.rebalances, start=1):
            rebalance.number = number
            _blame_the_coordinator(rebalance)
            self._blame_the_one_waited_for(rebalance)
        return self._found

    # A rebalance begins

    def _on_rebalance(self, event: LogEvent) -> None:
        if self._open is not None:
            self._close(self._open, "interrupted")
        parts, follow_up = self._rejoined(event) if "rejoined" in event.reason else (self._beginning(event), False)
        self._open = self._add(event, parts, event.generation, event.at_ms)
        self._open.follow_up, self._open.loaded = follow_up, self._loaded
        self._interrupted = False
        self._loaded = -1
        self._departing.clear()

    def _add(self, event: LogEvent, parts: list[Contribution], old_generation: int, at_ms: int) -> Rebalance:
        """One more rebalance; what began it is the first of its parts."""
        first = parts[0]
        rebalance = Rebalance(
            group=event.group,
            old_generation=old_generation,
            at_ms=at_ms,
            cause=first.cause,
            member=first.member,
            alternatives=first.alternatives,
            contributions=parts,
            lines=[event.place],
        )
        self._found.rebalances.append(rebalance)
        return rebalance

    def _beginning(self, event: LogEvent) -> list[Contribution]:
        members = event.member_ids
        match event.reason:
            case "added" | "static_updated":
                return [self._joined(event)]
            case "left":
                parts = [self._ended(event, member_id, *causes.of_leave(event.said)) for member_id in members]
            case "session_expired":
                parts = [self._ended(event, members[0], "session_timeout", self._or_the_coordinator(event))]
            case "sync_expired":
                parts = [self._ended(event, member_id, "sync_timeout") for member_id in members]
            case "static_protocol":
                parts = [self._part(event, members[0], "subscription_change")]
            case "store_failed" | "over_capacity":
                parts = [Contribution("began", "coordinator_restart", "", "", event.at_ms, (), [event.place])]
            case _:
                parts = []
        return parts or [self._part(event, members[0] if members else "", "unknown")]

    def _joined(self, event: LogEvent) -> Contribution:
        member_id = event.member_ids[0]
        part = self._part(event, member_id, "join")
        part.evidence[:0] = self._arriving.pop(member_id, [])
        client = self._client(member_id)
        before = self._gone.pop(client, None)
        if before is not None:
            self._came_back(part, before)
        elif self._may_have_gone_unseen(client, event):
            part.alternatives = ("rejoin",)
        self._seen_joining[client] = event.at_ms
        return part

    def _may_have_gone_unseen(self, client: str, event: LogEvent) -> bool:
        """Whether a part of the log is missing in which the client, seen before, can have been expelled."""
        joined_ms = self._seen_joining.get(client)
        return joined_ms is not None and any(
            joined_ms <= hole.after_ms and hole.before_ms <= event.at_ms for hole in self._found.holes
        )

    def _client(self, member_id: str) -> str:
        """Under which name a member comes back: its group.instance.id, else its client id."""
        return self._instance_of.get(member_id) or client_of(member_id)

    def _came_back(self, part: Contribution, before: Contribution) -> None:
        if self._names.is_shared(part.member_id):  # this one, or another one under the same client id
            part.alternatives = ("rejoin",) if before.cause in EXPULSIONS or before.alternatives else ()
            return
        before.back_after_ms = part.at_ms - before.at_ms
        if self._was_a_poll_timeout(before):
            self._blame(before, "poll_timeout", ("leave",))
            part.alternatives = ("join",)
        if before.cause in EXPULSIONS:
            part.cause = "rejoin"
            part.evidence[:0] = before.evidence[:1]
        elif "poll_timeout" in before.alternatives:
            part.alternatives = ("rejoin",)

    def _was_a_poll_timeout(self, left: Contribution) -> bool:
        """Whether a member that left without a word and came back soon cannot have polled in the rounds before.

        A restarted process does the same. But a member joins only inside poll(): where the group was rebalanced less
        than max.poll.interval.ms before it left, it had polled since. And whoever restarts one instance restarts the
        others too.
        """
        silent = left.cause == "leave" and "poll_timeout" in left.alternatives
        if not silent or left.back_after_ms > _BACK_SOON_MS or left.quiet_ms < self._max_poll_interval_ms:
            return False
        return not any(
            other.cause == "leave" and other.member != left.member and 0 <= other.back_after_ms <= _BACK_SOON_MS
            for rebalance in self._found.rebalances[-_ROLLING_RESTART:]
            for other in rebalance.contributions
        )

    def _blame(self, part: Contribution, cause: Cause, alternatives: tuple[Cause, ...]) -> None:
        """Corrects what was said of a part, and of the rebalance that it began."""
        part.cause, part.alternatives = cause, alternatives
        for rebalance in self._found.rebalances:
            if rebalance.contributions[0] is part:
                rebalance.cause, rebalance.alternatives = cause, alternatives

    def _ended(
        self, event: LogEvent, member_id: str, cause: Cause, alternatives: tuple[Cause, ...] = ()
    ) -> Contribution:
        """The part of a member that is gone; its own line may have come before this one."""
        told = next((part for part in self._departing if part.member_id == member_id), None)
        if told is not None:
            told.evidence.append(event.place)
            return told
        return self._went(event, member_id, cause, alternatives)

    def _or_the_coordinator(self, event: LogEvent) -> tuple[Cause, ...]:
        """After a failover every member has a fresh session: one expelled now may not have found the coordinator."""
        return ("coordinator_restart",) if self._interrupted or self._loaded_lately(event) else ()

    def _loaded_lately(self, event: LogEvent) -> bool:
        return event.at_ms - self._loaded_ms < _LOADED_LATELY_MS

    def _rejoined(self, event: LogEvent) -> tuple[list[Contribution], bool]:
        """A member joins again; and whether that completes a cooperative rebalance."""
        member_id = event.member_ids[0]
        said = causes.of_rejoin(event.said) if event.said else None
        last = self._last
        silent: tuple[Cause, ...] = ("subscription_change", "metadata_change")
        if event.reason == "leader_rejoined":
            silent = ("metadata_change", "subscription_change", "enforced")
        alternatives = silent if said is None else ()
        soon = last is not None and last.settled_ms >= 0 and event.at_ms - last.settled_ms <= self._window_ms
        if said == "follow_up" or (said is None and soon and not self._interrupted):
            if last is None:
                return [self._part(event, member_id, "unknown")], True
            first = (last.cause, last.member)
            return [Contribution("began", *first, "", event.at_ms, alternatives, [event.place])], True
        if self._interrupted:
            return [self._part(event, member_id, "coordinator_restart")], False
        if self._loaded_lately(event) and said in {None, "unknown"}:
            return [self._part(event, member_id, "coordinator_restart", alternatives)], False
        if said is None:
            return [self._part(event, member_id, silent[0], silent[1:])], False
        return [self._part(event, member_id, said)], False

    def _part(
        self, event: LogEvent, member_id: str, cause: Cause, alternatives: tuple[Cause, ...] = ()
    ) -> Contribution:
        if event.instance_id:
            self._instance_of[member_id] = event.instance_id
        member = self._names.of(member_id, self._instance_of.get(member_id, ""), event.client_id)
        return Contribution("began", cause, member, member_id, event.at_ms, alternatives, [event.place])

    # Members come and go while it is under way, or before it begins

    def _on_joining(self, event: LogEvent) -> None:
        member_id = event.member_ids[0]
        self._instances.update({event.instance_id} - {""})
        self._arriving.setdefault(member_id, []).append(event.place)
        if self._open is None:
            return
        known = next((part for part in self._open.contributions if part.member_id == member_id), None)
        if known is None:
            part = self._joined(event)
            part.role = "merged"
            part.evidence = [event.place]
            self._open.contributions.append(part)
        else:
            known.evidence.append(event.place)

    _on_member_id_given = _on_static_new = _on_joining

    def _on_static_replaced(self, event: LogEvent) -> None:
        self._instances.add(event.instance_id)
        self._note(event, f"static member {event.instance_id} came back and took its place again: no rebalance needed")

    def _note(self, event: LogEvent, what: str) -> None:
        self._found.notes.append(Note(event.at_ms, what, event.place))

    def _on_left(self, event: LogEvent) -> None:
        self._depart(event, *causes.of_leave(event.said))

    def _on_session_expired(self, event: LogEvent) -> None:
        self._depart(event, "session_timeout", self._or_the_coordinator(event))

    def _on_dropped(self, event: LogEvent) -> None:
        # Still heartbeating (else its session had ended first), and not joining within the longest rebalance timeout.
        self._depart(event, "poll_timeout")

    def _on_sync_expired(self, event: LogEvent) -> None:
        self._depart(event, "sync_timeout")

    def _depart(self, event: LogEvent, cause: Cause, alternatives: tuple[Cause, ...] = ()) -> None:
        for member_id in event.member_ids:
            named = self._already_named(member_id)
            if named is not None:  # the Scala coordinator prints the reason first and the member's line after it
                named.evidence.append(event.place)
                continue
            part = self._went(event, member_id, cause, alternatives)
            if self._open is None:
                self._departing.append(part)
            else:
                part.role = "merged"
                self._open.contributions.append(part)

    def _already_named(self, member_id: str) -> Contribution | None:
        rebalance = self._open or self._last
        parts = rebalance.contributions if rebalance is not None else []
        return next((part for part in parts if part.member_id == member_id and part.cause in _DEPARTURES), None)

    def _went(self, event: LogEvent, member_id: str, cause: Cause, alternatives: tuple[Cause, ...]) -> Contribution:
        part = self._part(event, member_id, cause, alternatives)
        last = self._last
        part.quiet_ms = part.at_ms - last.settled_ms if last is not None and last.settled_ms >= 0 else 0
        self._gone[self._client(member_id)] = part
        return part

    # It ends

    def _find_unbegun(self, event: LogEvent) -> None:
        """Add the rebalance that ends here, where the logs do not have its beginning."""
        hole = self._unbegun.get(event.place)
        if hole is not None and self._open is None:
            parts = [*self._departing] or [Contribution("began", "unknown", "", "", event.at_ms, (), [event.place])]
            self._open = self._add(event, parts, event.generation - 1, event.at_ms)
            self._open.unbegun = True
            self._departing.clear()

    def _on_formed(self, event: LogEvent) -> None:
        self._find_unbegun(event)
        rebalance = self._open
        if rebalance is None:
            return
        rebalance.lines.append(event.place)
        rebalance.generation = event.generation
        rebalance.members = event.count
        rebalance.joined_ms = event.at_ms
        for part in rebalance.contributions:
            just_gone = part.cause in _DEPARTURES and event.at_ms - part.at_ms <= _WAITED_FOR_MS
            if part.role == "merged" and just_gone and part.at_ms - rebalance.at_ms >= _NORMAL_WAIT_MS:
                part.role = "waited_for"
        self._close(rebalance, "completed")

    def _on_assigned(self, event: LogEvent) -> None:
        self._find_unbegun(event)
        if self._open is not None and event.generation > self._open.old_generation:
            self._on_formed(event)  # that line is missing
        last = self._last
        if last is not None and last.generation == event.generation and self._open is None:
            last.settled_ms = event.at_ms

    def _on_empty(self, event: LogEvent) -> None:
        self._find_unbegun(event)
        rebalance = self._open
        if rebalance is None:
            return
        rebalance.lines.append(event.place)
        rebalance.generation = event.generation
        rebalance.members = 0
        rebalance.joined_ms = rebalance.settled_ms = event.at_ms
        self._close(rebalance, "empty")

    def _close(self, rebalance: Rebalance, outcome: Outcome) -> None:
        rebalance.outcome = outcome
        self._last, self._open = rebalance, None

    def _blame_the_one_waited_for(self, rebalance: Rebalance) -> None:
        """A round that stood still for a member that polls no more has that member to blame, unless it came back."""
        part = next((part for part in rebalance.contributions if part.role == "waited_for"), None)
        if part is None:
            return
        if part.cause == "poll_timeout" and self._seen_joining.get(self._client(part.member_id), -1) < part.at_ms:
            part.cause = "abandoned_consumer"
            # The log cannot tell a consumer object that was dropped from one that is stuck in its work.
            part.alternatives = ("poll_timeout",)
            rebalance.cause, rebalance.member = part.cause, part.member
            rebalance.alternatives = tuple(dict.fromkeys((rebalance.contributions[0].cause, *part.alternatives)))
        elif "poll_timeout" in part.alternatives:
            rebalance.alternatives = tuple(dict.fromkeys((*rebalance.alternatives, "abandoned_consumer")))

    # The coordinator itself

    def _on_nobody_rejoined(self, event: LogEvent) -> None:
        if self._open is not None:
            self._open.lines.append(event.place)

    def _on_fenced(self, event: LogEvent) -> None:
        if event.instance_id in self._instances:  # the line does not name the group
            again = f"a second client runs with group.instance.id {event.instance_id}"
            self._note(event, f"{again}: the older one was fenced off")

    def _on_unloaded(self, event: LogEvent) -> None:
        self._lose_coordinator(event, "the coordinator gave the group up (shutdown, or its partition moved)")

    def _on_loaded(self, event: LogEvent) -> None:
        self._loaded, self._loaded_ms = event.count, event.at_ms
        self._note(event, f"the group was loaded by broker {event.source or '?'}")

    def _on_started(self, event: LogEvent) -> None:
        if event.source == self._host and self._host:
            self._lose_coordinator(event, f"broker {event.source}, the group's coordinator, started anew")

    def _lose_coordinator(self, event: LogEvent, what: str) -> None:
        self._note(event, what)
        unsettled = self._open is not None or (self._last is not None and self._last.settled_ms < 0)
        if self._open is not None:
            self._open.lines.append(event.place)
            self._close(self._open, "interrupted")
        self._interrupted = self._interrupted or unsettled

    # Groups of the consumer protocol (KIP-848): each epoch is one rebalance, announced after what caused it

    def _on_epoch_joined(self, event: LogEvent) -> None:
        self._departing.append(self._joined(event))

    def _on_epoch_left(self, event: LogEvent) -> None:
        # A member whose poll timeout expired leaves with the same request as one that closes.
        self._depart(event, "leave", ("poll_timeout",))

    def _on_epoch_fenced(self, event: LogEvent) -> None:
        if event.reason == "session_expired":
            self._depart(event, "session_timeout", self._or_the_coordinator(event))
        else:
            self._depart(event, "poll_timeout" if event.reason == "rebalance_timeout" else "unknown")

    def _on_epoch_subscription(self, event: LogEvent) -> None:
        self._departing.append(self._part(event, event.member_ids[0], "subscription_change"))

    def _on_epoch_bumped(self, event: LogEvent) -> None:
        changed = Contribution("began", "metadata_change", "", "", event.at_ms, ("subscription_change",), [event.place])
        parts = self._departing or [changed]
        # A newcomer's first subscription is part of its join.
        joined = {part.member_id for part in parts if part.cause in {"join", "rejoin"}}
        parts = [part for part in parts if part.cause != "subscription_change" or part.member_id not in joined]
        for part in parts[1:]:
            part.role = "merged"
        rebalance = self._add(event, parts, event.generation - 1, parts[0].at_ms)
        rebalance.generation = event.generation
        rebalance.joined_ms = rebalance.settled_ms = event.at_ms
        rebalance.consumer_protocol = True
        rebalance.outcome, self._last = "completed", rebalance
        self._departing = []


def _blame_the_coordinator(rebalance: Rebalance) -> None:
    """When every member that the new coordinator had loaded is expelled at once, none of them had found it in time."""
    expelled = [part for part in rebalance.contributions if part.cause == "session_timeout"]
    if 1 < rebalance.loaded == len(expelled):
        rebalance.alternatives = ("session_timeout",)
        rebalance.cause, rebalance.member = "coordinator_restart", ""
