"""Whole runs: the reference keeps every rule, and what misbehaves gets a verdict, in time, with nothing left behind."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, get_args

import jsonschema
import pytest

from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.traces.schema import json_schema
from groupspec.conformance.wire import campaign as campaign_module
from groupspec.conformance.wire import scenario_context
from groupspec.conformance.wire.campaign import run_campaign
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_run import CaseResult, run_case
from groupspec.conformance.wire.clients import Client, find_client
from groupspec.conformance.wire.results import Campaign
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios import (
    PATH,
    SCENARIOS,
    cases_of_path,
    family_of,
    written_cases,
)
from groupspec.conformance.wire.stalls import StallClock
from groupspec.conformance.wire.tests import fake_harnesses as fake
from groupspec.conformance.wire.virtual.run import Trial, run_apart
from groupspec.impl.threads.designs import Design
from groupspec.spec.rules import RULES

JOBS = 6
GARBAGE = """
import socket
host, _, port = command["bootstrap"].split(",")[0].partition(":")
peer = socket.create_connection((host, int(port)))
peer.sendall({data})
peer.settimeout(5)
peer.recv(1)
"""
ON_CONFIGURE = """
for line in sys.stdin:
    command = json.loads(line)
    if command["command"] == "configure":
        {act}
    say(name="command_done", command=command["command"])
