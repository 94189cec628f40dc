"""One consumer under a drawn schedule, as a life, with a mutant of the reference or without."""

from __future__ import annotations

from msgspec.structs import replace

from groupspec.conformance.frozen.mutants import with_mutant
from groupspec.conformance.history.life import Life
from groupspec.conformance.schedules.campaign import play, strategy
from groupspec.conformance.schedules.further import draw
from groupspec.impl.scheduling import run
from groupspec.impl.threads.designs import Design


def life(seed: int, design: Design, mutant: str = "") -> Life:
    """The schedule of this number."""
    kept: list[Life] = []
    with with_mutant(mutant):
        error = run(play(draw(seed), design, kept.append), strategy(seed)).error
    judged = ("", "") if error is None else (type(error).__name__, str(error).partition("\n")[0])
    return Life(replace(kept[0].header, seed=seed, mutant=mutant, judged=judged), kept[0].events)
