"""The words that groupspec prints are explained."""

from __future__ import annotations

import pytest

from groupspec.conformance import cli

WORDS = [
    "flaps",
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
]


@pytest.mark.parametrize("word", [*WORDS, "equivalent mutant", "idle mutant"])
def test_a_word_that_groupspec_prints_is_a_term(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", word]) == 0
    assert capsys.readouterr().out.startswith(f"term {word}\n")
