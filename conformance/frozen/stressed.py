"""A group of real clients on real brokers, as a life: what members said, what was done, what the coordinator noted.

The judge of the stress run reads nothing else, so it can judge such a life again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from unittest import mock

from msgspec import structs

from groupspec.conformance.history.event import Event, Kind
from groupspec.conformance.history.life import VERSION, Header, Life
from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.stress import member
from groupspec.conformance.stress.judging import Judge, Verdict
from groupspec.conformance.stress.plan import draw
from groupspec.conformance.stress.run import Run
from groupspec.conformance.stress.timeline import TROUBLE, Happening
from groupspec.conformance.stress.troubles import Span
from groupspec.conformance.wire.clients import mutated

FAULTS_MS: Final = 20_000
STALL: Final = "machine stands still"
_KINDS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys([*TROUBLE, *TROUBLE.values(), "silence", STALL], "fault"),
    **dict.fromkeys(["assigned", "revoked", "lost"], "callback"),
    "callback returned": "callback_ended",
    "consumed": "processed",
    "raised": "raised",
    "started": "started",
    "killed": "ended",
    "ended": "ended",
    "closing": "called",
    "closed": "returned",
}
"""All others are what the coordinator noted."""


def life(seed: int, clients: Sequence[str], mutant: str = "") -> Life:
    """The run of this seed, on brokers of its own; with a mutant all members are the reference with that."""
    given: list[Any] = []

    def begun(original: Any, judge: Judge, *arguments: Any) -> None:
        given[:] = arguments
        original(judge, *arguments)

    def judged(original: Any, judge: Judge, ends: Mapping[int, int], unstable_us: int = 0) -> Verdict:
        given.extend([dict(ends), unstable_us])
        verdict: Verdict = original(judge, ends, unstable_us)
        return verdict

    with ExitStack() as stack:
        seam = stack.enter_context(Seam())
        seam.replace(Judge.__init__, begun)
        seam.replace(Judge.verdict, judged)
        if mutant:
            stack.enter_context(mock.patch.object(member, "find_client", return_value=mutated(mutant)))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        plan = draw(seed, tuple(clients), FAULTS_MS)
        run = stack.enter_context(Run(plan, folder))
        findings = run.execute().verdict.findings
    told = (findings[0].promise, findings[0].text) if findings else ("", "")
    return as_life(Header(VERSION, "stress", "processes", seed, mutant, str(plan), judged=told), *given)


def as_life(
    header: Header,
    happenings: Sequence[Happening],
    noted: Sequence[Happening],
    stalls: Sequence[Span],
    began_us: int,
    ends: Mapping[int, int],
    unstable_us: int,
) -> Life:
    """What the judge is given, as a life; times count from the run's beginning."""
    stood_still = (Happening(begin, STALL, first=end - begin) for begin, end in stalls)
    everything = sorted([*happenings, *noted, *stood_still], key=lambda one: one.at_us)
    world = {"ends": sorted(ends.items()), "unstable_us": max(0, unstable_us - began_us)}
    header = structs.replace(header, settings={"": world})
    return Life(header, [_event(one, began_us) for one in everything])


def _event(one: Happening, began_us: int) -> Event:
    value = [list(one.partitions), one.first, one.last]
    kind = _KINDS.get(one.kind, "told")
    return Event(one.at_us - began_us, kind, one.process, name=one.kind, value=value, text=one.text)


def judged_again(lived: Life) -> Verdict:
    """What the judge of the stress run says of a life."""
    world = lived.header.settings[""]
    spans: list[Span] = []
    happenings: list[Happening] = []
    for event in lived.events:
        partitions, first, last = event.value
        if event.name == STALL:
            spans.append((event.at_us, event.at_us + first))
        else:
            happenings.append(
                Happening(event.at_us, event.name, event.member, tuple(partitions), first, last, event.text)
            )
    ends: dict[int, int] = dict(world["ends"])
    return Judge(happenings, (), spans).verdict(ends, world["unstable_us"])
