"""Carries out a plan: brokers, a producer, members, and the steps at their times; then the group has to settle.

Everything that is started ends with the run, also when it is interrupted: processes by their ids, brokers by their
keepers, and all of them by the kit's death.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final

from groupspec.conformance.outputs import write_lines
from groupspec.conformance.stress.cluster import Cluster
from groupspec.conformance.stress.judging import Judge, Verdict
from groupspec.conformance.stress.member import Member
from groupspec.conformance.stress.plan import SETTLING_MS, Plan, Step
from groupspec.conformance.stress.producer import Records
from groupspec.conformance.stress.proxy import Network
from groupspec.conformance.stress.timeline import Happening, Timeline, client_of, place_of, write
from groupspec.conformance.wire.log import now_us
from groupspec.conformance.wire.stalls import StallClock

QUIET_S: Final = 2.0
"""How long nothing may change until the group counts as stable."""

READ_LIMIT_S: Final = 15.0
"""How long the last records may take, when no more come."""

START_LIMIT_S: Final = 30.0
EXTRA_LIFETIME_S: Final = 300
DELAY_MS: Final = 150


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run.

    Attributes:
        began_us: When the plan's time began.
        seconds: All of it.
        records: How many were produced.
        settled_s: From the last fault until the group was stable and everything processed; None: it never was.
        stalls_us: When the machine stood still: begin and end.
        raised: By client, what its calls raised, and how often.
        happenings: All that happened, in the order of time, with what the coordinators logged and recorded.
    """

    plan: Plan
    began_us: int
    seconds: float
    records: int
    settled_s: float | None
    verdict: Verdict
    stalls_us: Sequence[tuple[int, int]]
    raised: dict[str, Counter[str]]
    happenings: Sequence[Happening]


