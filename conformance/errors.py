"""The ways in which a command stops without a verdict.

A verdict about a client is a result, never an exception. What is left is a request that cannot be carried out
(`UsageProblem`: an unknown client, a port taken, a folder that is not writable), work that could not be finished
(`InconclusiveProblem`: no memory left) and a state that the kit itself should never be in (`InternalProblem`). Each
says what happened, where, what was allowed, and what to do next, because its reader is usually not the author of this
code.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from groupspec.spec import printable

EXIT_OK = 0
EXIT_CONFORMANCE_FAILURE = 1
EXIT_USAGE = 2
EXIT_INTERNAL = 3
EXIT_INCONCLUSIVE = 4
EXIT_NOBODY_READS = 141
"""As of other programs in a shell whose reader (`| head`) has gone: 128 + SIGPIPE."""
EXIT_TERMINATED = 143
"""As of other programs: 128 + SIGTERM. A command that tells what it knew by then ends with the code for that."""


class Problem(Exception):
    """A message in four parts; `exit_code` is what the process ends with.

    Attributes:
        what: What happened, as a sentence without a full stop.
        where: The argument, file and line, or port it is about; empty when `what` says it.
        allowed: What would have been accepted; a string, or the list of accepted values. May be empty.
        found: What was there instead, where that helps more than what was allowed. May be empty.
        next_step: What the reader can do now. May be empty.
    """

    exit_code = EXIT_INTERNAL

    def __init__(
        self, what: str, where: str = "", allowed: str | Iterable[str] = "", next_step: str = "", found: str = ""
    ) -> None:
        self.what = what
        self.where = where
        self.allowed = allowed if isinstance(allowed, str) else ", ".join(allowed)
        self.next_step = next_step
        self.found = found
        super().__init__(what, where, self.allowed, next_step, found)

    def __str__(self) -> str:
        """The parts, one a line, without those that are empty. They may quote others: none of them ends its line."""
        parts = {"where": self.where, "found": self.found, "allowed": self.allowed, "next": self.next_step}
        told = [self.what, *(f"  {label + ':':<9}{text}" for label, text in parts.items() if text)]
        return "\n".join(map(printable.line, told))


class UsageProblem(Problem):
    """The request cannot be carried out as it stands: exit code 2."""

    exit_code = EXIT_USAGE


class InconclusiveProblem(Problem):
    """The work could not be finished, so that nothing can be said: exit code 4."""

    exit_code = EXIT_INCONCLUSIVE


class InternalProblem(Problem):
    """The kit is in a state that its author thought impossible: exit code 3, to be reported."""

    exit_code = EXIT_INTERNAL


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'rebalance'?`, or nothing when no known name is near; case does not count."""
    by_fold = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), list(by_fold), n=1)
    return f"did you mean {by_fold[close[0]]!r}?" if close else ""


def require_known(name: str, known: Iterable[str], kind: str, where: str = "", next_step: str = "") -> None:
    """Refuses a name that is not known.

    Raises:
        UsageProblem: with every name that is, and the nearest one; `next_step` where none is near.
    """
    names = list(known)
    if name not in names:
        advice = did_you_mean(name, names) or next_step
        raise UsageProblem(f"there is no {kind} {name!r}", where=where, allowed=names, next_step=advice)
