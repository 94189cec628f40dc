"""What a harness has to get right: one small function for each thing, over the logs of the stories.

A function yields a sentence for each thing that is wrong, with what was expected; none: the check passes. It raises
NotOffered where the client lacks what the check is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry, is_done, raised
from groupspec.conformance.wire.case_broker import GROUP
from groupspec.conformance.wire.harness_check.sessions import (
    CLIENT_ID,
    ENDS_WITHIN_S,
    LOOKUPS,
    METADATA_AGE,
    METADATA_AGE_MS,
    SETTINGS,
    SOUGHT,
    STARTS_WITHIN_S,
    Session,
)
from groupspec.impl.core.messages import FetchRequest, JoinGroupRequest

EXPECTED_OFFSETS: Final = {0: (3, 5), 1: (0, 5), 2: (3, 5), 3: (0, 5)}
"""What there is to be read of each partition of `orders`: see CaseBroker."""
BACKWARDS_US: Final = 100_000
"""Stamps are made by several threads: a line may be a little older than the one before it."""
SLACK_MS: Final = 250
"""Between a stamp and what it is about, on a machine that is busy."""
REFUSED_FOR_GOOD: Final = "GROUP_AUTHORIZATION_FAILED"
COMMANDS_OF_FEATURES: Final = ("wakeup", "seek", "pause", "resume", "assign")
"""Those that come only where a feature was declared."""
NOT_SO_FAR: Final = "the run ended before that, since a command was not carried out: see command_done, and stderr"


class NotOffered(Exception):
    """The check is about something that the client does not offer."""


class NoOccasion(Exception):
    """What the check is about never happened."""


Sessions = Mapping[str, Session]
Function = Callable[[Sessions], Iterator[str]]


@dataclass(frozen=True)
class Check:
    """One thing to get right.

    Attributes:
        id: Its name in the output.
        about: What is right.
        section: Where PROTOCOL.md says so.
        advice: What to look at when it is wrong.
        find: Yields what is wrong.
        timed: It rests on time: what it finds on a machine that stood still proves nothing.
    """

    id: str
    about: str
    section: str
    advice: str
    find: Function
    timed: bool = True


CHECKS: Final[dict[str, Check]] = {}


def check(identifier: str, section: str, advice: str, *, timed: bool = True) -> Callable[[Function], Function]:
    """Registers a function; the first line of its docstring says what is right."""

    def register(function: Function) -> Function:
        about = (function.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        CHECKS[identifier] = Check(identifier, about, section, advice, function, timed)
        return function

    return register


@check(
    "startup",
    "Events",
    "write startup_complete first, with client, version, features and protocol; what prevents it is on stderr",
)
def starts(sessions: Sessions) -> Iterator[str]:
    """The first line is a startup_complete, within 10 s."""
    for session in sessions.values():
        lines = [entry for entry in session.came if entry.event is not None]
        if not lines:
            how = session.ending.describe() if session.ending else f"nothing came within {STARTS_WITHIN_S:.0f} s"
            yield f"no startup_complete: {how}" + _stderr(session)
            return
        hello = lines[0].event
        if not isinstance(hello, protocol.StartupComplete):
            yield f"the first line is {lines[0].kind}, not startup_complete"
            return
        if hello.protocol != protocol.VERSION:
            yield f"it speaks version {hello.protocol} of the protocol; the kit speaks {protocol.VERSION}"
            return


@check(
    "commands",
    "Commands",
    "mend what the traceback at the end of stderr shows: an error of the harness, or of how it calls the client; "
    "fill in what is still to be filled in",
    timed=False,
)
def commands_raise_nothing(sessions: Sessions) -> Iterator[str]:
    """configure, subscribe, unsubscribe, stop_polling and poll raise nothing."""
    for session in sessions.values():
        if session.story != "refused":
            where = f" (in the story {session.story!r}, {session.settings.rebalance})"
            for reason in filter(None, (session.never_began, *raised(session.came, "unsubscribe", "stop_polling"))):
                yield reason if session.story == "reads" else reason + where


@check(
    "features",
    "Features",
    "spell features and fixed settings as PROTOCOL.md does; a client has eager, cooperative or consumer_protocol",
    timed=False,
)
def features_are_known(sessions: Sessions) -> Iterator[str]:
    """Features and fixed settings are the protocol's, each feature is driven or not, one is a group protocol."""
    features, not_driven = sessions["reads"].features, sessions["reads"].not_driven
    yield from sessions["reads"].misdeclared
    yield from (f"{name} is among the features, and among those that are not driven" for name in features & not_driven)
    if features.isdisjoint(protocol.OF_A_CLASSIC_GROUP) and not protocol.joins_no_classic_group(features):
        yield "neither eager nor cooperative is offered: no scenario could be run"


