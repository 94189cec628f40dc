"""The stories that a harness is tried in, each with a process and a scripted broker of its own.

The broker does what a broker does; the settings are unusual, so that on the wire it shows whether the harness passes
them on. Nothing is judged here: a story waits for what should come, goes on when it does not, and leaves its log to the
checks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from groupspec.conformance.wire import protocol
from groupspec.conformance.wire.case import PLAIN, Case
from groupspec.conformance.wire.case_broker import GROUP, CaseBroker
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.harness_process import Ending, HarnessProcess
from groupspec.conformance.wire.log import Entry, Log, Test
from groupspec.conformance.wire.scenario import SCENARIOS
from groupspec.conformance.wire.scenario_context import STARTUP_WITHIN_MS, WITHIN_MS
from groupspec.conformance.wire.stalls import WaitClock, longest_wait_us

STARTS_WITHIN_S: Final = STARTUP_WITHIN_MS / 1000
WITHIN_S: Final = WITHIN_MS / 1000
ENDS_WITHIN_S: Final = 10.0
QUIET_S: Final = 0.4
"""Long enough that a harness which goes on polling is seen polling."""
LONG_POLL_MS: Final = 60_000
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
)
EXTRA: Final = {"unknown_field": {"of": ["a", "later", "version"]}}


@dataclass
class Session:
    """One run of the harness: what the checks look at."""

    story: str
    started_us: int = 0
    features: frozenset[str] = frozenset()
    settings: protocol.Configure = SETTINGS
    ending: Ending | None = None
    ended_in_time: bool = False
    stderr: str = ""
    came: list[Entry] = field(default_factory=list)
    """The log in the order of arrival."""
    sent: dict[str, int] = field(default_factory=dict)
    """Named moments, on the log's clock."""
    still_us: int = 0
    """The longest time in a row in which the kit's broker stood still, or the harness's process waited for a processor.
    """

    def events(self, *kinds: type[protocol.Event]) -> list[Entry]:
        """The harness's events of these kinds, in the order of its lines."""
        return [entry for entry in self.came if isinstance(entry.event, kinds)]

    def commands(self) -> list[tuple[int, str]]:
        """When each command was sent, and its name."""
        return [(e.at_us, json.loads(e.text)["command"]) for e in self.came if e.kind == "command"]

    def requests(self, api: str) -> list[Entry]:
        """The client's requests of this API."""
        return [entry for entry in self.came if entry.kind == "request" and entry.api == api]

    @property
    def not_started(self) -> bool:
        """Whether the harness never said anything, neither an event nor what is none."""
        broken = self.ending is not None and self.ending.broken
        return not broken and not any(entry.event is not None for entry in self.came)

    @property
    def not_offered(self) -> bool:
        """Whether the harness ended with exit code 127."""
        return self.ending is not None and self.ending.exit_code == protocol.EXIT_UNSUPPORTED


class Player:
    """Sends a harness the commands of a session, and checks its events."""

    def __init__(self, session: Session, broker: CaseBroker, process: HarnessProcess, log: Log, extra: bool) -> None:
        self.session = session
        self.broker = broker
        self._process = process
        self._log = log
        self._extra = extra

    def say(self, command: protocol.AnyCommand) -> Entry:
        """Send it."""
        fields = json.loads(protocol.encode(command)) | (EXTRA if self._extra else {})
        now = self._log.note("note", f"{fields['command']}:")
        self._process.send_line(json.dumps(fields).encode())
        return now

    def have(self, command: protocol.AnyCommand) -> Entry:
        """Send it, and wait until it is done."""
        sent, name = self.say(command), protocol.name_of(type(command))
        self.wait(lambda e: isinstance(e.event, protocol.CommandDone) and e.event.command == name, sent)
        return sent

    def wait(self, test: Test, since: Entry | None = None, within_s: float | None = None) -> bool:
        """Whether it came in time; at once False when the harness has ended."""
        return self._log.wait(test, WITHIN_S if within_s is None else within_s, since.at_us if since else 0) is not None

    def quiet(self, moment: str) -> None:
        """A while in which nothing is asked of the harness."""
        self.mark(moment)
        self._log.wait(lambda _: False, QUIET_S)
        self.mark(f"{moment}, end")

    def mark(self, moment: str) -> Entry:
        """Name this moment."""
        note = self._log.note("note", moment)
        self.session.sent[moment] = note.at_us
        return note

    def end_input(self) -> None:
        """The kit dies, as far as the harness can see."""
        self.mark("stdin is closed")
        self._process.end_input()

    def reads(self, poll_ms: int = 60, **changed: object) -> None:
        """A member that has read all there is: what most stories begin with."""
        rebalance = self.session.settings.rebalance
        settings = msgspec.structs.replace(SETTINGS, bootstrap=self.broker.bootstrap, rebalance=rebalance, **changed)
        self.session.settings = settings
        self.have(settings)
        self.have(protocol.Subscribe(topics=["orders"]))
        begun = self.have(protocol.Poll(poll_ms=poll_ms))
        self.has_read(begun)

    def has_read(self, since: Entry) -> bool:
        """Whether records of each partition came; after one of them is missing, the others are not waited for."""
        return all(
            self.wait(lambda e, p=partition: p in _partitions(e), since)  # type: ignore[misc]  # mypy cannot type `p=`
            for partition in sorted(self.broker.partitions())
        )

    def polls_since(self, moment: Entry) -> int:
        """How many polls have returned."""
        came = self._log.as_it_came()
        return sum(isinstance(e.event, protocol.PollReturned) and e.at_us >= moment.at_us for e in came)

    def close(self) -> None:
        """The last command."""
        self.mark("close is sent")
        self.say(protocol.Close())


