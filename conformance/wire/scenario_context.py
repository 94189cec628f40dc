"""What a scenario works with: the client behind its harness, the one log, and the scripted broker.

A wait that ends in vain raises `Missed` with the rule that demanded the event; a client that dies ends every wait at
once. Nothing here judges order or content: the rules do that afterwards, from the log. `ClientContext` knows no broker
but its address, so that a real one may stand there (`groupspec.conformance.wire.live`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import (
    Entry,
    Test,
    has_records,
    is_done,
    is_event,
    is_harness_error,
    is_request,
    is_woken,
    raised,
    raised_by_harness,
)
from groupspec.conformance.history.exchange import names
from groupspec.conformance.wire.case import CLOSE_WITHIN_MS, REQUEST_TIMEOUT_MS, RESET, Case, reset_of
from groupspec.conformance.wire.case_broker import GROUP, CaseBroker, NoOccasion
from groupspec.conformance.wire.harness_process import HarnessProcess
from groupspec.conformance.wire.log import Log, now_us
from groupspec.impl.broker.log import WireEvent
from groupspec.impl.broker.phantom import partitions_in
from groupspec.impl.core.messages import SyncGroupResponse, TopicPartition

CLIENT_ID: Final = "under-test"
WITHIN_MS: Final = 8_000
COMMAND_WITHIN_MS: Final = 8_000
"""For what the harness does without the broker: nothing is said about the client when it takes longer."""
STARTUP_WITHIN_MS: Final = 10_000
FETCH_MAX_WAIT_MS: Final = 100
"""Short: requests on one connection are answered in order, and a client may have its heartbeats wait behind a Fetch."""
CASE_WITHIN_S: Final = 45.0


@dataclass(eq=False)
class Missed(Exception):
    """An event that a rule demands did not come."""

    rule: str
    reason: str
    since_us: int | None = None


class NotStarted(Exception):
    """The harness never came to the point where a rule applies: nothing can be said about the client."""


@dataclass(frozen=True)
class Surroundings:
    """What a client finds: where the brokers are, and what it is to do there.

    `within_ms`: how long an event is waited for that has to come; `case_within_s`: how long the whole run may take.
    """

    bootstrap: str
    topic: str
    group_id: str = GROUP
    client_id: str = CLIENT_ID
    request_timeout_ms: int = REQUEST_TIMEOUT_MS
    within_ms: int = WITHIN_MS
    case_within_s: float = CASE_WITHIN_S


class ClientContext:
    """One client in one run: what it is told, and what is waited for."""

    def __init__(self, case: Case, around: Surroundings, client: HarnessProcess, log: Log) -> None:
        self.case = case
        self.variant = case.variant
        self.around = around
        self.client = client
        self.log = log
        self.features: frozenset[str] = frozenset()
        self.not_driven: frozenset[str] = frozenset()
        self.fixed: Mapping[str, protocol.Setting] = {}
        self.identity = ("", "")
        self._deadline = time.monotonic() + around.case_within_s

    # The client -------------------------------------------------------------------------------------------------------

    def started(self) -> None:
        """Wait for the harness. Raises NotStarted."""
        hello = self.log.wait(is_event("startup_complete"), STARTUP_WITHIN_MS / 1000)
        if hello is None or not isinstance(hello.event, protocol.StartupComplete):
            raise NotStarted(self.log.ended or f"no startup_complete within {STARTUP_WITHIN_MS} ms")
        if (version := hello.event.protocol) != protocol.VERSION:
            raise NotStarted(f"the harness speaks version {version} of the protocol, not {protocol.VERSION}")
        self.features, self.not_driven = frozenset(hello.event.features), frozenset(hello.event.not_driven)
        self.fixed = hello.event.fixed
        self.identity = (hello.event.client, hello.event.full_version)

    def offers(self, feature: str) -> bool:
        """Whether the client offers it (see protocol.FEATURES)."""
        return feature in self.features

    @property
    def configuration(self) -> protocol.Configure:
        """What the client is made with."""
        return protocol.Configure(
            bootstrap=self.around.bootstrap,
            group_id=self.around.group_id,
            client_id=self.around.client_id,
            rebalance=self.case.scenario.rebalance,
            request_timeout_ms=self.around.request_timeout_ms,
            retry_backoff_ms=self.case.scenario.retry_backoff_ms,
            auto_commit=self.variant.auto_commit,
            auto_commit_interval_ms=self.variant.auto_commit_interval_ms,
            auto_offset_reset="latest" if reset_of(self.variant) == "latest" else "earliest",
            fetch_max_wait_ms=FETCH_MAX_WAIT_MS,
            callback_ms=self.variant.callback_ms,
            more={name: value for name, value in self.variant.more if name != RESET},
            in_callback=dict(self.variant.in_callback),
            **self.case.scenario.timeouts,
        )

    def subscribe(self) -> None:
        """Have the client made, and subscribed. Raises NotStarted."""
        self._command(self.configuration)
        pattern = self.variant.pattern
        self._command(protocol.Subscribe(topics=[] if pattern else [self.around.topic], pattern=pattern))

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Have the client made, with these partitions of the application's own. Raises NotStarted."""
        self._command(self.configuration)
        self._command(protocol.Assign(partitions=_plain(partitions)))

    def poll(self, poll_ms: int | None = None, times: int = 0) -> None:
        """Poll for ever, or that many times, with this timeout or the variant's."""
        self._command(protocol.Poll(poll_ms=self.variant.poll_ms if poll_ms is None else poll_ms, times=times))

    def unsubscribe(self) -> Entry:
        """Have it give up its subscription; returns at once."""
        return self._ask(protocol.Unsubscribe())

    def commit(self) -> Entry:
        """Have it commit its positions; returns at once."""
        return self._ask(protocol.Commit())

    def stop_polling(self, *, rule: str) -> Entry:
        """Have it poll no more, and wait until the poll in progress has returned."""
        return self._have(protocol.StopPolling(), rule)

    def seek(self, partition: TopicPartition, offset: int, *, rule: str) -> Entry:
        """Have it read a partition from there on, and wait until that is done. Raises NoOccasion: it refuses to."""
        return self._have(protocol.Seek(topic=partition.topic, partition=partition.partition, offset=offset), rule)

    def pause(self, partitions: Iterable[TopicPartition], *, rule: str) -> Entry:
        """Have it pause these, and wait until that is done. Raises NoOccasion: it refuses to."""
        return self._have(protocol.Pause(partitions=_plain(partitions)), rule)

    def resume(self, partitions: Iterable[TopicPartition], *, rule: str) -> Entry:
        """Have it resume these, and wait until that is done. Raises NoOccasion: it refuses to."""
        return self._have(protocol.Resume(partitions=_plain(partitions)), rule)

    def wakeup(self, *, rule: str) -> Entry:
        """Have another thread wake it, and wait until it has; returns when that was asked for."""
        asked = self._ask(protocol.Wakeup())
        self.expect_done(protocol.Wakeup(), rule=rule, since=asked)
        return asked

    def subscribe_to(self, *topics: str) -> None:
        """Subscribe anew, to these. Raises NotStarted."""
        self._command(protocol.Subscribe(topics=list(topics)))

    def send_subscribe(self, *topics: str) -> None:
        """The same, without waiting until it is done: a poll may be in progress."""
        self.client.send(protocol.Subscribe(topics=list(topics)))

    def ask_to_close(self, timeout_ms: int | None = None) -> Entry:
        """Ask for close(), or one with this time limit; returns at once."""
        return self._ask(protocol.Close(timeout_ms=timeout_ms))

    def close(self) -> None:
        """Ask that the client be closed, and wait for the end, which is not judged."""
        asked = self.ask_to_close()
        self.log.wait(is_event("shutdown_complete"), CLOSE_WITHIN_MS / 1000, asked.at_us)

    def _ask(self, command: protocol.AnyCommand) -> Entry:
        asked = self.log.note("note", f"{protocol.name_of(type(command))}() is asked for")
        self.client.send(command)
        return asked

    def _have(self, command: protocol.AnyCommand, rule: str) -> Entry:
        asked = self._ask(command)
        done = self.expect_done(command, rule=rule, since=asked)
        entries = [entry for entry in self.log.as_it_came() if entry.at_us >= asked.at_us]
        if problems := raised(entries, protocol.name_of(type(command))):
            raise NoOccasion(problems[0])
        return done

    def _command(self, command: protocol.AnyCommand) -> None:
        sent_us = now_us()
        self.client.send(command)
        name = protocol.name_of(type(command))
        if self.log.wait(is_done(command), COMMAND_WITHIN_MS / 1000, sent_us) is None:
            raise NotStarted(self.log.ended or f"the command {name} was not done within {COMMAND_WITHIN_MS} ms")
        if not isinstance(command, protocol.Poll) and (problems := raised(self.log.as_it_came(), name)):
            raise NotStarted(problems[0])

    # What must follow -------------------------------------------------------------------------------------------------

    def judged(self, *rules: str) -> str:
        """The first of these that the case judges: a step on the way has to be demanded by one of its rules."""
        return next(rule for rule in rules if rule in self.case.rules)

    def now(self) -> Entry:
        """This moment, to wait for what comes after it."""
        return self.log.note("note", "from here on")

    def milestone(self, name: str) -> Entry:
        """A named point that rules may refer to."""
        return self.log.note("milestone", name)

    def miss(self, rule: str, reason: str) -> NoReturn:
        """Say that what the rule demands did not come."""
        self._require_judged(rule)
        raise Missed(rule, self.log.ended or reason)

    def expect_request(self, api: str, *, rule: str, since: Entry | None = None) -> Entry:
        """The next request of this API."""
        return self._expect(f"request {api}", is_request(api), rule, since)

    def expect_answer(self, api: str, error: str, *, rule: str, since: Entry | None = None) -> Entry:
        """A request of this API, answered this way."""
        return self._expect(f"{api} answered {error}", _is_answer(api, error), rule, since)

    def expect_event(
        self,
        name: str,
        *,
        rule: str,
        since: Entry | None = None,
        partition: str = "",
        poll_ms: int | None = None,
        within_ms: int = 0,
    ) -> Entry:
        """An event of the harness; `partition`: one that it has to name. No callback of a client without a listener."""
        if name in protocol.CALLBACKS and not self.offers("listener"):
            return since or self.now()

        def test(entry: Entry) -> bool:
            named = not partition or partition in map(str, getattr(entry.event, "partitions", ()))
            timed = poll_ms is None or getattr(entry.event, "poll_ms", None) == poll_ms
            return is_event(name)(entry) and named and timed

        return self._expect(f"{name} {partition}".strip(), test, rule, since, within_ms)

    def expect_woken(self, *, rule: str, since: Entry) -> Entry:
        """A call that a wakeup ends."""
        return self._expect("a call that is woken", is_woken, rule, since)

    def expect_done(self, command: protocol.AnyCommand, *, rule: str, since: Entry) -> Entry:
        """The end of what the harness was asked for."""
        return self._expect(f"the end of {protocol.name_of(type(command))}", is_done(command), rule, since)

    def expect_assigned(self, *, rule: str, since: Entry) -> None:
        """The callback for partitions that are new; an empty one is not meant."""

        def assigns(entry: Entry) -> bool:
            return isinstance(entry.event, protocol.PartitionsAssigned) and bool(entry.event.partitions)

        if self.offers("listener"):
            self._expect("partitions_assigned with partitions", assigns, rule, since)

    def expect_records_of(self, partitions: Iterable[str], *, rule: str, since: Entry) -> None:
        """Records of each of these partitions."""
        for partition in sorted(partitions):
            self._expect(f"records of {partition}", has_records(partition), rule, since)

    def expect_heartbeats(self, *, rule: str, since: Entry, for_ms: int = 1_200) -> None:
        """Heartbeats answered NONE: one soon, and one so long afterwards (two bounds of H2, and a late callback)."""
        for later_ms in (0, for_ms):
            test = _is_answer("Heartbeat", "NONE", since.at_us + 1000 * later_ms)
            self._expect(f"a heartbeat answered NONE {later_ms} ms later", test, rule, since)

    def reached(self, test: Test, what: str, within_s: float, *, since: Entry) -> Entry:
        """What brings the client to the point of the scenario: no rule says when. Raises NoOccasion, NotStarted."""
        entry = self.log.wait(lambda e: test(e) or is_harness_error(e), within_s, since.at_us)
        if entry is None:
            raise NoOccasion(
                f"{what} did not come within {within_s * 1000:.0f} ms{f': {self.log.ended}' if self.log.ended else ''}"
            )
        if not test(entry):
            raise NotStarted(raised_by_harness([entry]))
        return entry

    def wait_for_request(self, api: str, *, within_ms: int, since: Entry) -> Entry | None:
        """The next request of this API, or None."""
        return self.log.wait(is_request(api), within_ms / 1000, since.at_us + 1)

    def watch_for_request(self, api: str, *, ms: int, since: Entry | None = None) -> None:
        """Give a request that must not come the time to come; the rules see it in the log."""
        start_us = (since or self.log.note("note", f"watching for {api} for {ms} ms")).at_us
        self.log.wait(is_request(api), ms / 1000, start_us + 1)

    def watch(self, ms: int, what: str, *, since: Entry) -> None:
        """Give what must not come the time to come; the rules see it in the log."""
        self.log.note("note", f"watching for {ms} ms: {what}")
        self.log.wait(lambda _: False, ms / 1000, since.at_us)

    def _require_judged(self, rule: str) -> None:
        assert rule in self.case.rules, f"{self.case.id} demands an event by {rule}, by which it is not judged"

    def _expect(self, what: str, test: Test, rule: str, since: Entry | None, within_ms: int = 0) -> Entry:
        self._require_judged(rule)
        within_s = max(0.0, min((within_ms or self.around.within_ms) / 1000, self._deadline - time.monotonic()))
        waits_from_us = now_us()
        entry = self.log.wait(lambda e: test(e) or is_harness_error(e), within_s, 0 if since is None else since.at_us)
        if entry is not None and not test(entry):
            raise NotStarted(raised_by_harness([entry]))
        if entry is None:
            why = f": {self.log.ended}" if self.log.ended else f" within {within_s * 1000:.0f} ms"
            raise Missed(rule, f"{what} did not come{why}", waits_from_us)
        return entry

    def joins(self) -> None:
        """It subscribes, polls, and is a member."""
        self.subscribe()
        self.poll()
        synced = self.expect_answer("SyncGroup", "NONE", rule="J2")
        self.expect_heartbeats(rule="H3", since=synced, for_ms=250)

    def share(self) -> frozenset[str]:
        """What the last round gave it."""
        syncs = [entry.message for entry in self.log.as_it_came() if _is_answer("SyncGroup", "NONE")(entry)]
        last = syncs[-1] if syncs else None
        return names(partitions_in(last.assignment)) if isinstance(last, SyncGroupResponse) else frozenset()


