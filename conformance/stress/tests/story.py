"""Runs with one partition, written down. Times are in seconds here."""

from __future__ import annotations

from collections.abc import Mapping

from groupspec.conformance.stress.judging import Finding, Judge
from groupspec.conformance.stress.timeline import Happening

A, B = "kafka-python-0-1", "reference-1-1"


class Story:
    """A run with one partition, written down."""

    def __init__(self) -> None:
        self.happenings: list[Happening] = []
        self.log: list[Happening] = []

    def add(self, at_s: float, kind: str, process: str, first: int = -1, last: int = -1, text: str = "") -> Story:
        partitions = (0,) if kind in ("assigned", "revoked", "lost", "consumed") else ()
        to = self.log if kind in ("joined", "expelled", "left") else self.happenings
        to.append(Happening(round(at_s * 1e6), kind, process, partitions, first, last, text))
        return self

    def commits(self, at_s: float, offset: int) -> Story:
        self.log.append(Happening(round(at_s * 1e6), "committed", "", (0,), last=offset))
        return self

    def findings(self, ends: Mapping[int, int]) -> tuple[Finding, ...]:
        return Judge(self.happenings, self.log).verdict(ends).findings

    def found(self, ends: Mapping[int, int] = {}) -> list[tuple[str, str, int]]:
        return [(one.promise, one.process, one.records) for one in self.findings(ends)]
