"""Divisions that a leader must not make are told from those that it may."""

from __future__ import annotations

import pytest

from groupspec.conformance.dividing import wrong_with
from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.simulation.campaign import run_seed
from groupspec.impl.core.assignors import ASSIGNORS, Assignor, base
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.protocol import Subscription, encode_sticky_user_data

BOTH = ("orders", "payments")
Share = tuple[TopicPartition, ...]


def orders(*numbers: int) -> Share:
    return tuple(TopicPartition("orders", number) for number in numbers)


def had(*numbers: int, generation: int = 1) -> Subscription:
    return Subscription(BOTH, encode_sticky_user_data(orders(*numbers), generation))


def owns(*numbers: int, generation: int = 1) -> Subscription:
    return Subscription(BOTH, None, orders(*numbers), generation)


WANTS = Subscription(BOTH)


@pytest.mark.parametrize(
    ("assignor", "claims", "shares", "told"),
    [
        ("range", (WANTS, WANTS), (orders(0, 1), orders(2)), ""),
        ("range", (WANTS, WANTS), (orders(0, 1), orders(1, 2)), "twice"),
        ("range", (WANTS, Subscription(("payments",))), (orders(0), orders(1)), "does not want"),
        ("range", (WANTS, Subscription(("payments",))), (orders(0, 1), ()), ""),
        ("roundrobin", (WANTS, WANTS), (orders(0, 1, 2), ()), "spread unevenly"),
        ("sticky", (had(0, 1), WANTS), (orders(0, 1), orders(2, 3)), ""),
        ("sticky", (had(0, 1), WANTS), (orders(2, 3), orders(0, 1)), "had"),
        ("sticky", (had(0, 1), had(0, 1, generation=2)), (orders(2, 3), orders(0, 1)), ""),
        ("sticky", (had(0, 1), had(0, 1)), (orders(2, 3), orders(0, 1)), ""),
        ("sticky", (had(0, 1), WANTS), (orders(0, 1, 2), ()), "spread unevenly"),
        ("sticky", (had(0, 9), WANTS), (orders(0, 9), orders(1, 2)), ""),
        ("sticky", (had(0, 9), WANTS), (orders(0, 2), orders(1)), "had"),
        ("sticky", (had(0, 9), WANTS), ((), ()), ""),
        ("cooperative-sticky", (owns(0, 9), owns(1, 2)), (orders(0, 9), orders(1, 2)), ""),
        ("cooperative-sticky", (owns(0, 9), owns(1, 2)), (orders(0), orders(1, 2)), "had"),
        ("cooperative-sticky", (owns(0, 1, 2, 3), WANTS), (orders(0, 1), ()), ""),
        ("cooperative-sticky", (owns(0, 1, 2, 3), WANTS), (orders(0), ()), "had"),
    ],
)
def test_K3_S2_a_division_is_judged(
    assignor: str, claims: tuple[Subscription, ...], shares: tuple[Share, ...], told: str
) -> None:
    wrong = wrong_with(assignor, dict(zip("ab", claims, strict=True)), dict(zip("ab", shares, strict=True)))
    assert bool(wrong) is bool(told)
    assert told in wrong


@pytest.mark.parametrize(
    ("unknown", "told"), [((), "had"), (("payments",), "had"), (("orders",), ""), (BOTH, "")], ids=str
)
def test_K3_what_the_leader_does_not_know_it_need_not_leave(unknown: tuple[str, ...], told: str) -> None:
    """Schedules 6488 (heartbeat), 12320 (background): the topic was deleted; its leaders were still being elected."""
    wrong = wrong_with("cooperative-sticky", {"a": owns(0, 3), "b": WANTS}, {"a": (), "b": ()}, unknown)
    assert bool(wrong) is bool(told)
    assert told in wrong


def test_S2_a_leader_of_a_simulated_group_that_gives_all_to_one_is_found_out() -> None:
    def all_to_one(members: list[base.Subscriber], counts: dict[str, int]) -> base.Shares:
        everything = base.partitions_of(base.subscribed_topics(members, counts), counts)
        return {member.member_id: everything if member is members[0] else [] for member in members}

    with Seam() as seam:
        for name, assignor in ASSIGNORS.items():
            seam.put(ASSIGNORS, name, Assignor(name, all_to_one, assignor.cooperative))  # type: ignore[arg-type]
        promises = {run_seed(seed).promise for seed in range(1, 4)}
    assert "division" in promises
