"""What meets what in schedules: a call of the application, the state of its member, and an answer or a timer.

A bug that needs one of these meetings is found when it is drawn. How often each has come about is counted from outside
(`counted`), so that what is rare can be drawn more often (`meanwhile`), and what never comes about is known by its name
(`holes.toml`). `meetings.json` counts 500 schedules of each design without a rare meeting, and 175 with one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest import mock

from groupspec.conformance.garbage import one_by_one
from groupspec.conformance.schedules.application import Application
from groupspec.conformance.schedules.campaign import play, strategy
from groupspec.conformance.schedules.further import draw
from groupspec.conformance.schedules.parting import Parting
from groupspec.conformance.schedules.scenario import UNTIL
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import InputEvent, Output, ResponseReceived, TimerExpired, UnsolicitedResponse
from groupspec.impl.scheduling import run
from groupspec.impl.threads.designs import Design
from groupspec.spec.datafile import Record, read_entries

OUTSIDE: Final = "outside"
"""The application is in no call."""


class Meeting(NamedTuple):
    """A call, the state of the rebalance, and the API that is answered, or the timer that expires."""

    call: str
    state: str
    what: str


@contextmanager
def counted() -> Iterator[Counter[Meeting]]:
    """Counts, in the runs of a block."""
    found: Counter[Meeting] = Counter()
    under_way = [OUTSIDE]
    call, close, handle = Application._call, Parting.close, Core.handle

    def called(self: Application, consumer: Consumer, name: str, *given: Any) -> None:
        kind = "poll" if name.startswith(("poll", UNTIL)) else OUTSIDE if name.startswith("work") else name
        with _within(under_way, kind):
            call(self, consumer, name, *given)

    def closed(self: Parting, consumer: Consumer) -> None:
        with _within(under_way, "close"):
            close(self, consumer)

    def handled(self: Core, event: InputEvent, now_ms: int) -> list[Output]:
        what = ""
        if isinstance(event, TimerExpired):
            what = f"timer {event.timer}"
        elif isinstance(event, ResponseReceived):
            with suppress(UnsolicitedResponse):
                what = self.requests.look_up(event.request_id, event.response).api
        if what:
            found[Meeting(under_way[-1], self.describe().rebalance, what)] += 1
        return handle(self, event, now_ms)

    with (
        mock.patch.object(Application, "_call", called),
        mock.patch.object(Parting, "close", closed),
        mock.patch.object(Core, "handle", handled),
    ):
        yield found


@contextmanager
def _within(under_way: list[str], name: str) -> Iterator[None]:
    under_way.append(name)
    try:
        yield
    finally:
        under_way.pop()


def count(design: Design, seeds: Iterable[int]) -> Counter[Meeting]:
    """In the schedules of these numbers. AssertionError if one breaks a promise."""
    with counted() as found:
        for seed in one_by_one(seeds):
            error = run(play(draw(seed), design), strategy(seed)).error
            assert error is None, f"schedule {seed} of {design}: {error}"
    return found


def written(otherwise: Counter[Meeting], rarely: Counter[Meeting]) -> str:
    """As `meetings.json` has it, a line for each: in schedules without a rare meeting, and in those with one."""

    def lines(found: Counter[Meeting]) -> str:
        return ",\n".join(f"  {json.dumps([*meeting, times])}" for meeting, times in sorted(found.items()))

    return f'{{\n "met": [\n{lines(otherwise)}\n ],\n "met_where_rare": [\n{lines(rarely)}\n ]\n}}\n'


def read(text: str) -> tuple[Counter[Meeting], Counter[Meeting]]:
    """What is written so."""
    data = json.loads(text)
    otherwise, rarely = (
        Counter({Meeting(*meeting): times for *meeting, times in data[name]}) for name in ("met", "met_where_rare")
    )
    return otherwise, rarely


class Hole(Record, frozen=True):
    """An entry of `holes.toml`: answers that none of these schedules has had come in a call. `because`: why not."""

    id: str
    calls: list[str]
    answers: list[str]
    because: str


def holes() -> dict[tuple[str, str], str]:
    """Call and API whose answer has never come in it, with the reason."""
    entries = read_entries(Path(__file__).with_name("holes.toml"), Hole)
    return {pair: one.because for one in entries.values() for pair in product(one.calls, one.answers)}
