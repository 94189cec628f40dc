"""No handler of the core is there for nothing: replace any one by a no-op, and the suite fails.

The handlers come from the core's own dispatch table, what is expected from the specification. The two have vocabularies
of their own, and these are compared too: whatever the core accepts is specified, and whatever is specified the core
accepts.
"""

from __future__ import annotations

import pytest

from groupspec.conformance.stateful.tests.handlers import (
    SPECIFIED_BY_CASES,
    SPECIFIED_BY_MACHINES,
    Key,
    first_failure,
    suite,
)
from groupspec.impl.core import dispatch
from groupspec.impl.core.core import Core

QUESTIONS = {
    ("ListOffsets", ""),
    ("ListTopics", ""),
    ("DescribeMember", ""),
    ("DescribeMetrics", ""),
    ("TimerExpired", "questions_backoff"),
    ("TimerExpired", "questions_deadline"),
}
"""What an application asks, to which no machine says a word: answering changes nothing of the member. Their tests are
in impl/core/tests/test_questions.py, and fail without any of these handlers."""

COMPARISONS = {key for key in dispatch.HANDLERS if key[0] == "OffsetForLeaderEpoch"}
"""Whether the log of a new leader is the one that was read (KIP-320): nothing of it is a group's. Their tests are in
impl/core/tests/test_validation.py and test_dispatch.py, and fail without any of these handlers."""

UNSPECIFIED = QUESTIONS | COMPARISONS
KEYS = [key for key in dispatch.HANDLERS if key not in UNSPECIFIED]


def do_nothing(core: Core, happening: dispatch.Happening) -> None:
    pass


def name(key: Key) -> str:
    return "-".join(filter(None, key))


@pytest.mark.exhaustive
@pytest.mark.parametrize("key", KEYS, ids=name)
def test_replacing_a_handler_by_pass_makes_the_suite_fail(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(dispatch.HANDLERS, key, do_nothing)
    failed = first_failure(key)
    assert failed is not None, f"nothing in the suite needs the handler of {name(key)}"
    monkeypatch.undo()
    failed.run()  # and with the handler in its place it passes


@pytest.mark.parametrize("key", KEYS, ids=name)
def test_everything_that_the_core_accepts_is_specified(key: Key) -> None:
    assert key in SPECIFIED_BY_MACHINES | SPECIFIED_BY_CASES


@pytest.mark.parametrize("key", sorted(SPECIFIED_BY_MACHINES | SPECIFIED_BY_CASES), ids=name)
def test_everything_that_is_specified_the_core_accepts(key: Key) -> None:
    assert key in dispatch.HANDLERS


def test_questions_and_comparisons_are_handled_and_are_no_part_of_the_specification() -> None:
    assert set(dispatch.HANDLERS) >= QUESTIONS
    assert COMPARISONS
    assert not UNSPECIFIED & (SPECIFIED_BY_MACHINES | SPECIFIED_BY_CASES)


@pytest.mark.exhaustive
def test_with_all_handlers_in_place_the_whole_suite_passes() -> None:
    for part in suite():
        part.run()
