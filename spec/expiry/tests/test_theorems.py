"""The theorems about time.

Each is proved both ways in both arithmetics, and each can be refuted by changing it by one.
"""

from __future__ import annotations

from itertools import product

import pytest
from msgspec.structs import replace

from groupspec.spec.expiry import parts, zones
from groupspec.spec.expiry.automata import Edge, Part, System
from groupspec.spec.expiry.linear import holds, parse
from groupspec.spec.expiry.parts import StatedPart, part
from groupspec.spec.expiry.proofs import ARITHMETICS, Values, boundary, claims, prove
from groupspec.spec.expiry.small import shortest_run
from groupspec.spec.expiry.theorems import THEOREMS, Theorem
from groupspec.spec.expiry.zones import Endless, explore
from groupspec.spec.kip62 import DELAYS
from groupspec.spec.problems import DataError

each_theorem = pytest.mark.parametrize("theorem", THEOREMS.values(), ids=list(THEOREMS))
both_arithmetics = pytest.mark.parametrize("arithmetic", ARITHMETICS.values(), ids=list(ARITHMETICS))


def small_disagreement(theorem: Theorem, arithmetic: int, most: int) -> Values | None:
    """The first choice of parameters up to `most` for which walking through all states contradicts the theorem."""
    system = System(theorem.parts, theorem.parameters, arithmetic)
    assumed = [row for text in theorem.assumptions for row in parse(text, theorem.parameters, arithmetic)]
    for numbers in product(range(most + 1), repeat=len(theorem.parameters)):
        values = dict(zip(theorem.parameters, numbers, strict=True))
        if not all(holds(row, numbers) for row in assumed):
            continue
        if (shortest_run(system, theorem.goal, values) is not None) != claims(theorem, arithmetic, values):
            return values
    return None


@each_theorem
@both_arithmetics
def test_it_holds_for_all_numbers(theorem: Theorem, arithmetic: int) -> None:
    assert prove(theorem, arithmetic).refutation is None


@each_theorem
@both_arithmetics
def test_walking_through_every_state_with_small_numbers_says_the_same(theorem: Theorem, arithmetic: int) -> None:
    assert small_disagreement(theorem, arithmetic, 1 if len(theorem.parameters) > 4 else 2) is None


@pytest.mark.exhaustive
@each_theorem
@both_arithmetics
def test_walking_through_every_state_with_larger_numbers_says_the_same(theorem: Theorem, arithmetic: int) -> None:
    assert small_disagreement(theorem, arithmetic, 3) is None


@each_theorem
@both_arithmetics
@pytest.mark.parametrize("by_ms", [-1, 1])
def test_a_claim_that_is_off_by_a_millisecond_is_refuted_with_numbers(
    theorem: Theorem, arithmetic: int, by_ms: int
) -> None:
    refutation = prove(theorem, arithmetic, claimed_in=arithmetic + by_ms).refutation

    assert refutation is not None
    run = shortest_run(System(theorem.parts, theorem.parameters, arithmetic), theorem.goal, refutation.values)
    assert (run is not None) == (refutation.direction == "reached, but not claimed")


@each_theorem
def test_no_case_is_superfluous(theorem: Theorem) -> None:
    for case in theorem.cases:
        without = replace(theorem, cases=tuple(other for other in theorem.cases if other != case))
        assert prove(without, 0).refutation is not None


@each_theorem
@both_arithmetics
def test_one_more_than_the_boundary_is_safe(theorem: Theorem, arithmetic: int) -> None:
    case = boundary(theorem, arithmetic)
    safe = {**case.values, theorem.limit: case.values[theorem.limit] + 1}

    assert case.run[-1].places != case.run[0].places or len(case.run) == 1
    assert theorem.goal in case.run[-1].places
    assert not claims(theorem, arithmetic, safe)
    assert shortest_run(System(theorem.parts, theorem.parameters, arithmetic), theorem.goal, safe) is None


@each_theorem
def test_it_says_what_it_means_and_where_it_comes_from(theorem: Theorem) -> None:
    assert theorem.question.strip() and theorem.meaning and theorem.sources
    assert {*theorem.typical, theorem.limit} == set(theorem.parameters)


def test_a_part_that_there_is_not_is_told_with_those_that_there_are() -> None:
    with pytest.raises(DataError, match=r"no part 'beat'; parts\.toml has beats, one-beat"):
        part("beat")


