"""The stories that a harness is tried in, each with a process and a scripted broker of its own.

The broker does what a broker does; the settings are unusual, so that on the wire it shows whether the harness passes
them on. Nothing is judged here: a story waits for what should come, goes on when it does not, and leaves its log to the
checks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeVar

import msgspec

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import (
    Entry,
    Test,
    every_poll_raised,
    has_records,
    is_done,
    is_event,
    is_harness_error,
    is_request,
    is_woken,
    raised_by_harness,
    unserved,
    why_it_never_began,
)
from groupspec.conformance.history.timing import longest_wait_us
from groupspec.conformance.wire.case_broker import GROUP, RECORDS, CaseBroker
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.harness_process import Ending, HarnessProcess
from groupspec.conformance.wire.log import Log
from groupspec.conformance.wire.scenario_context import STARTUP_WITHIN_MS, WITHIN_MS
from groupspec.conformance.wire.stalls import WaitClock

STARTS_WITHIN_S: Final = STARTUP_WITHIN_MS / 1000
WITHIN_S: Final = WITHIN_MS / 1000
ENDS_WITHIN_S: Final = 10.0
QUIET_S: Final = 0.4
"""Long enough that a harness which goes on polling is seen polling."""
LONG_POLL_MS: Final = 60_000
SOUGHT: Final = 4
"""Where a partition of which records 3 to 5 were read is read again."""
METADATA_AGE: Final = "metadata.max.age.ms"
METADATA_AGE_MS: Final = 300
"""As in the scenarios that need it; the defaults of clients are minutes."""
LOOKUPS: Final = 2
"""Of metadata, by the age alone, while nothing else asks for them."""
CLIENT_ID: Final = "harness-check"
SETTINGS: Final = protocol.Configure(
    bootstrap="",
    group_id=GROUP,
    client_id=CLIENT_ID,
    rebalance="eager",
    session_timeout_ms=7_300,
    heartbeat_interval_ms=170,
    max_poll_interval_ms=8_400,
    request_timeout_ms=2_000,
    retry_backoff_ms=100,
    auto_commit=False,
    auto_commit_interval_ms=60_000,
    auto_offset_reset="earliest",
    fetch_max_wait_ms=130,
    callback_ms=150,
    more={METADATA_AGE: str(METADATA_AGE_MS)},
)
NOT_SERVED: Final = "the client sent"
"""How it begins what the broker of the kit does not serve, so that nothing is learnt of the harness."""
Message = TypeVar("Message")
EXTRA: Final = {"unknown_field": {"of": ["a", "later", "version"]}}


class CannotGoOn(Exception):
    """Making the client or the harness's poll raised, no command is ever done, or there is no protocol."""


def _is_own_error_in_poll(entry: Entry) -> bool:
    event = entry.event
    return is_harness_error(entry) and isinstance(event, protocol.ErrorRaised) and event.call in ("poll", "")


def _own_error_in_poll(came: Sequence[Entry]) -> str:
    return raised_by_harness(list(filter(_is_own_error_in_poll, came)))