class Run:
    """One run in a folder of its own. Use as a context manager."""

    def __init__(self, plan: Plan, folder: Path, now: Callable[[str], None] = lambda _: None) -> None:
        self.plan = plan
        self._folder = folder
        self._now = now
        self._timeline = Timeline()
        self._stack = ExitStack()
        self._began_us = self._held_up_us = 0
        self._unstable_us = 0

    def __enter__(self) -> Run:
        plan = self.plan
        lifetime_s = plan.faults_end_ms / 1000 + EXTRA_LIFETIME_S
        self._now("starting the brokers")
        self._stalls = self._stack.enter_context(StallClock())
        network = self._stack.enter_context(Network())
        try:
            self._cluster = self._stack.enter_context(
                Cluster(self._folder, len(plan.members), lifetime_s, self._timeline)
            )
            self._records = self._stack.enter_context(Records(self._cluster.bootstrap, plan.records_per_second))
            self._members = [
                Member(one, plan.rebalance, network.way(ports), self._timeline)
                for one, ports in zip(plan.members, self._cluster.ways, strict=True)
            ]
        except BaseException:
            self._stack.close()
            raise
        for member in self._members:
            self._stack.callback(member.kill)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def execute(self) -> Outcome:
        """From the first start to the last close. The plan's time begins when every client has come up."""
        for member in self._members:
            member.start()
        self._timeline.wait_until(lambda: all(member.is_heard for member in self._members), START_LIMIT_S)
        self._began_us = now_us()
        for step in self.plan.steps:
            self._sleep_until(step.at_ms)
            self._tell(step.what)
            begin_us = now_us()
            self._do(step)
            self._held_up_us += now_us() - begin_us
        self._sleep_until(self.plan.faults_end_ms)
        settled_s = self._settle()
        for member in self._members:
            self._tell("closing")
            member.close()
        return self._outcome(settled_s)

    # Steps ------------------------------------------------------------------------------------------------------------

    def _do(self, step: Step) -> None:
        match step.what:
            case "stop-broker":
                self._cluster.stop(step.broker)
            case "kill-broker":
                self._cluster.kill(step.broker)
            case "start-broker":
                self._cluster.start(step.broker)
            case "move-coordinator":
                self._cluster.move_coordinator()
            case "grow":
                self._cluster.grow(step.ms)
                self._records.grow(step.ms)
            case _:
                self._do_to(self._members[step.member], step)

    def _do_to(self, member: Member, step: Step) -> None:
        match step.what:
            case "stop":
                member.stop()
            case "resume":
                member.resume()
            case "kill":
                member.kill()
            case "start":
                member.start()
            case "restart":
                member.close()
                member.start(step.ms)
            case "busy":
                member.busy()
            case "poll-again":
                member.poll_again()
            case "cut" | "stall":
                self._timeline.note("disconnected", member.name, step.what)
                member.way.cut() if step.what == "cut" else member.way.stall()
            case "delay":
                self._timeline.note("delayed", member.name)
                member.way.delay(DELAY_MS)
            case "connect":
                member.way.open()
                self._timeline.note("connected", member.name)

    def _sleep_until(self, at_ms: int) -> None:
        """Wait until the plan's time is this."""
        while (left_s := at_ms / 1000 - self._plan_s()) > 0:
            self._replace_fenced()
            time.sleep(min(left_s, 0.5))
            self._tell("")

    def _replace_fenced(self) -> None:
        """As whoever looks after the processes would: a static member that is fenced off closes, and is started anew.

        A coordinator that restarts before it has written who has an instance id now goes on with who had it before.
        """
        for member in self._members:
            if member.is_fenced:
                member.close()
                member.start()

    def _plan_s(self) -> float:
        """The plan's time."""
        return (now_us() - self._began_us - self._held_up_us) / 1e6

    def _tell(self, what: str) -> None:
        at_s = self._plan_s()
        processed = sum(self._timeline.processed.values())
        self._now(
            f"{at_s:.0f} of {self.plan.faults_end_ms / 1000:.0f} s: {processed:,} of {self._records.count:,} records"
            f"{f', {what}' if what else ''}"
        )

    # The end ----------------------------------------------------------------------------------------------------------

    def _settle(self) -> float | None:
        """Start whoever is away, then wait until all is well. How long that took after the last fault."""
        for member in self._members:
            if not member.is_running:
                member.start()
        begin_us = now_us()
        self._tell("settling")
        is_stable = self._becomes_stable()
        stable_us = self._timeline.owners_changed_us
        self._records.finish()
        all_read = self._timeline.wait_until(self._all_processed, READ_LIMIT_S)
        if is_stable and all_read:
            return max(0, stable_us - begin_us) / 1e6
        self._unstable_us = now_us()
        return None

    def _becomes_stable(self) -> bool:
        begin_us = now_us()
        while now_us() - begin_us - self._stalled_us(begin_us) < SETTLING_MS * 1000:
            self._replace_fenced()
            if self._timeline.wait_until(self._is_stable, 1.0):
                return True
        return False

    def _stalled_us(self, since_us: int) -> int:
        return sum(end - max(begin, since_us) for begin, end in self._stalls.stalls_us(since_us))

    def _is_stable(self) -> bool:
        """Each partition has one owner, each member has some, and nothing has changed for a while."""
        owned = self._timeline.owned()
        partitions = sorted(partition for some in owned.values() for partition in some)
        is_quiet = now_us() - self._timeline.owners_changed_us >= QUIET_S * 1e6
        everybody = {member.name for member in self._members}
        return (
            is_quiet
            and partitions == list(range(self._records.partitions))
            and {name for name, some in owned.items() if some} == everybody
        )

    def _all_processed(self) -> bool:
        return all(self._timeline.processed.get(partition, 0) >= end for partition, end in self._records.ends.items())

    def _outcome(self, settled_s: float | None) -> Outcome:
        happenings = self._timeline.in_order()
        started = [one for one in happenings if one.kind == "started"]
        instances = {one.process: self.plan.members[place_of(one.process)].instance_id for one in started}
        noted = [*self._cluster.standings(started, instances), *self._cluster.commits()]
        everything = sorted([*happenings, *noted], key=lambda one: one.at_us)
        write(self._folder / "timeline.ndjson", everything)
        write_lines(self._folder / "plan.txt", str(self.plan).splitlines())
        for member in self._members:
            write_lines(self._folder / f"{member.name}.stderr", member.stderr.splitlines())
        stalls = self._stalls.stalls_us(self._began_us)
        return Outcome(
            plan=self.plan,
            began_us=self._began_us,
            seconds=(now_us() - self._began_us) / 1e6,
            records=self._records.count,
            settled_s=settled_s,
            verdict=Judge(happenings, noted, stalls, self._began_us).verdict(self._records.ends, self._unstable_us),
            stalls_us=stalls,
            raised=_raised(happenings),
            happenings=everything,
        )


def _raised(happenings: list[Happening]) -> dict[str, Counter[str]]:
    raised: dict[str, Counter[str]] = {}
    for one in happenings:
        if one.kind == "raised":
            raised.setdefault(client_of(one.process), Counter())[one.text.split(": ")[1]] += 1
    return raised
