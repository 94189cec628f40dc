"""What a finding is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from groupspec.conformance.findings.runs import Run

Kind: TypeAlias = Literal["violation", "omission", "dead end", "ambiguity", "reachable", "time"]


@dataclass(frozen=True)
class Finding:
    """What exploration says about one sentence.

    Attributes:
        id: Lower case with hyphens.
        kind: *violation*: a property fails, because of what the sentence says. *omission*: because of what it leaves out.
            *dead end*: a run that cannot go on. *ambiguity*: the sentence allows two readings.
            *reachable*: what nobody wants and no client can avoid. *time*: what a theorem says.
        title: One line.
        sentence: What the source says, in its words.
        source: Which source, and where.
        shows: What exploration shows of it, and why.
        instead: What deployed systems do.
        difference: The entry of `spec.differences` that it belongs to; empty where the sources agree.
        test: Which test shows it, from the top of the repository.
        runs: The shortest runs; the first is drawn on the page.
        theorem: For time: which theorem.
    """

    id: str
    kind: Kind
    title: str
    sentence: str
    source: str
    shows: str
    instead: str
    difference: str
    test: str
    runs: tuple[Run, ...] = ()
    theorem: str = ""
