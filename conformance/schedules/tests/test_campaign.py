"""The campaign as users run it: races that were real are found, told, made short, and replayed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from groupspec.conformance import cli
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK, EXIT_USAGE
from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.schedules.answers import LEADERLESS, LEFT_OUT, NEVER, SLOW
from groupspec.conformance.schedules.campaign import search
from groupspec.conformance.schedules.scenario import ASKS_LOG, Scenario
from groupspec.conformance.schedules.tests.searching import expect_found
from groupspec.impl.consumer import Consumer
from groupspec.impl.core import protocol
from groupspec.impl.core.commits import Commits
from groupspec.impl.core.config import Config
from groupspec.impl.core.fetching import Fetching
from groupspec.impl.core.joining import Joining
from groupspec.impl.core.leading import Leading
from groupspec.impl.core.leaving import Leaving
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.messages import OffsetAndMetadata, TopicPartition
from groupspec.impl.core.metadata import Metadata
from groupspec.impl.core.offsets import Offsets, Question
from groupspec.impl.core.partition_state import Buffered
from groupspec.impl.core.positions import Positions
from groupspec.impl.core.questions import Questions, _Question
from groupspec.impl.core.validation import Validation
from groupspec.impl.records import _Opened
from groupspec.impl.threads.background import BackgroundDriver
from groupspec.impl.threads.designs import DESIGNS, Design

Captured = pytest.CaptureFixture[str]
TEST = ("test", "--driver", "background")

WITHIN = 1_500
"""Schedules, of those that can show a race."""

EASY = "BUG-37"
"""A mutant that breaks a promise in one of the first schedules."""


RARE: dict[str, tuple[Design, Callable[[Scenario], bool], str]] = {
    "BUG-79": ("background", lambda drawn: drawn.leads and drawn.another_claims == "stale", "rules K2, K3|rule K3"),
    "O3-marked-anew": (
        "background",
        # "poll for nothing" would tell it first, and of one seek nothing may come
        lambda drawn: drawn.calls.count("seek") > 3 and "poll for nothing" not in drawn.calls,
        "nothing comes of",
    ),
    "L2-asked-after-the-end": (
        "background",
        lambda drawn: "unsubscribe" in drawn.calls and drawn.is_closed_by_others,
        "every thread waits for another one|no idleness|are still there",
    ),
    "M8-committed-once": (
        "background",
        lambda drawn: (
            drawn.cooperative
            and drawn.auto_commit
            and not (drawn.timers_race or drawn.commits_fail)
            and SLOW in drawn.answers["JoinGroup"][1:]
        ),
        "is revoked at|does not own",
    ),
    "BUG-03": (
        "background",
        lambda drawn: "COORDINATOR_NOT_AVAILABLE" in drawn.answers.get("FindCoordinator", ()),
        "FindCoordinator again, 100 ms before the backoff is over",
    ),
    "BUG-22": (
        "background",
        lambda drawn: "COORDINATOR_LOAD_IN_PROGRESS" in drawn.answers["JoinGroup"],
        r"poll\(\) raises ProtocolError",
    ),
    "D3-commit-spins": (
        "background",
        lambda drawn: (
            "COORDINATOR_LOAD_IN_PROGRESS" in drawn.answers.get("OffsetCommit", ())
            and "commit" in drawn.calls
            and not (drawn.auto_commit or drawn.timers_race)
        ),
        "OffsetCommit again, 100 ms before the backoff is over",
    ),
    "O1-left-out": (
        "background",
        lambda drawn: LEFT_OUT in drawn.answers.get("OffsetFetch", ()) and not drawn.fresh,
        "is reset although an offset is committed",
    ),
    "C2-revoked-for-lost": (
        "background",
        lambda drawn: "UNKNOWN_MEMBER_ID" in drawn.answers["Heartbeat"] and not drawn.cooperative,
        "membership was lost before",
    ),
    "O4-dropped-by-error": ("background", lambda drawn: drawn.unreadable, "rule O[12]"),
    "J8-no-comparison": ("background", lambda drawn: drawn.grows_ms > 0, "to nobody"),
    "D6-silent-coordinator-kept": (
        "background",
        lambda drawn: NEVER in drawn.answers["Heartbeat"],
        "known to be gone",
    ),
    "BUG-21": ("background", lambda drawn: drawn.cooperative, "is not canonical"),
    "BUG-35": ("background", lambda drawn: "work for a while" in drawn.calls, "after the poll interval is over"),
    "BUG-63": ("background", lambda drawn: drawn.is_closed_by_others and drawn.timers_race, "after .* closed"),
    "L1-kept-id": ("background", lambda drawn: "ILLEGAL_GENERATION" in drawn.answers["Heartbeat"], "who is no member"),
    "L1-pending-id": ("background", lambda drawn: SLOW in drawn.answers["JoinGroup"], "has not taken"),
    "H2-slept-over": (
        "heartbeat",
        lambda drawn: not drawn.timers_race and SLOW in drawn.answers["Heartbeat"],
        "Heartbeat 100 ms early",
    ),
}
"""Mutant, some of which were real: in which design, which scenarios of the campaign can show it, and what is told then.

