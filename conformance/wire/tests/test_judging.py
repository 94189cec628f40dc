"""How sure a verdict is, what it says first, and what belongs together."""

from __future__ import annotations

import io
import re
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import pytest

from groupspec.conformance.checks.verdicts import BROKEN, Judgement, Verdict, combine, rule_named
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK
from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry, raised
from groupspec.conformance.history.harness_protocol import wanting
from groupspec.conformance.history.history import History
from groupspec.conformance.terminal import Terminal
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.console import groups, show
from groupspec.conformance.wire.gathering import judged_again
from groupspec.conformance.wire.judging import Outcome, judge_run, symptoms
from groupspec.conformance.wire.junit import junit_xml
from groupspec.conformance.wire.results import Campaign, ClientResult, Row
from groupspec.conformance.wire.scenarios import all_cases, written_cases
from groupspec.conformance.wire.tests import stories
from groupspec.conformance.wire.tests.stories import BOTH, WireRun
from groupspec.conformance.wire.tests.test_rules import both, drop, drop_event
from groupspec.impl.coordinator.rebalancing import DID_NOT_JOIN, NO_SIGN_OF_LIFE
from groupspec.spec.rules import RULES

STALL = ((2_100_000, 2_400_000),)
CASE = next(case for case in written_cases() if case.id == "rebalance-eager")


def result_of(story: WireRun, outcome: Outcome | None = None, stalls: tuple[tuple[int, int], ...] = ()) -> CaseResult:
    """A story as a run of a client."""
    history, ended = replace(story.history(), stalls_us=stalls), outcome or Outcome()
    judged = judge_run(CASE.rules, history, ended)
    return CaseResult(Client("fake", ("true",)), CASE, "fake", "1", history, ended, judged, 2.0)


def spoiled(*spoils: Callable[[WireRun], None]) -> WireRun:
    story = stories.eager_rebalance()
    both(*spoils)(story)
    return story


def test_who_does_not_come_to_the_point_is_not_accused_of_what_was_still_to_come() -> None:
    story = stories.eager_rebalance()
    story.entries = [entry for entry in story.entries if entry.at_us < 955_000]  # the SyncGroup was still out
    story.entries.append(Entry(3_000_000, "kit", "note", "nothing came any more"))
    assert result_of(story, Outcome()).judgements["J2"].verdict is Verdict.FAIL
    judged = result_of(story, Outcome(no_occasion="no Heartbeat came")).judgements
    assert judged["J2"].verdict is Verdict.UNTESTABLE
    assert "no Heartbeat came" in judged["J2"].reason
    assert judged["D4"].verdict is Verdict.PASS


def fails_by_itself(story: WireRun) -> None:
    """From 12 ms on each poll raises, and nothing more is asked or handed over."""
    story.entries = [e for e in story.entries if e.at_us < 12_000 or (e.source == "client" and e.event is None)]
    for at_ms in range(20, 320, 100):
        story.event(at_ms, protocol.PollStarted(poll_ms=50))
        story.event(at_ms + 1, protocol.ErrorRaised(error="ParsingError", message="two partitions", call="poll"))
        story.event(at_ms + 2, protocol.PollReturned(elapsed_ms=2))
    story.entries.append(Entry(9_000_000, "kit", "note", "nothing came any more"))


MISSED: Final = Outcome(missed_rule="S3", missed="records did not come", missed_since_us=30_000)


def test_what_a_client_raised_by_itself_is_the_finding_and_what_did_not_follow_is_not_judged() -> None:
    """A client that cannot decode a Fetch answer of two partitions was failed for J2, S3 and O1."""
    run = result_of(spoiled(fails_by_itself), MISSED)
    own = "the client itself raised ParsingError: two partitions"
    assert run.judgements["S3"] == Judgement(Verdict.INCONCLUSIVE, own)
    assert not [rule for rule, each in run.judgements.items() if each.verdict in BROKEN]
    out = io.StringIO()
    show(Terminal(out, 400), judged_again([run]), None)
    assert re.search(rf"(?m)^BROKE OFF fake: 1 run\n  {own}$", out.getvalue())


def test_a_long_message_of_a_client_is_told_as_one_line_that_is_cut_off() -> None:
    binary = "Error: got b'" + "\x00\ufffd\n" * 233 + "'"
    error = protocol.ErrorRaised(error="ParsingError", message=binary, call="poll")
    assert raised([Entry(1, "client", "error", event=error)], "poll") == [f"`poll` raised {error.said}"]
    assert error.said.startswith("ParsingError: Error: got b'\\x00\ufffd\\n")
    assert len(error.said) < 220
    assert error.said.endswith("…")