@check(
    "stdout", "Ends", "send everything that is no event to stderr, also what the client's libraries print", timed=False
)
def stdout_is_clean(sessions: Sessions) -> Iterator[str]:
    """Nothing but events is on stdout."""
    for session in sessions.values():
        if session.ending is not None and session.ending.broken:
            yield f"{session.ending.broken} (in the story {session.story!r})"
            return


@check("command_done", "Commands", "answer each command but close with one command_done, also when it raised")
def commands_are_answered(sessions: Sessions) -> Iterator[str]:
    """Each command but close is answered by one command_done of its name, in order."""
    for session in sessions.values():
        sent = [name for _, name in session.commands() if name != "close"]
        answers = [done.command for done in session.told(protocol.CommandDone)]
        if session.not_offered and not session.did_nothing:
            refused = [name for name in sent if name in COMMANDS_OF_FEATURES and name not in answers]
            yield from (f"exit code 127 at {name}, whose feature is declared{_stderr(session)}" for name in refused[:1])
            continue
        if session.did_nothing and sent:
            how = session.ending.describe() if session.ending else f"nothing came within {ENDS_WITHIN_S:.0f} s"
            yield f"no command_done for {sent[0]}, the first command: {how}{_stderr(session)}"
        elif answers != sent:
            yield f"in the story {session.story!r} the commands were {sent}, and command_done came for {answers}"


@check("clock", "Events", "stamp with CLOCK_MONOTONIC, in microseconds, when the thing happens")
def the_clock_is_the_kits(sessions: Sessions) -> Iterator[str]:
    """at_us is on the system's monotonic clock, in microseconds."""
    for session in sessions.values():
        last_us = 0
        asked: dict[str, int] = {}
        for at_us, name in session.commands():
            asked.setdefault(name, at_us)
        for entry in session.came:
            stamp = entry.event.at_us if entry.event is not None else None
            if stamp is None:
                continue
            if stamp != entry.at_us:
                when = "before the process started, or in the future"
                yield f"{entry.kind} says {stamp}, and came at {entry.at_us}: {when}"
                return
            if stamp < last_us - BACKWARDS_US:
                yield f"{entry.kind} says {stamp}, the line before it {last_us}: the clock runs backwards"
                return
            last_us = max(last_us, stamp)
        for done in session.told(protocol.CommandDone):
            if done.at_us is not None and done.at_us < asked.get(done.command, 0):
                yield f"command_done says {done.at_us}, before the command was sent at {asked[done.command]}"
                return


@check("settings", "Settings", "pass every setting of configure on to the client, also those that have a default")
def settings_are_passed_on(sessions: Sessions) -> Iterator[str]:
    """What configure says shows on the wire."""
    if not any(session.requests("JoinGroup") for session in sessions.values()):
        yield "no JoinGroup was ever sent"
        return
    for session in sessions.values():
        yield from _join_settings(session)
    sent = (e for session in sessions.values() for e in session.came if e.kind == "request")
    other = next((e for e in sent if e.client_id != CLIENT_ID), None)
    if other is not None:
        yield f"client_id is {CLIENT_ID!r}, and {other.api} carries {other.client_id!r}"
    fetches = (e.message for session in sessions.values() for e in session.requests("Fetch"))
    waits = {fetch.max_wait_ms for fetch in fetches if isinstance(fetch, FetchRequest)}
    # A client may ask for less, as krafka does when the poll has less time left.
    asked_ms = sessions["reads"].settings.fetch_max_wait_ms
    if waits and (asked_ms not in waits or max(waits) > asked_ms):
        yield f"fetch_max_wait_ms is {asked_ms}, and Fetch asks for {sorted(waits)}"
    first = sessions["reads"]
    yield from of_heartbeats([e.at_us for e in first.requests("Heartbeat")], first.settings.heartbeat_interval_ms)
    yield from _metadata_age(sessions["reads"])


