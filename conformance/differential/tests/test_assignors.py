"""The assignors against Kafka's own classes, on random groups (the jars are those of the real broker's tests).

Where Kafka's result is defined, ours is the same: range, roundrobin, and the sticky ones among members that want the
same topics. Otherwise ours is valid, at least as balanced, and moves no more where it is as balanced. Members are
called so that Java's hash map goes through them in the order of their ids (`equal` says why).

Left out are groups in which claims of a lower generation tie beside the highest one: Kafka then drops the valid claim
or keeps it, by the order in which its map has the members (AbstractStickyAssignor.allSubscriptionsEqual).
"""

from __future__ import annotations

import subprocess
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Final

import pytest

from groupspec.conformance.real_broker.jars import cache_folder, kafka_jars
from groupspec.conformance.spark.java import java_home
from groupspec.impl.core.assignors import ASSIGNORS, Assignment, Subscriber
from groupspec.impl.core.assignors.sticky import valid_owners
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.protocol import encode_sticky_user_data

pytestmark = [pytest.mark.tools, pytest.mark.exhaustive]

GROUPS: Final = 6_000
TOPICS: Final = ("a", "b", "c", "d")
MOST_MEMBERS: Final = 9
"""m0 to m8: Java's hash map has ids of this form in their order, as long as there is one digit."""

STICKY: Final = ("sticky", "cooperative-sticky")
LIMIT_S: Final = 120


@dataclass(frozen=True)
class Group:
    """Members, and how many partitions each topic has."""

    members: tuple[Subscriber, ...]
    counts: dict[str, int]

    @property
    def wants_the_same(self) -> bool:
        return len({frozenset(member.topics) for member in self.members}) == 1

    def line(self, assignor: str) -> str:
        """For Assign.java."""
        members = [
            "|".join(
                (
                    member.member_id,
                    member.group_instance_id or "",
                    ",".join(member.topics),
                    ",".join(map(str, member.owned)),
                    str(member.generation),
                    user_data(member) if assignor == "sticky" else "",
                )
            )
            for member in self.members
        ]
        return ";".join((assignor, ",".join(f"{topic}={count}" for topic, count in self.counts.items()), *members))


def user_data(member: Subscriber) -> str:
    """What the sticky assignor says of a member in its subscription."""
    return b64encode(encode_sticky_user_data(member.owned, member.generation)).decode()