@pytest.mark.parametrize(
    "reason",
    [
        Entry(15_000, "kit", "note", "the next round takes orders-0 away"),
        Entry(15_000, "wire", "response", api="Fetch", error="OFFSET_OUT_OF_RANGE"),
        Entry(15_000, "wire", "note", "this Fetch is never answered", api="Fetch"),
    ],
    ids=lambda entry: entry.kind,
)
def test_what_a_client_raised_for_something_that_it_was_told_explains_nothing(reason: Entry) -> None:
    run = result_of(spoiled(fails_by_itself, lambda s: s.entries.append(reason)), MISSED)
    assert run.judgements["S3"].verdict is Verdict.FAIL


@pytest.mark.parametrize(("came", "verdict"), [(False, Verdict.INCONCLUSIVE), (True, Verdict.FAIL)])
def test_what_the_broker_was_to_do_is_a_reason_if_it_came_to_that(came: bool, verdict: Verdict) -> None:
    """A client that died of its first poll was failed for J2 where a later SyncGroup was to be answered late."""

    def scripted(story: WireRun) -> None:
        fails_by_itself(story)
        story.entries.append(Entry(15_000, "kit", "note", "the next Metadata is answered 700 ms late"))
        if came:
            story.entries.append(Entry(16_000, "wire", "request", api="Metadata", connection=9))

    assert result_of(spoiled(scripted), MISSED).judgements["S3"].verdict is verdict


def test_who_reads_on_after_an_error_was_not_ended_by_it() -> None:
    run = result_of(spoiled(fails_by_itself, lambda s: s.records(400, BOTH[0], 6, 6)), MISSED)
    assert run.judgements["S3"].verdict is Verdict.FAIL


def test_what_was_wrong_before_the_client_failed_by_itself_stays_wrong() -> None:
    run = result_of(spoiled(fails_by_itself, lambda s: s.commit(11.5, 1, {BOTH[0]: 6}, member_id="x")), MISSED)
    assert run.judgements["M1"].verdict is Verdict.FAIL


def test_who_is_hung_up_on_for_what_it_sent_is_not_judged_by_what_did_not_follow() -> None:
    def unreadable(story: WireRun) -> None:
        fails_by_itself(story)
        story.entries.append(Entry(11_900, "wire", "garbage", "999 version 0", connection=1))

    judged = result_of(spoiled(unreadable), MISSED).judgements
    assert (judged["W1"].verdict, judged["S3"].verdict) == (Verdict.FAIL, Verdict.UNTESTABLE)
    assert "999 version 0" in judged["S3"].reason


def test_the_checker_s_reason_comes_before_what_was_waited_for() -> None:
    story = spoiled(drop_event("partitions_assigned", 900))
    waited = "partitions_assigned with partitions did not come within 8000 ms"
    judgement = result_of(story, Outcome(missed_rule="S3", missed=waited)).judgements["S3"]
    assert judgement.reason.startswith("orders-0, orders-1: assigned by SyncGroup, and never handed to the listener")
    assert judgement.reason.endswith(waited)


def test_what_a_stall_could_have_made_proves_nothing_and_what_it_could_not_is_told() -> None:
    story = spoiled(lambda s: s.commit(1_500, 1, {BOTH[0]: 6}), drop("Heartbeat", 1_200, 1_600))
    assert result_of(story).judgements["H2"].verdict is Verdict.FAIL
    judged = result_of(story, stalls=STALL).judgements
    assert judged["H2"].verdict is Verdict.INCONCLUSIVE
    assert judged["H2"].reason.endswith("the machine stood still for 300 ms during the run")
    assert judged["M1"].verdict is Verdict.FAIL


def test_what_took_far_too_long_by_the_client_s_own_fault_is_told_on_a_machine_that_stood_still() -> None:
    assert result_of(spoiled(drop("Heartbeat", 1_100, 1_950)), stalls=STALL).judgements["H2"].verdict is Verdict.FAIL


def test_what_stood_still_before_the_first_request_disturbed_nothing() -> None:
    story = spoiled(drop("Heartbeat", 1_200, 1_300), drop("Heartbeat", 1_300, 1_600))
    first_us = story.history().exchanges[0].sent_us
    assert result_of(story, stalls=((first_us - 400_000, first_us),)).judgements["H2"].verdict is Verdict.FAIL
    assert result_of(story, stalls=STALL).judgements["H2"].verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(("waited_ms", "verdict"), [(1_100, Verdict.INCONCLUSIVE), (1_300, Verdict.FAIL)])
