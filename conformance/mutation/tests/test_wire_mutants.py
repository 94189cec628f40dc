"""Every mutant is noticed by the scenarios that it is meant for, and by few others; the unmutated reference by none."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from groupspec.conformance.checks.verdicts import Judgement, Verdict
from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.wire import scenario_context
from groupspec.conformance.wire.campaign import run_campaign
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_run import run_case
from groupspec.conformance.wire.clients import mutated
from groupspec.conformance.wire.results import ClientResult
from groupspec.conformance.wire.scenarios import FULL, PATH, SCENARIOS, all_cases, family_of, written_cases
from groupspec.conformance.wire.stalls import StallClock

JOBS = 6
OF_PATH = {identifier: each for identifier, each in SCENARIOS.items() if family_of(each) == PATH}
ON_THE_WIRE = {name: one for name, one in MUTANTS.items() if one.scenarios}
STOOD_STILL = "the machine stood still"
TRIES = 3
"""A mutant that hurries is hidden by a machine that stalls for longer than it hurries: then it is tried again."""

ONE_EACH = {
    "BUG-23": "first-join",
    "BUG-26": "rebalance-eager/slow-callback",
    "K2-no-rejoin": "rebalance-cooperative/poll-5",
    "C2-revoked-for-lost": "member-unknown",
    "BUG-29": "coordinator-moved",
    "P1-expiry-ignored": "poll-interval-exceeded",
    "BUG-61": "close-while-stable/heartbeat-in-flight",
}
"""A mutant for each scenario of a member's path, and the shortest run that notices it."""


ONE_EACH_STORY = {
    "BUG-06": "rebalance-without-lookups/rebalancing",
    "L1-pending-id": "close-on-the-way/joining",
    "BUG-68": "unsubscribe-on-the-way/stable",
    "X1-heartbeat-anonymous": "static-member",
    "X2-fenced-goes-on": "static-fenced/heartbeat",
    "BUG-18": "join-takes-long",
    "BUG-08": "coordinator-silent/silent",
    "H5-session-ignored": "session-runs-out",
    "BUG-79": "leader-with-claims/claims-of-stale",
    "BUG-19": "leader-of-other-topics/another-topic",
    "J8-no-comparison": "topic-grows",
    "C1-assigned-again": "topic-grows-cooperative",
    "BUG-10": "topic-is-not-there/flaps",
    "BUG-17": "subscription-changes/joining",
    "BUG-11": "coordinator-moves-twice/rejoining",
    "BUG-31": "coordinator-loads/rejoining",
    "BUG-55": "commit-refused/illegal-generation",
    "M5-mark-stays": "commits-in-order",
    "O1-reset-by-election": "leader-changes/moves",
    "P4-deaf": "long-poll/late-syncgroup",
    "M1-commit-as-nobody": "old-broker/2.0",
    "BUG-58": "seek-while-rebalancing/joining",
    "O3-stale-position": "seek-before-a-position/reading-beginning",
    "O5-paused-fetched": "pause-over-a-rebalance",
    "BUG-57": "pause-over-a-rebalance-cooperative",
    "T4-more-than-once": "wakeup-on-the-way/joining",
    "BUG-73": "wakeup-of-a-member/closing",
    "BUG-53": "commit-while-rebalancing/joining",
    "BUG-49": "commit-in-a-callback/revoked",
    "C4-swallowed": "callback-raises/revoked",
    "BUG-52": "two-members/leads",
    "J8-listed-once": "topic-matches",
    "K1-claims-nothing": "two-members-cooperative/leads",
    "X2-fenced-in-silence": "static-restart/replaced",
    "BUG-42": "commit-in-a-callback-cooperative",
    "BUG-35": "commits-but-does-not-poll",
    "BUG-56": "seek-while-fetching",
    "BUG-60": "revoked-between-polls/polling",
    "BUG-15": "subscription-grows/joining",
    "BUG-81": "refused-too-late/rejoining",
    "BUG-54": "commit-before-the-round-fails",
    "O7-name-is-all": "topic-recreated/between-polls",
    "BUG-24": "join-refused-in-passing/rebalancing",
    "BUG-33": "coordinator-long-unknown",
    "L1-close-waits-for-assigned": "closed-between-polls/assigned",
    "BUG-64": "closed-between-polls-cooperative/fetched",
    "L1-unsubscribe-is-put-off": "unsubscribed-between-polls/assigned",
    "M4-fetched-counts": "commit-between-polls/fetched",
    "O4-dropped-by-wakeup": "wakeup-between-polls/fetched",
    "O3-fetched-before-the-seek": "seek-between-polls/fetched",
    "O4-paused-away": "pause-between-polls/fetched",
    "J2-begun-without-coordinator": "subscribe-between-polls/moved",
    "P3-still-revoked": "expires-with-a-callback-due/revoked",
    "S1-keeps-reading": "commits-in-a-long-round/joining",
    "M7-commits-in-a-round": "commits-in-a-long-round-cooperative/joining",
    "H7-two-in-flight": "slow-answers/heartbeats",
    "H2-behind-metadata": "several-silent/metadata",
    "O1-reset-after-retries": "fails-many-times/reading-positions",
    "M5-put-off-by-records": "commits-while-polling/never-empty",
    "W2-ignored": "throttled-on-the-way/joining",
    "W2-not-for-fetch": "throttled-member/fetching",
    "W2-leaves-at-once": "close-while-throttled/longer-than-a-request",
    "W2-waited-twice": "throttled-by-an-old-broker/joining",
    "P5-limit-for-each": "few-records-at-a-time",
    "O5-position-counts": "log-with-gaps",
    "O8-last-heard": "metadata-is-behind",
    "L5-members-only": "closed-without-a-group",
    "O3-sought-is-committed": "seek-to-the-beginning",
    "BUG-65": "close-without-coordinator/stable",
    "D6-waits-for-no-connection": "coordinator-refuses-connections/joining",
    "P1-not-while-syncing": "stuck-on-the-way/syncing",
    "P1-not-while-reading-positions": "stuck-on-the-way/reading-positions",
}
"""The same for the other scenarios."""