class Session:
    """One run of the harness: what a story does with it, and then what the checks look at.

    Attributes:
        ending: How its process ended; None if it went on.
        ended_in_time: Whether it ended without the kit's doing.
        came: The log in the order of arrival.
        sent: Named moments, on the log's clock.
        still_us: The longest time in a row in which the kit's broker stood still, or the harness's process waited for a
            processor.
    """

    def __init__(self, story: str, broker: CaseBroker, process: HarnessProcess, log: Log) -> None:
        self.story = story
        self.broker = broker
        self._process = process
        self._log = log
        self.features: frozenset[str] = frozenset()
        self.not_driven: frozenset[str] = frozenset()
        self.fixed: Mapping[str, protocol.Setting] = {}
        self.settings = msgspec.structs.replace(SETTINGS, bootstrap=broker.bootstrap)
        self.ending: Ending | None = None
        self.ended_in_time = False
        self.stderr = ""
        self.came: list[Entry] = []
        self.sent: dict[str, int] = {}
        self.still_us = 0

    # For the checks

    def events(self, *kinds: type[protocol.Event]) -> list[Entry]:
        """The harness's events of these kinds, in the order of its lines."""
        return [entry for entry in self.came if isinstance(entry.event, kinds)]

    def told(self, kind: type[Message]) -> list[Message]:
        """The same of one kind, without their times."""
        return [entry.event for entry in self.came if isinstance(entry.event, kind)]

    def commands(self) -> list[tuple[int, str]]:
        """When each command was sent, and its name."""
        return [(e.at_us, json.loads(e.text)["command"]) for e in self.came if e.kind == "command"]

    def requests(self, api: str) -> list[Entry]:
        """The client's requests of this API."""
        return list(filter(is_request(api), self.came))

    @property
    def not_started(self) -> bool:
        """Whether the harness never said startup_complete."""
        return not self.told(protocol.StartupComplete)

    @property
    def joins(self) -> bool:
        """Whether the client joins the groups that the kit's broker has: classic ones."""
        return not self.features.isdisjoint(protocol.OF_A_CLASSIC_GROUP)

    @property
    def misdeclared(self) -> list[str]:
        """What is wrong with the features and the fixed settings, a sentence for each."""
        features = protocol.misspelt_features([*self.features, *self.not_driven])
        return features + protocol.misdeclared_settings(self.features, self.fixed)

    @property
    def not_offered(self) -> bool:
        """Whether the harness ended with exit code 127."""
        return self.ending is not None and self.ending.exit_code == protocol.EXIT_UNSUPPORTED

    @property
    def did_nothing(self) -> bool:
        """Whether no command was ever said to be done."""
        return not self.told(protocol.CommandDone)

    @property
    def never_began(self) -> str:
        """What kept the client from joining or reading: what making it raised, the harness's poll, or every poll."""
        return why_it_never_began(self.came) or _own_error_in_poll(self.came) or every_poll_raised(self.came)

    @property
    def never_read(self) -> str:
        """What the broker does not serve and hung up for, where nothing was ever read; "" if that was not so."""
        requests = filter(None, map(unserved, self.came))
        return "" if self.told(protocol.RecordsConsumed) else next((f"{NOT_SERVED} {each}" for each in requests), "")

    @property
    def to_fill_in(self) -> tuple[str, ...]:
        """What of a skeleton is still to be filled in: "configure: make the client (main.go:31)"."""
        errors = (each for each in self.told(protocol.ErrorRaised) if each.error == protocol.TO_FILL_IN)
        return tuple(dict.fromkeys(f"{each.call}: {each.message} ({each.harness_line})" for each in errors))

    # For the stories

    def say(self, command: protocol.AnyCommand) -> Entry:
        """Send a command; in one story with a field of a later version."""
        fields = json.loads(protocol.encode(command)) | (EXTRA if self.story == "auto-commit" else {})
        now = self._log.note("note", f"{fields['command']}:")
        self._process.send_line(json.dumps(fields).encode())
        return now

    def have(self, command: protocol.AnyCommand) -> Entry:
        """Send it, and wait until it is done; for the first command as long as for the start. Raises CannotGoOn."""
        first = not any(map(is_event("command_done"), self._log.as_it_came()))
        sent = self.say(command)
        done = self.wait(is_done(command), sent, STARTS_WITHIN_S if first else None)
        self._require_no_error()
        if first and not done:
            raise CannotGoOn
        return sent

    def wait(self, test: Test, since: Entry, within_s: float | None = None) -> bool:
        """Whether it came in time; at once False when the harness has ended. Raises CannotGoOn."""

        def ends(entry: Entry) -> bool:
            return test(entry) or _is_own_error_in_poll(entry)

        entry = self._log.wait(ends, WITHIN_S if within_s is None else within_s, since.at_us)
        self._require_no_error()
        return entry is not None

    def _require_no_error(self) -> None:
        came = self._log.as_it_came()
        if why_it_never_began(came) or _own_error_in_poll(came):
            raise CannotGoOn

    def ask(self, command: protocol.AnyCommand, done: Test | None = None) -> None:
        """Send it, and wait until it is done, whatever came before and comes of it."""
        sent = self.say(command)
        self._log.wait(done or is_done(command), WITHIN_S, sent.at_us)

    def quiet(self, moment: str) -> None:
        """A while in which nothing is asked of the harness."""
        self.mark(moment)
        self._log.wait(lambda _: False, QUIET_S)
        self.mark(f"{moment}, end")

    def mark(self, moment: str) -> Entry:
        """Name this moment."""
        note = self._log.note("note", moment)
        self.sent[moment] = note.at_us
        return note

    def end_input(self) -> None:
        """The kit dies, as far as the harness can see."""
        self.mark("stdin is closed")
        self._process.end_input()

    def subscribes(self, poll_ms: int = 60, *, auto_commit: bool = False) -> Entry:
        """The client is made, subscribes, and polls."""
        if "auto_commit" not in self.fixed:
            self.settings = msgspec.structs.replace(self.settings, auto_commit=auto_commit)
        self.have(self.settings)
        self.have(protocol.Subscribe(topics=["orders"]))
        return self.have(protocol.Poll(poll_ms=poll_ms))

    def reads(self, poll_ms: int = 60, *, auto_commit: bool = False) -> None:
        """A member that has read all there is: what most stories begin with."""
        self.has_read(RECORDS, self.subscribes(poll_ms, auto_commit=auto_commit))

    def has_read(self, records: int, since: Entry) -> bool:
        """Whether the last of so many records came of each partition; when one is missing, the others are not awaited.

        The last: librdkafka gives one record in a poll, and a command may come between two of them.
        """
        partitions = sorted(self.broker.partitions())
        return all(self.wait(has_records(partition, records - 1), since) for partition in partitions)

    def polls_since(self, moment: Entry) -> int:
        """How many polls have returned."""
        came = self._log.as_it_came()
        return sum(isinstance(e.event, protocol.PollReturned) and e.at_us >= moment.at_us for e in came)

    def close(self) -> None:
        """The last command."""
        self.mark("close is sent")
        self.say(protocol.Close())