def test_what_does_not_come_in_four_times_the_longest_stall_does_not_come(waited_ms: int, verdict: Verdict) -> None:
    story = stories.eager_rebalance()
    missed = Outcome("H4", "no JoinGroup", missed_since_us=story.history().ends_us - 1_000 * waited_ms)
    assert result_of(story, missed, stalls=STALL).judgements["H4"].verdict is verdict


@pytest.mark.parametrize("why", [NO_SIGN_OF_LIFE, DID_NOT_JOIN])
def test_what_does_not_come_proves_nothing_when_the_member_was_expelled_in_the_stall(why: str) -> None:
    story = stories.eager_rebalance()
    story.entries.append(Entry(1_700_000, "wire", "note", f"group g: member m is gone: {why} within 1024 ms"))
    missed = Outcome("H4", "no JoinGroup", missed_since_us=story.history().ends_us - 1_300_000)
    assert result_of(story, missed, stalls=STALL).judgements["H4"].verdict is Verdict.INCONCLUSIVE
    assert result_of(story, missed).judgements["H4"].verdict is Verdict.FAIL


def test_a_stall_of_the_client_is_one_finding_with_its_symptoms_below_it() -> None:
    silent = spoiled(drop_event("partitions_assigned", 900), drop("Heartbeat", 1_000))
    run = result_of(silent)
    assert symptoms(run.judgements) == {"H2": "S3", "H3": "S3"}
    [client] = judged_again([run]).clients
    [told] = [group for group in groups(client) if group.rule == "S3"]
    assert told.symptoms == {"H2": 1, "H3": 1}
    assert not [group for group in groups(client) if group.rule in ("H2", "H3")]


def test_what_is_broken_one_after_the_other_is_not_one_stall() -> None:
    story = spoiled(drop("Heartbeat", 1_200, 1_700), lambda s: s.close(2_000, 9_000))
    assert symptoms(result_of(story).judgements) == {}


def test_many_cases_of_one_rule_are_told_once_the_worst_first() -> None:
    kept = result_of(stories.eager_rebalance())
    late = result_of(spoiled(drop("Heartbeat", 1_200, 1_700)))
    foreign = result_of(spoiled(lambda s: s.commit(1_500, 1, {BOTH[0]: 6}), drop("Heartbeat", 1_200, 1_700)))
    out = io.StringIO()
    show(Terminal(out, 400), judged_again([kept, late, foreign, foreign]), None)
    shown = out.getvalue()
    assert shown.count("FAIL fake: H2 heartbeat-interval") == shown.count("FAIL fake: M1 commit-identity") == 1
    assert "rebalance-eager (3 of 4 runs, flaps)" in shown
    assert "2 of them flap" in shown
    assert shown.count("FAIL 1 of 1 ~") == 2
    assert "~ flaps: some runs of a case broke the rule, others kept it" in shown
    certain = io.StringIO()
    show(Terminal(certain, 400), judged_again([late]), None)
    assert "~" not in certain.getvalue()


def test_a_verdict_that_rests_on_time_names_its_bound_the_slack_in_it_and_what_stood_still() -> None:
    late = spoiled(drop("Heartbeat", 1_200, 1_700))
    told = result_of(late).judgements["H2"]
    assert told.reason.endswith(" (bound 400 ms, 300 ms of it slack; nothing stood still meanwhile)")
    stalled = result_of(late, stalls=((1_300_000, 1_310_000),)).judgements["H2"]
    assert "the kit stood still for 10 ms and the client waited 0 ms for a processor" in stalled.reason


def test_what_was_awaited_in_vain_says_for_how_long_and_what_stood_still() -> None:
    missed = Outcome("J2", "SyncGroup did not come within 500 ms", missed_since_us=700_000)
    reason = result_of(stories.eager_rebalance(), missed).judgements["J2"].reason
    assert reason == "SyncGroup did not come within 500 ms (nothing stood still meanwhile)"
    never = result_of(spoiled(stories.waited(drop("JoinGroup", 600)))).judgements["J2"]
    assert re.search(r"^no JoinGroup after .* \(awaited for \d+ ms; nothing stood still meanwhile\)", never.reason)


def test_a_deviation_is_visible_in_junit_and_a_failure_names_its_log(tmp_path: Path) -> None:
    forgetful = spoiled(drop("Heartbeat", 1_200, 1_700), lambda s: s.join(645, 2, member_id=""))
    suites = ElementTree.fromstring(junit_xml(judged_again([result_of(forgetful)], tmp_path), tmp_path))
    cases = {case.get("name"): case for case in suites[0].iter("testcase")}
    assert cases["J4 DEVIATION"].get("classname") == "fake.rebalance-eager"
    assert cases["J4 DEVIATION"].find("skipped") is None
    assert "DEVIATION: 1 of 1 run: after REBALANCE_IN_PROGRESS" in (cases["J4 DEVIATION"].findtext("system-out") or "")
    assert f"[[ATTACHMENT|{tmp_path}" in (cases["H2"].findtext("system-out") or "")