The others are left out to save time: among all that are drawn each of these is found about once in a thousand.
"""


BROKEN: dict[str, tuple[Callable[[Seam], None], Callable[[Scenario], bool], str]] = {
    "leaders that move": (
        lambda seam: seam.replace(Fetching.leader_moved, lambda _, self: self._back_off()),
        lambda drawn: drawn.answers.get("Fetch", ()).count("NOT_LEADER_OR_FOLLOWER") > 2,
        "answers that the leader is another one",
    ),
    "a refused coordinator": (
        lambda seam: seam.replace(Offsets.lookup_refused, lambda *_: None),
        lambda drawn: "SLOW GROUP_AUTHORIZATION_FAILED" in drawn.answers.get("FindCoordinator", ()),
        "refused its coordinator",
    ),
    "a commit of one partition": (
        lambda seam: seam.replace(Commits.retriable, lambda _, self, sent, __: self._finish(self._asked(sent))),
        lambda drawn: "ONE UNKNOWN_TOPIC_OR_PARTITION" in drawn.answers.get("OffsetCommit", ()) and drawn.commits_async,
        "has not arrived|is committed at .* and it is at None",
    ),
    "positions of what goes": (
        lambda seam: seam.replace(Positions.without_position, _only_while_assigned),
        lambda drawn: (
            not drawn.poll_ms
            and "position" in drawn.calls
            and "position" in drawn.callbacks
            and "other topics" not in drawn.calls  # nothing comes of what goes for these
        ),
        r"KafkaTimeoutError.* \(rule L2\)",
    ),
    "batches without a record": (
        lambda seam: seam.replace(_Opened.next, _stays_where_nothing_is),
        lambda drawn: drawn.holes and not drawn.timers_race,
        "are fetched again, and are here",
    ),
    "fetched again, in spite of a seek()": (
        lambda seam: seam.replace(Positions.buffer, _the_second_time),
        lambda drawn: drawn.seeks and not drawn.elects_ms,
        "are fetched again, and are here",
    ),
    "leaders that move, while metadata fail": (
        lambda seam: seam.replace(Fetching.leader_moved, lambda _, self: self._back_off()),
        lambda drawn: "CUT" in drawn.answers.get("Metadata", ()) and drawn.elects_ms > 0,
        "answers that the leader is another one",
    ),
    "what ends a thread in close()": (
        lambda seam: seam.replace(Consumer._note_failure, _told_to_nobody),
        lambda drawn: any(api == "LeaveGroup" for api, _ in drawn.breaks),
        "what ended a thread is kept secret",
    ),
    "JoinGroup's backoff, in spite of an unsubscribe()": (
        lambda seam: seam.replace(Joining._wait_for_backoff, lambda *_: None),
        lambda drawn: "unsubscribe" in drawn.calls and "COORDINATOR_LOAD_IN_PROGRESS" in drawn.answers["JoinGroup"],
        "JoinGroup again",
    ),
    "a leader that comes back": (
        lambda seam: seam.replace(
            Leading.lead, lambda lead, self, response: lead(self, structs.replace(response, skip_assignment=False))
        ),
        lambda drawn: drawn.returns,
        "divides what is divided",
    ),
    "a subscription with other user data": (
        lambda seam: seam.replace(Joining._metadata, _in_two_ways),
        lambda drawn: len(drawn.assignors) == 1,
        "the same subscription in two ways",
    ),
    "leaders that are being elected": (
        lambda seam: seam.replace(Metadata.topic_not_ready, _forgets),
        lambda drawn: drawn.leads and any("LEADER_NOT_AVAILABLE" in one for one in drawn.answers.get("Metadata", ())),
        "nothing has called for|the leader's division",
    ),
    "a partition without a leader": (
        lambda seam: seam.replace(Metadata._look_again, lambda *_: None),
        lambda drawn: LEADERLESS in drawn.answers.get("Metadata", ())[:1] and not drawn.leads,
        "nothing comes of",
    ),
    "a pattern that nothing matches": (
        lambda seam: seam.replace(Metadata.progress, _looks_on),
        lambda drawn: bool(drawn.pattern and drawn.topics_vanish),
        "times Metadata within",
    ),
    "two brokers": (
        lambda seam: seam.replace(Consumer._has_news, _hurries),
        lambda drawn: drawn.leaders > 1,
        "no idleness|turns in a second",
    ),
    "unsubscribe() in time": (
        lambda seam: seam.replace(Consumer.unsubscribe, _after_a_while),
        lambda drawn: "unsubscribe" in drawn.calls,
        "nothing has kept it",
    ),
    "a question without an answer": (
        lambda seam: seam.replace(Questions._ask, _waits_on),
        lambda drawn: NEVER in drawn.answers.get("ListOffsets", ()) and bool({*ASKS_LOG} & set(drawn.calls)),
        "6000 ms of 5000 ms",
    ),
}
"""What is broken -> how, which scenarios can show it, and what is told then."""


IN_A_MILLION = "positions of what goes"
"""What one scenario in a million shows: two minutes to draw them."""


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "broken", [pytest.param(one, marks=[pytest.mark.nightly] * (one == IN_A_MILLION)) for one in BROKEN]
)
def test_what_few_scenarios_can_show_is_told(broken: str) -> None:
    expect_found(*BROKEN[broken], WITHIN)


@pytest.mark.exhaustive
@pytest.mark.parametrize("rare", RARE)
def test_what_few_scenarios_can_show_is_found(rare: str) -> None:
    design, can_show, told = RARE[rare]
    expect_found(MUTANTS[rare].change, can_show, told, WITHIN, design)


def _forgets(not_ready: Callable[..., None], self: Metadata, topics: tuple[str, ...]) -> None:
    for topic in topics:
        self._leaders.pop(topic, None)
    not_ready(self, topics)


def _in_two_ways(metadata: Callable[[Joining, str], bytes], self: Joining, assignor: str) -> bytes:
    turn = vars(self)["_turn"] = vars(self).get("_turn", 0) + 1
    subscription = protocol.decode_subscription(metadata(self, assignor))
    return protocol.encode_subscription(replace(subscription, user_data=bytes([turn % 2])))


def _looks_on(progress: Callable[[Metadata], None], self: Metadata) -> None:
    self._stale |= self._wants_all and self._subscription.is_resolved() and not self._subscription.topics()
    progress(self)


def _hurries(has_news: Callable[[Consumer], bool], self: Consumer) -> bool:
    return has_news(self) or len(self._driver.core.fetching._under_way) > 1


def _waits_on(ask: Callable[..., None], self: Questions, question: _Question) -> None:
    question.deadline_ms = None
    ask(self, question)


def _after_a_while(call: Callable[..., None], consumer: Consumer, *given: object, **named: object) -> None:
    consumer._runtime.sleep_ms(9_000)
    call(consumer, *given, **named)


def _bare(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> dict[TopicPartition, OffsetAndMetadata]:
    return {tp: OffsetAndMetadata(wanted.offset, "", wanted.leader_epoch) for tp, wanted in offsets.items()}


def _left_out_by_itself(_: object, self: Positions, buffered: Buffered) -> None:
    self.seek(buffered.partition, buffered.offset + 2)


def _stays_where_nothing_is(
    following: Callable[..., tuple[list[object], int, bool]], self: _Opened, at_most: int
) -> tuple[list[object], int, bool]:
    records, end, last = following(self, at_most)
    return records, end if records else self.position, last


def _the_second_time(buffer: Callable[..., bool], self: Positions, buffered: Buffered) -> bool:
    """What is fetched of a place is dropped, once: dropped again and again it would be a spin, of which others tell."""
    place, dropped = (buffered.partition, buffered.epoch, buffered.offset), vars(self).setdefault("_dropped", set())
    is_first = place not in dropped
    dropped.add(place)
    return not is_first and buffer(self, buffered)


def _only_while_assigned(without: Callable[[Positions], dict[TopicPartition, int]], self: Positions) -> object:
    states = self.describe()
    return {tp: epoch for tp, epoch in without(self).items() if states[tp].state != "PENDING_REVOCATION"}


def _told_to_nobody(_: object, self: Consumer) -> None:
    self._driver.take_failure()


def _asks_again(demanded: Callable[[Offsets], None], self: Offsets) -> None:
    demanded(self)
    under_way = [asked for asked in self._questions if asked.epochs and asked.sent]
    self._questions += [Question(asked.partitions, epochs=asked.epochs) for asked in under_way[:1]]


def _wants_more(polled: Callable[[Metadata], None], self: Metadata) -> None:
    polled(self)
    self.want(["elsewhere"])


def _a_second_later(shut_down: Callable[..., None], self: BackgroundDriver, deadline_ms: int) -> None:
    self._runtime.sleep_ms(1_000)
    shut_down(self, deadline_ms)


def _slowly(seek: Callable[..., None], self: Consumer, *given: object) -> None:
    self._runtime.sleep_ms(1)
    seek(self, *given)


ORACLES: dict[str, tuple[Callable[[Seam], None], str]] = {
    "leave reason": (
        lambda seam: seam.replace(Leaving.send_leave_group, lambda leave, self, _: leave(self, "")),
        "reason",
    ),
    "turns": (lambda seam: seam.replace(BackgroundDriver._wait_ms, lambda _, __: 1), "turns in a second"),
    "time for JoinGroup": (
        lambda seam: seam.replace(Config.join_group_timeout_ms, lambda _, self: self.request_timeout_ms),
        "rule J5",
    ),
    "wakeup at once": (
        lambda seam: seam.replace(Consumer.wakeup, lambda _, self: self._call_guard.request_wakeup()),
        "interrupted|after a wakeup",
    ),
    "foreign claims": (
        lambda seam: seam.replace(Membership._unwanted, lambda _, __: ()),
        "not subscribed to",
    ),
    "metadata of commits": (
        lambda seam: seam.replace(
            Commits._send, lambda send, self, operation, offsets: send(self, operation, _bare(offsets))
        ),
        "has arrived",
    ),
    "logs that part": (
        lambda seam: seam.replace(Validation._is_unsure, lambda _, self, partition, position: False),
        "rule O2",
    ),
    "leader epochs of fetches": (
        lambda seam: seam.replace(Metadata.leader_epochs, lambda _, self, partitions: {}),
        "without the leader epoch",
    ),
    "what cannot be read": (
        lambda seam: seam.replace(Positions.stop_at, _left_out_by_itself),
        "goes on at",
    ),
    "fetched again": (lambda seam: seam.replace(Positions.buffer, _the_second_time), "are fetched again, and are here"),
    "positions looked up again": (
        lambda seam: seam.replace(Offsets.demanded, _asks_again),
        "looked up again",
    ),
    "unwanted topics": (lambda seam: seam.replace(Metadata.polled, _wants_more), "which nobody wants"),
    "close() in time": (lambda seam: seam.replace(BackgroundDriver.shut_down, _a_second_later), "waits for nothing"),
    "what it had": (
        lambda seam: seam.replace(
            (protocol, "encode_sticky_user_data"), lambda encode, _, generation: encode((), generation)
        ),
        "sticky, it had",
    ),
    "calls at once": (
        lambda seam: seam.replace(Consumer.seek, _slowly),
        "nothing to wait for",
    ),
    **{
        name: (MUTANTS[name].change, told)
        for name, told in {
            "J6-order": "rule J6",
            "K1-claims-nothing": "rule K1",
            "X1-heartbeat-anonymous": "rule X1",
            "P1-static-leaves": "a static member leaves",
            "O6-always-latest": "rule O6",
            "BUG-59": "rule O1",
            "H3-not-fenced-off": "rule H3",
            "H7-two-in-flight": r"early \(rule H2",
            "X2-fenced-goes-on": "after FENCED_INSTANCE_ID",
            "X2-fenced-in-silence": "poll\\(\\) says",
            "BUG-31": "no Heartbeat for",
            "BUG-64": "out of the group",
            "C4-swallowed": "a callback's error is lost",
            "L5-old-positions": "rule L5",
            "M4-raising-block": "never reached",
            "C1-told-too-late": "after LeaveGroup",
            "BUG-09": "does not join its group",
            "BUG-10": "does not join its group",
            "K2-endless": "nothing has called for",
            "BUG-01": "rule D2",
            "BUG-08": "rule D6",
            "D7-eager-discovery": "rule D7",
            "D8-manual-joins": "rule D8",
            "H5-sending-is-living": "rule H5",
            "H2-from-the-answer": "rules H2, H7",
            "BUG-33": "out for not polling",
            "O6-none-is-silent": "nothing comes of",
        }.items()
    },
}
"""What is broken -> how, and what the oracle for it says."""


SHOWN_WITHIN = 200
"""Schedules."""

SLOWLY_SHOWN = ("wakeup at once", "metadata of commits", "what cannot be read")


@pytest.mark.parametrize(
    "broken", [pytest.param(one, marks=[pytest.mark.exhaustive] * (one in SLOWLY_SHOWN)) for one in ORACLES]
)
def test_each_oracle_tells_what_it_is_there_for(broken: str) -> None:
    change, told = ORACLES[broken]
    with Seam() as seam:
        change(seam)
        failure = search(SHOWN_WITHIN, seed=1, shrink=False)
    assert failure is not None
    assert re.search(told, str(failure.outcome.error)), failure


# The command ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", DESIGNS)
def test_schedules_that_keep_every_promise_are_counted(design: Design, capsys: Captured) -> None:
    assert cli.main(["test", "--driver", design, "--schedules", "10", "--seed", "1"]) == EXIT_OK
    told = capsys.readouterr().out
    assert f"{design}: 10 schedules" in told
    assert f"replay: groupspec test --driver {design} --schedules 10 --seed 1" in told


@pytest.mark.parametrize("design", DESIGNS)
def test_a_failure_is_told_with_the_command_that_replays_it(design: Design, capsys: Captured, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    with Seam() as seam:
        MUTANTS[EASY].change(seam)
        search_it = ["test", "--driver", design, "--schedules", "100", "--seed", "1", "--json", str(file)]
        assert cli.main(search_it) == EXIT_CONFORMANCE_FAILURE
        told = capsys.readouterr().out
        commands = re.findall(r"^replay: groupspec (.*) --seed (\d+) --choices '(.*)'$", told, re.MULTILINE)
        assert len(commands) == 1
        command, seed, choices = commands[0]
        assert len(choices.split()) <= 10
        again = [*command.split(), "--seed", seed, "--choices", choices]
        assert cli.main([*again, "--json", str(tmp_path / "again.json")]) == EXIT_CONFORMANCE_FAILURE
    first, second = (json.loads(path.read_text())["failure"] for path in (file, tmp_path / "again.json"))
    assert (first["choices"], first["steps"]) == (second["choices"], second["steps"])
    assert cli.main(again) == EXIT_OK


@pytest.mark.parametrize(
    "arguments",
    [
        ["test", "--schedules", "5"],
        [*TEST, "--choices", "plain"],
        [*TEST, "--choices", "no numbers", "--seed", "1"],
    ],
)
def test_what_cannot_be_run_says_what_to_write(arguments: list[str], capsys: Captured) -> None:
    assert cli.main(arguments) == EXIT_USAGE
    assert "next:" in capsys.readouterr().err