# The stories ----------------------------------------------------------------------------------------------------------


def reads_and_stops(session: Session) -> None:
    """It reads, heartbeats and looks metadata up a few times, stops polling, polls three times, and closes."""
    session.reads()
    session.mark("has read")
    all(session.wait(is_request("Heartbeat"), session.mark("heartbeat awaited"), 2.0) for _ in range(4))
    all(session.wait(is_request("Metadata"), session.mark("metadata awaited"), 2.0) for _ in range(LOOKUPS))
    session.have(protocol.StopPolling())
    session.quiet("stopped polling")
    begun = session.have(protocol.Poll(poll_ms=40, times=3))
    session.mark("three polls")
    if "pull" in session.features:
        session.wait(lambda _: session.polls_since(begun) >= 3, begun)
    session.quiet("polled three times")
    session.close()


def commits_by_itself(session: Session) -> None:
    """The other rebalance protocol if there is one, auto_commit, and every command with a field of a later version."""
    # Long polls: kafka-python 3.0.12 forgets for good a second round of JoinGroup in whose midst a poll ends (docket,
    # S3).
    session.reads(poll_ms=2_000, auto_commit=True)
    session.close()


def commits(session: Session) -> None:
    """A commit that succeeds, more records, and one that the broker refuses."""
    session.reads()
    session.have(protocol.Commit())
    session.broker.append_records()
    session.has_read(2 * RECORDS, session.mark("more records"))
    session.broker.answer_next("OffsetCommit", "GROUP_AUTHORIZATION_FAILED")
    session.have(protocol.Commit())
    session.close()


def unsubscribes(session: Session) -> None:
    """It gives up its subscription."""
    session.reads()
    session.have(protocol.Unsubscribe())
    session.quiet("unsubscribed")
    session.close()


def wakes_seeks_and_pauses(session: Session) -> None:
    """What of this it offers: a poll is woken, a partition read again, and all are paused while more records come."""
    session.reads()
    if "wakeup" in session.features:
        session.wait(is_woken, session.have(protocol.Wakeup()))
        session.mark("woken")
    if "seek" in session.features:
        sought = session.mark("sought")
        session.have(protocol.Seek(topic="orders", partition=0, offset=SOUGHT))
        session.wait(has_records("orders-0", RECORDS - 1), sought)
    if "pause" in session.features:
        partitions = [protocol.Partition("orders", number) for number in range(len(session.broker.partitions()))]
        session.have(protocol.Pause(partitions=partitions))
        session.mark("paused")
        session.broker.append_records()
        session.quiet("quiet")
        resumed = session.mark("resumed")
        session.have(protocol.Resume(partitions=partitions))
        session.has_read(2 * RECORDS, resumed)
    session.close()


