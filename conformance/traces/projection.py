"""The rebalance table as a trace sees it: projected on the visible events, to be made deterministic (`determinise`).

A trace shows less than the member knows. Requests, answers, callbacks and polls are written down; the backoffs that
end, the metadata that change, and what passes between the machines of the member are not. So the columnar checker
cannot follow *the* state of the machine; it follows the set of all states that explain what was seen. Those sets are
computed here, once:

1. A *configuration* is a state of the rebalance machine, the values of its own variables, and the requests that it has
   emitted and that the trace has not shown yet. Variables of other machines and inputs that a trace does not show may
   have any value.
2. A *symbol* is a visible event (with what its error means). It maps a configuration to the configurations after it,
   through the compiled step of the specification; what the machine tells itself (`join_needed`, ...) is handled at
   once, as `member.py` says.
3. Hidden events (backoffs, deadlines, metadata changes) may happen at any time. They change nothing that a trace shows
   but requests that are sent and callbacks that begin, so a set is closed under them just before these (`DEMANDING`).
4. The subset construction makes one state out of each set that can occur. An empty set is an illegal transition: no row
   of the table explains the event.

Whatever is not known makes a set larger, never smaller: a trace that the machine can produce is never reported. What is
judged too little here is made up for by the registers (see `tests/reference_checker.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from groupspec.conformance.traces.schema import ERRORS, EVENT_CODES, SOURCES
from groupspec.spec.compiler.guards import names, parse
from groupspec.spec.compiler.step import NO_ROW, TableStep, Values, compile_step
from groupspec.spec.compiler.table import Table
from groupspec.spec.vocabulary import EVENTS as SPEC_EVENTS
from groupspec.spec.vocabulary import RESPONSES, VARIABLES

REBALANCES: Final = ("eager", "cooperative")
JUDGED_SOURCES: Final = ("reference", "wire")

# Visible event -> request that the machine emits. Commits and heartbeats are not here: others than this machine send
# them too.
REQUEST_EVENTS: Final = {"join_sent": "JoinGroup", "sync_sent": "SyncGroup", "leave_sent": "LeaveGroup"}
ANSWER_EVENTS: Final = {
    "join_answered": "JoinGroup",
    "sync_answered": "SyncGroup",
    "heartbeat_answered": "Heartbeat",
    "commit_answered": "OffsetCommit",
}
# Visible event -> events of the machine, any of which explains it.
PLAIN_EVENTS: Final = {
    "subscribed": ("subscribed_to_topics", "subscription_changed"),
    "unsubscribed": ("leave_requested",),
    "poll": ("application_polled",),
    "coordinator_lost": ("coordinator_lost",),
    "poll_expired": ("poll_limit_reached",),
    "assigned": ("partitions_assigned",),
}
# An assignment that cannot be read is to the machine a SyncGroup that failed. One that no longer fits the subscription
# (rule J1) clients drop at once, as after REBALANCE_IN_PROGRESS; the machine's way by STABLE leads to the same
# JoinGroup.
UNUSABLE: Final = {"sync_accepted": ("sync_accepted", "sync_rebalance_in_progress", "sync_fatal")}
CALLBACK_STARTS: Final = {"revoked_started": False, "lost_started": True}
CALLBACK_ENDS: Final = {"revoked": False, "lost": True}
# What happens without a line in the trace. On the wire the kit knows every command that it gave: that the application
# leaves is written down.
_HIDDEN_INSIDE: Final = (
    "join_backoff_elapsed", "commit_backoff_elapsed", "commit_deadline_expired", "rejoin_requested", "callback_started",
)  # fmt: skip
HIDDEN: Final = {
    "reference": (*_HIDDEN_INSIDE, "leave_requested"),
    "wire": (*_HIDDEN_INSIDE, "subscribed_to_topics", "application_polled", "coordinator_found", "coordinator_lost",
             "poll_limit_reached"),
}  # fmt: skip
# What a hidden event may have brought about.
DEMANDING: Final = ("join_sent", "leave_sent", "revoked_started", "revoked", "lost_started", "lost")
MAX_PENDING: Final = 2
EITHER: Final = "either"
# What may be seen between an event and the requests that follow from it.
BETWEEN: Final = {
    "reference": ("coordinator_lost", "lookup_answered"),
    "wire": ("subscribed", "unsubscribed", "poll", "heartbeat_answered", "commit_answered", "lookup_answered",
             "assigned_started", "assigned", "revoked_started", "revoked", "lost_started", "lost"),
}  # fmt: skip
# The variables of the machine that a configuration remembers. The others may have any value at every step: what they
# would add is precision about things that a trace shows only indirectly, and they multiply the number of sets by
# thousands.
TRACKED: Final = (
    "subscribed", "polled", "identity", "owned", "will_own", "unwanted", "unwanted_later", "keeps", "lost",
    "callback_running", "follow_up", "leaving",
)  # fmt: skip

Ints = npt.NDArray[np.int64]


class Projection(NamedTuple):
    """The table of integers. A *mode* is a source and a rebalance protocol: see `mode`.

    Attributes:
        symbols: [event, error] -> symbol; -1: says nothing about the rebalance.
        next_state: [state, symbol] -> state; -1: illegal.
        start: [mode] -> the state of a member that has just been made; -1: traces of this source are not judged.
        unknown: [mode] -> the state after a gap or an illegal event: anything may follow, until `assigned`.
        names: What each state is called in a report: the machine's states that it may be in.
    """

    symbols: Ints
    next_state: Ints
    start: Ints
    unknown: Ints
    names: list[str]

    @staticmethod
    def mode(source: str, eager: bool) -> int:
        """The number of a source and protocol."""
        return SOURCES.index(source) * 2 + (0 if eager else 1)


class Configuration(NamedTuple):
    """What one explanation of a trace says of the machine."""

    state: str
    values: Values
    pending: tuple[str, ...]
    out: str = ""
    """The request whose answer is waited for: JoinGroup, SyncGroup, none, or EITHER after a leave gave one up."""
    other_topics: bool = False
    """The application has subscribed since the last assignment: without that no assignment is unfit in what it leaves.
    """


# Symbols


class Symbol(NamedTuple):
    """A visible event and, for an answer, what it means to the machine."""

    event: str
    meaning: str


def _symbol(event: str, error: str) -> Symbol | None:
    if event in ANSWER_EVENTS:
        request = ANSWER_EVENTS[event]
        return Symbol(event, RESPONSES.get((request, error)) or RESPONSES[request, "other"])
    if event == "lookup_answered":
        return Symbol(event, "coordinator_found") if error == "NONE" else None
    if event in (*REQUEST_EVENTS, *PLAIN_EVENTS, *CALLBACK_STARTS, *CALLBACK_ENDS, "assigned_started"):
        return Symbol(event, "")
    return None


def symbol_table() -> tuple[list[Symbol], Ints]:
    """All symbols, and the number of each (event, error); -1: says nothing about the rebalance."""
    found: dict[Symbol, int] = {}
    codes = np.full((len(EVENT_CODES), len(ERRORS)), -1, np.int64)
    for event, event_code in EVENT_CODES.items():
        for error_code, error in enumerate(ERRORS):
            if (symbol := _symbol(event, error)) is not None:
                codes[event_code, error_code] = found.setdefault(symbol, len(found))
    return list(found), codes


def _out_after_sending(out: str, request: str) -> str:
    if request == "LeaveGroup":
        return EITHER if out else ""
    return EITHER if out == EITHER else request


def _takes_unasked(event: str, inputs: Values) -> bool:
    """Whether the subscription takes something beside an assignment that is dropped: then it has changed."""
    told = dict(zip(SPEC_EVENTS[event].inputs, inputs, strict=True))
    return not told.get("fits_subscription", True) and bool(told["revokes_any"])


# One machine, seen through one source


class Observer:
    """Which configurations explain what, for one specialised table and one source."""

    def __init__(self, table: Table, source: str) -> None:
        self.table = table
        self.source = source
        self.step: TableStep = compile_step(table)
        self.heard = {event.name for event in table.events}
        self.places = {variable.name: place for place, variable in enumerate(self.step.variables)}
        self.tracked = [self.places[name] for name in TRACKED]
        self.lost = TRACKED.index("lost")
        self.owned = TRACKED.index("owned")
        self.running = TRACKED.index("callback_running")
        self._memory: dict[tuple[str, Values, str, bool], set[tuple[str, Values, tuple[str, ...]]]] = {}

    def start(self) -> Configuration:
        """A member that has just been made."""
        return Configuration(self.table.initial, tuple(self.step.initial[place] for place in self.tracked), ())

    def after(self, configuration: Configuration, symbol: Symbol) -> set[Configuration]:
        """The configurations after a visible event; none: it is not possible here."""
        if symbol.event in REQUEST_EVENTS:
            waiting = configuration.pending
            if not waiting or waiting[0] != REQUEST_EVENTS[symbol.event]:
                return set()
            out = _out_after_sending(configuration.out, waiting[0])
            return {configuration._replace(pending=waiting[1:], out=out)}
        if configuration.pending and symbol.event not in BETWEEN[self.source]:
            return self._before_sync(configuration, symbol)
        if symbol.event in ("assigned_started", "assigned") and configuration.state != "ASSIGNING_PARTITIONS":
            return set()
        if symbol.event == "assigned_started":
            return {configuration}
        if symbol.event in CALLBACK_STARTS:
            return self._callback_started(configuration, CALLBACK_STARTS[symbol.event])
        if symbol.event in CALLBACK_ENDS:
            return self._callback_ended(configuration, CALLBACK_ENDS[symbol.event])
        if symbol.event in ("join_answered", "sync_answered"):
            return self._answered(configuration, symbol)
        meanings = PLAIN_EVENTS.get(symbol.event, (symbol.meaning,))
        reached = {after for meaning in meanings for before in self._may_be_in_callback(configuration)
                   for after in self.react(before, meaning)}  # fmt: skip
        if self.source == "wire" and symbol.event in ANSWER_EVENTS:
            reached.add(configuration)  # sent, but not necessarily received
        if symbol.event in ("subscribed", "assigned"):
            reached = {after._replace(other_topics=symbol.event == "subscribed") for after in reached}
        if symbol.event in ("coordinator_lost", "assigned"):
            return {after._replace(out="") for after in reached}
        return reached

    def _answered(self, configuration: Configuration, symbol: Symbol) -> set[Configuration]:
        """An answer to JoinGroup or SyncGroup: the one waited for, or a late one, which is ignored.

        On the wire it has been sent; the member may do something else before it receives it.
        """
        is_late = configuration.out != ANSWER_EVENTS[symbol.event] or self.source == "wire"
        late = {configuration} if is_late else set()
        if configuration.out not in (ANSWER_EVENTS[symbol.event], EITHER):
            return late
        kept = EITHER if configuration.out == EITHER else ""
        meanings = UNUSABLE.get(symbol.meaning, (symbol.meaning,))
        return late | {after for m in meanings for after in self.react(configuration._replace(out=kept), m)}

    def _before_sync(self, configuration: Configuration, symbol: Symbol) -> set[Configuration]:
        """A leader that lacks metadata lets SyncGroup wait; if the group goes on without it, it joins again instead."""
        if configuration.pending != ("SyncGroup",) or symbol.event not in ("poll", "heartbeat_answered"):
            return set()
        if symbol.meaning == "heartbeat_rebalance_in_progress":
            return self.react(configuration._replace(pending=()), "sync_rebalance_in_progress")
        return {configuration}

    def _may_be_in_callback(self, configuration: Configuration) -> set[Configuration]:
        """The polling thread begins a callback by itself; the trace event follows when the core is notified."""
        if configuration.state != "REVOKING_PARTITION" or configuration.values[self.running]:
            return {configuration}
        return {configuration} | self.react(configuration, "callback_started")

    def _callback_started(self, configuration: Configuration, lost: bool) -> set[Configuration]:
        """The polling thread has begun a callback. The line may be late: then it runs already, and its kind is settled.

        Some clients also call the listener for nothing, before their first join for example: that moves nobody.
        """
        if self.source == "wire" and not configuration.values[self.owned]:
            return {configuration} | self._begun(configuration, lost)
        return self._begun(configuration, lost)

    def _begun(self, configuration: Configuration, lost: bool) -> set[Configuration]:
        """T-LOST-NOT-SAID judges whether it should have been `lost`: it knows if the client has that callback."""
        kinds = (lost,) if lost else (False, True)
        if configuration.state != "REVOKING_PARTITION" or configuration.values[self.lost] not in kinds:
            return set()
        return {configuration} if configuration.values[self.running] else self.react(configuration, "callback_started")

    def _callback_ended(self, configuration: Configuration, lost: bool) -> set[Configuration]:
        ended = {after for one in self._begun(configuration, lost) for after in self.react(one, "partitions_revoked")}
        if self.source == "wire" and not configuration.values[self.owned]:
            ended.add(configuration)
        return ended

    def hidden(self, configuration: Configuration) -> set[Configuration]:
        """The configurations after one hidden event."""
        if configuration.pending and self.source == "reference":
            return set()  # a request and its line are one step of the core
        return {after for event in HIDDEN[self.source] for after in self.react(configuration, event)}

    def react(self, configuration: Configuration, event: str) -> set[Configuration]:
        """The configurations after one event of the machine and the internal events that it emits."""
        done: set[Configuration] = set()
        todo: deque[tuple[Configuration, tuple[str, ...]]] = deque([(configuration, (event,))])
        while todo:
            now, (first, *rest) = todo.popleft()
            for state, values, emitted in self._rows(now, first):
                requests = tuple(word for word in emitted if word in REQUEST_EVENTS.values())
                told = tuple(word for word in emitted if word in self.heard)
                after = now._replace(state=state, values=values, pending=now.pending + requests)
                if len(after.pending) > MAX_PENDING:
                    continue
                if later := (*rest, *told):
                    todo.append((after, later))
                else:
                    done.add(after)
        return done

    def _rows(self, now: Configuration, event: str) -> set[tuple[str, Values, tuple[str, ...]]]:
        """Where the rows lead that fire for some value of what the trace does not show. Error rows lead nowhere."""
        key = (now.state, now.values, event, now.other_topics)
        if key not in self._memory:
            self._memory[key] = set(self._all_rows(now, event))
        return self._memory[key]

    def _all_rows(self, now: Configuration, event: str) -> Iterator[tuple[str, Values, tuple[str, ...]]]:
        values = list(self.step.initial)
        for place, value in zip(self.tracked, now.values, strict=True):
            values[place] = value
        free = [place for place in self._places_read(now.state, event) if place not in self.tracked]
        # Whether an answer is late is known before it comes here; but not whether a commit is this machine's own.
        known = {} if event.startswith("commit_") else {"current": (True,)}
        domains = [known.get(name, VARIABLES[name].domain) for name in SPEC_EVENTS[event].inputs]
        inputs = [i for i in product(*domains) if now.other_topics or not _takes_unasked(event, i)]
        for chosen in product(*(self.step.variables[place].domain for place in free)):
            for place, value in zip(free, chosen, strict=True):
                values[place] = value
            for given in inputs:
                row, state, new_values, emitted = self.step(now.state, tuple(values), event, given)
                if row == NO_ROW or self.table.rows[row].kind != "error":
                    yield state, tuple(new_values[place] for place in self.tracked), emitted

    def _places_read(self, state: str, event: str) -> list[int]:
        """The variables that decide which row of a cell fires, or what it leaves in a tracked variable."""
        rows = self.table.cell(state, event)
        effects = (self.table.effect_by_name[effect] for row in rows for effect in row.effects)
        texts = [*(row.guard for row in rows), *(text for effect in effects for text in effect.set.values())]
        read = {name for text in texts for name in names(parse(text, conditional=True))}
        return sorted(self.places[name] for name in read if name in self.places)
