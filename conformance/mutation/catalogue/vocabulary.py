"""Mutants of what the specification says outside its tables: which answers there are, and how long a group waits."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from groupspec.conformance.mutation.mutant import Method, Seam, mutant
from groupspec.spec import kip62, vocabulary

Members = Sequence[tuple[int, int, int]]
"""Of each member: JoinGroup's version, the session timeout, the rebalance timeout."""


@mutant("H4-word-fenced", "H4", of_spec=True)
def fenced_is_not_known(seam: Seam) -> None:
    """FENCED_INSTANCE_ID is an answer like any other that is not known."""
    known = {key: name for key, name in vocabulary.RESPONSES.items() if key[1] != "FENCED_INSTANCE_ID"}
    seam.put(vocabulary, "RESPONSES", MappingProxyType(known))


@mutant("G1-word-shortest", "G1", kip62.rebalance_timeout, of_spec=True)
def the_least_patient_member_decides(_: Method, members: Members) -> int:
    """The rebalance timeout of a group is the minimum over its members."""
    return min(rebalance if version >= 1 else session for version, session, rebalance in members)


@mutant("G1-word-version-0", "G1", kip62.rebalance_timeout, of_spec=True)
def version_0_counts_as_none(_: Method, members: Members) -> int:
    """JoinGroup v0, which carries no rebalance timeout, counts as none."""
    return max(rebalance for _version, _session, rebalance in members)
