"""Every state of a model, breadth first: what holds in all of them, and the shortest way to one where it does not."""

from groupspec.spec.explorer.exploration import (
    Exploration,
    ExplorerProblem,
    Limits,
    Progress,
    Trace,
    TraceStep,
)
from groupspec.spec.explorer.explore import explore
from groupspec.spec.explorer.interpreter import branches_taken, replay
from groupspec.spec.explorer.variants import equivalents, explore_variants

__all__ = [
    "Exploration",
    "ExplorerProblem",
    "Limits",
    "Progress",
    "Trace",
    "TraceStep",
    "branches_taken",
    "equivalents",
    "explore",
    "explore_variants",
    "replay",
]
