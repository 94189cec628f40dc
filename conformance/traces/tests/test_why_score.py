"""How often `trace why` is right, on recorded logs whose truth is known from outside the logs.

The truth is what the harness did (`actions` with a cause) and what members printed (`events`): neither was read from
the broker's log. From it follows what the group should have gone through: (cause, member, not before, not after). A
rebalance in the log that follows one of these is right when cause and member are right; a follow-up round must carry
those of the last one before it. `unknown` is always wrong. The other way round, nothing that the harness caused may
be missing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from groupspec.conformance.commands.trace.why import command as why
from groupspec.conformance.traces.dialects import Clock
from groupspec.conformance.traces.findings import Rebalance
from groupspec.conformance.traces.why import Question, explain_logs

CAPTURES = Path(__file__).parent.parent / "captures"
NAMES = sorted(folder.name for folder in CAPTURES.iterdir() if folder.is_dir())
REQUIRED = 0.9

# A client's process needs some seconds to start on a busy machine; timeouts end with the broker's or client's next
# check.
START_MS, SLACK_MS = 9_000, 2_500


@dataclass
class Expected:
    """What an action should have led to; `names` are all names under which the log may know the member."""

    causes: frozenset[str]
    names: frozenset[str]
    not_before_ms: int
    not_after_ms: int
    must_be_seen: bool = True
    matched: bool = False

    def explains(self, cause: str, member: str, at_ms: int) -> bool:
        return cause in self.causes and member in self.names and self.follows(at_ms)

    def follows(self, at_ms: int) -> bool:
        return self.not_before_ms <= at_ms <= self.not_after_ms


@dataclass
class Truth:
    """What the harness knows of one capture."""

    members: dict[str, dict[str, dict[str, object]]]
    actions: list[dict[str, object]]
    events: list[dict[str, object]]

    def setting(self, member: str, name: str, default: int) -> int:
        return int(str(self.members[member]["config"].get(name, default)))

    def names(self, member: str) -> frozenset[str]:
        """A static member is known to the coordinator by its group.instance.id only."""
        instance = self.members[member]["config"].get("group.instance.id")
        return frozenset({member, str(instance)} if instance else {member})


def read_truth(name: str) -> Truth:
    raw = json.loads((CAPTURES / name / "ground-truth.json").read_text())
    return Truth(raw["members"], raw["actions"], raw["events"])


def expectations(truth: Truth) -> list[Expected]:
    """What the harness's actions should have led to, in the order of time."""
    expected: list[Expected] = []
    for action in truth.actions:
        cause, member = str(action.get("cause", "")), str(action["actor"])
        at_ms = int(str(action["ts"]))
        if not cause or cause.startswith(("none", "(")):
            continue
        names = truth.names(member)
        if action["action"] == "abandon":
            # A second object of the same client joins (the log calls it m1-2), and the group waits for the first one.
            wait_ms = truth.setting(member, "max.poll.interval.ms", 300_000)
            names |= {f"{member}-2"}
            expected.append(Expected(frozenset({"abandoned_consumer"}), names, at_ms, at_ms + wait_ms))
        elif cause.startswith("member-joined"):
            expected.append(Expected(frozenset({"join"}), names, at_ms, at_ms + START_MS))
        elif cause.startswith("member-rejoined"):
            expected.append(Expected(frozenset({"rejoin"}), names, at_ms, at_ms + START_MS))
        elif cause.startswith(("member-left", "shutdown")):
            # The object that closes may be the second one. A static member closes without leaving.
            static = "group.instance.id" in truth.members[member]["config"]
            left = Expected(frozenset({"leave"}), names | {f"{member}-2"}, at_ms, at_ms + SLACK_MS, not static)
            expected.append(left)
        elif cause.startswith("session-timeout"):
            due_ms = at_ms + truth.setting(member, "session.timeout.ms", 45_000)
            expected.append(Expected(frozenset({"session_timeout"}), names, at_ms, due_ms + SLACK_MS))
        elif cause.startswith("max-poll-interval-exceeded"):
            due_ms = at_ms + truth.setting(member, "max.poll.interval.ms", 300_000)
            expected.append(Expected(frozenset({"poll_timeout"}), names, at_ms, due_ms + SLACK_MS))
            back_ms = next(int(str(e["ts"])) for e in truth.events if e["m"] == member and e["ev"] == "stalled")
            expected.append(Expected(frozenset({"rejoin"}), names, back_ms, back_ms + START_MS))
        else:
            raise AssertionError(f"the truth has a cause that this test does not know: {cause}")
    return expected