def test_an_allowed_failure_is_told_and_fails_neither_the_command_nor_junit() -> None:
    campaign = judged_again([result_of(spoiled(lambda s: s.commit(1_500, 1, {BOTH[0]: 6})))])
    assert campaign.exit_code() == EXIT_CONFORMANCE_FAILURE
    allowing = replace(campaign, allowed=frozenset({rule_named("commit-identity")}))
    assert allowing.exit_code() == EXIT_OK
    out = io.StringIO()
    show(Terminal(out, 400), allowing, None)
    shown = out.getvalue()
    assert "FAIL fake: M1 commit-identity" in shown
    assert "1 FAIL (1 allowed)" in shown
    suite = ElementTree.fromstring(junit_xml(allowing))[0]
    assert suite.get("failures") == "0"
    assert [case.findtext("system-out") for case in suite.iter("testcase") if case.get("name") == "M1 FAIL"] != []


def test_what_the_client_lacks_for_unsupported_rules_is_counted() -> None:
    lacking = [wanting(names, {"static"}) for names in (["cooperative"], ["cooperative"], ["pull", "static"])]
    rows = [unsupported(reason) for reason in lacking]
    out = io.StringIO()
    show(Terminal(out, 400), Campaign([ClientResult(Client("kgo", ()), "kgo", "1", rows)]), None)
    shown = out.getvalue()
    assert "UNSUPPORTED for want of: cooperative (2), pull (1)" in shown
    assert "UNSUPPORTED since the harness does not drive what the client offers: static (1)" in shown


def unsupported(reason: str) -> Row:
    case = all_cases()[0]
    return Row(case, case.rules[0], combine([Judgement(Verdict.UNSUPPORTED, reason)]), seconds=1.0, replay="")


def test_each_source_of_a_finding_is_told_once_and_whose_it_is() -> None:
    lost = next(case for case in written_cases() if case.scenario.source.startswith("KIP-429 (onPartitionsLost)"))
    told = lost.sources(RULES["C2"])
    assert told.count("KIP-429") == 1
    assert told.endswith("; of the scenario: AbstractCoordinator.HeartbeatResponseHandler")


@pytest.mark.parametrize("reason", ["the harness broke its protocol: a line", ""])
def test_a_harness_that_broke_off_is_told_once(reason: str) -> None:
    runs = [result_of(stories.eager_rebalance(), Outcome(inconclusive=reason)) for _ in range(3)]
    [client] = judged_again(runs).clients
    assert [(crash.reason, crash.runs) for crash in client.crashes] == ([(reason, 3)] if reason else [])
    assert groups(client) == []


@pytest.mark.parametrize(("ended_ms", "told"), [(1_500, ["ended by SIGSEGV"]), (2_100, [])])
def test_a_process_that_the_kit_ends_has_not_crashed(ended_ms: int, told: list[str]) -> None:
    story = stories.eager_rebalance()
    story.entries.append(Entry(2_050_000, "kit", "milestone", "missed"))
    story.entries.append(Entry(1000 * ended_ms, "kit", "client_ended", "ended by SIGSEGV"))
    run = result_of(story, Outcome("S3", "partitions_assigned did not come", missed_since_us=1_000_000))
    assert [crash.reason for crash in judged_again([run]).clients[0].crashes] == told


def test_the_log_of_a_run_that_is_over_is_not_kept() -> None:
    logs: list[weakref.ref[History]] = []

    def runs() -> Iterator[CaseResult]:
        for _ in range(3):
            run = result_of(stories.eager_rebalance())
            logs.append(weakref.ref(run.history))
            yield run
        assert logs[0]() is None

    assert judged_again(runs()).clients[0].rows[0].combined.runs == 3


def test_what_follows_from_an_assignment_thrown_away_is_told_as_its_symptom() -> None:
    thrown_away = Judgement(Verdict.FAIL, "never handed to the listener", 700_000)
    owns_nothing = Judgement(Verdict.DEVIATION, "JoinGroup says that nothing is owned", 800_000)
    judged = {"S3": thrown_away, "K1": owns_nothing, "O2": owns_nothing}
    assert symptoms(judged) == {"K1": "S3", "O2": "S3"}
    assert symptoms({"K1": owns_nothing}) == {}
    assert symptoms({"S3": replace(thrown_away, at_us=900_000), "K1": owns_nothing}) == {}
