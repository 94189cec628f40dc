"""`groupspec trace`: ingest recorded traces, check them, and explain why a group rebalanced."""

from pathlib import Path

from groupspec.conformance.cli import LazyGroup

command = LazyGroup(
    "trace",
    folder=Path(__file__).parent,
    package=__name__,
    help="Recorded traces and logs: ingest, check, explain.\n\nExample: groupspec trace check recordings/",
)
