"""Whether each leader divides as its assignor promises: its SyncGroup is held against its JoinGroup's answer."""

from __future__ import annotations

from collections.abc import Collection

from groupspec.conformance.dividing import wrong_with
from groupspec.conformance.simulation.ledger import expect
from groupspec.impl.core.messages import JoinGroupResponse, SyncGroupRequest, TopicPartition
from groupspec.impl.core.protocol import decode_assignment, decode_subscription


class Divisions:
    """Of one group."""

    def __init__(self) -> None:
        self._rounds: dict[tuple[str, int], JoinGroupResponse] = {}  # by leader and generation

    def leads(self, response: JoinGroupResponse) -> None:
        """Somebody is told who is in its round."""
        if response.members:
            self._rounds[response.member_id, response.generation] = response

    def claimed(self, generation: int, instance_ids: Collection[str | None]) -> set[TopicPartition]:
        """What these static members, or their processes before, said that they own as they joined that generation."""
        joined = [one for (_, number), told in self._rounds.items() if number == generation for one in told.members]
        claims = [decode_subscription(one.metadata) for one in joined if one.group_instance_id in instance_ids]
        return {partition for claim in claims for partition in claim.owned}

    def divides(self, request: SyncGroupRequest, unknown: Collection[str]) -> None:
        """A leader's SyncGroup. Raises Broken if that is not what its assignor promises.

        `unknown`: topics of which the leader may know no partition, since they have been away.
        """
        joined = self._rounds.get((request.member_id, request.generation))
        if joined is None or not request.assignments:
            return
        claims = {member.member_id: decode_subscription(member.metadata) for member in joined.members}
        shares = {name: decode_assignment(data).partitions for name, data in request.assignments}
        expect(claims.keys() == shares.keys(), "division", f"entries for {list(shares)} (rule S2)")
        wrong = wrong_with(joined.protocol_name, claims, shares, unknown)
        expect(not wrong, "division", f"{joined.protocol_name} in generation {request.generation}: {wrong}")