class ScenarioContext(ClientContext):
    """One run of one case against a scripted broker.

    `other`: of a case with two members, the one that is not judged.
    """

    def __init__(
        self, case: Case, broker: CaseBroker, client: HarnessProcess, log: Log, other: ClientContext | None = None
    ) -> None:
        request_ms = case.scenario.request_timeout_ms
        around = Surroundings(broker.bootstrap, case.variant.topic, request_timeout_ms=request_ms, within_ms=WITHIN_MS)
        super().__init__(case, around, client, log)
        self.broker = broker
        self._other = other

    @property
    def other(self) -> ClientContext:
        """The other member: another process of the same client."""
        assert self._other is not None, f"{self.case.id} has one member"
        return self._other

    def started(self) -> None:
        """Wait for the harnesses. Raises NotStarted."""
        super().started()
        if self._other is not None:
            self._other.started()

    def expect_share(self, partitions: frozenset[str], *, rule: str, since: Entry) -> None:
        """A round gives it exactly these."""
        self._expect(f"a share of {len(partitions)} partitions", lambda _: self.share() == partitions, rule, since)

    def expect_shares(self, *, rule: str, since: Entry) -> None:
        """Both have a part of the topic, and between them every partition once."""
        everything = self.broker.partitions()

        def is_shared(_: Entry) -> bool:
            mine, others = self.share(), self.other.share()
            return bool(mine and others) and not mine & others and mine | others == everything

        self._expect("a share of the topic for each member", is_shared, rule, since)

    def stable_member(self) -> None:
        """A client that has joined, was assigned all partitions, has read from each, and heartbeats."""
        self.subscribe()
        self.poll()
        synced = self.expect_answer("SyncGroup", "NONE", rule=self.judged("J2", "D4"))
        self.expect_assigned(rule="S3", since=synced)
        self.expect_records_of(self.broker.partitions(), rule=self.judged("O1", "S3"), since=synced)
        self.expect_heartbeats(rule=self.judged("H2", "H3"), since=synced, for_ms=250)
        self.milestone("stable")

    def expect_records(self, *, rule: str, since: Entry, partitions: frozenset[str] | None = None) -> None:
        """Records of each of these partitions, or of each that the client was assigned last."""
        self.expect_records_of(self.broker.assigned() if partitions is None else partitions, rule=rule, since=since)


def of_member(entry: Entry | WireEvent) -> bool:
    """Whether a request names a member id: not the first JoinGroup, which is answered MEMBER_ID_REQUIRED."""
    return bool(getattr(entry.message, "member_id", ""))


def _plain(partitions: Iterable[TopicPartition]) -> list[protocol.Partition]:
    return sorted(protocol.Partition(each.topic, each.partition) for each in partitions)


def _is_answer(api: str, error: str, later_than_us: int = -1) -> Test:
    return lambda e: e.kind == "response" and e.api == api and e.error == error and e.at_us > later_than_us