"""


def case_of(identifier: str) -> Case:
    return next(case for case in written_cases() if case.id == identifier)


def run(command: Sequence[str], identifier: str = "member-unknown") -> CaseResult:
    with StallClock() as clock:
        return run_case(Client("fake", tuple(command)), case_of(identifier), clock)


def verdicts(result: CaseResult) -> set[Verdict]:
    return {judgement.verdict for judgement in result.judgements.values()}


def judge_reference(
    cases: Sequence[Case], repeat: int = 1, report: Path | None = None, jobs: int = JOBS, client: str = "reference"
) -> Campaign:
    return run_campaign([find_client(client)], cases, jobs=jobs, repeat=repeat, report=report)


NO_OCCASION: Final[Mapping[str, Mapping[str, str]]] = {
    "closed-between-polls": {
        "assigned": "C7 L3 L5",
        "lost": "L3 L5 M1 M4 M7",
        **dict.fromkeys(("fetched", "moved"), "L3"),
    },
    "closed-between-polls-cooperative": {
        "lost": "L3 L5 M1 M4 M7",
        **dict.fromkeys(("assigned", "fetched", "moved"), "L3"),
    },
    "expires-with-a-callback-due": {"assigned": "P3"},
    "fails-many-times": {
        **dict.fromkeys(("fetching", "reading-beginning"), "D3 J4"),
        **dict.fromkeys(("reading-positions", "syncing"), "J4"),
    },
    "several-silent": dict.fromkeys(
        (
            *("fetch-and-metadata", "fetch-and-metadata-closing", "heartbeat-and-fetch-closing", "metadata"),
            *("metadata-and-findcoordinator-closing", "metadata-closing", "offsetcommit-and-fetch-closing"),
        ),
        "D6",
    ),
    "slow-answers": dict.fromkeys(("commits", "fetches", "metadata"), "L3"),
    "unsubscribed-between-polls": {
        **dict.fromkeys(("assigned", "fetched"), "M1 M7"),
        **dict.fromkeys(("lost", "moved"), "L3 M1 M7"),
    },
    **{f"{call}-between-polls": {"fetched": "J4"} for call in ("commit", "pause", "seek", "subscribe", "wakeup")},
}
"""Rules to which the reference gives no occasion in variants of a scenario. Whoever does is judged by them."""
OF_HEARTBEAT: Final[Mapping[str, Mapping[str, str]]] = {
    "coordinator-moves-twice": {"syncing": "J4"},
    "expires-on-the-way": dict.fromkeys(("reading-positions", "syncing"), "P3"),
}
"""Those to which only its older design gives none."""
BY_THE_CLOCK: Final = frozenset({("expires-with-a-callback-due/revoked", "M1")})
"""It gave none in a run on a busy machine, with its older design; in virtual time it does."""


def pairs(*tables: Mapping[str, Mapping[str, str]]) -> set[tuple[str, str]]:
    """Of cases and rules."""
    of_scenarios = (item for table in tables for item in table.items())
    variants = ((f"{one}/{variant}", rules) for one, of in of_scenarios for variant, rules in of.items())
    return {(case, rule) for case, rules in variants for rule in rules.split()}


ALL_WITHOUT: Final = pairs(NO_OCCASION, OF_HEARTBEAT) | BY_THE_CLOCK


def broken(campaign: Campaign) -> list[str]:
    rows = [row for client in campaign.clients for row in client.rows if row.judgement.verdict is not Verdict.PASS]
    untestable = (row for row in rows if row.judgement.verdict is Verdict.UNTESTABLE)
    excused = [row for row in untestable if (row.case.id, row.rule) in ALL_WITHOUT]
    return [f"{row.case.id} {row.rule}: {row.judgement}" for row in rows if row not in excused]


# The machine ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["story", "broker"])
def test_a_run_that_had_too_little_memory_gets_no_verdict(where: str) -> None:
    def story(context: ScenarioContext) -> None:
        if where == "story":
            raise MemoryError
        context.broker._broker.log.fail(MemoryError())

    case = case_of("member-unknown")
    case = replace(case, scenario=replace(case.scenario, story=story))
    with StallClock() as clock, pytest.raises(MemoryError):
        run_case(Client("fake", tuple(fake.DOES_NOTHING)), case, clock)


@pytest.mark.parametrize("frozen_before", [False, True])
def test_a_campaign_keeps_the_collector_from_the_callers_heap_and_leaves_it_as_it_was(
    monkeypatch: pytest.MonkeyPatch, frozen_before: bool
) -> None:
    frozen = []

    def counted(*_: object) -> None:
        frozen.append(gc.get_freeze_count())
        raise KeyError

    monkeypatch.setattr(campaign_module, "run_case", counted)
    if frozen_before:
        gc.freeze()
    try:
        with pytest.raises(KeyError):
            judge_reference([case_of("member-unknown")])
        assert frozen[0] > 0
        assert (gc.get_freeze_count() > 0) is frozen_before
    finally:
        gc.unfreeze()


# The scenarios --------------------------------------------------------------------------------------------------------


def test_the_scenarios_judge_enough_rules_that_bind_any_client_or_java_style_ones() -> None:
    judged = {rule for each in SCENARIOS.values() for rule in each.rules}
    assert len(SCENARIOS) >= 7
    assert len([rule for rule in judged if RULES[rule].applies_to in ("any", "java_style")]) == len(judged) >= 20


def test_joins_and_rebalances_run_with_short_and_long_polls_and_a_late_sync() -> None:
    for identifier in ("first-join", "rebalance-eager", "rebalance-cooperative"):
        variants = SCENARIOS[identifier].variants
        assert {5, 50, 500} <= {variant.poll_ms for variant in variants}
        assert any(variant.sync_late for variant in variants)


def joins(case: Case) -> bool:
    """Whether there is a JoinGroup: not without a group, or where this way of running it gives rule J1 no occasion."""
    return "J1" not in case.variant.not_judged.split() and "assign" not in case.scenario.needs


def is_given_an_id(case: Case) -> bool:
    """Whether JoinGroup is first answered MEMBER_ID_REQUIRED: to a dynamic member, from version 4 on (KIP-394)."""
    static = "group.instance.id" in dict(case.variant.more)
    return joins(case) and not static and dict(case.variant.version_caps).get("JoinGroup", 4) >= 4


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("client", "of_path"),
    [
        ("reference", True),
        pytest.param("reference", False, marks=pytest.mark.exhaustive),
        pytest.param("reference-heartbeat", True, marks=pytest.mark.exhaustive),
        pytest.param("reference-heartbeat", False, marks=pytest.mark.nightly),
    ],
)
def test_the_reference_keeps_every_rule_in_every_scenario(client: str, of_path: bool, tmp_path: Path) -> None:
    """In the first way of each: those of the path, or the others."""
    chosen = [each for each in SCENARIOS.values() if (family_of(each) == PATH) == of_path]
    cases = [Case(each, each.variants[0]) for each in chosen]
    campaign = judge_reference(cases, report=tmp_path, client=client)
    assert broken(campaign) == []
    schema = json_schema()
    for case in cases:
        folder = tmp_path / client / case.id.replace("/", "--")
        trace = (folder / "trace.ndjson").read_text(encoding="utf-8").splitlines()
        assert json.loads(trace[0])["event"] == "config"
        for line in trace:
            jsonschema.validate(json.loads(line), schema)
        drawn, told = ((folder / name).read_text(encoding="utf-8") for name in ("sequence.svg", "wire.txt"))
        assert "FindCoordinator" in drawn
        assert ("JoinGroup" in drawn) == joins(case), case.id
        asked = re.search(r"JoinGroup v\d+ #\d+ MEMBER_ID_REQUIRED", told)  # the story may name it, too
        assert bool(asked) == is_given_an_id(case), case.id
        assert all(json.loads(line) for line in (folder / "log.ndjson").read_text(encoding="utf-8").splitlines())


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("client", "runs"),
    [
        pytest.param("reference", 3, marks=pytest.mark.exhaustive),
        pytest.param("reference", 20, marks=pytest.mark.nightly),
        pytest.param("reference-heartbeat", 20, marks=pytest.mark.nightly),
    ],
)
def test_the_reference_gets_the_same_verdicts_in_each_of_many_runs(client: str, runs: int) -> None:
    # as many at a time as there are cores: it is the client that is judged, and not how processes share a core
    assert broken(judge_reference(cases_of_path(), repeat=runs, jobs=2, client=client)) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("design", get_args(Design))
def test_in_virtual_time_the_reference_keeps_every_rule_in_every_case_that_is_written_by_hand(design: Design) -> None:
    kept, found = (Verdict.PASS, Verdict.UNTESTABLE), set[tuple[str, str]]()
    for case in written_cases():
        told = run_apart(Trial(case, design=design, keep_log=True))
        assert told.broke_off == "", case.id
        assert [f"{rule}: {one}" for rule, one in told.judgements.items() if one.verdict not in kept] == [], case.id
        found |= {(case.id, rule) for rule, one in told.judgements.items() if one.verdict is Verdict.UNTESTABLE}
    assert found == pairs(NO_OCCASION, *([OF_HEARTBEAT] if design == "heartbeat" else []))


@pytest.mark.realtime
@pytest.mark.nightly
@pytest.mark.parametrize("client", ["reference", "reference-heartbeat"])
def test_the_reference_keeps_every_rule_in_every_case_that_is_written_by_hand(client: str) -> None:
    assert broken(judge_reference(written_cases(), repeat=3, jobs=2, client=client)) == []


# Clients that misbehave -----------------------------------------------------------------------------------------------


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (fake.CRASHES_AT_ONCE, "exit code 3"),
        (fake.BROKEN_JSON, "not an event"),
        (fake.FLOODS_WITH_EVENTS, "flooded"),
        (fake.ANOTHER_VERSION, "version 7"),
    ],
    ids=["crash", "broken-json", "flood", "another-version"],
)
def test_a_harness_that_breaks_the_protocol_is_inconclusive(command: Sequence[str], reason: str) -> None:
    result = run(command)
    assert verdicts(result) == {Verdict.INCONCLUSIVE}
    assert reason in result.judgements["J2"].reason


@pytest.mark.realtime
def test_a_harness_that_never_speaks_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenario_context, "STARTUP_WITHIN_MS", 300)
    result = run(fake.NEVER_SPEAKS)
    assert verdicts(result) == {Verdict.INCONCLUSIVE}
    assert "startup_complete" in result.judgements["J2"].reason


@pytest.mark.realtime
def test_exit_code_127_is_unsupported_with_the_harness_s_reason() -> None:
    result = run(fake.SAYS_IT_IS_UNSUPPORTED)
    assert verdicts(result) == {Verdict.UNSUPPORTED}
    assert "no groups" in result.judgements["J2"].reason


@pytest.mark.realtime
def test_a_scenario_that_needs_more_than_the_client_offers_is_unsupported() -> None:
    assert verdicts(run(fake.DOES_NOTHING, "rebalance-cooperative")) == {Verdict.UNSUPPORTED}


ALWAYS_COMMITS = fake.OBEDIENT.replace('["eager"]', '["eager", "auto_commit"], fixed={"auto_commit": True}')


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("identifier", "reason"),
    [
        ("close-while-stable/heartbeat-in-flight", "its auto_commit is always true, and false is needed"),
        ("member-unknown", ""),
    ],
)
def test_a_case_that_needs_another_value_of_a_setting_than_the_client_has_for_good_is_unsupported(
    identifier: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.wait_in_vain(monkeypatch, 100)
    outcome = run(fake.python(ALWAYS_COMMITS), identifier).outcome
    assert outcome.unsupported == (reason and f"the client cannot: {reason}")


@pytest.mark.realtime
def test_a_misspelt_setting_that_is_fixed_is_told() -> None:
    result = run(fake.python(ALWAYS_COMMITS.replace('"auto_commit": True', '"auto_comit": True')))
    assert result.outcome.inconclusive == (
        "the harness is wrong: fixed: auto_comit: there is no such setting that may be fixed; "
        "did you mean 'auto_commit'?"
    )


@pytest.mark.realtime
def test_no_scenario_binds_a_client_whose_only_group_protocol_is_that_of_kip_848_and_it_is_told_so() -> None:
    for scenario in ("rebalance-eager", "rebalance-cooperative"):
        result = run(fake.KIP_848_ONLY, scenario)
        assert verdicts(result) == {Verdict.UNSUPPORTED}
        assert "KIP-848" in result.judgements["J2"].reason
        assert "plays a classic group" in result.judgements["J2"].reason


@pytest.mark.realtime
def test_a_client_that_dies_fails_the_rule_that_waited_for_it() -> None:
    result = run(fake.DIES_WHEN_POLLED)
    assert result.judgements["J2"].verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE)
    assert "exit code 9" in result.judgements["J2"].reason


@pytest.mark.realtime
def test_a_client_that_does_nothing_fails_the_rule_that_waited_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fake.wait_in_vain(monkeypatch, 500)
    result = run(fake.DOES_NOTHING)
    assert result.judgements["J2"].verdict is Verdict.FAIL
    assert result.judgements["J2"].reason.startswith("SyncGroup answered NONE did not come within 500 ms (")
    assert result.judgements["J2"].since_us is not None
    assert result.judgements["H4"].verdict is Verdict.UNTESTABLE


@pytest.mark.realtime
@pytest.mark.parametrize(
    "data",
    [
        "b'GET / HTTP/1.1\\r\\n\\r\\n'",
        "(2**31 - 1).to_bytes(4, 'big') + b'x' * 100",
        "(10).to_bytes(4, 'big') + (999).to_bytes(2, 'big') + bytes(8)",
        "(100).to_bytes(4, 'big') + b'half'",
        "(-1).to_bytes(4, 'big', signed=True)",
        "b'\\0\\0\\0\\x11' + bytes.fromhex('000300090000000200016d00ffffffff0f')",
        "b'\\0\\0\\0\\x16' + bytes.fromhex('000800080000000200016d000267ffffffff026d0000')",
    ],
    ids=[
        "not-kafka",
        "2-GB-prefix",
        "unknown-api",
        "half-a-frame",
        "negative-length",
        "four-thousand-million-topics",
        "null-where-none-may-be",
    ],
)
def test_garbage_on_the_wire_ends_in_a_verdict(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.wait_in_vain(monkeypatch, 700)
    attack = GARBAGE.format(data=data).strip().replace("\n", "; ")
    half = "half" in data
    act = attack.replace("peer.recv(1)", "peer.close()") if half else attack
    result = run(fake.python(fake.GREETING + ON_CONFIGURE.format(act=act)))
    # What it did not do after that is no finding of its own: the broker had closed the connection.
    assert result.judgements["J2"].verdict is (Verdict.FAIL if half else Verdict.UNTESTABLE)
    assert [entry.kind for entry in result.entries if entry.kind == "garbage"] == ["garbage"]
    assert result.judgements["W1"].verdict is (Verdict.UNTESTABLE if half else Verdict.FAIL)