def _partitions(entry: Entry) -> list[str]:
    if not isinstance(entry.event, protocol.RecordsConsumed):
        return []
    return [f"{part.topic}-{part.partition}" for part in entry.event.partitions]


# The stories
# ------------------------------------------------------------------------------------------------------------


def reads_and_stops(player: Player) -> None:
    """It reads, heartbeats a few times, stops polling, polls three times, and closes."""
    player.reads()
    for _ in range(4):
        player.wait(lambda e: e.kind == "request" and e.api == "Heartbeat", player.mark("heartbeat awaited"), 2.0)
    player.have(protocol.StopPolling())
    player.quiet("stopped polling")
    begun = player.have(protocol.Poll(poll_ms=40, times=3))
    player.mark("three polls")
    if "pull" in player.session.features:
        player.wait(lambda _: player.polls_since(begun) >= 3, begun)
    player.quiet("polled three times")
    player.close()


def commits_by_itself(player: Player) -> None:
    """The other rebalance protocol if there is one, auto_commit, and every command with a field of a later version."""
    # Long polls: kafka-python 3.0.12 forgets for good a second round of JoinGroup in whose midst a poll ends (docket,
    # S3).
    player.reads(poll_ms=2_000, auto_commit=True)
    player.close()


def commits(player: Player) -> None:
    """A commit that succeeds, more records, and one that the broker refuses."""
    player.reads()
    player.have(protocol.Commit())
    player.broker.append_records()
    player.has_read(player.mark("more records"))
    player.broker.answer_next("OffsetCommit", "GROUP_AUTHORIZATION_FAILED")
    player.have(protocol.Commit())
    player.close()


def unsubscribes(player: Player) -> None:
    """It gives up its subscription."""
    player.reads()
    player.have(protocol.Unsubscribe())
    player.quiet("unsubscribed")
    player.close()


def is_refused(player: Player) -> None:
    """The broker refuses JoinGroup for good: the harness reports an error."""
    for _ in range(3):
        player.broker.answer_next("JoinGroup", "GROUP_AUTHORIZATION_FAILED")
    player.have(
        msgspec.structs.replace(
            SETTINGS, bootstrap=player.broker.bootstrap, rebalance=player.session.settings.rebalance
        )
    )
    player.have(protocol.Subscribe(topics=["orders"]))
    begun = player.have(protocol.Poll(poll_ms=60))
    player.wait(lambda e: isinstance(e.event, protocol.ErrorRaised), begun)
    player.close()


def loses_the_kit(player: Player) -> None:
    """The end of stdin, in the middle of a long poll."""
    player.reads(poll_ms=LONG_POLL_MS)
    player.end_input()


STORIES: Final[Mapping[str, Callable[[Player], None]]] = {
    "reads": reads_and_stops,
    "auto-commit": commits_by_itself,
    "commit": commits,
    "unsubscribe": unsubscribes,
    "refused": is_refused,
    "end of stdin": loses_the_kit,
}


def run_story(client: Client, name: str) -> Session:
    """One story, in a process of its own.

    Raises:
        OSError: the broker, or the harness, cannot be started at all.
    """
    log = Log()
    session = Session(name, started_us=log.note("note", name).at_us)
    with CaseBroker(log, Case(SCENARIOS["first-join"], PLAIN)) as broker:
        with HarnessProcess(client.command, log) as process, WaitClock(process.pid) as waits:
            player = Player(session, broker, process, log, extra=name == "auto-commit")
            hello = log.wait(lambda e: isinstance(e.event, protocol.StartupComplete), STARTS_WITHIN_S)
            if hello is not None and isinstance(hello.event, protocol.StartupComplete):
                session.features = frozenset(hello.event.features)
                session.settings = msgspec.structs.replace(SETTINGS, rebalance=_rebalance(session.features, name))
                STORIES[name](player)
            session.ended_in_time = _has_ended(log)
            session.ending = process.ending
        session.stderr = process.stderr_tail()
        session.came = log.as_it_came()
        # Processes that start side by side always wait for a processor, and nothing is late yet.
        said_us = session.started_us if hello is None else hello.at_us
        stalls_us = (end - start for start, end in broker.stalls_us() if start >= said_us)
        session.still_us = max([longest_wait_us(wait for wait in waits.waits_us() if wait[0] >= said_us), *stalls_us])
        if problem := broker.problem():
            raise OSError(problem)
    return session


def _rebalance(features: frozenset[str], story: str) -> str:
    both = {"eager", "cooperative"} <= features
    return "cooperative" if "eager" not in features or (both and story == "auto-commit") else "eager"


def _has_ended(log: Log) -> bool:
    """Whether the process ends in time; leaving the block above ends it in any case."""
    log.wait(lambda e: e.kind == "client_ended", ENDS_WITHIN_S)
    return log.ended is not None
