"""Races: delays that a seed draws, the same each time, and by which the reference breaks no rule."""

from __future__ import annotations

import pytest

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.wire import docket
from groupspec.conformance.wire.case import racing
from groupspec.conformance.wire.delays import APIS, LATEST_MS, Delays, drawn_races
from groupspec.conformance.wire.scenarios import FULL, all_cases, case_of, find_cases, written_cases
from groupspec.conformance.wire.scenarios.races import RACES, Race
from groupspec.conformance.wire.virtual.run import Trial, run_apart

SEEDS = range(4)


def drawn(seed: int | None) -> list[int]:
    """The delays of twenty answers to each request, one after the other."""
    delays = Delays(seed)
    return [delays.next_ms(api) for _ in range(20) for api in (*APIS, "Fetch")]


def test_a_seed_draws_the_same_delays_whatever_comes_between() -> None:
    assert drawn(7) == drawn(7) != drawn(8)
    alone, among = Delays(7), Delays(7)
    expected = [alone.next_ms("Heartbeat") for _ in range(20)]
    found = []
    for _ in range(20):
        among.next_ms("Metadata")
        found.append(among.next_ms("Heartbeat"))
    assert found == expected
    assert 0 < max(expected) <= LATEST_MS
    assert min(expected) == 0
    assert Delays(7).next_ms("Fetch") == max(drawn(None)) == 0


def test_a_race_is_named_by_its_seed_and_found_by_its_name() -> None:
    for case in written_cases():
        raced = racing(case, 17)
        assert raced.variant.race == 17
        assert raced.id.endswith("~17")
        assert raced.rules == case.rules
        assert find_cases([raced.selector]) == [raced]
        assert case_of(raced.id) == raced
    assert len(find_cases(["first-join/poll-5", "first-join/plain~3"])) == 2


@pytest.mark.parametrize("wrong", ["first-join~x", "first-join~1", "first-join/plain~", "rebalance-eager~-3"])
def test_a_name_that_is_no_races_is_told(wrong: str) -> None:
    with pytest.raises(UsageProblem, match="is no case with delays"):
        find_cases([wrong])


def test_races_are_spread_over_the_cases_and_drawn_by_the_seed() -> None:
    cases = find_cases(["first-join"])
    races = drawn_races(cases, 2 * len(cases) + 1, 3)
    assert races == drawn_races(cases, 2 * len(cases) + 1, 3) != drawn_races(cases, 2 * len(cases) + 1, 4)
    names = [race.variant.name.partition("~")[0] for race in races]
    assert {names.count(name) for name in names} == {2, 3}
    assert len({race.variant.race for race in races}) == len(races)


@pytest.mark.realtime
@pytest.mark.parametrize("seed", SEEDS)
def test_the_reference_keeps_every_rule_whatever_is_late(seed: int) -> None:
    [case] = find_cases(["rebalance-cooperative/poll-5"])
    told = run_apart(Trial(racing(case, seed), keep_log=True))
    assert (told.broken, told.broke_off) == ((), "")
    plain = run_apart(Trial(case, keep_log=True))
    assert told.seconds != plain.seconds  # something was late


def test_a_race_that_was_found_belongs_to_the_full_profile_and_names_what_it_finds() -> None:
    races = [case.id for case in all_cases(FULL) if case.variant.race is not None]
    assert races == [f"{race.case}~{race.seed}" for race in RACES]
    assert [case for case in all_cases() if case.variant.race is not None] == []
    of_clients = {(entry.client, entry.rule, name) for entry in docket.entries() for name in entry.scenarios}
    for race in RACES:
        name = (race.client, race.rule, f"{race.case}~{race.seed}")
        assert bool(race.mutant) != (name in of_clients), name


@pytest.mark.realtime
@pytest.mark.parametrize("race", [race for race in RACES if race.mutant], ids=lambda race: f"{race.case}~{race.seed}")
def test_a_race_finds_a_mutant_that_is_not_found_when_every_answer_comes_at_once(race: Race) -> None:
    [case] = find_cases([race.case])
    change = MUTANTS[race.mutant].change
    assert race.rule in run_apart(Trial(racing(case, race.seed), change)).broken
    assert race.rule not in run_apart(Trial(case, change)).broken
    assert run_apart(Trial(racing(case, race.seed))).broken == ()


def test_the_docket_explains_a_race_by_the_case_that_it_is_with_other_delays() -> None:
    plain = docket.explanation("kgo", "1.22.2", "H1", "first-join/sync-late", "DEVIATION")
    assert plain is not None
    assert docket.explanation("kgo", "1.22.2", "H1", "first-join/sync-late~17", "DEVIATION") == plain
    of_plain = docket.explanation("aiokafka", "0.14.0", "S1", "rebalance-eager", "FAIL")
    assert of_plain is not None
    assert docket.explanation("aiokafka", "0.14.0", "S1", "rebalance-eager/plain~3", "FAIL") == of_plain
