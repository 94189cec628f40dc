"""The assignors, by example against Kafka's documented results, and by property for any group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupspec.impl.core.assignors import ASSIGNORS, Assignment, Subscriber, sticky
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.protocol import MalformedProtocolData, decode_sticky_user_data, encode_sticky_user_data

TOPICS = ("a", "b", "c")


def tp(text: str) -> TopicPartition:
    return TopicPartition(text[0], int(text[1:]))


def tps(text: str) -> tuple[TopicPartition, ...]:
    return tuple(tp(word) for word in text.split())


def everybody(names: str, topics: Sequence[str] = TOPICS) -> list[Subscriber]:
    return [Subscriber(name, tuple(topics)) for name in names]


def shares(assignment: Assignment) -> dict[str, str]:
    return {
        member: " ".join(f"{p.topic}{p.partition}" for p in partitions) for member, partitions in assignment.items()
    }


# Examples
# --------------------------------------------------------------------------------------------------------------


def test_range_divides_each_topic_by_itself() -> None:
    result = ASSIGNORS["range"].assign(everybody("xy", "ab"), {"a": 3, "b": 3})
    assert shares(result) == {"x": "a0 a1 b0 b1", "y": "a2 b2"}


def test_range_serves_static_members_first_and_by_their_instance_id() -> None:
    members = [
        Subscriber("x", ("a",)),
        Subscriber("z", ("a",), group_instance_id="1"),
        Subscriber("y", ("a",), group_instance_id="2"),
    ]
    assert shares(ASSIGNORS["range"].assign(members, {"a": 4})) == {"z": "a0 a1", "y": "a2", "x": "a3"}


def test_roundrobin_deals_and_skips() -> None:
    members = [Subscriber("x", ("a",)), Subscriber("y", ("a", "b")), Subscriber("z", ("a", "b", "c"))]
    result = ASSIGNORS["roundrobin"].assign(members, {"a": 1, "b": 2, "c": 3})
    assert shares(result) == {"x": "a0", "y": "b0", "z": "b1 c0 c1 c2"}


def test_sticky_moves_no_more_than_it_must() -> None:
    members = [Subscriber("x", ("a",), tps("a0 a1 a2"), 1), Subscriber("y", ("a",), tps("a3"), 1)]
    assert shares(ASSIGNORS["sticky"].assign(members, {"a": 4})) == {"x": "a0 a1", "y": "a2 a3"}


def test_K2_cooperative_sticky_withholds_what_changes_owner() -> None:
    members = [Subscriber("x", ("a",), tps("a0 a1 a2 a3"), 1), Subscriber("y", ("a",))]
    first = ASSIGNORS["cooperative-sticky"].assign(members, {"a": 4})
    assert shares(first) == {"x": "a0 a1", "y": ""}
    second = ASSIGNORS["cooperative-sticky"].assign(
        [Subscriber("x", ("a",), first["x"], 2), Subscriber("y", ("a",))], {"a": 4}
    )
    assert shares(second) == {"x": "a0 a1", "y": "a2 a3"}


def test_K3_the_claim_of_the_highest_generation_counts_and_ties_count_for_nobody() -> None:
    members = [
        Subscriber("x", ("a",), tps("a0 a1"), 3),
        Subscriber("y", ("a",), tps("a0 a2"), 4),
        Subscriber("z", ("a",), tps("a1"), 3),
    ]
    assert sticky.valid_owners(members) == {tp("a0"): "y", tp("a2"): "y"}


def test_topics_without_metadata_are_left_out() -> None:
    for assignor in ASSIGNORS.values():
        assert shares(assignor.assign(everybody("x", "ab"), {"a": 1})) == {"x": "a0"}
        assert shares(assignor.assign(everybody("x", "ab"), {})) == {"x": ""}


def test_sticky_user_data_survives_the_wire_and_old_versions_have_no_generation() -> None:
    data = encode_sticky_user_data(tps("a0 a2 b1"), 7)
    assert decode_sticky_user_data(data) == (tps("a0 a2 b1"), 7)
    assert decode_sticky_user_data(data[:-4]) == (tps("a0 a2 b1"), -1)
    assert decode_sticky_user_data(None) == ((), -1)
    with pytest.raises(MalformedProtocolData):
        decode_sticky_user_data(b"?")


# Properties
# ------------------------------------------------------------------------------------------------------------

counts = st.dictionaries(st.sampled_from(TOPICS), st.integers(0, 7), min_size=1)


@st.composite
def groups(draw: st.DrawFn, same_topics: bool = False) -> tuple[list[Subscriber], dict[str, int]]:
    """Members with any subscriptions, claims and generations."""
    partition_counts = draw(counts)
    everything = [TopicPartition(t, n) for t, count in partition_counts.items() for n in range(count)]
    topics = st.lists(st.sampled_from(TOPICS), min_size=1, unique=True).map(tuple)
    common = draw(topics)
    members = []
    for number in range(draw(st.integers(1, 5))):
        owned = draw(st.lists(st.sampled_from(everything), unique=True, max_size=6)) if everything else []
        members.append(
            Subscriber(
                member_id=f"m{number}",
                topics=common if same_topics else draw(topics),
                owned=tuple(sorted(owned)),
                generation=draw(st.integers(-1, 3)),
                group_instance_id=draw(st.sampled_from([None, f"i{number}"])),
            )
        )
    return members, partition_counts


def wanted(members: Sequence[Subscriber], partition_counts: Mapping[str, int]) -> set[TopicPartition]:
    topics = {topic for member in members for topic in member.topics}
    return {TopicPartition(t, n) for t, count in partition_counts.items() if t in topics for n in range(count)}


@pytest.mark.parametrize("name", ["range", "roundrobin", "sticky"])
@given(group=groups())
def test_every_wanted_partition_has_exactly_one_owner_who_wants_it(
    name: str, group: tuple[list[Subscriber], dict[str, int]]
) -> None:
    members, partition_counts = group
    assignment = ASSIGNORS[name].assign(members, partition_counts)
    assert set(assignment) == {member.member_id for member in members}
    given_out = [partition for share in assignment.values() for partition in share]
    assert len(given_out) == len(set(given_out))
    assert set(given_out) == wanted(members, partition_counts)
    for member in members:
        assert {partition.topic for partition in assignment[member.member_id]} <= set(member.topics)


@pytest.mark.parametrize("name", list(ASSIGNORS))
@given(group=groups(), data=st.data())
def test_the_result_does_not_depend_on_the_order_of_the_members(
    name: str, group: tuple[list[Subscriber], dict[str, int]], data: st.DataObject
) -> None:
    members, partition_counts = group
    shuffled = data.draw(st.permutations(members))
    assert ASSIGNORS[name].assign(members, partition_counts) == ASSIGNORS[name].assign(shuffled, partition_counts)


@given(group=groups(same_topics=True))
def test_sticky_is_balanced_when_all_want_the_same(group: tuple[list[Subscriber], dict[str, int]]) -> None:
    sizes = [len(share) for share in ASSIGNORS["sticky"].assign(*group).values()]
    assert max(sizes) - min(sizes) <= 1


@given(group=groups())
def test_sticky_leaves_nobody_two_behind_who_could_take_one(group: tuple[list[Subscriber], dict[str, int]]) -> None:
    members, partition_counts = group
    assignment = ASSIGNORS["sticky"].assign(members, partition_counts)
    for poor in members:
        for rich, share in assignment.items():
            if any(partition.topic in poor.topics for partition in share):
                assert len(share) - len(assignment[poor.member_id]) < 2 or rich == poor.member_id


@given(group=groups())
def test_sticky_keeps_a_balanced_assignment_as_it_is(group: tuple[list[Subscriber], dict[str, int]]) -> None:
    members, partition_counts = group
    first = ASSIGNORS["sticky"].assign(members, partition_counts)
    again = [Subscriber(m.member_id, m.topics, first[m.member_id], 9, m.group_instance_id) for m in members]
    assert ASSIGNORS["sticky"].assign(again, partition_counts) == first


@given(group=groups(same_topics=True))
def test_sticky_moves_only_what_balance_demands(group: tuple[list[Subscriber], dict[str, int]]) -> None:
    members, partition_counts = group
    owners = {p: m for p, m in sticky.valid_owners(members).items() if p in wanted(members, partition_counts)}
    held = {m.member_id: sum(1 for owner in owners.values() if owner == m.member_id) for m in members}
    least, rest = divmod(len(wanted(members, partition_counts)), len(members))
    sizes = sorted(held.values(), reverse=True)
    must_move = sum(max(0, size - least - (1 if place < rest else 0)) for place, size in enumerate(sizes))
    assignment = ASSIGNORS["sticky"].assign(members, partition_counts)
    moved = sum(1 for p, owner in owners.items() if p not in assignment[owner])
    assert moved == must_move


@given(group=groups())
def test_K2_cooperative_rounds_end_and_nobody_is_given_what_another_owns(
    group: tuple[list[Subscriber], dict[str, int]],
) -> None:
    members, partition_counts = group
    for generation in range(10, 14):
        owners = sticky.valid_owners(members)
        assignment = ASSIGNORS["cooperative-sticky"].assign(members, partition_counts)
        for member_id, share in assignment.items():
            assert all(owners.get(partition, member_id) == member_id for partition in share)
        settled = all(set(m.owned) == set(assignment[m.member_id]) for m in members)
        if settled:
            break
        members = [
            Subscriber(m.member_id, m.topics, assignment[m.member_id], generation, m.group_instance_id) for m in members
        ]
    assert settled
    assert {p for share in assignment.values() for p in share} == wanted(members, partition_counts)


@st.composite
def overlapping(draw: st.DrawFn) -> list[Subscriber]:
    """Members with topics of their own, and such as two or three of them want; every topic has one partition."""
    members = draw(st.integers(4, 6))
    own = [draw(st.sampled_from((0, 1, 2, 4))) for _ in range(members)]
    topics = [[f"own {number}.{place}" for place in range(count)] for number, count in enumerate(own)]
    owned = [list(names) for names in topics]
    places = st.lists(st.integers(0, members - 1), unique=True, min_size=2, max_size=3)
    for name, takers in enumerate(draw(st.lists(places, min_size=8, max_size=9))):
        for taker in takers:
            topics[taker].append(f"shared {name}")
        owner = draw(st.sampled_from((None, *takers)))
        if owner is not None:
            owned[owner].append(f"shared {name}")
    return [
        Subscriber(f"m{number}", tuple(topics[number]), tuple(TopicPartition(name, 0) for name in owned[number]), 1)
        for number in range(members)
    ]


def cost(owners: Sequence[str], before: Sequence[str | None]) -> tuple[int, int]:
    """How uneven it is that these have one partition each, and then how many of them another one had before."""
    moved = sum(had not in (None, has) for has, had in zip(owners, before, strict=True))
    return sum(count**2 for count in Counter(owners).values()), moved


@given(members=overlapping())
def test_sticky_is_as_even_as_can_be_and_then_moves_as_little_as_can_be(members: list[Subscriber]) -> None:
    takers = {topic: [m.member_id for m in members if topic in m.topics] for m in members for topic in m.topics}
    had = {partition.topic: m.member_id for m in members for partition in m.owned}
    assignment = ASSIGNORS["sticky"].assign(members, dict.fromkeys(takers, 1))
    has = {partition.topic: member_id for member_id, share in assignment.items() for partition in share}
    before = [had.get(topic) for topic in takers]
    best = min(cost(owners, before) for owners in product(*takers.values()))
    assert cost([has[topic] for topic in takers], before) == best


def test_sticky_moves_through_a_third_member_what_the_emptiest_does_not_want() -> None:
    members = [
        Subscriber("x", ("a",), tps("a0 a1 a2"), 1),
        Subscriber("y", ("a", "b"), tps("b0 b1"), 1),
        Subscriber("z", ("b",), (), 1),
    ]
    result = ASSIGNORS["sticky"].assign(members, {"a": 3, "b": 2})
    assert [len(share) for share in result.values()] == [2, 2, 1]


def test_K3_cooperative_sticky_withholds_what_two_members_claim() -> None:
    members = [Subscriber("x", ("a",), tps("a0 a1"), 3), Subscriber("y", ("a",), tps("a1"), 3)]
    first = ASSIGNORS["cooperative-sticky"].assign(members, {"a": 2})
    assert shares(first) == {"x": "a0", "y": ""}
    second = [Subscriber(name, ("a",), first[name], 4) for name in "xy"]
    assert shares(ASSIGNORS["cooperative-sticky"].assign(second, {"a": 2})) == {"x": "a0", "y": "a1"}


def test_K3_who_has_a_partition_that_the_leader_does_not_know_of_keeps_it() -> None:
    """Simulated group 5534: whoever led before knew of it. Taken away it was with nobody for a metadata_max_age_ms."""
    members = [Subscriber("x", ("a", "b"), tps("a0 a2"), 3), Subscriber("y", ("a", "b"), tps("a1 b0 b1"), 3)]
    for assignor in ("sticky", "cooperative-sticky"):
        result = ASSIGNORS[assignor].assign(members, {"a": 2, "b": 3})
        assert shares(result) == {"x": "a0 a2 b2", "y": "a1 b0 b1"}
        assert shares(ASSIGNORS[assignor].assign(members, {"b": 3})) == {"x": "b2", "y": "b0 b1"}, "no such topic"


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
@given(group=groups(), known=st.dictionaries(st.sampled_from(TOPICS), st.integers(0, 3)))
def test_what_is_claimed_and_not_known_is_divided_as_if_it_were_known(
    assignor: str, group: tuple[list[Subscriber], dict[str, int]], known: dict[str, int]
) -> None:
    """There is what the leader knows, and what has an owner: nothing else, and nothing twice."""
    members, _ = group
    topics = {member.member_id: member.topics for member in members}
    owners = {p for p, m in sticky.valid_owners(members).items() if p.topic in known and p.topic in topics[m]}
    given = [partition for share in ASSIGNORS[assignor].assign(members, known).values() for partition in share]
    assert len(given) == len(set(given))
    assert set(given) <= wanted(members, known) | owners
    if assignor == "sticky":
        assert set(given) == wanted(members, known) | owners
