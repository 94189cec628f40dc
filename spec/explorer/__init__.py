"""Every state of a model, breadth first: what holds in all of them, and the shortest way to one where it does not."""

from groupspec.spec.explorer.exploration import (
    Exploration,
    ExplorerProblem,
    Limits,
    Progress,
    Step,
    Trace,
)
from groupspec.spec.explorer.explore import explore, native_source
from groupspec.spec.explorer.interpreter import replay

__all__ = [
    "Exploration",
    "ExplorerProblem",
    "Limits",
    "Progress",
    "Step",
    "Trace",
    "explore",
    "native_source",
    "replay",
]