def draw(random: Random) -> Group:
    """Half of them want the same topics; what they own is mostly what an earlier round gave them, or nearly so."""
    counts = {topic: random.randrange(1, 9) for topic in random.sample(TOPICS, random.randrange(1, 5))}
    everything = [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]
    same = random.sample(TOPICS, random.randrange(1, 5)) if random.random() < 0.5 else None
    members = [
        Subscriber(
            f"m{number}",
            tuple(same or random.sample(TOPICS, random.randrange(1, 5))),
            group_instance_id=f"i{9 - number}" if random.random() < 0.2 else None,
        )
        for number in range(random.randrange(1, MOST_MEMBERS + 1))
    ]
    how = random.choice(("nothing", "an earlier round", "one has more", "claims"))
    owned: dict[str, list[TopicPartition]] = {member.member_id: [] for member in members}
    if how == "an earlier round":
        earlier = random.sample(members, random.randrange(1, len(members) + 1))
        for member_id, share in ASSIGNORS["sticky"].assign(earlier, counts).items():
            owned[member_id] = list(share)
    elif how == "one has more":
        for partition in everything:
            owned[random.choice(members[: 1 + len(members) // 2]).member_id].append(partition)
    elif how == "claims":
        for member in members:
            owned[member.member_id] = random.sample(everything, random.randrange(0, min(6, len(everything)) + 1))
    generations = (5, 5, 5, 4, -1) if how == "claims" else (5,)
    return Group(
        tuple(
            replace(
                member,
                owned=tuple(sorted(p for p in owned[member.member_id] if p.topic in member.topics)),
                generation=random.choice(generations),
            )
            for member in members
        ),
        counts,
    )


def is_decided_by_a_hash_map(group: Group) -> bool:
    """Whether a partition is claimed in the highest generation by one member, and by two in a lower one."""
    claims: dict[TopicPartition, list[int]] = {}
    for member in group.members:
        for partition in member.owned:
            claims.setdefault(partition, []).append(member.generation)
    return any(held.count(max(held)) == 1 and len(held) > len(set(held)) for held in claims.values())


def groups() -> Iterator[Group]:
    random = Random("assignors")
    while True:
        group = draw(random)
        if not is_decided_by_a_hash_map(group):
            yield group


@pytest.fixture(scope="module")
def drawn() -> list[Group]:
    source = groups()
    return [next(source) for _ in range(GROUPS)]


def kafkas(assignor: str, drawn: Sequence[Group]) -> list[Assignment]:
    """What Kafka's class makes of them."""
    java = java_home().home
    jars = kafka_jars(cache_folder(), java)
    run = subprocess.run(
        [java / "bin" / "java", "-Dlog4j2.level=OFF", "-cp", f"{jars}/*", Path(__file__).with_name("Assign.java")],
        input="\n".join(group.line(assignor) for group in drawn),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2_000:]
    return [_parsed(line) for line in run.stdout.splitlines()]


def _parsed(line: str) -> Assignment:
    shares: Assignment = {}
    for member in line.split(";"):
        member_id, _, names = member.partition("|")
        places = (name.rpartition("-") for name in names.split(",") if name)
        shares[member_id] = tuple(sorted(TopicPartition(topic, int(number)) for topic, _, number in places))
    return shares


def imbalance(assignment: Assignment) -> int:
    """The sum of all differences: Kafka's GeneralAssignmentBuilder.getBalanceScore."""
    return sum(abs(len(one) - len(other)) for one, other in combinations(assignment.values(), 2))


def moves(group: Group, assignment: Assignment) -> int:
    """How many partitions those who own them have lost, although they still want them."""
    topics = {member.member_id: member.topics for member in group.members}
    return sum(
        partition not in assignment[owner]
        for partition, owner in valid_owners(group.members).items()
        if partition.topic in topics[owner]
    )


@pytest.mark.parametrize("assignor", ["range", "roundrobin"])
def test_range_and_roundrobin_give_what_kafkas_do(assignor: str, drawn: list[Group]) -> None:
    for group, expected in zip(drawn, kafkas(assignor, drawn), strict=True):
        assert ASSIGNORS[assignor].assign(group.members, group.counts) == expected, group.line(assignor)


@pytest.mark.parametrize("assignor", STICKY)
def test_the_sticky_ones_give_what_kafkas_do_or_something_as_good(assignor: str, drawn: list[Group]) -> None:
    seen: Counter[str] = Counter()
    for group, theirs in zip(drawn, kafkas(assignor, drawn), strict=True):
        ours = ASSIGNORS[assignor].assign(group.members, group.counts)
        if group.wants_the_same:
            assert ours == theirs, group.line(assignor)
            seen["the same"] += 1
        elif assignor == "sticky":  # of the cooperative one it is the next round that is balanced
            better = imbalance(theirs) - imbalance(ours)
            assert better >= 0, group.line(assignor)
            assert better > 0 or moves(group, ours) <= moves(group, theirs), group.line(assignor)
            seen["as good"] += 1
    assert seen["the same"] >= GROUPS // 3


def test_kafkas_keeps_what_the_leader_does_not_know_of_and_finds_no_room_or_gives_one_away_twice() -> None:
    """What the book of differences says of it (claims-of-what-is-unknown)."""

    def claims(*owned: TopicPartition, topics: tuple[str, ...] = TOPICS[:2], name: str = "x") -> Subscriber:
        return Subscriber(name, topics, owned, 5)

    (a, b), counts = TOPICS[:2], dict(zip(TOPICS, (2, 3), strict=False))
    has_room = Group((claims(TopicPartition(a, 2)), claims(name="y")), counts)
    [kept] = kafkas("cooperative-sticky", [has_room])
    assert TopicPartition(a, 2) in kept["x"]
    has_none = Group(
        (
            claims(TopicPartition(a, 0), TopicPartition(a, 2)),
            claims(TopicPartition(a, 1), TopicPartition(b, 0), TopicPartition(b, 1), name="y"),
        ),
        counts,
    )
    with pytest.raises(AssertionError, match="No more unfilled consumers to be assigned"):
        kafkas("cooperative-sticky", [has_none])
    differ = Group(
        (
            claims(TopicPartition(a, 0), TopicPartition(a, 2)),
            claims(TopicPartition(b, 0), TopicPartition(b, 1), topics=(b,), name="y"),
        ),
        counts,
    )
    [twice] = kafkas("cooperative-sticky", [differ])
    given = [partition for share in twice.values() for partition in share]
    assert len(given) > len(set(given))