def assigns(session: Session) -> None:
    """It reads partitions that are assigned by hand."""
    session.have(session.settings)
    partitions = [protocol.Partition("orders", number) for number in range(len(session.broker.partitions()))]
    session.have(protocol.Assign(partitions=partitions))
    session.has_read(RECORDS, session.have(protocol.Poll(poll_ms=60)))
    session.close()


def is_refused(session: Session) -> None:
    """The broker refuses JoinGroup for good: the harness reports an error."""
    session.broker.answer_next("JoinGroup", "GROUP_AUTHORIZATION_FAILED", times=3)
    begun = session.subscribes()
    session.wait(is_event("error"), begun)
    session.close()


def loses_the_kit(session: Session) -> None:
    """The end of stdin, in the middle of a long poll."""
    session.reads(poll_ms=LONG_POLL_MS)
    session.end_input()


def asks_for_everything(session: Session) -> None:
    """Each command in turn: a function of a skeleton says that it is still to be filled in."""
    session.ask(session.settings)
    session.ask(protocol.Subscribe(topics=["orders"]))
    session.ask(protocol.Poll(poll_ms=60, times=1), is_event("poll_returned") if "pull" in session.features else None)
    for command in (protocol.StopPolling(), protocol.Commit(), protocol.Unsubscribe()):
        session.ask(command)
    session.close()


Story = Callable[[Session], None]
STORIES: Final[Mapping[str, Story]] = {
    "reads": reads_and_stops,
    "auto-commit": commits_by_itself,
    "commit": commits,
    "unsubscribe": unsubscribes,
    "calls": wakes_seeks_and_pauses,
    "assign": assigns,
    "refused": is_refused,
    "end of stdin": loses_the_kit,
}
ONLY_OFFERED: Final = frozenset({"assign"})
"""Stories that are told only of who declares the feature of that name."""
OF_ITSELF: Final[Mapping[str, Story]] = {"reads": asks_for_everything, "end of stdin": Session.end_input}
"""What is told of a harness whose client cannot join: its group protocol is not played, or something that the others
begin with is still to be filled in."""


def run_story(client: Client, name: str, story: Story) -> Session:
    """One story, in a process of its own.

    Raises:
        OSError: the broker, or the harness, cannot be started at all.
    """
    log = Log()
    said_us = log.note("note", name).at_us
    with CaseBroker(log, "orders") as broker:
        with HarnessProcess(client.command, log) as process, WaitClock(process.pid) as waits:
            session = Session(name, broker, process, log)
            hello = log.wait(is_event("startup_complete"), STARTS_WITHIN_S)
            with suppress(CannotGoOn):
                if hello is not None and isinstance(hello.event, protocol.StartupComplete):
                    said_us, session.features = hello.at_us, frozenset(hello.event.features)
                    session.not_driven = frozenset(hello.event.not_driven)
                    session.fixed = hello.event.fixed
                    session.settings = _settings(session, name)
                    (story if session.joins or story in OF_ITSELF.values() else Session.close)(session)
                log.wait(lambda entry: entry.kind == "client_ended", ENDS_WITHIN_S)
            session.ended_in_time = log.ended is not None  # leaving the block ends it in any case
            session.ending = process.ending
        session.stderr = process.stderr_tail()
        session.came = log.as_it_came()
        # Processes that start side by side always wait for a processor, and nothing is late yet.
        stalls_us = (end - start for start, end in broker.stalls_us() if start >= said_us)
        session.still_us = max([longest_wait_us(wait for wait in waits.waits_us() if wait[0] >= said_us), *stalls_us])
        if problem := broker.problem():
            raise OSError(problem)
    return session


def _settings(session: Session, story: str) -> protocol.Configure:
    """What its client is made with: unusual settings, but for those that it has for good."""
    fixed = {} if session.misdeclared else session.fixed
    fields = {name: value for name, value in fixed.items() if name in protocol.Configure.__struct_fields__}
    more = session.settings.more | {name: str(value) for name, value in fixed.items() if name not in fields}
    rebalance = _rebalance(session.features, story)
    return msgspec.structs.replace(session.settings, rebalance=rebalance, more=more, **fields)


def _rebalance(features: frozenset[str], story: str) -> str:
    both = {"eager", "cooperative"} <= features
    return "cooperative" if "eager" not in features or (both and story == "auto-commit") else "eager"
