"""Runs the stories, applies the checks, and says what came of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.history.harness_protocol import (
    ONLY_CONSUMER_PROTOCOL,
    StartupComplete,
    joins_no_classic_group,
)
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.harness_check.checks import CHECKS, Check, NoOccasion, NotOffered
from groupspec.conformance.wire.harness_check.sessions import (
    NOT_SERVED,
    OF_ITSELF,
    ONLY_OFFERED,
    STORIES,
    Session,
    Story,
    run_story,
)
from groupspec.conformance.wire.stalls import StallClock

JOBS: Final = 3
STILL_MS: Final = 1_000
"""When the machine stood still for so long, what did not come in time says nothing about the harness."""
NOT_STARTED: Final = "the harness did not say startup_complete"
"""Why nothing but the start of such a harness is judged: what says nothing says nothing wrong either."""
NO_PROTOCOL: Final = "the harness offers neither eager nor cooperative"
DID_NOTHING: Final = "the harness never said that it had done a command"
NOT_WHOLE: Final = "functions of the harness are still to be filled in"
NOT_PLAYED: Final = f"{ONLY_CONSUMER_PROTOCOL}, which the kit's broker does not speak"
OF_THE_PROTOCOL: Final = ("startup", "features", "stdout", "command_done", "clock", "end of stdin")
"""What a harness gets right, or wrong, without a client."""
JUDGED_FIRST: Final = {
    NOT_STARTED: ("startup",),
    NO_PROTOCOL: ("startup", "features"),
    DID_NOTHING: ("startup", "features", "stdout", "command_done"),
    NOT_WHOLE: OF_THE_PROTOCOL,
    NOT_PLAYED: (*OF_THE_PROTOCOL, "close"),
}
"""By why the other stories were not told: what is judged nevertheless."""
UNJUDGED: Final = {NOT_PLAYED: Verdict.UNSUPPORTED}
"""By the same: what the others are then, if not INCONCLUSIVE."""
JUDGED_OF_ERRORS: Final = ("startup", "commands")
"""The same, where something raised."""
JUDGED_OF_UNSERVED: Final = ("startup", "features")
"""The same, where the client sent what is not served: what came of that is no fault of the harness."""


@dataclass(frozen=True)
class Result:
    """What came of one check; `found` says what is wrong, or why it was not judged."""

    check: Check
    verdict: Verdict
    found: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checked:
    """The results of all checks, the harness's name and version, and the end of its stderr in failed sessions.

    Attributes:
        stopped: Why the other stories were not told, so that hardly anything is judged; "" if they were.
        to_fill_in: Functions that `groupspec init` wrote and nobody has filled in: what each is to do, and where.
    """

    client: Client
    name: str
    version: str
    features: tuple[str, ...]
    results: tuple[Result, ...]
    stderr: str
    stopped: str = ""
    to_fill_in: tuple[str, ...] = ()

    def count(self, verdict: Verdict) -> int:
        """How many results have this verdict."""
        return sum(result.verdict is verdict for result in self.results)


def check_harness(client: Client, told: Callable[[str], None] = lambda _: None) -> Checked:
    """Tries a harness in every story; `told` is called when one is over.

    The first story is told alone: a harness that does not start, or cannot make its client, is not started again.

    Raises:
        OSError: the kit's broker could not be started.
    """

    def tell(name: str, story: Story) -> Session:
        session = run_story(client, name, story)
        told(name)
        return session

    with StallClock() as clock:
        first, *others = STORIES
        sessions = {first: tell(first, STORIES[first])}
        lacking = ONLY_OFFERED - sessions[first].features
        others = [name for name in others if name not in lacking]
        stopped = _why_stopped(sessions[first])
        if not stopped:
            with ThreadPoolExecutor(JOBS) as pool:
                told_beside = pool.map(tell, others, [STORIES[name] for name in others])
                sessions |= dict(zip(others, told_beside, strict=True))
        elif stopped in (NOT_WHOLE, NOT_PLAYED):
            sessions = {name: tell(name, story) for name, story in OF_ITSELF.items()}
        else:
            sessions |= dict.fromkeys(others, sessions[first])
        stalls_us = [end - start for start, end in clock.stalls_us()]
        still_ms = max([*stalls_us, *(session.still_us for session in sessions.values())]) / 1000
    hello = next(iter(sessions[first].told(StartupComplete)), None)
    return Checked(
        client=client,
        name=hello.client if hello is not None else "",
        version=hello.full_version if hello is not None else "",
        features=tuple(sorted(sessions[first].features)),
        results=tuple(_result(check, sessions, still_ms, stopped) for check in CHECKS.values()),
        stderr=next((session.stderr for session in sessions.values() if session.stderr), ""),
        stopped=stopped,
        to_fill_in=tuple(dict.fromkeys(each for session in sessions.values() for each in session.to_fill_in)),
    )


def _why_stopped(first: Session) -> str:
    """Why the other stories are not told after this one; "" if they are."""
    if first.not_started:
        return NOT_STARTED
    if not first.joins:
        return NOT_PLAYED if joins_no_classic_group(first.features) else NO_PROTOCOL
    if first.did_nothing:
        return DID_NOTHING
    if first.never_read and not first.to_fill_in:
        return first.never_read
    return NOT_WHOLE if first.never_began and first.to_fill_in else first.never_began


def _result(check: Check, sessions: Mapping[str, Session], still_ms: float, stopped: str) -> Result:
    otherwise = JUDGED_OF_UNSERVED if stopped.startswith(NOT_SERVED) else JUDGED_OF_ERRORS
    if stopped and check.id not in JUDGED_FIRST.get(stopped, otherwise):
        return Result(check, UNJUDGED.get(stopped, Verdict.INCONCLUSIVE), (stopped,))
    try:
        found = tuple(dict.fromkeys(check.find(sessions)))
    except NotOffered as reason:
        return Result(check, Verdict.UNSUPPORTED, (str(reason),))
    except NoOccasion as reason:
        return Result(check, Verdict.INCONCLUSIVE, (f"not judged: {reason}",))
    if not found:
        return Result(check, Verdict.PASS)
    if check.timed and still_ms >= STILL_MS:
        stood_still = f"the machine stood still for {still_ms:.0f} ms: try again"
        return Result(check, Verdict.INCONCLUSIVE, (*found, stood_still))
    return Result(check, Verdict.FAIL, found)
