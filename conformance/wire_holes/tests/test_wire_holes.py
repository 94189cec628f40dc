"""What the cases of the wire kit leave out: that the table is what occurs, and that few needs are unmet."""

from __future__ import annotations

import json
import random
from typing import Final

import msgspec
import pytest

from groupspec.conformance.history.history import History
from groupspec.conformance.wire.case_run import settings_of
from groupspec.conformance.wire.scenarios import case_of, written_cases
from groupspec.conformance.wire_holes import table
from groupspec.conformance.wire_holes.needs import IN_CALLBACKS, KINDS, Need, needs
from groupspec.conformance.wire_holes.occasions import occasions

DRAWN: Final = 4
FEW: Final = 3
TEXT: Final = table.COMMITTED.read_text(encoding="utf-8")
MADE: Final = table.read_offers(TEXT)


def test_few_needs_are_unmet_and_each_has_a_reason() -> None:
    lacking = [need.occasion for need in table.unmet(MADE)]
    assert len(lacking) <= table.MOST
    assert {*table.HOLES} == {*lacking}, "a hole without a reason, or a reason for what is met"


@pytest.mark.parametrize(
    ("case", "occasion"),
    [
        ("close-on-the-way/syncing", "close in syncing"),
        ("close-on-the-way/committing", "close in committing"),
        ("seek-between-polls/fetched", "seek in records-in-hand"),
        ("pause-between-polls/moved", "pause in without-coordinator"),
        ("commit-in-a-callback/revoked", "commit in revoked-callback"),
        ("expires-on-the-way/syncing", "max.poll.interval.ms over in syncing"),
        ("commits-in-a-long-round/joining", "auto.commit.interval.ms over in joining"),
        ("several-silent/fetch-and-metadata", "Fetch and Metadata silent"),
        ("poll-interval-exceeded", "max.poll.interval.ms over in stable"),
        ("session-runs-out", "session.timeout.ms over in stable"),
        ("fails-many-times/looking-up", "FindCoordinator failing"),
        ("join-takes-long", "JoinGroup late"),
    ],
)
def test_what_a_case_is_about_occurs_in_it(case: str, occasion: str) -> None:
    assert occasion in MADE[case].occasions


def test_in_a_run_in_which_nothing_happens_nothing_occurs() -> None:
    assert occasions(History([], settings_of(written_cases()[0], None))) == frozenset()


def test_without_the_cases_in_which_it_occurs_a_need_is_unmet() -> None:
    without = {name: each for name, each in MADE.items() if "close in lost" not in each.occasions}
    assert len(without) < len(MADE)
    assert "close in lost" in {need.occasion for need in table.unmet(without)}


def test_a_case_that_judges_none_of_its_rules_does_not_meet_a_need() -> None:
    need = Need("close in syncing", "call", frozenset({"L2"}))
    case = "close-on-the-way/syncing"
    assert table.met_by(need, MADE, {case: ("L2", "J1")}) == [case]
    assert table.met_by(need, MADE, {case: ("J1",)}) == []


def test_every_need_has_a_rule_a_kind_and_a_name_of_its_own() -> None:
    assert {need.kind for need in needs()} == set(KINDS)
    assert [need.occasion for need in needs() if not need.rules] == []
    assert len({need.occasion for need in needs()}) == len(needs())
    assert not set(IN_CALLBACKS["commit"]) & {"lost-callback"}  # rule C2


@pytest.mark.realtime
def test_what_few_cases_offer_occurs_when_one_is_run_again() -> None:
    few = {need.occasion for need, cases in table.met(MADE) if len(cases) <= FEW}
    offering = sorted(name for name, each in MADE.items() if few.intersection(each.occasions))
    seed = random.randrange(2**32)
    for name in random.Random(seed).sample(offering, DRAWN):
        case = case_of(name)
        assert case is not None
        [(_, offer)] = table.offers([case])
        assert few.intersection(MADE[name].occasions) <= {*offer.occasions}, f"seed {seed}: {name}"


def test_a_case_that_is_new_or_has_changed_or_is_gone_makes_the_file_stale() -> None:
    assert table.problems(TEXT) == []
    first, second, *others = MADE
    offers = {name: MADE[name] for name in others} | {"gone": MADE[first]}
    offers[second] = msgspec.structs.replace(MADE[second], mark="0")
    stale = table.problems(json.dumps(msgspec.to_builtins(offers)))
    assert stale == [f"changed: {first}, {second}", "gone: gone"]
    assert table.problems("{") != []


def test_the_page_counts_and_names_what_is_left_out() -> None:
    told = table.page(TEXT)
    assert f"{len(needs())} needs; {len(table.unmet(MADE))} are met by none of {len(MADE)} cases." in told
    for hole in table.HOLES.values():
        assert " ".join(hole.because.split()) in told
