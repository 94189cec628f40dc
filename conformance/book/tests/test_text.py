"""How the book writes: guards break where they may, citations become links, prose names rules."""

from __future__ import annotations

import pytest

from groupspec.conformance.book import text
from groupspec.conformance.explain.sources import source


def test_a_guard_breaks_before_and_and_or_but_not_in_brackets() -> None:
    shown = str(text.guard("current and (commit_step == 'out' or owned) and not preparing"))
    assert shown.count('<span class="term">') == 3
    assert shown.index("commit_step") < shown.index("owned") < shown.rindex('<span class="term">')


def test_variables_of_a_guard_lead_to_the_vocabulary_and_values_do_not() -> None:
    shown = str(text.guard("identity == 'member'"))
    assert 'href="vocabulary.html#identity"' in shown
    assert "#member" not in shown


def test_a_term_is_a_link_where_it_first_stands_and_rules_are_links_across_lines() -> None:
    shown = str(text.prose("The generation, and again the generation `generation` (rules\nH1, H3)."))
    assert shown.count('href="vocabulary.html#term-generation"') == 1
    assert 'href="rule-H1.html"' in shown
    assert 'href="rule-H3.html"' in shown
    assert "term-" not in str(text.inline("The generation."))


@pytest.mark.parametrize(
    ("citation", "addresses"),
    [
        ("KAFKA-10793 (PR 9671)", ["issues.apache.org/jira/browse/KAFKA-10793", "github.com/apache/kafka/pull/9671"]),
        ("KAFKA-9823 (PR 8445, 8548)", ["KAFKA-9823", "kafka/pull/8445", "kafka/pull/8548"]),
        ("KAFKA-13419 / 13406 / 14016 chain", ["KAFKA-13419", "KAFKA-13406", "KAFKA-14016"]),
        ("aiokafka #727 / PR 747", ["aio-libs/aiokafka/issues/727", "aio-libs/aiokafka/pull/747"]),
        ("KAFKA-4160; kafka-python #1438", ["KAFKA-4160", "dpkp/kafka-python/issues/1438"]),
        ("MINOR #15362; librdkafka #4672", ["apache/kafka/pull/15362", "confluentinc/librdkafka/issues/4672"]),
        ("KIP-62, 'Proposed Changes'", ["KAFKA/KIP-62%3A+Allow+consumer+to+send+heartbeats+from+a+background+thread"]),
        ("Kafka ClassicGroup.initNextGeneration", []),
        ("KIP-99999", []),
    ],
)
def test_whatever_has_a_public_address_is_a_link_to_it(citation: str, addresses: list[str]) -> None:
    shown = str(source(citation))
    assert shown.count("<a ") == len(addresses)
    for address in addresses:
        assert f'{address}"' in shown


def test_prose_names_rules_bugs_words_and_files_and_they_become_links() -> None:
    shown = str(
        text.prose(
            "By rules H1, H3 and `join_needed`; BUG-04 broke it, see `differences.py`. T1 is no rule's name here."
        )
    )
    for address in (
        "rule-H1.html",
        "rule-H3.html",
        "vocabulary.html#join_needed",
        "bugs.html#BUG-04",
        "differences.html",
    ):
        assert f'href="{address}"' in shown
    assert "rule-T1" not in shown


def test_prose_never_becomes_markup_of_its_own() -> None:
    assert "<script>" not in str(text.prose("<script>alert(1)</script> and `<b>`"))
