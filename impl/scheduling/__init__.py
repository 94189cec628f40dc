"""A deterministic scheduler for threads: searches for the order that goes wrong, and replays it from a list."""

from groupspec.impl.scheduling.exploring import (
    Exploration,
    Outcome,
    explore,
    explore_all,
    random_walks,
    replay,
    run,
    shortened,
)
from groupspec.impl.scheduling.runtime import LockHeld, NotDone, ScheduledRuntime
from groupspec.impl.scheduling.shared_fields import watched

__all__ = [
    "Exploration",
    "LockHeld",
    "NotDone",
    "Outcome",
    "ScheduledRuntime",
    "explore",
    "explore_all",
    "random_walks",
    "replay",
    "run",
    "shortened",
    "watched",
]