BY_ANOTHERS_MUTANT = {
    "expires-on-the-way/syncing": "BUG-36",
    "outlasts-the-session/syncing": "BUG-31",
    "callbacks-outlast-the-session/lost": "BUG-32",
    "stuck-on-the-way-eager/syncing": "P1-not-while-syncing",
    "callback-outlasts-the-poll-interval": "P1-twice",
    "never-answered/SyncGroup": "BUG-31",
    "calls-on-the-way/pause-joining": "O5-paused-fetched",
    "closed-at-once/fetched": "L1-no-time",
    "closed-at-once-eager/announced": "L1-no-time",
    "positions-in-a-callback/pause": "O5-paused-fetched",
    "wakeup-in-a-callback/assigned": "T4-more-than-once",
    "callback-raises-cooperative/lost": "C4-swallowed",
    "few-records-at-a-time-cooperative/closed-in-a-batch-with-gaps": "O5-position-counts",
    "commit-refused-cooperative/illegal-generation": "BUG-55",
    "coordinator-silent-cooperative/silent": "BUG-08",
    "join-takes-long-cooperative": "BUG-18",
    "refused-too-late-cooperative/as-a-new-member": "BUG-13",
    "static-fenced-cooperative/heartbeat": "X2-fenced-goes-on",
    "throttled-member-cooperative/fetching": "W2-not-for-fetch",
    "topic-recreated-cooperative/between-polls": "O7-name-is-all",
    "unsubscribe-on-the-way-cooperative/rejoining": "BUG-62",
}
"""Scenarios that share a mutant with another one, and the shortest run that notices it."""


def is_red(judgement: Judgement) -> bool:
    """Broken; on a machine that stands still the kit says so, and that it therefore proves nothing about a client."""
    return judgement.verdict in (Verdict.FAIL, Verdict.DEVIATION) or STOOD_STILL in judgement.reason


def red_rules(client: ClientResult) -> dict[str, set[str]]:
    """Scenario -> the rules that were found broken in it."""
    red: dict[str, set[str]] = {}
    for row in client.rows:
        if row.judgement.verdict in (Verdict.FAIL, Verdict.DEVIATION):
            red.setdefault(row.case.scenario.id, set()).add(row.rule)
    return red


