"""Whose frames are whose: by member ids, and by client ids where nobody else has the same."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from groupspec.conformance.history.entry import Entry
from groupspec.conformance.wire.live.members import Seen, members_in, speaks_the_new_protocol
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    TopicPartition,
)
from groupspec.impl.core.protocol import Subscription, encode_subscription


def join(connection: int, client_id: str, member_id: str, protocol: str = "range", owned: bool = False) -> list[Entry]:
    """A first JoinGroup, without an id, and its answer."""
    partitions = (TopicPartition("orders", 0),) if owned else ()
    subscription = encode_subscription(Subscription(("orders",), owned=partitions))
    asked = JoinGroupRequest("g", 10_000, 10_000, "", None, ((protocol, subscription),))
    answered = JoinGroupResponse(ErrorCode.NONE, 1, protocol, member_id, member_id)
    return [
        Entry(
            0,
            "wire",
            kind,
            api="JoinGroup",
            message=message,
            connection=connection,
            correlation_id=1,
            client_id=client_id,
        )
        for kind, message in (("request", asked), ("response", answered))
    ]


def heartbeat(connection: int, client_id: str, member_id: str) -> Entry:
    message = HeartbeatRequest("g", 1, member_id, None)
    return Entry(
        0,
        "wire",
        "request",
        api="Heartbeat",
        message=message,
        connection=connection,
        correlation_id=2,
        client_id=client_id,
    )


def fetch(connection: int, client_id: str) -> Entry:
    message = FetchRequest({}, 100, 1, 1, 1)
    return Entry(0, "wire", "request", api="Fetch", message=message, connection=connection, client_id=client_id)


def seen(*parts: list[Entry] | Entry) -> list[Seen]:
    return members_in([entry for part in parts for entry in (part if isinstance(part, list) else [part])])


def connections(member: Seen) -> set[int]:
    return {entry.connection for entry in member.entries}


def test_who_alone_has_a_client_id_has_all_of_its_connections() -> None:
    one, two = seen(join(1, "a", "a-1"), join(2, "b", "b-1"), fetch(3, "a"), fetch(4, "b"), fetch(5, "a"))
    assert (one.name, one.shared, connections(one)) == ("a", False, {1, 3, 5})
    assert (two.name, two.shared, connections(two)) == ("b", False, {2, 4})


def test_of_members_with_one_client_id_each_has_what_names_it() -> None:
    one, two = seen(join(1, "a", "a-1"), join(2, "a", "a-2"), fetch(3, "a"), heartbeat(4, "a", "a-2"))
    assert (one.name, one.shared, connections(one)) == ("a (1)", True, {1})
    assert (two.name, two.shared, connections(two)) == ("a (2)", True, {2, 4})


def test_a_member_that_gets_a_new_id_on_the_same_connection_is_the_same() -> None:
    [member] = seen(join(1, "a", "a-1"), join(1, "a", "a-2"), heartbeat(2, "a", "a-2"))
    assert connections(member) == {1, 2}


def test_an_answer_is_of_the_group_of_its_own_request_whatever_number_that_has() -> None:
    def joins(group_id: str, connection: int, member_id: str) -> list[Entry]:
        asked, answered = join(connection, "a", member_id)
        assert isinstance(asked.message, JoinGroupRequest)
        return [replace(asked, message=structs.replace(asked.message, group_id=group_id)), answered]

    [member] = seen(joins("g", 1, "of-g"), joins("h", 1, "of-h"), joins("h", 2, "of-h"))
    assert connections(member) == {1, 2}


def test_who_never_joins_is_no_member() -> None:
    assert seen(fetch(1, "producer"), heartbeat(2, "stranger", "x")) == []


def test_the_protocol_is_cooperative_by_its_assignor_or_by_what_is_owned() -> None:
    protocols = [
        join(1, "a", "a-1", "range"),
        join(2, "b", "b-1", "cooperative-sticky"),
        join(3, "c", "c-1", "of-the-house", owned=True),
    ]
    assert [member.rebalance for member in seen(*protocols)] == ["eager", "cooperative", "cooperative"]


def test_the_new_protocol_is_known_by_its_requests() -> None:
    assert speaks_the_new_protocol([Entry(0, "wire", "unread", "68 v1")])
    assert not speaks_the_new_protocol([Entry(0, "wire", "unread", "Produce v9")])
