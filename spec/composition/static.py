"""Static members (KIP-345): each process has an instance id, by which the coordinator knows the next one in its place.

A static member sends no LeaveGroup, and when its process dies its record stays. Whoever joins without a member id and
with the instance id takes that record over, leadership and assignment too: in a Stable group no rebalance follows (rule
G11). Static members survive the end of a join phase that they have missed; they have yet to sync, and are put out by
their session or the sync timeout.

So there is one record for each instance, `registered`, whether or not a process knows its id, and nothing is ever
`forgotten`. A process has its member id from that record, or none: two processes with one instance id, and so
FENCED_INSTANCE_ID, are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupspec.spec.compiler.model import Block, Set
from groupspec.spec.terms import Value

FEATURE: Final = "static"

FROZEN: Final[Mapping[str, Value]] = {"forgotten": "absent", "about_forgotten": False}
"""Nobody has forgotten ids."""

JOINS: Final[Mapping[str, str]] = {
    "replaces_static": "registered[i] != 'absent'",
    "fresh_instance": "registered[i] == 'absent'",
}
"""What a JoinGroup without a member id is to the group."""

MEMBERS_LEFT: Final = "any(registered[j] != 'absent' for j in members)"

SURVIVES: Final[Block] = (Set((("registered[j]", "'unsynced'"), ("leader", "0 if leader == j else leader"))),)
"""The join phase is over without a static member: it has to sync like the others; a leader that is missing leads no
more."""
