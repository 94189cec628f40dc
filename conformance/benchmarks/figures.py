"""What a benchmark returns, and how benchmarks are found."""

from __future__ import annotations

import importlib
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from groupspec.conformance.errors import UsageProblem


@dataclass(frozen=True)
class Figure:
    """One measured figure.

    Attributes:
        name: What is measured.
        unit: Of the samples.
        samples: One for each run, at least one.
        against: What it is compared with, and its samples in the same unit; "" and none: nothing.
        peer: The samples of what it is compared with.
        goal: What must be reached, in words; empty: nothing must. A number: at least so many times the peer's median.
        reached: Whether it was; of no interest without a goal, and where the goal is a number.
        note: Anything that is needed to read it.
    """

    name: str
    unit: str
    samples: Sequence[float]
    against: str = ""
    peer: Sequence[float] = ()
    goal: str | float = ""
    reached: bool | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """The median over the peer's median."""
        return statistics.median(self.samples) / statistics.median(self.peer) if self.peer else None

    @property
    def aim(self) -> str:
        """The goal in words."""
        return self.goal if isinstance(self.goal, str) else f">= {self.goal:g}x"

    @property
    def is_reached(self) -> bool | None:
        """Whether the goal was reached; None without one."""
        if isinstance(self.goal, str):
            return self.reached if self.goal else None
        return self.ratio is not None and self.ratio >= self.goal

    def data(self) -> dict[str, object]:
        """The figure in the shape of its JSON Schema."""
        return {
            "name": self.name,
            "unit": self.unit,
            "min": min(self.samples),
            "median": statistics.median(self.samples),
            "max": max(self.samples),
            "runs": len(self.samples),
            "against": self.against,
            "ratio": self.ratio,
            "goal": self.aim,
            "reached": self.is_reached,
            "note": self.note,
        }


def no_more(
    name: str,
    unit: str,
    own: Sequence[float],
    against: str,
    peer: Sequence[float],
    is_goal: bool = True,
    note: str = "",
) -> Figure:
    """A figure of which less is better: the median is to be no more than the peer's, if that is a goal."""
    reached = statistics.median(own) <= statistics.median(peer)
    return Figure(name, unit, own, against, peer, "<= 1x" if is_goal else "", reached=reached, note=note)


@dataclass(frozen=True)
class Benchmark:
    """One module of this folder.

    Attributes:
        about: The first line of its docstring.
        measure: Its function of this name; told what to do with a word about what it is doing.
    """

    about: str
    measure: Callable[[Callable[[str], None]], Sequence[Figure]]


def names() -> list[str]:
    """Every benchmark there is."""
    return sorted({file.stem for file in Path(__file__).parent.glob("*.py")} - {"__init__", "figures"})


def find(name: str) -> Benchmark:
    """The benchmark of that name, imported now: some need Spark.

    Raises:
        UsageProblem: there is none.
    """
    if name not in names():
        raise UsageProblem(f"there is no benchmark {name!r}", allowed=names(), next_step="`groupspec bench --help`")
    module = importlib.import_module(f"groupspec.conformance.benchmarks.{name}")
    return Benchmark((module.__doc__ or "").partition("\n")[0], module.measure)