def test_an_edge_that_cannot_be_read_is_told_with_what_one_looks_like(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = StatedPart("lamp", "a lamp", ("OFF to ON: pressed",), {"OFF": "", "ON": ""})
    monkeypatch.setattr(parts, "_STATED", {"lamp": stated})
    with pytest.raises(DataError, match=r"\[lamp\]: 'OFF to ON: pressed' is no `SOURCE -> TARGET: action"):
        part("lamp")


def test_a_heartbeat_per_session_expires_in_one_arithmetic_and_never_in_the_other() -> None:
    """What the book of differences says of interval = session: with a network that takes no time."""
    values = {"interval": 5, "session": 5, "granularity": 0, "latency": 0}

    assert claims(THEOREMS["session-stable"], ARITHMETICS["non-strict"], values)
    assert not claims(THEOREMS["session-stable"], ARITHMETICS["strict"], values)


def test_h7_one_heartbeat_at_a_time_bears_less_latency_than_several() -> None:
    kip_62 = {"interval": 3_000, "session": 10_000, "granularity": 100}
    bears = {"session-stable": 4_949, "session-stable-pipelined": 6_899}

    for name, latency in bears.items():
        assert not claims(THEOREMS[name], 0, {**kip_62, "latency": latency})
        assert claims(THEOREMS[name], 0, {**kip_62, "latency": latency + 1})


def test_g5_a_computing_leader_is_saved_only_by_heartbeats_beside_its_assignor() -> None:
    values = {"interval": 3_000, "granularity": 100, "latency": 50, "assignment": 45_000, "session": 45_000}

    assert claims(THEOREMS["session-first-beat-published"], 0, values)
    assert claims(THEOREMS["session-first-beat-deployed"], 0, values)
    assert not claims(THEOREMS["session-first-beat-beside"], 0, values)


def test_no_theorem_lets_a_connection_lose_one_request_and_deliver_the_next() -> None:
    """TCP delivers in order or not at all.

    So nothing arrives behind what was swallowed before the request timed out.
    """
    losing = {"swallowed", "beat_failed"}
    for theorem in THEOREMS.values():
        actions = {edge.action for part in theorem.parts for edge in part.edges}
        assert not any(action.endswith("_lost") for action in actions)
        assert "swallowed" not in actions or (losing <= actions and "request" in theorem.parameters)


def test_p1_a_late_read_costs_the_poller_one_turn() -> None:
    kafkas = {"interval": 3_000, "granularity": 100, "latency": 50, "callback": 0, "max_poll": 300_000}
    bears = {"rebalance-in-poll": 296_799, "rebalance-read-late": 296_699}

    for name, processing in bears.items():
        assert not claims(THEOREMS[name], 0, {**kafkas, "processing": processing})
        assert claims(THEOREMS[name], 0, {**kafkas, "processing": processing + 1})


def test_p1_a_member_that_keeps_to_the_poll_interval_can_still_be_expelled_by_a_rebalance() -> None:
    """KIP-62 takes max.poll.interval.ms for the longest time until a member rejoins; it forgets the way there."""
    kafkas = {"interval": 3_000, "granularity": 100, "latency": 20, "callback": 0, "max_poll": 300_000}
    polite = THEOREMS["rebalance-polite"]

    assert claims(polite, 0, {**kafkas, "processing": 299_000})
    assert not claims(polite, 0, {**kafkas, "processing": 296_000})


def test_p1_the_effective_poll_timeout_differs_where_the_poll_limit_is_the_shorter_one() -> None:
    deployed, kip_62 = THEOREMS["poll-limit"], THEOREMS["poll-limit-effective"]

    assert claims(deployed, 0, {"processing": 7, "max_poll": 5})
    assert not claims(kip_62, 0, {"processing": 7, "max_poll": 5, "session": 9})
    assert claims(kip_62, 0, {"processing": 7, "max_poll": 5, "session": 7})


def test_g1_g5_g6_with_a_network_that_takes_no_time_the_group_s_machine_says_the_same() -> None:
    """`kip62.DELAYS` is played through with the coordinator's rows; the theorems know no rows, and agree."""
    lasts = {delay.situation: delay.lasts for delay in DELAYS}
    still = {"granularity": 0, "latency": 0}
    crash, abandoned = THEOREMS["rebalance-delayed-by-a-crash"], THEOREMS["rebalance-delayed-by-the-abandoned"]

    assert lasts["crashes"] == "min(session, rebalance)"
    assert lasts["heartbeats, and never joins"] == "rebalance"
    for session, rebalance, delay in product(range(1, 6), repeat=3):
        lengths = {**still, "session": session, "rebalance": rebalance, "delay": delay, "max_poll": 99}
        assert claims(crash, 0, lengths) == (delay <= min(session, rebalance))
        assert claims(abandoned, 0, lengths) == (delay <= rebalance)


def test_g1_a_member_stays_if_it_polls_before_the_rebalance_timeout() -> None:
    (stays,) = (delay.stays for delay in DELAYS if delay.situation == "polls, and joins")

    assert stays == "poll < rebalance"
    for poll, rebalance in product(range(1, 6), repeat=2):
        at_once = {"interval": 0, "granularity": 0, "latency": 0, "callback": 0}
        expelled = claims(THEOREMS["rebalance-in-poll"], 0, {**at_once, "processing": poll, "max_poll": rebalance})
        assert expelled == (not poll < rebalance)


def test_a_model_whose_rounds_restart_no_clock_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zones, "MAX_ZONES", 30)
    for_ever = Part(
        "two clocks that drift apart",
        {"HERE": ("one <= interval",)},
        (
            Edge("HERE", "ticks", "HERE", ("one >= interval",), ("one",)),
            Edge("HERE", "ends", "HERE", ("two >= limit",), ("two",)),
        ),
    )
    with pytest.raises(Endless, match="at"):
        explore(System((for_ever,), ("interval", "limit"), 0), "NOWHERE", [])


def test_a_part_that_goes_to_no_place_of_its_own_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="part 'lost', action 'goes': no place 'THERE'; it has HERE"):
        System((Part("lost", {"HERE": ()}, (Edge("HERE", "goes", "THERE"),)),), (), 0)
