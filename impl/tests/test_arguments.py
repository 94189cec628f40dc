"""What callers got wrong is said on their own thread, and the background thread never hears of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from groupspec.impl.arguments import offsets, topic_names, whole_number
from groupspec.impl.core.messages import OffsetAndMetadata, TopicPartition
from groupspec.impl.threads.tests.scripted_consumer import ScriptedConsumer

FIRST = TopicPartition("orders", 0)


class HalfAListener:
    """Has no word for lost partitions."""

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None: ...
    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None: ...


WRONG: dict[str, tuple[Callable[[Any], object], type[Exception], str]] = {
    "an offset as text": (lambda c: c.commit({FIRST: "5"}), TypeError, r"commit\(\): offset of orders-0='5'"),
    "an offset as float": (lambda c: c.commit({FIRST: 5.0}), TypeError, "must be a whole number"),
    "no offset": (lambda c: c.commit({FIRST: None}), TypeError, "must be a whole number"),
    "a bool": (lambda c: c.commit({FIRST: True}), TypeError, "must be a whole number"),
    "an offset below 0": (lambda c: c.commit({FIRST: -1}), ValueError, "must be from 0"),
    "an offset beyond 64 bits": (lambda c: c.commit_async({FIRST: 2**63}), ValueError, "must be from 0"),
    "an offset within": (lambda c: c.commit({FIRST: OffsetAndMetadata("5")}), TypeError, "offset of orders-0='5'"),  # type: ignore[arg-type]
    "metadata": (lambda c: c.commit({FIRST: OffsetAndMetadata(5, b"x")}), TypeError, "must be a str"),  # type: ignore[arg-type]
    "a pair as partition": (lambda c: c.commit({("orders", 0): 5}), TypeError, "no TopicPartition"),
    "a list of offsets": (lambda c: c.commit_async([5]), TypeError, "no dict"),
    "a callback": (lambda c: c.commit_async({FIRST: 5}, "done"), TypeError, "can't be called"),
    "a number as topic": (lambda c: c.subscribe([5]), TypeError, r"subscribe\(\): 5 is no topic"),
    "a topic that can't be": (lambda c: c.subscribe(["my topic"]), ValueError, "'my topic' can't be a topic"),
    "a topic of dots": (lambda c: c.subscribe([".."]), ValueError, "can't be a topic"),
    "no expression": (lambda c: c.subscribe(pattern="("), ValueError, "is no regular expression"),
    "a pattern of bytes": (lambda c: c.subscribe(pattern=b"o"), TypeError, "not bytes"),
    "topics and a pattern": (lambda c: c.subscribe(["orders"], pattern="o"), ValueError, "not both"),
    "no record at all": (lambda c: c.poll(0, max_records=0), ValueError, r"max_records=0: must be from 1"),
    "a time as text": (lambda c: c.offsets_for_times({FIRST: "now"}), TypeError, "time of orders-0='now'"),
    "a time before 1970": (lambda c: c.offsets_for_times({FIRST: -1}), ValueError, "must be from 0"),
    "a listener": (lambda c: c.subscribe(["orders"], HalfAListener()), TypeError, "has no on_partitions_lost"),
    "assigned": (lambda c: c.assign(["orders-0"]), TypeError, r"assign\(\): 'orders-0' is no TopicPartition"),
    "a partition below 0": (lambda c: c.assign([TopicPartition("orders", -1)]), ValueError, "partition=-1"),
    "committed": (lambda c: c.committed([5]), TypeError, "no TopicPartition"),
    "a seek": (lambda c: c.seek(FIRST, 1.5), TypeError, "must be a whole number"),
    "a time": (lambda c: c.poll(0.5), TypeError, r"poll\(\): timeout_ms=0.5"),
    "a close": (lambda c: c.close("now"), TypeError, r"close\(\): timeout_ms='now'"),
}


@pytest.mark.parametrize("what", WRONG)
def test_it_is_refused_and_the_consumer_goes_on(what: str) -> None:
    call, kind, message = WRONG[what]
    with ScriptedConsumer() as driven:
        driven.stable(0)
        with pytest.raises(kind, match=message):
            driven.call(call)
        assert driven.driver.is_running()
        assert driven.poll() == []
        assert driven.state == "STABLE"


def test_numbers_of_other_libraries_are_numbers() -> None:
    assert offsets({FIRST: numpy.int64(7)}, "commit()") == {FIRST: OffsetAndMetadata(7)}  # type: ignore[dict-item]
    assert type(whole_number(numpy.int32(7), "n")) is int


def test_names_that_topics_can_have() -> None:
    assert topic_names(["a.b_c-1", "x" * 249]) == ("a.b_c-1", "x" * 249)
    with pytest.raises(ValueError, match="can't be a topic"):
        topic_names(["x" * 250])
