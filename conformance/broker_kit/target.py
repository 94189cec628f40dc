"""What a broker says of itself before its groups are driven, and the removal of what was written there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from groupspec.conformance.broker_kit.driving import Target
from groupspec.conformance.differential.history import History
from groupspec.conformance.errors import InconclusiveProblem, UsageProblem
from groupspec.conformance.wire.live.admin import PREFIX, Admin, Topic
from groupspec.conformance.wire.live.tap import told as told_address
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core.messages import JoinGroupResponse, LeaveGroupRequest, LeavingMember, TopicPartition

SETTINGS: Final[Mapping[str, str]] = {
    "group.min.session.timeout.ms": "min_session_timeout_ms",
    "group.max.session.timeout.ms": "max_session_timeout_ms",
    "group.initial.rebalance.delay.ms": "initial_rebalance_delay_ms",
    "group.max.size": "max_size",
}
"""Kafka's settings that the table depends on, and what they are here."""
NEEDED: Final = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit")
LEAVES_SEVERAL_FROM: Final = 3
NAMES_TRIED: Final = 1_000


def look_at(admin: Admin, topic: Topic, given: Mapping[str, int]) -> Target:
    """The coordinator of a group, and what it says; `given` are settings that count instead of what it says.

    Raises:
        UsageProblem: it does not serve the requests of groups.
    """
    address = admin.coordinator(f"{PREFIX}0")
    served = admin.served(address)
    if missing := [api for api in NEEDED if api not in served]:
        raise UsageProblem(f"this broker does not serve {', '.join(missing)}", where=told_address(address))
    said = admin.settings(admin.coordinator_node, [*SETTINGS])
    known = {name: int(value) for name, value in said.items() if value.isdecimal()} | dict(given)
    settings = replace(Settings(offsets_partitions=1), **{SETTINGS[name]: value for name, value in known.items()})
    return Target(address, settings, served, TopicPartition(topic.name, 0))


def names_of_groups(admin: Admin, target: Target, run: str, seeds: Iterable[int]) -> dict[int, str]:
    """A name for each group, of those that this node coordinates."""
    found = {}
    for seed in seeds:
        names = (f"{PREFIX}{run}-{seed}-{number}" for number in range(NAMES_TRIED))
        name = next((name for name in names if admin.coordinator(name) == target.address), None)
        if name is None:
            raise InconclusiveProblem(
                f"of {NAMES_TRIED:,} groups the broker gives none to the node that it named first",
                where=told_address(target.address),
            )
        found[seed] = name
    return found


def remove(admin: Admin, target: Target, histories: Mapping[str, History]) -> int:
    """All members and ids leave, and the groups are deleted; returns how many groups are left behind."""
    version = target.served["LeaveGroup"].highest
    line = admin.line(target.address)
    left = 0
    for name, history in histories.items():
        told = {each.member_id for each in history.answers.values() if isinstance(each, JoinGroupResponse)} - {""}
        for request in _leaves(name, sorted(told.union(admin.members_of(target.address, name))), version):
            line.exchange(request, version)
        left += not admin.delete_group(target.address, name)
    return left


def _leaves(group_id: str, ids: Sequence[str], version: int) -> list[LeaveGroupRequest]:
    if not ids:
        return []
    if version < LEAVES_SEVERAL_FROM:
        return [LeaveGroupRequest(group_id, each, None) for each in ids]
    others = tuple(LeavingMember(each, None) for each in ids[1:])
    return [LeaveGroupRequest(group_id, ids[0], None, others=others)]
