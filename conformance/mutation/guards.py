"""What keeps the trial of a mutant honest and finite.

A mutant that is broken itself, and a check that goes wrong because of it, are told as such; an endless one is stopped.
"""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from typing import Any, Final

from groupspec.conformance.mutation.mutant import Seam
from groupspec.impl.core.context import Context
from groupspec.impl.run_to_idle import RunToIdleRuntime

MAX_STEPS: Final = 10_000
"""Of the threads of one consumer, without becoming idle. A test makes some hundreds."""

MAX_OUTPUTS: Final = 5_000
"""Of one core, looks at deadlines counted in. A test makes some dozens; who goes on without end has failed here."""

CATALOGUE: Final = str(Path(__file__).resolve().parent / "catalogue")
CHECKERS: Final = tuple(
    str(Path(__file__).resolve().parents[2] / place)
    for place in ("conformance/", "impl/scheduling/", "impl/run_to_idle.py", "impl/scripted.py", "impl/testing.py")
)
"""Whose code judges the consumer, or is around it: an error there says nothing of the consumer unless it means to."""

DEFECTS: Final = (NameError, TypeError, AttributeError, ImportError)
"""What a broken rule never looks like: a mutant that leads to these, wherever that is, is broken itself.

Its types are not those of what it stands for: everything around it is checked for that (mypy, strictly).
"""

DEFECTS_INSIDE: Final = (LookupError, StopIteration, ValueError)
"""The same for what a mutant's own lines raise."""


class Crashed(Exception):
    """A check has gone wrong itself. The message says how."""


class Runaway(AssertionError):
    """A member that never stops."""


def is_defect(error: BaseException) -> bool:
    """Whether it is the mutant's own code that went wrong, and not the rule."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = bool(frames) and str(Path(frames[-1].filename).resolve()).startswith(CATALOGUE + os.sep)
    return isinstance(error, DEFECTS) or (inside and isinstance(error, DEFECTS_INSIDE))


def is_crash(error: BaseException) -> bool:
    """Whether a check's own code went wrong: it was given what it does not expect, and says nothing of a promise."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = bool(frames) and str(Path(frames[-1].filename).resolve()).startswith(CHECKERS)
    return inside and isinstance(error, DEFECTS_INSIDE)


def stop_the_endless(seam: Seam) -> None:
    """No core may produce outputs without end, nor take what waits from its queues and put it back."""
    for each in (Context.emit, Context.arm_earliest):
        seam.replace(each, _counted)

    seam.put(RunToIdleRuntime.__init__.__kwdefaults__, "max_steps", MAX_STEPS)


def _counted(original: Any, self: Context, *given: object) -> None:
    count = self.__dict__["_counted"] = self.__dict__.get("_counted", 0) + 1
    if count > MAX_OUTPUTS:
        raise Runaway(f"a member has done more than {MAX_OUTPUTS} things; the last is {original.__name__}{given}")
    original(self, *given)