def _join_settings(session: Session) -> Iterator[str]:
    for join in [e.message for e in session.requests("JoinGroup")][:1]:
        assert isinstance(join, JoinGroupRequest)
        expected: list[tuple[str, object, str, object]] = [
            ("group_id", GROUP, "", join.group_id),
            ("session_timeout_ms", session.settings.session_timeout_ms, "", join.session_timeout_ms),
        ]
        if "poll_interval" in session.features:
            asked, what = session.settings.max_poll_interval_ms, "a rebalance timeout of "
            expected.append(("max_poll_interval_ms", asked, what, join.rebalance_timeout_ms))
        for setting, value, what, carried in expected:
            if carried != value:
                yield f"{setting} is {value!r}, and JoinGroup carries {what}{carried!r}"
        names = [name for name, _ in join.protocols]
        cooperative = session.settings.rebalance == "cooperative"
        if cooperative != ("cooperative-sticky" in names):
            yield f"rebalance is {session.settings.rebalance}, and JoinGroup offers {names} (see Assignors)"


def of_heartbeats(beats_us: Sequence[int], interval_ms: int) -> Iterator[str]:
    """Whether heartbeats came about every interval; a busy machine makes gaps longer only, and not that long.

    One gap is enough to see a longer interval: the default of most clients is 3 s.
    """
    gaps = sorted((later - earlier) / 1000 for earlier, later in pairwise(beats_us))
    if not gaps:
        yield f"heartbeat_interval_ms is {interval_ms}, and fewer than two heartbeats came"
        return
    median, at_least = gaps[len(gaps) // 2], interval_ms / 2 if len(gaps) >= 2 else 0
    if not at_least <= median <= interval_ms + 3 * SLACK_MS:
        yield f"heartbeat_interval_ms is {interval_ms}, and heartbeats came every {median:.0f} ms"


def _metadata_age(session: Session) -> Iterator[str]:
    """A member that reads, and of which nothing is wanted, looks metadata up again because they are old alone."""
    if "stopped polling" not in session.sent or METADATA_AGE in session.fixed:
        return  # another check says why; or the client has an age of its own
    start, end = session.sent["has read"], session.sent["stopped polling"]
    lookups = sum(start < e.at_us < end for e in session.requests("Metadata"))
    if lookups < LOOKUPS:
        times = f"Metadata was asked for {lookups} times in the {(end - start) / 1000:.0f} ms in which it polled"
        yield f"{METADATA_AGE} is {METADATA_AGE_MS}, and {times}"


@check("unknown fields", "Commands", "ignore fields that you do not know: a later kit may send more")
def unknown_fields_are_ignored(sessions: Sessions) -> Iterator[str]:
    """A field of a later version in a command changes nothing."""
    session = sessions["auto-commit"]
    without = {(each.error, each.call) for each in sessions["reads"].told(protocol.ErrorRaised)}
    errors = (each for each in session.told(protocol.ErrorRaised) if (each.error, each.call) not in without)
    if (error := next(errors, None)) is not None:
        yield f"commands with an unknown field lead to: {error.said}, in {error.call!r}"
    elif not session.requests("JoinGroup"):
        yield "after commands with an unknown field nothing joins" + _stderr(session)


@check("polls", "Events", "say poll_started before and poll_returned after each poll, with what it took and returned")
def polls_are_told(sessions: Sessions) -> Iterator[str]:
    """poll_started and poll_returned alternate, with the timeout asked for and the time it took."""
    _needs(sessions, "pull")
    for session in sessions.values():
        for earlier, later in pairwise(session.events(protocol.PollStarted, protocol.PollReturned)):
            if earlier.kind == later.kind:
                yield f"{earlier.kind} comes twice in a row in the story {session.story!r}"
                return
            took_ms = (later.at_us - earlier.at_us) / 1000
            said = later.event.elapsed_ms if isinstance(later.event, protocol.PollReturned) else took_ms
            if not took_ms - SLACK_MS <= said <= took_ms + 5:
                yield f"elapsed_ms is {said}, and {took_ms:.0f} ms lie between poll_started and poll_returned"
    asked = {60, 40}
    told = {started.poll_ms for started in sessions["reads"].told(protocol.PollStarted)}
    if told and told != asked:
        yield f"poll_ms was {sorted(asked)}, and poll_started says {sorted(told)}"
    if not told:
        yield "no poll_started came (a client without polls does not declare the feature pull)"


@check("times", "Commands", "count the polls of a poll with times")
def times_is_kept(sessions: Sessions) -> Iterator[str]:
    """A poll with times 3 polls three times."""
    _needs(sessions, "pull")
    session = sessions["reads"]
    if "polled three times, end" not in session.sent:
        yield NOT_SO_FAR
        return
    since = session.sent["stopped polling, end"]
    polls = [e for e in session.events(protocol.PollStarted) if e.at_us > since]
    if len(polls) != 3:
        yield f"times was 3, and {len(polls)} polls were started"


@check("stop_polling", "Commands", "answer stop_polling when the poll in progress has returned, and poll no more")
def stop_polling_stops(sessions: Sessions) -> Iterator[str]:
    """After stop_polling is done nothing is polled."""
    _needs(sessions, "pull")
    session = sessions["reads"]
    if session.not_offered:
        raise NotOffered("the harness ends with exit code 127 at a command of this story")
    if "stopped polling" not in session.sent:
        yield NOT_SO_FAR
        return
    start, end = session.sent["stopped polling"], session.sent["stopped polling, end"]
    told = session.events(protocol.PollStarted, protocol.PollReturned)
    polls = [e for e in told if e.kind == "poll_started" and start < e.at_us < end]
    if polls:
        yield f"{len(polls)} polls were started in the {(end - start) / 1000:.0f} ms after stop_polling was done"
    if [e.kind for e in told if e.at_us <= start][-1:] == ["poll_started"]:
        yield "stop_polling was done before the poll in progress had returned"
    elif not told:
        raise NoOccasion("no poll was ever started")


@check("records", "Events", "say each record once, with the first and last offset and the number of each partition")
def records_are_told(sessions: Sessions) -> Iterator[str]:
    """records_consumed names what was there to be read, each offset once, and poll_returned counts the same."""
    session = sessions["reads"]
    seen: dict[int, list[int]] = {}
    pending = 0
    for entry in session.events(protocol.RecordsConsumed, protocol.PollReturned):
        if isinstance(entry.event, protocol.RecordsConsumed):
            pending += entry.event.count
            if entry.event.count != sum(part.count for part in entry.event.partitions):
                yield f"count is not the sum of its partitions' in {entry.text[:200]}"
            for part in entry.event.partitions:
                seen.setdefault(part.partition, []).extend(range(part.min_offset, part.max_offset + 1))
        elif isinstance(entry.event, protocol.PollReturned):
            if entry.event.count != pending:
                yield f"poll_returned counts {entry.event.count} records, records_consumed {pending}"
            pending = 0
    for partition, (first, last) in EXPECTED_OFFSETS.items():
        expected, told = list(range(first, last + 1)), seen.get(partition, [])
        if told != expected:
            yield f"orders-{partition}: offsets {expected} were there to be read, told were {told}"


@check("callbacks", "Callbacks", "put a lock around the listener: callback, wait, callback_returned, then the next")
def callbacks_are_serialised(sessions: Sessions) -> Iterator[str]:
    """Each callback is followed by its callback_returned, one callback at a time."""
    _needs(sessions, "listener")
    for session in sessions.values():
        running: str | None = None
        for entry in session.events(protocol.CallbackStarted, protocol.CallbackReturned):
            if isinstance(entry.event, protocol.CallbackReturned):
                if entry.event.callback != running:
                    yield f"{entry.event.callback} returned, and {running or 'no callback'} was running"
                    return
                running = None
            elif running is not None:
                yield f"{entry.kind} begins while {running} has not returned"
                return
            else:
                running = entry.kind
    assigned = sessions["reads"].told(protocol.PartitionsAssigned)
    if all(len(each.partitions) != len(EXPECTED_OFFSETS) for each in assigned):
        yield "no partitions_assigned names the four partitions of orders that were assigned"


@check("callback_ms", "Callbacks", "wait callback_ms in each callback, before callback_returned")
def callbacks_take_their_time(sessions: Sessions) -> Iterator[str]:
    """Each callback takes callback_ms."""
    _needs(sessions, "listener")
    if not any(session.told(protocol.CallbackReturned) for session in sessions.values()):
        raise NoOccasion("no callback ever returned")
    for session in sessions.values():
        for begun, ended in pairwise(session.events(protocol.CallbackStarted, protocol.CallbackReturned)):
            took_ms = (ended.at_us - begun.at_us) / 1000
            if isinstance(ended.event, protocol.CallbackReturned) and took_ms < SETTINGS.callback_ms - 5:
                yield f"{begun.kind} took {took_ms:.0f} ms, callback_ms is {SETTINGS.callback_ms}"
                return


@check("auto_commit", "Settings", "pass auto_commit on; where a listener replaces the client's commit, commit in it")
def positions_are_committed_as_configured(sessions: Sessions) -> Iterator[str]:
    """auto_commit true commits at close; false, if there is that, commits nothing that was not asked for."""
    _needs(sessions, "auto_commit")
    for name in ("reads", "unsubscribe") if "auto_commit" not in sessions["reads"].fixed else ():
        if sessions[name].requests("OffsetCommit"):
            yield f"auto_commit was false, and OffsetCommit was sent in the story {name!r}"
    session = sessions["auto-commit"]
    if not session.told(protocol.RecordsConsumed):
        yield "auto_commit was true, and no record came that could be committed" + _stderr(session)
    elif "close is sent" in session.sent and not session.requests("OffsetCommit"):
        yield "auto_commit was true, and nothing was committed until close() had returned"


@check("commit", "Commands", "commit, wait for it, say offsets_committed, then command_done")
def commit_is_carried_out(sessions: Sessions) -> Iterator[str]:
    """The command commit commits the positions and says which."""
    session = _offered(sessions, "commit")
    outcomes = session.told(protocol.OffsetsCommitted)
    if errors := raised(session.came, "commit"):
        yield errors[0]
        return
    if not outcomes:
        yield "no offsets_committed after commit" + _stderr(session)
        return
    told = {(each.partition, each.offset) for each in outcomes[0].offsets}
    expected = {(partition, last + 1) for partition, (_, last) in EXPECTED_OFFSETS.items()}
    if not outcomes[0].success:
        yield f"the commit failed: {outcomes[0].error}"
    elif told != expected:
        yield f"the positions were {sorted(expected)} (partition, offset), committed were {sorted(told)}"
    elif not session.requests("OffsetCommit"):
        yield "offsets_committed says success, and no OffsetCommit was sent"


@check("failed commit", "Commands", "say offsets_committed with success false and the error, then command_done")
def a_failed_commit_is_told(sessions: Sessions) -> Iterator[str]:
    """A commit that the broker refuses is told as such."""
    session = _offered(sessions, "commit")
    outcomes = session.told(protocol.OffsetsCommitted)
    if raised(session.came, "commit") or not (outcomes and outcomes[0].success):
        raise NoOccasion("the commit before it, which the broker accepts, did not succeed (see commit)")
    second = outcomes[1:2]
    if not second:
        yield "no offsets_committed for the second commit, which the broker refused"
    elif second[0].success and "auto_commit" in session.fixed:
        raise NoOccasion("a commit that the client made by itself may have been the one that was refused")
    elif second[0].success:
        yield "the broker answered GROUP_AUTHORIZATION_FAILED, and offsets_committed says success"
    elif not second[0].error:
        yield "offsets_committed says that the commit failed, and not why"


@check("unsubscribe", "Commands", "unsubscribe, wait until the listener has been called, then command_done")
def unsubscribe_gives_up(sessions: Sessions) -> Iterator[str]:
    """Unsubscribe is done when the listener has returned, and nothing of the topic is read after it."""
    session = _offered(sessions, "unsubscribe")
    done_us = next((e.at_us for e in session.came if is_done(protocol.Unsubscribe())(e)), None)
    if done_us is None or "unsubscribed" not in session.sent:
        yield NOT_SO_FAR + _stderr(session)
        return
    read = session.events(protocol.RecordsConsumed)
    late = [e for e in read if e.at_us > session.sent["unsubscribed"]]
    if not read:
        raise NoOccasion("nothing had been read before unsubscribe")
    if late:
        yield f"records came after unsubscribe was done: {late[0].text[:200]}"
    for begun, ended in pairwise(session.events(protocol.CallbackStarted, protocol.CallbackReturned)):
        takes = isinstance(begun.event, protocol.PartitionsRevoked | protocol.PartitionsLost) and begun.event.partitions
        if takes and done_us < ended.at_us < session.sent["close is sent"]:
            yield f"{begun.kind} returned after unsubscribe was done"


@check("wakeup", "Commands", "carry wakeup out on the thread that reads commands; say error with woken true")
def wakeup_ends_a_call(sessions: Sessions) -> Iterator[str]:
    """A wakeup ends one call, whose error says woken."""
    session = _called(sessions, "wakeup", "woken")
    woken = [each for each in session.told(protocol.ErrorRaised) if each.woken]
    if len(woken) != 1:
        yield f"one wakeup was asked for, and {len(woken)} calls were woken"


@check("seek", "Commands", "set the client's position between two polls, then say command_done")
def seek_is_carried_out(sessions: Sessions) -> Iterator[str]:
    """After seek the partition is read from that offset on."""
    session = _called(sessions, "seek", "sought")
    since, until = session.sent["sought"], session.sent.get("paused", session.sent["close is sent"])
    read = [part.min_offset for part in _read(session, since, until) if part.partition == 0]
    if read[:1] != [SOUGHT]:
        yield f"after seek to {SOUGHT} of orders-0 its records came from {read[0] if read else 'nowhere'} on"


@check("assign", "Commands", "read the partitions that are assigned, without a subscription")
def assign_is_carried_out(sessions: Sessions) -> Iterator[str]:
    """What is assigned by hand is read, and no group is joined for it."""
    _needs(sessions, "assign")
    session = sessions["assign"]
    if session.not_offered or "close is sent" not in session.sent:
        raise NoOccasion(NOT_SO_FAR + _stderr(session))
    read = {part.partition for part in _read(session, 0, session.sent["close is sent"])}
    if missing := sorted({*EXPECTED_OFFSETS} - read):
        yield f"orders-{missing[0]} was assigned, and no record of it came"
    if session.requests("JoinGroup"):
        yield "JoinGroup was sent though partitions were assigned by hand"


@check("pause", "Commands", "pause and resume the partitions, and go on polling meanwhile")
def pause_is_carried_out(sessions: Sessions) -> Iterator[str]:
    """Paused partitions bring no records until they are resumed, and then do."""
    session = _called(sessions, "pause", "resumed")
    paused_us, resumed_us = session.sent["paused"], session.sent["resumed"]
    if read := _read(session, paused_us, resumed_us):
        yield f"orders-{read[0].partition} was paused, and records came from {read[0].min_offset} on"
    elif not _read(session, resumed_us, session.sent["close is sent"]):
        yield "records were appended, all partitions resumed, and no record came"


def _called(sessions: Sessions, feature: str, moment: str) -> Session:
    """The session in which the application does this."""
    _needs(sessions, feature)
    session = sessions["calls"]
    if session.not_offered or not {moment, "close is sent"} <= session.sent.keys():
        raise NoOccasion(NOT_SO_FAR + _stderr(session))
    return session


def _read(session: Session, since_us: int, until_us: int) -> list[protocol.ConsumedRange]:
    read = (e for e in session.events(protocol.RecordsConsumed) if since_us < e.at_us < until_us)
    return [part for e in read if isinstance(e.event, protocol.RecordsConsumed) for part in e.event.partitions]


@check("errors", "Events", "say error for what a call raises, and for what the client reports")
def errors_are_told(sessions: Sessions) -> Iterator[str]:
    """What the client tells the application is told to the kit: here JoinGroup is refused for good."""
    joins = sessions["refused"].requests("JoinGroup")
    if not joins:
        raise NoOccasion("no JoinGroup was sent that could be refused")
    if all(error.at_us < joins[0].at_us for error in sessions["refused"].events(protocol.ErrorRaised)):
        yield "JoinGroup was answered GROUP_AUTHORIZATION_FAILED, and no error came"


@check("close", "Ends", "say shutdown_requested, close the client, say shutdown_complete, end with exit code 0")
def close_ends_the_process(sessions: Sessions) -> Iterator[str]:
    """close: shutdown_requested, shutdown_complete, nothing more, exit code 0, within 10 s."""
    for session in sessions.values():
        if "close is sent" not in session.sent or session.not_offered:
            continue
        where = f"in the story {session.story!r}"
        names = [e.kind for e in session.came if e.event is not None and not isinstance(e.event, protocol.PollReturned)]
        yield from (f"{reason} ({where})" for reason in raised_by_close(session.came))
        if "shutdown_requested" not in names:
            yield f"no shutdown_requested {where}"
        elif names[-1] != "shutdown_complete":
            yield f"the last event {where} is {names[-1]}, not shutdown_complete"
        if not session.ended_in_time:
            yield f"the process was there {ENDS_WITHIN_S:.0f} s after close {where}"
        elif session.ending is not None and session.ending.exit_code != 0 and not session.ending.broken:
            yield f"the exit code after close is {session.ending.exit_code} {where}, not 0"


def raised_by_close(came: Sequence[Entry]) -> list[str]:
    """What close raised, but for a refusal of JoinGroup that no poll has told: some clients' next call tells it.

    So the reference's close() does, where polls go on and a second JoinGroup is refused before close is read. Java's
    does not: what became of a JoinGroup is known to joinGroupIfNeeded alone, which only poll() calls; close() tells of
    what it does itself (ClassicKafkaConsumer.close, ConsumerCoordinator.close).
    """
    untold, names, others = 0, set[str](), list[Entry]()
    for entry in came:
        if entry.kind == "response" and entry.api == "JoinGroup" and entry.error == REFUSED_FOR_GOOD:
            untold += 1
        elif isinstance(entry.event, protocol.ErrorRaised):
            if entry.event.call != "close":
                names.add(entry.event.error)
            elif untold <= 0 or entry.event.error not in names:
                others.append(entry)
            untold -= 1
    return raised(others, "close")


@check("end of stdin", "Ends", "end the process some seconds after stdin has ended, whatever the client is doing")
def the_end_of_stdin_ends_it(sessions: Sessions) -> Iterator[str]:
    """When stdin ends, in the middle of a long poll, the process ends within 10 s."""
    session = sessions["end of stdin"]
    if "stdin is closed" not in session.sent:
        yield NOT_SO_FAR + _stderr(session)
    elif not session.ended_in_time:
        late = f"the process was there {ENDS_WITHIN_S:.0f} s after stdin had ended"
        yield f"{late}: it would outlive a kit that is killed"


def _needs(sessions: Sessions, feature: str) -> None:
    if feature not in sessions["reads"].features:
        raise NotOffered(protocol.wanting([feature], sessions["reads"].not_driven))


def _offered(sessions: Sessions, story: str) -> Session:
    if sessions[story].not_offered:
        raise NotOffered(f"the harness ends with exit code 127 at {story}: scenarios that need it are UNSUPPORTED")
    return sessions[story]


def _stderr(session: Session) -> str:
    last = session.stderr.strip().splitlines()[-1:]
    return f"; its stderr ends: {last[0][:200]}" if last else ""
