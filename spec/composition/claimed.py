"""Which model claims which properties (`spec/data/properties`)."""

from __future__ import annotations

from groupspec.spec.commit import COMMIT_ENDINGS
from groupspec.spec.compiler.model import ModelProperty
from groupspec.spec.composition.commits_together import AUTOMATIC
from groupspec.spec.composition.open_commit import DUE, IN_TURN, PERSISTS, assertion_of
from groupspec.spec.composition.open_partition import FETCHABLE, HUNGRY
from groupspec.spec.properties import claimed
from groupspec.spec.vocabulary import VARIABLES

Claims = tuple[ModelProperty, ...]


def of_a_member(rebalance: str) -> Claims:
    """What is claimed of one member in any environment."""
    return tuple(p for p in claimed("member") if rebalance == "eager" or p.id != "eager-gives-up-first")


def of_a_group(features: frozenset[str]) -> Claims:
    """What is claimed of members, group and network together.

    With `static`, records stay when their process is gone, and members may have missed a generation.
    """
    static = "static" in features
    told = " and told[{i}] == generation" if "log" in features else " and told[{i}] == 'current'" if static else ""
    one_owner, *others = claimed(
        "base",
        told_i=told.format(i="i"),
        told_j=told.format(i="j"),
        late=" or request_late[i]" if "late" in features else "",
        or_missed=" or told[i] != 'current'" if static else "",
        died="registered[i] != 'absent' and identity[i] == 'none'" if static else "forgotten[i] != 'absent'",
    )
    of_peers = tuple(claimed("member"))[:2]
    if "faults-stop" in features:
        return (*of_peers, one_owner, *claimed("base_liveness"), *(p for p in others if p.kind != "recoverable"))
    return (*of_peers, one_owner, *others, *(claimed("base_static") if static else ()))


def of_a_commit() -> Claims:
    """What is claimed of one commit in any environment."""
    endings = [
        {"ending": assertion_of(word).removeprefix("told-"), "word": word, "meaning": meaning}
        for word, meaning in COMMIT_ENDINGS.items()
    ]
    purposes = VARIABLES["commit_purpose"].domain
    same_purpose = " and ".join(f"(asked != '{purpose}' or commit_purpose == '{purpose}')" for purpose in purposes)
    return tuple(claimed("commit", endings, due=DUE, in_turn=IN_TURN, persists=PERSISTS, same_purpose=same_purpose))


def of_two_commits() -> Claims:
    """What is claimed of two commits of one consumer."""
    automatic = {"automatic_i": AUTOMATIC.format("i"), "automatic_j": AUTOMATIC.format("j")}
    return tuple(claimed("two_commits", ({"n": n} for n in (1, 2)), **automatic))


def of_the_group() -> Claims:
    """What is claimed of one group in any environment."""
    return tuple(claimed("group"))


def of_a_partition() -> Claims:
    """What is claimed of one partition in any environment."""
    return tuple(claimed("partition", fetchable=FETCHABLE, hungry=HUNGRY))


def of_the_queues(calls: int) -> Claims:
    """What is claimed of the threads and queues of a consumer, for as many calls."""
    return tuple(claimed("queues", ({"n": n} for n in range(1, calls + 1))))
