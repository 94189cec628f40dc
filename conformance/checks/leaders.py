"""Rule O8: who leads a partition is what the latest leader epoch says, and not what was heard last.

The epoch is in the Metadata that the client was answered, from version 7 on; before version 9 it may be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from groupspec.conformance.checks.checker import Finding, Known, broken, checks, held
from groupspec.conformance.checks.topic_identity import recreations
from groupspec.conformance.history.exchange import Exchange
from groupspec.conformance.history.history import History
from groupspec.impl.core.messages import FetchRequest, MetadataResponse

NAMES_EPOCHS_FROM: Final = 9
"""Metadata, in which brokers name the right ones (KAFKA-9212; Java: hasReliableLeaderEpochs)."""


class Told(NamedTuple):
    """What one answer to Metadata said of who leads a partition."""

    exchange: Exchange
    epoch: int
    node: int


def leaders(history: History) -> dict[str, list[Told]]:
    """What the client was told of each partition, in the order of the answers; of a topic made anew from then on."""
    found: dict[str, list[Told]] = {}
    anew = set(recreations(history))
    told = (e for e in history.of("Metadata") if e.request.version >= NAMES_EPOCHS_FROM and e.answer is not None)
    for exchange in sorted(told, key=lambda each: each.told_us):
        answer = exchange.answered(MetadataResponse)
        for topic in answer.topics if answer is not None else ():
            for each in topic.partitions:
                if (exchange.told_us, topic.topic) in anew:
                    found.pop(f"{topic.topic}-{each.partition}", None)
                if each.leader_epoch >= 0:
                    said = Told(exchange, each.leader_epoch, each.leader)
                    found.setdefault(f"{topic.topic}-{each.partition}", []).append(said)
    return found


@checks("O8")
def a_former_leader_does_not_come_back(history: History) -> Iterator[Finding]:
    """After Metadata with an earlier epoch than the client knows, it fetches from the later leader."""
    for partition, told in leaders(history).items():
        for number, behind in enumerate(told):
            latest = max(told[:number], key=lambda each: each.epoch, default=behind)
            if behind.epoch >= latest.epoch or behind.node == latest.node:
                continue
            until_us = next((e.exchange.told_us for e in told[number:] if e.epoch >= latest.epoch), history.ends_us)
            yield from _fetched_of(history, partition, latest, behind, until_us)


def _fetched_of(history: History, partition: str, latest: Told, behind: Told, until_us: int) -> Iterator[Finding]:
    """Its Fetches, from when an answer was behind until one is not."""
    knows = Known.of(latest.exchange)
    for fetch in history.between(behind.exchange.told_us, until_us, "Fetch"):
        if partition not in map(str, fetch.asked(FetchRequest).offsets) or not knows.before(fetch, history):
            continue
        who = f"{partition}: Metadata named node {behind.node} (leader epoch {behind.epoch}) after node {latest.node}"
        if fetch.request.node == behind.node:
            yield broken(f"{who} ({latest.epoch}), and the former leader was fetched from again", fetch.sent_us)
        else:
            yield held(f"{who} ({latest.epoch}), and that one was fetched from", fetch.sent_us)
