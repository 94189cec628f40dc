"""What callers give, looked at on their own thread: what makes no sense is refused there, and changes nothing.

The background thread works for all calls, so what one of them got wrong must never reach it. Whole numbers may be of
any type that is one (`operator.index`: those of numpy too), but neither a bool nor a float.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from groupspec.impl.core.messages import OffsetAndMetadata, TopicPartition
from groupspec.impl.listener import NoListener, RebalanceListener

TOPIC_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
"""Kafka's rule: org.apache.kafka.common.internals.Topic.validate; and neither "." nor ".."."""

INT64_MAX: Final = 2**63 - 1
INT32_MAX: Final = 2**31 - 1

F = TypeVar("F", bound=Callable[..., object] | None)
Offsets = Mapping[TopicPartition, int | OffsetAndMetadata]


def whole_number(value: object, what: str, least: int = 0, most: int = INT64_MAX) -> int:
    """The number. TypeError if it is none, ValueError if it is out of range; `what` names it."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{what}={value!r}: must be a whole number") from None
    if not least <= number <= most:
        raise ValueError(f"{what}={number}: must be from {least} to {most}")
    return number


def timeout(value: object, call: str) -> int:
    """A time in milliseconds; TypeError, ValueError."""
    return whole_number(value, f"{call}: timeout_ms", most=INT32_MAX)


def topic_names(topics: Iterable[str], call: str = "subscribe()") -> tuple[str, ...]:
    """Names that topics can have; TypeError, ValueError."""
    if isinstance(topics, str):
        raise TypeError(f"{call}: give a list of topics, [{topics!r}] instead of {topics!r}")
    return tuple(_topic_name(topic, call) for topic in topics)


def _topic_name(topic: object, call: str) -> str:
    if not isinstance(topic, str):
        raise TypeError(f"{call}: {topic!r} is no topic; give its name as a str")
    if topic in (".", "..") or not TOPIC_NAME.fullmatch(topic):
        raise ValueError(
            f"{call}: {topic!r} can't be a topic: 1 to 249 letters, digits, dots, underscores or dashes, "
            'and neither "." nor ".."'
        )
    return topic


def pattern(value: str | re.Pattern[str], call: str) -> re.Pattern[str]:
    """A regular expression for names of topics; TypeError, ValueError."""
    try:
        compiled = re.compile(value)
    except re.error as problem:
        raise ValueError(f"{call}: pattern={value!r} is no regular expression: {problem}") from None
    except TypeError:
        raise TypeError(f"{call}: pattern={value!r}: must be a str, or a compiled regular expression") from None
    if not isinstance(compiled.pattern, str):
        raise TypeError(f"{call}: pattern={value!r}: names of topics are str, not bytes")
    return compiled


def partition(value: object, call: str) -> TopicPartition:
    """A partition that may exist; TypeError, ValueError."""
    if not isinstance(value, TopicPartition):
        raise TypeError(f"{call}: {value!r} is no TopicPartition(topic, number)")
    topic = _topic_name(value.topic, call)
    return TopicPartition(topic, whole_number(value.partition, f"{call}: partition", most=INT32_MAX))


def partitions(values: Iterable[TopicPartition], call: str) -> tuple[TopicPartition, ...]:
    """Several; TypeError, ValueError."""
    return tuple(partition(value, call) for value in values)


def offset(value: object, call: str, of: TopicPartition) -> int:
    """Where to read on; TypeError, ValueError."""
    return whole_number(value, f"{call}: offset of {of}")


def offsets(values: Offsets, call: str) -> dict[TopicPartition, OffsetAndMetadata]:
    """What to commit; TypeError, ValueError."""
    if not isinstance(values, Mapping):
        raise TypeError(f"{call}: {values!r} is no dict of partitions and offsets")
    return {partition(of, call): place(value, call, of) for of, value in values.items()}


def place(value: object, call: str, of: TopicPartition) -> OffsetAndMetadata:
    """An offset, maybe with what belongs to it; TypeError, ValueError."""
    if not isinstance(value, OffsetAndMetadata):
        return OffsetAndMetadata(offset(value, call, of))
    if not isinstance(value.metadata, str):
        raise TypeError(f"{call}: metadata of {of} is {value.metadata!r}: must be a str")
    epoch = whole_number(value.leader_epoch, f"{call}: leader_epoch of {of}", least=-1, most=INT32_MAX)
    return OffsetAndMetadata(offset(value.offset, call, of), value.metadata, epoch)


def listener(value: RebalanceListener | None, call: str) -> RebalanceListener:
    """The listener. TypeError if it lacks a method: that would otherwise show in the middle of a rebalance."""
    if value is None:
        return NoListener()
    methods = [name for name in dir(NoListener) if name.startswith("on_partitions_")]
    missing = [name for name in methods if not callable(getattr(value, name, None))]
    if missing:
        raise TypeError(f"{call}: the listener {value!r} has no {', '.join(missing)}; derive from RebalanceListener")
    return value


def callback(value: F, call: str) -> F:
    """Something to call, or nothing; TypeError."""
    if value is not None and not callable(value):
        raise TypeError(f"{call}: {value!r} can't be called")
    return value


def times(values: Mapping[TopicPartition, int], call: str) -> dict[TopicPartition, int]:
    """A time for each partition, in milliseconds since 1970; TypeError, ValueError."""
    if not isinstance(values, Mapping):
        raise TypeError(f"{call}: {values!r} is no dict of partitions and times")
    return {partition(of, call): whole_number(value, f"{call}: time of {of}") for of, value in values.items()}
