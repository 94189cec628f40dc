"""More runs written by hand: what comes late, or passes, and must change nothing; each good, and spoiled."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.wire.tests.stories import ME, WireRun, first_round
from groupspec.conformance.wire.tests.stories_of_leaders import Row, command


def refused_too_late() -> WireRun:
    """A heartbeat of the old generation is refused while a JoinGroup is out that was sent after it."""
    story = WireRun()
    first_round(story)
    story.heartbeat(190, 1, "ILLEGAL_GENERATION", ms=20)
    story.join(200, 2, ms=30)
    story.sync(232, 2)
    return story


def named_too_late(member_id: str = ME) -> WireRun:
    """The same of an old identity; the answer to JoinGroup gives another id, and the next JoinGroup has it."""
    story = WireRun()
    first_round(story)
    story.heartbeat(190, 1, "UNKNOWN_MEMBER_ID", ms=20)
    story.join(200, -1, member_id="", error="MEMBER_ID_REQUIRED", ms=30)
    story.join(250, 2, member_id=member_id)
    story.sync(252, 2)
    return story


def forgotten(story: WireRun) -> None:
    """The next JoinGroup has no id."""
    story.entries = named_too_late("").entries


def refused_anew(story: WireRun) -> None:
    """It has none, and a Heartbeat that had the new one was refused before."""
    forgotten(story)
    story.heartbeat(240, 1, "UNKNOWN_MEMBER_ID")


def refused_in_passing(error: str = "REBALANCE_IN_PROGRESS") -> WireRun:
    """A JoinGroup in mid-life is refused, and the next one is not."""
    story = WireRun()
    first_round(story)
    story.heartbeat(190, 1, "REBALANCE_IN_PROGRESS")
    story.join(200, -1, error=error)
    story.join(210, 2)
    story.sync(212, 2)
    return story


def loading() -> WireRun:
    """The same of a coordinator that is loading."""
    return refused_in_passing("COORDINATOR_LOAD_IN_PROGRESS")


def joins_anew(member_id: str) -> WireRun:
    """A JoinGroup is out at unsubscribe(), and answered after LeaveGroup; then the application subscribes again."""
    story = WireRun()
    first_round(story)
    story.join(200, 2, ms=30)
    command(story, 205, protocol.Unsubscribe())
    story.callback(206, protocol.PartitionsRevoked, ms=2)
    story.leave(210)
    command(story, 400, protocol.Subscribe(topics=["orders"]))
    story.join(410, -1, member_id=member_id, error="UNKNOWN_MEMBER_ID" if member_id else "MEMBER_ID_REQUIRED")
    return story


def unsubscribed() -> WireRun:
    """It joins as on the first day."""
    return joins_anew("")


def revived(story: WireRun) -> None:
    """It joins with the id that has left."""
    story.entries = joins_anew(ME).entries


def woken_in_a_commit() -> WireRun:
    """A commit is woken at 209, and polls go on."""
    story = WireRun()
    first_round(story)
    command(story, 200, protocol.Wakeup())
    story.event(201, protocol.CommandDone(command="wakeup"))
    story.event(209, protocol.ErrorRaised(error="WakeupException", call="commit", woken=True))
    story.poll(260, 50)
    story.close(600, 10)
    return story


def raises(story: WireRun, at_ms: float) -> None:
    """A poll raises."""
    story.event(at_ms, protocol.ErrorRaised(error="KafkaError", call="poll"))


ROWS: Final[tuple[Row, ...]] = (
    ("J9", "a second JoinGroup in the place of SyncGroup", refused_too_late, lambda s: s.join(231.5, 3)),
    ("J9", "the id that was given is forgotten", named_too_late, forgotten),
    (
        "J4",
        "the identity goes",
        refused_in_passing,
        lambda s: s.join(205, -1, member_id="", error="MEMBER_ID_REQUIRED"),
    ),
    ("D3", "it is raised", loading, lambda s: raises(s, 205)),
    ("L3", "the id that left is back", unsubscribed, revived),
    ("T4", "a poll raises for the woken commit", woken_in_a_commit, lambda s: raises(s, 300)),
)
"""Rule, what is wrong, the good run, and how it is spoiled."""
