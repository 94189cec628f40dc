"""What rule O7 leaves to a client whose topic is made anew, and what it cannot ask of one that is not told."""

from __future__ import annotations

import pytest

from groupspec.conformance.checks import judge
from groupspec.conformance.checks.verdicts import BROKEN, Verdict
from groupspec.conformance.wire.tests.stories_of_topics import FIRST, SECOND, begins_anew, gives_up, knows_no_better
from groupspec.impl.core.messages import NO_TOPIC_ID


def test_O7_a_client_may_refuse_to_go_on() -> None:
    assert judge("O7", gives_up().history()).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("ids", "version"), [((NO_TOPIC_ID, NO_TOPIC_ID), 12), ((FIRST, FIRST), 12), ((FIRST, SECOND), 9)]
)
def test_O7_who_is_told_of_no_other_id_is_not_judged(ids: tuple[bytes, bytes], version: int) -> None:
    assert judge("O7", knows_no_better(ids, version).history()).verdict is Verdict.UNTESTABLE


@pytest.mark.parametrize("rule", ["O1", "O4", "O5"])
def test_whoever_begins_anew_in_another_topic_has_a_reason(rule: str) -> None:
    judgement = judge(rule, begins_anew().history())
    assert judgement.verdict not in BROKEN, judgement.reason