def judged(identifiers: Sequence[str], cases: Sequence[Case]) -> dict[str, dict[str, set[str]]]:
    """Mutant -> scenario -> rules found broken."""
    campaign = run_campaign([mutated(identifier) for identifier in identifiers], cases, jobs=JOBS)
    rows = (row.judgement for client in campaign.clients for row in client.rows)
    assert [each for each in rows if each.verdict is Verdict.INCONCLUSIVE and STOOD_STILL not in each.reason] == []
    return {name: red_rules(client) for name, client in zip(identifiers, campaign.clients, strict=True)}


def is_noticed(identifier: str, scenario: str, red: dict[str, dict[str, set[str]]]) -> bool:
    """Whether a scenario found a rule broken that the mutant breaks."""
    return bool(red[identifier].get(scenario, set()) & set(MUTANTS[identifier].rules))


def is_noticed_when_tried_again(identifier: str, scenario: str) -> bool:
    """The same of further runs, in every variant; see `TRIES`."""
    cases = [case for case in written_cases() if case.scenario.id == scenario]
    return any(is_noticed(identifier, scenario, judged([identifier], cases)) for _ in range(TRIES - 1))


def test_mutants_name_scenarios_that_there_are() -> None:
    assert {scenario for one in ON_THE_WIRE.values() for scenario in one.scenarios} == set(SCENARIOS)


def test_each_scenario_has_a_mutant_that_shows_it_at_work() -> None:
    chosen = {case.id: case for case in all_cases(FULL)}
    stories = {*ONE_EACH_STORY.values(), *BY_ANOTHERS_MUTANT}
    for cases, scenarios in (({*ONE_EACH.values()}, set(OF_PATH)), (stories, set(SCENARIOS) - set(OF_PATH))):
        assert {chosen[case].scenario.id for case in cases} == scenarios
    pairs = [*ONE_EACH.items(), *ONE_EACH_STORY.items(), *((name, case) for case, name in BY_ANOTHERS_MUTANT.items())]
    assert [name for name, case in pairs if chosen[case].scenario.id not in MUTANTS[name].scenarios] == []


@pytest.mark.realtime
@pytest.mark.parametrize("one_each", [ONE_EACH, pytest.param(ONE_EACH_STORY, marks=pytest.mark.exhaustive)])
def test_each_scenario_goes_red_for_a_mutant(one_each: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The short form of the matrix: one mutant and one run for each scenario, side by side."""
    monkeypatch.setattr(scenario_context, "WITHIN_MS", 4_000)
    chosen = {case.id: case for case in all_cases(FULL)}
    unnoticed = [*one_each.items()]
    if one_each is ONE_EACH_STORY:
        unnoticed += [(name, case) for case, name in BY_ANOTHERS_MUTANT.items()]
    with StallClock() as clock, ThreadPoolExecutor(JOBS) as pool:
        for _ in range(TRIES):
            runs = {each: pool.submit(run_case, mutated(each[0]), chosen[each[1]], clock) for each in unnoticed}
            for (identifier, case), run in runs.items():
                found = {rule for rule, each in run.result().judgements.items() if is_red(each)}
                if found & set(MUTANTS[identifier].rules):
                    unnoticed.remove((identifier, case))
    assert not unnoticed


@pytest.mark.realtime
@pytest.mark.exhaustive
def test_the_whole_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each mutant is noticed on the path where it must be; for each scenario one of them passes half of the others.

    The first variant of each scenario has to do; who is not noticed by it gets the others.
    """
    monkeypatch.setattr(scenario_context, "WITHIN_MS", 4_000)
    mutants = {name: one for name, one in ON_THE_WIRE.items() if set(one.scenarios) & set(OF_PATH)}
    red = judged(list(mutants), [Case(each, each.variants[0]) for each in OF_PATH.values()])
    unnoticed = [
        (identifier, scenario)
        for identifier, mutant in mutants.items()
        for scenario in set(mutant.scenarios) & set(OF_PATH)
        if not is_noticed(identifier, scenario, red)
    ]
    assert [pair for pair in unnoticed if not is_noticed_when_tried_again(*pair)] == []
    for scenario in OF_PATH:
        fewest = min(len(red[identifier]) for identifier, mutant in mutants.items() if scenario in mutant.scenarios)
        assert fewest - 1 <= (len(OF_PATH) - 1) / 2, (
            f"every mutant for {scenario} turns more than half of the others red"
        )
