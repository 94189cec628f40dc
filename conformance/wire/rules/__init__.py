"""The rules that can be judged on the wire and from callbacks.

A file a chapter, small functions over a run's history.
"""

from groupspec.conformance.wire.rules import (
    callbacks,
    closing,
    commits,
    cooperative,
    discovery,
    frames,
    heartbeats,
    joining,
    polling,
    positions,
)
from groupspec.conformance.wire.rules._checker import CHECKERS, Checker, Finding, judge

__all__ = [
    "CHECKERS",
    "Checker",
    "Finding",
    "callbacks",
    "closing",
    "commits",
    "cooperative",
    "discovery",
    "frames",
    "heartbeats",
    "joining",
    "judge",
    "polling",
    "positions",
]