def judge(rebalances: list[Rebalance], expected: list[Expected]) -> list[tuple[Rebalance, bool]]:
    """Each rebalance that follows a caused action, and whether it is right."""
    verdicts: list[tuple[Rebalance, bool]] = []
    last: Expected | None = None
    for rebalance in rebalances:
        if rebalance.follow_up:
            right = last is not None and rebalance.cause in last.causes and rebalance.member in last.names
            verdicts.append((rebalance, right))
            continue
        free = [one for one in expected if not one.matched]
        hit = next((one for one in free if one.explains(rebalance.cause, rebalance.member, rebalance.at_ms)), None)
        if hit is not None:
            hit.matched, last = True, hit
            verdicts.append((rebalance, True))
        elif any(one.follows(rebalance.at_ms) for one in expected):
            verdicts.append((rebalance, False))
        for part in rebalance.contributions:
            merged = [one for one in expected if not one.matched and one.explains(part.cause, part.member, part.at_ms)]
            for one in merged[:1]:
                one.matched = True
    return verdicts


def test_causes_and_members_are_right_on_recorded_logs(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("capture", "rebalances", "right", "missing", "wrong ones", title="trace why against the truth")
    total = correct = 0
    missing: list[tuple[str, Expected]] = []
    for name in NAMES:
        answer = explain_logs(Question("g1"), [CAPTURES / name / "broker.log"], Clock())
        expected = expectations(read_truth(name))
        verdicts = judge(answer.explanation.rebalances, expected)
        assert len(verdicts) == len(answer.explanation.rebalances), f"{name}: a rebalance that no action explains"
        right = sum(1 for _, is_right in verdicts if is_right)
        lost = [(name, one) for one in expected if one.must_be_seen and not one.matched]
        wrong = [f"generation {one.generation}: {one.cause} {one.member}" for one, is_right in verdicts if not is_right]
        table.add_row(name, str(len(verdicts)), str(right), str(len(lost)), "; ".join(wrong))
        total, correct, missing = total + len(verdicts), correct + right, missing + lost
    table.add_section()
    table.add_row(
        "all", str(total), str(correct), str(len(missing)), f"score {correct / total:.1%}, at least {REQUIRED:.0%}"
    )
    with capsys.disabled():
        Console().print("\n", table)
    assert correct / total >= REQUIRED
    assert not missing, "actions whose rebalance was not found"
    guide = (CAPTURES.parents[1] / "book" / "guides" / "operator.md").read_text(encoding="utf-8")
    assert f"all {correct} rebalances are right" in " ".join(guide.split())
    assert f"{correct} of {total} rebalances are right" in " ".join((why.help or "").split())


def test_a_static_member_that_returns_in_time_causes_no_rebalance() -> None:
    truth = read_truth("07a-static-restart")
    answer = explain_logs(Question("g1"), [CAPTURES / "07a-static-restart" / "broker.log"], Clock())
    back_ms = next(
        int(str(action["ts"])) for action in truth.actions if "static member returns" in str(action.get("cause"))
    )
    killed_ms = next(int(str(action["ts"])) for action in truth.actions if action["action"] == "SIGKILL")
    assert not [one for one in answer.explanation.rebalances if back_ms - 2_000 <= one.at_ms < killed_ms]
    assert any("i1 came back" in note.what for note in answer.explanation.notes)


def test_the_member_that_the_group_waited_for_is_blamed_and_the_newcomer_is_named() -> None:
    answer = explain_logs(Question("g1"), [CAPTURES / "05a-abandoned-java" / "broker.log"], Clock())
    [waited] = [one for one in answer.explanation.rebalances if one.cause == "abandoned_consumer"]
    assert waited.member == "m1"
    assert [(part.role, part.cause, part.member) for part in waited.contributions] == [
        ("began", "join", "m1-2"),
        ("waited_for", "abandoned_consumer", "m1"),
    ]
    assert waited.duration_ms > 11_000


def test_leaving_without_a_reason_is_reported_with_what_else_it_can_be() -> None:
    answer = explain_logs(Question("g1"), [CAPTURES / "01-join-leave" / "broker.log"], Clock())
    by_librdkafka, by_java = [one for one in answer.explanation.rebalances if one.cause == "leave"]
    assert (by_librdkafka.member, by_librdkafka.alternatives) == ("m2", ("poll_timeout",))
    assert (by_java.member, by_java.alternatives) == ("m1", ())


@pytest.mark.parametrize("name", NAMES)
def test_every_line_of_the_recorded_logs_is_accounted_for(name: str) -> None:
    file = CAPTURES / name / "broker.log"
    [parsed] = explain_logs(Question("g1"), [file], Clock()).logs.parsed.values()
    assert parsed.not_understood == 0, parsed.samples
    assert parsed.lines == len(file.read_text().splitlines())
    assert parsed.lines == parsed.understood + parsed.harmless + parsed.other + parsed.continuation


def test_evidence_quotes_the_log() -> None:
    file = CAPTURES / "02a-slow-java" / "broker.log"
    lines = file.read_text().splitlines()
    for rebalance in explain_logs(Question("g1"), [file], Clock()).explanation.rebalances:
        assert rebalance.evidence
        for place in rebalance.evidence:
            assert place.text in lines[place.line - 1]
