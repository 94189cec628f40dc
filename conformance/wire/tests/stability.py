"""Do verdicts hold? Whole campaigns, again and again, on a machine that is quiet or kept busy, held against each other.

A campaign calls a breach certain when each of its runs showed it. That word has to hold: no later run of the same case
may keep the rule. What changes otherwise (a race that shows now and then) is counted, and is no fault of the kit as
long as no campaign called it certain.

    python -m groupspec.conformance.wire.tests.stability --times 20 --busy 2 --minutes 300 --keep FOLDER

`--keep` has each run in a file of its campaign: the same command goes on where it was stopped, with a larger `--times`
it makes more, and who wants to know why a verdict changed finds the reasons of all runs there.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Final

from groupspec.conformance import tied
from groupspec.conformance.checks.verdicts import BROKEN, JUDGED, Verdict
from groupspec.conformance.wire.campaign import JOBS, run_campaign
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.client_builds import BUILDS
from groupspec.conformance.wire.clients import Client, find_client
from groupspec.conformance.wire.results import Row
from groupspec.conformance.wire.scenarios import all_cases

CLIENTS: Final = ("reference", "java", "kgo", "confluent-kafka")
LOOP: Final = "import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass\n"


@dataclass
class Held:
    """Campaigns of the same cases, held against each other.

    Attributes:
        seconds: How long each campaign took, by client, of those that were made in one go.
        rows: What each campaign said, by client, case and rule.
    """

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    rows: dict[tuple[str, str, str], list[Row]] = field(default_factory=lambda: defaultdict(list))

    def add(self, client: str, rows: Sequence[Row], seconds: float | None) -> None:
        """One campaign more; `seconds` None: it was begun earlier."""
        self.seconds[client] += [] if seconds is None else [seconds]
        for row in rows:
            self.rows[client, row.case.id, row.rule].append(row)

    def changed(self) -> list[tuple[str, str, str]]:
        """Where one campaign said something else than another; nothing judged is nothing said."""
        return [
            place for place, rows in self.rows.items() if len({row.judgement.verdict for row in rows} & {*JUDGED}) > 1
        ]

    def taken_back(self) -> list[tuple[str, str, str]]:
        """Where one campaign called a breach certain, and another has a run in which the rule was kept."""
        return [place for place, rows in self.rows.items() if any(map(_is_certain, rows)) and any(map(_was_kept, rows))]

    def lines(self) -> Iterator[str]:
        """All of it, for people."""
        for client, seconds in self.seconds.items():
            mine = [rows for (name, _, _), rows in self.rows.items() if name == client]
            certain = sum(any(map(_is_certain, rows)) for rows in mine)
            changed = sum(place[0] == client for place in self.changed())
            took = f"{max(map(len, mine), default=0)} campaigns"
            took += f", {min(seconds):.0f} to {max(seconds):.0f} s each" if seconds else ""
            yield f"{client}: {took}; of {len(mine)} verdicts {changed} changed, {certain} were certain breaches"
        for place in dict.fromkeys((*self.taken_back(), *self.changed())):
            said = (f"{row.judgement.verdict.value} {row.combined.how_sure}" for row in self.rows[place])
            mark = "TAKEN BACK" if place in self.taken_back() else "changed"
            yield f"{mark}: {' '.join(place)}: {' | '.join(said)}"


def _is_certain(row: Row) -> bool:
    return row.combined.certain and row.judgement.verdict in BROKEN


def _was_kept(row: Row) -> bool:
    return row.combined.counts.get(Verdict.PASS, 0) > 0


@contextmanager
def busy(loops: int, seconds: float) -> Iterator[list[Popen[bytes]]]:
    """So many processes that take all the processor they get, until the block is left or the time is over."""
    with ExitStack() as stack:
        processes = [tied.start([sys.executable, "-c", LOOP.format(seconds=seconds)]) for _ in range(loops)]
        for process in processes:
            stack.callback(process.wait)
            stack.callback(tied.end, process)
        yield processes


def hold(
    clients: Sequence[Client],
    cases: Sequence[Case],
    *,
    times: int,
    loops: int,
    within_s: float,
    keep: Path | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> Held:
    """Each client's campaign so many times; none is begun when the time is over.

    `keep`: a folder with a file for each campaign; what is there already is not run again.
    """
    held, begun = Held(), time.monotonic()
    with busy(loops, within_s + 600):
        for number in range(times):
            for client in clients:
                if time.monotonic() - begun > within_s:
                    told(f"stopped after {within_s:.0f} s, in round {number + 1} of {times}")
                    return held
                file = keep / f"{client.folder}-{number + 1}.ndjson" if keep is not None else None
                is_new = file is None or not file.exists()
                campaign = run_campaign([client], cases, jobs=JOBS, confirm=True, seed=number, resume=file)
                if campaign.stopped:
                    told(campaign.stopped)
                    return held
                held.add(client.name, campaign.clients[0].rows, campaign.seconds if is_new else None)
                told(f"round {number + 1}, {client.name}: {campaign.seconds:.0f} s{'' if is_new else ' more'}")
    return held


def installed(names: Sequence[str]) -> list[Client]:
    """These clients, built where they are not."""
    for name in names:
        if name in BUILDS and not BUILDS[name].installed:
            BUILDS[name].install()
    return [find_client(name) for name in names]


def main() -> int:
    """The command; ends with 1 if a certain verdict was taken back."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--times", type=int, default=20, help="campaigns of each client")
    arguments.add_argument("--busy", type=int, default=0, help="processes that keep the machine busy meanwhile")
    arguments.add_argument("--minutes", type=float, default=60, help="begin none later than that")
    arguments.add_argument("--keep", type=Path, help="a folder for the runs, to go on from")
    arguments.add_argument("clients", nargs="*", default=CLIENTS, help="names of built-in clients")
    given = arguments.parse_args()
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
    limits = {"times": given.times, "loops": given.busy, "within_s": 60 * given.minutes}
    held = hold(
        installed(given.clients), all_cases(), keep=given.keep, told=lambda line: print(line, flush=True), **limits
    )
    print(*held.lines(), sep="\n")
    return 1 if held.taken_back() else 0


if __name__ == "__main__":
    sys.exit(main())
