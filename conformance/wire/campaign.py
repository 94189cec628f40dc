"""Many runs: every chosen case against every chosen client, side by side, and one verdict for each rule of each.

Runs wait most of the time, so several go on at once, each with its own broker, process and log. The order is drawn from
the seed: what depends on the order or on the neighbours is a finding too. `planning` says which runs there are to make,
and which to make again; `saved_runs` keeps them in a file; `gathering` makes verdicts of them.
"""

from __future__ import annotations

import gc
import os
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Final

from groupspec.conformance import tied
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_run import CaseResult, run_case
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.gathering import client_result
from groupspec.conformance.wire.planning import CERTAIN_CASES, plan_of, to_confirm
from groupspec.conformance.wire.results import Campaign
from groupspec.conformance.wire.rule_choice import EVERY_RULE
from groupspec.conformance.wire.runs import Job, Runs
from groupspec.conformance.wire.saved_runs import open_runs
from groupspec.conformance.wire.stalls import StallClock

JOBS: Final = 3 * (os.cpu_count() or 2)
"""How many runs go on at the same time if nobody asks for another number."""
END_LOOK_S: Final = 0.1
"""How often runs that are to end are looked at."""


def run_campaign(
    clients: Sequence[Client],
    cases: Sequence[Case],
    *,
    jobs: int,
    repeat: int = 1,
    confirm: bool = False,
    certain_cases: int = CERTAIN_CASES,
    seed: int = 0,
    report: Path | None = None,
    rules: frozenset[str] = EVERY_RULE,
    resume: Path | None = None,
    resumed: Callable[[Sequence[CaseResult], int], None] = lambda *_: None,
    finished: Callable[[CaseResult, int], None] = lambda *_: None,
) -> Campaign:
    """Runs every case against every client, `repeat` times each.

    Args:
        clients: Whom to judge.
        cases: By what.
        jobs: How many runs at the same time.
        repeat: How often each.
        confirm: Run a case again in which a rule was broken: that is certain then, or flaps.
        certain_cases: How many cases, in each of which a rule is broken for certain, need no other one to confirm them.
        seed: Draws the order of the runs.
        report: A writable folder for logs and diagrams; None: none are written.
        rules: Those that verdicts are asked for.
        resume: A file to keep each run in, or to go on with.
        resumed: Called once, with the runs that the file has, and how many are left.
        finished: Called after each run, on the calling thread, with how many runs it has made necessary.
    """
    begun = time.monotonic()
    runs, stopped = Runs(report), ""
    wanted = [Job(*one) for one in product(clients, cases, range(repeat))]
    saved = None
    if resume is not None:
        plan = plan_of(clients, cases, rules, repeat, confirm, seed, report)
        saved, before = open_runs(resume, plan, clients, cases)
        for job, kept in before:
            runs.put(job, kept)
    confirming = partial(to_confirm, runs, rules if confirm else frozenset(), certain_cases)
    queue = deque(job for job in wanted if not runs.has(job))
    random.Random(seed).shuffle(queue)
    queue.extend(() if queue else confirming(()))
    resumed([each.run for each in runs.every()], len(queue))
    threads = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="case")
    with _heap_not_scanned(), StallClock() as clock, threads as pool:
        pending: dict[Future[CaseResult], Job] = {}
        try:
            while pending or queue:
                while queue and len(pending) < jobs:
                    job = queue.popleft()
                    pending[pool.submit(run_case, job.client, job.case, clock)] = job
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    job, result = pending.pop(future), future.result()
                    kept = runs.add(job, result)
                    if saved is not None:
                        saved.add(job, kept)
                    again = () if queue else confirming(pending.values())
                    queue.extend(again)
                    finished(result, len(again))
        except KeyboardInterrupt as stop:
            stopped = f"stopped by {str(stop) or 'the user'} after {runs.count} of at least {len(wanted)} runs"
            stopped += ": what follows is a part"
            stopped += f"; the same command goes on from {resume}" if resume is not None else ""
        finally:
            _end(pool, pending)
    results = [client_result(client, cases, runs, rules) for client in clients]
    return Campaign(results, time.monotonic() - begun, seed, jobs, repeat, stopped, rules=rules)


@contextmanager
def _heap_not_scanned() -> Iterator[None]:
    """Python's collector leaves alone what is in memory by now.

    The process may be a pytest run of a client's author with millions of objects: each full collection of them would
    stop the kit for a second or two, and what happens within that time cannot be judged. What the caller froze stays
    frozen.
    """
    frozen_by_caller = gc.get_freeze_count() > 0
    gc.freeze()
    try:
        yield
    finally:
        if not frozen_by_caller:
            gc.unfreeze()


def _end(pool: ThreadPoolExecutor, pending: Iterable[Future[CaseResult]]) -> None:
    """Ends the runs that still go on, which have no result then: without their programs they end at once."""
    running = [future for future in pending if not future.cancel()]
    while wait(running, END_LOOK_S).not_done:
        tied.end_all()
    pool.shutdown()
