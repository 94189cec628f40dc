"""More runs written by hand: a client that is told that it is over its quota; each good, and spoiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from groupspec.conformance.wire.tests.stories import WireRun
from groupspec.conformance.wire.tests.stories_of_leaders import Row

NEW, OLD = 4, 1
"""Versions of Heartbeat, and of SyncGroup: since KIP-219, and before."""


def over_quota(story: WireRun, version: int) -> WireRun:
    """All requests are of this version, and the last answer says: over your quota, for 700 ms."""
    story.entries = [replace(entry, version=version) for entry in story.entries]
    story.entries[-1] = replace(story.entries[-1], throttle_ms=700)
    return story


def then_beats(story: WireRun, *at_ms: float) -> WireRun:
    """Heartbeats at these times."""
    for each in at_ms:
        story.heartbeat(each, 1)
    return story


def beating(version: int = NEW) -> WireRun:
    """A heartbeat is answered so at 201 ms, and the next one comes when that is over."""
    story = WireRun()
    story.join(5, 1)
    story.sync(10, 1)
    return then_beats(over_quota(then_beats(story, 110, 200), version), 902)


def joining(version: int = NEW) -> WireRun:
    """A JoinGroup is answered so at 6 ms, and SyncGroup follows when that is over."""
    story = WireRun()
    story.join(5, 1)
    over_quota(story, version).sync(707, 1)
    return story


def closing() -> WireRun:
    """As `beating`, and the client is closed in that time, without a word."""
    story = beating()
    story.entries = story.entries[:-2]
    story.close(400, 100)
    return story


def held_back() -> WireRun:
    """An older heartbeat is answered so after 700 ms, and the next one follows soon."""
    story = WireRun()
    story.join(5, 1)
    story.sync(10, 1)
    story.heartbeat(110, 1, ms=700)
    return then_beats(over_quota(story, OLD), 815)


def queued(asked_ms: float = 8) -> WireRun:
    """An older JoinGroup is answered so at 6 ms; the broker reads what comes then, and SyncGroup, after 700 ms."""
    story = WireRun()
    story.join(5, 1)
    over_quota(story, OLD).lookup(asked_ms, ms=706 - asked_ms)
    story.sync(707, 1)
    return story


def sooner(at_ms: float) -> Callable[[WireRun], None]:
    """The last request comes then."""

    def spoil(story: WireRun) -> None:
        sent, answered = story.entries[-2:]
        story.entries[-2:] = replace(sent, at_us=int(at_ms * 1000)), replace(answered, at_us=int(at_ms * 1000) + 1_000)

    return spoil


def asked_late(story: WireRun) -> None:
    """What is asked first comes when the time is nearly over."""
    story.entries[:] = queued(650).entries


ROWS: Final[tuple[Row, ...]] = (
    ("W2", "a heartbeat in the middle of it", beating, sooner(400)),
    ("W2", "a heartbeat shortly before it is over", beating, sooner(880)),
    ("W2", "close() leaves in the middle of it", closing, lambda s: s.leave(410)),
    ("W2", "SyncGroup at once: the answer must have been read", joining, sooner(7)),
    ("W2", "the broker has waited, and so does the client", held_back, sooner(1_520)),
    ("W2", "the client waits before it asks for anything", queued, asked_late),
)
"""Rule, what is wrong, the good run, and how it is spoiled."""
