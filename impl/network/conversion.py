"""How one API's messages become fields and back: the frame into which the tables of the other files fit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from groupspec.impl.core.messages import Request, TopicPartition
from groupspec.impl.network.errors import UnencodableMessage
from groupspec.impl.network.topic_ids import TopicIds
from groupspec.impl.network.wire import Fields, Node

Asked = TypeVar("Asked")
Answered = TypeVar("Answered")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Context:
    """What a message does not say itself: its version, topics by id, and for an answer what was asked."""

    version: int
    topic_ids: TopicIds = field(default_factory=TopicIds)
    request: Request | None = None


@dataclass(frozen=True, slots=True)
class Conversion(Generic[Asked, Answered]):
    """The four ways of one API."""

    api: str
    request_type: type[Asked]
    response_type: type[Answered]
    write_request: Callable[[Asked, Context], Fields]
    read_request: Callable[[Node, Context], Asked]
    write_response: Callable[[Answered, Context], Fields]
    read_response: Callable[[Node, Context], Answered]

    def request_fields(self, request: object, context: Context) -> Fields:
        """A request as fields. Raises UnencodableMessage for another API's."""
        if not isinstance(request, self.request_type):
            raise UnencodableMessage(f"{self.api} can't carry {request!r}")
        return self.write_request(request, context)

    def response_fields(self, response: object, context: Context) -> Fields:
        """An answer as fields. Raises UnencodableMessage for another API's."""
        if not isinstance(response, self.response_type):
            raise UnencodableMessage(f"{self.api} can't be answered with {response!r}")
        return self.write_response(response, context)


def by_topic(values: Mapping[TopicPartition, Value], *, keep_order: bool = False) -> dict[str, dict[int, Value]]:
    """The wire's order of things: topics, and in each its partitions; sorted, if their order does not matter."""
    grouped: dict[str, dict[int, Value]] = defaultdict(dict)
    for partition in values if keep_order else sorted(values):
        grouped[partition.topic][partition.partition] = values[partition]
    return grouped


def by_partition(
    topics: Iterable[Node], name: Callable[[Node], str], number: str, read: Callable[[Node], Value]
) -> dict[TopicPartition, Value]:
    """The way back: every partition's struct, read."""
    return {
        TopicPartition(name(topic), partition.number(number)): read(partition)
        for topic in topics
        for partition in topic.nodes("partitions")
    }


def single(nodes: list[Value], what: str) -> Value:
    """The only item of a list. These APIs take many at once in new versions; a consumer asks for one."""
    if len(nodes) != 1:
        raise UnencodableMessage(f"{len(nodes)} {what} in one message; exactly one is understood here")
    return nodes[0]
