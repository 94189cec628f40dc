"""The words that groupspec prints are explained."""

from __future__ import annotations

import pytest

from groupspec.conformance import cli
from groupspec.conformance.glossary import TERMS
from groupspec.spec.rules import RULES

WORDS = [
    "flaps",
    "narrowly",
    "certain",
    "case",
    "variant",
    "run",
    "mutant",
    "profile",
    "oracle",
    "fairness",
    "vector",
    "kit",
    "harness",
    "row",
    "sans-IO",
    "docket",
    "violation",
    "notice",
    "BROKE OFF",
    "story",
]


@pytest.mark.parametrize("word", [*WORDS, "equivalent mutant", "idle mutant", "engine", "fold", "score"])
def test_a_word_that_groupspec_prints_is_a_term(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", word]) == 0
    assert capsys.readouterr().out.startswith(f"term {word}\n")


@pytest.mark.parametrize(
    ("word", "term"),
    [
        *((word, "mutant") for word in ("killed", "survived")),
        *((word, f"{word} mutant") for word in ("equivalent", "undecided", "untried")),
        *((word, "property") for word in ("invariant", "reachable", "recoverable", "leads_to", "violated as expected")),
        *((word, "engine") for word in ("explorer", "TLC", "edges", "depth", "not decided", "not expressed")),
        *((word, "row") for word in ("guard", "when", "transition", "effects of a row")),
        ("folded", "fold"),
    ],
)
def test_words_of_verify_its_scores_and_machine_files_lead_to_their_term(
    word: str, term: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain", word]) == 0
    assert f"term {term}\n" in capsys.readouterr().out


def test_the_terms_are_in_alphabetical_order() -> None:
    assert list(TERMS) == sorted(TERMS, key=str.lower)


def test_the_rules_of_a_term_exist_and_are_in_order() -> None:
    for term in TERMS.values():
        assert list(term.rules) == [rule for rule in RULES if rule in term.rules], term.name
