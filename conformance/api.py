"""The kit as a library: what the commands `conform`, `trace check` and `trace why` do, as functions with results.

Each imports what it needs when it is called: who explains a log needs no client, and who judges a client no log.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from groupspec.conformance import missing
from groupspec.conformance.endings import require_address_space
from groupspec.conformance.outputs import claimed, claimed_file

if TYPE_CHECKING:
    from groupspec.conformance.traces.engine import Verdict
    from groupspec.conformance.traces.why import Answer
    from groupspec.conformance.wire.case_run import CaseResult
    from groupspec.conformance.wire.results import Campaign

ADDRESS_SPACE = 256 << 20
ADDRESS_SPACE_OF_RUN = 144 << 20
"""Bytes. Measured: one run at a time goes with 400 MiB and not with 350; six take 1.3 GiB (each heap of a thread
reserves 64)."""

StrPath = str | os.PathLike[str]


def judge(
    clients: str | Iterable[str],
    scenarios: Sequence[str] = (),
    *,
    profile: str = "quick",
    jobs: int | None = None,
    repeat: int = 1,
    confirm: bool = True,
    seed: int = 0,
    races: int = 0,
    report: StrPath | None = None,
    rules: Collection[str] = (),
    resume: StrPath | None = None,
    resumed: Callable[[Sequence[CaseResult], int], None] | None = None,
    finished: Callable[[CaseResult, int], None] | None = None,
) -> Campaign:
    """Judges Kafka clients over TCP, rule by rule, against a scripted broker on loopback (`groupspec conform`).

        >>> [client] = judge("reference", ["close-while-stable/heartbeat-in-flight"]).clients
        >>> [row.judgement.verdict.value for row in client.rows if row.rule == "C7"]
        ['PASS']

    Args:
        clients: Built-in names, or `cmd:COMMAND LINE` of a program that speaks the harness protocol (wire/PROTOCOL.md).
        scenarios: Ids of scenarios (`first-join`), or of one variant each (`first-join/poll-5`); without any, those of
            the profile.
        profile: `quick`: the cases that find most for their time; `full`: all, and every answer at every point.
        jobs: Runs at the same time; None: three for each processor.
        repeat: Runs of each case.
        confirm: Run a case again in which a rule was broken: that is certain then, or flaps. Of each rule the quickest
            cases, until it is certain in five of them (quick: in one), and not what the docket knows to flap.
        seed: Draws the order of the runs, and races.
        races: Instead of the cases themselves so many variants of them, in which answers are late, as the seed draws.
        report: A folder for wire logs and sequence diagrams; None: none are written.
        rules: Judge by these only (ids or names), in the cases that give an occasion for one; without any, by all.
        resume: A file that keeps each run; one that is there already is gone on with, and nothing is run twice.
        resumed: Called once, with the runs that `resume` has already, and how many are left.
        finished: Called after each run with its result and how many more runs it has made necessary.

    Returns:
        For each client its rows: case, rule, verdict with reason, how many of the runs, and how to run it again.

    Raises:
        UsageProblem: there is no such client, scenario or rule, `resume` is the file of another campaign, something
            cannot be written, or another run writes there now.
        InconclusiveProblem: there is not enough memory.
    """
    from groupspec.conformance.wire.campaign import JOBS, run_campaign
    from groupspec.conformance.wire.clients import find_client
    from groupspec.conformance.wire.delays import drawn_races
    from groupspec.conformance.wire.planning import CERTAIN_CASES, CERTAIN_CASES_OF_QUICK
    from groupspec.conformance.wire.rule_choice import chosen_rules, with_occasion
    from groupspec.conformance.wire.scenarios import QUICK, find_cases

    judged = [find_client(name) for name in dict.fromkeys([clients] if isinstance(clients, str) else clients)]
    chosen = chosen_rules(rules)
    cases = with_occasion(find_cases(scenarios, profile), chosen)
    cases = drawn_races(cases, races, seed) if races else cases
    folder = None if report is None else Path(report)
    jobs = jobs or JOBS
    needed = ADDRESS_SPACE + jobs * ADDRESS_SPACE_OF_RUN
    require_address_space(needed, f"{jobs} runs at the same time", "raise the limit, or ask for fewer: --jobs 1")
    with ExitStack() as held:
        if folder is not None:
            held.enter_context(claimed(folder))
        if resume is not None:
            held.enter_context(claimed_file(Path(resume)))
        return run_campaign(
            judged,
            cases,
            jobs=jobs,
            repeat=repeat,
            confirm=confirm,
            certain_cases=CERTAIN_CASES_OF_QUICK if profile == QUICK and not scenarios else CERTAIN_CASES,
            seed=seed,
            report=folder,
            rules=chosen,
            resume=None if resume is None else Path(resume),
            resumed=resumed or (lambda *_: None),
            finished=finished or (lambda *_: None),
        )


def explain_rebalances(
    group: str, paths: StrPath | Iterable[StrPath], *, time_zone: str = "UTC", max_poll_interval_ms: int = 300_000
) -> Answer:
    """Says why a group rebalanced, from the logs of the broker that coordinates it (`groupspec trace why`).

        >>> answer = explain_rebalances("g1", "conformance/traces/captures/02a-slow-java/broker.log")
        >>> third = answer.explanation.rebalances[2]
        >>> third.cause, third.member
        ('poll_timeout', 'm1')

    Args:
        group: The group's id.
        paths: Log files, also .gz, or folders of them.
        time_zone: The one that the logs print.
        max_poll_interval_ms: That of the members, which logs do not say.

    Returns:
        `explanation.rebalances`, each with its cause and the lines that prove it; `doubts()`, what was not
        understood or is missing.

    Raises:
        UsageProblem: no path is a log that can be explained.
        InconclusiveProblem: the logs do not name the group, or are empty.
        zoneinfo.ZoneInfoNotFoundError: there is no such time zone.
    """
    from groupspec.conformance.traces.dialects import Clock
    from groupspec.conformance.traces.dialects.reading import log_files
    from groupspec.conformance.traces.why import Question, explain_logs

    files = log_files(_paths(paths))
    return explain_logs(Question(group, max_poll_interval_ms), files, Clock(ZoneInfo(time_zone)))


def check_traces(paths: StrPath | Iterable[StrPath]) -> Verdict:
    """Checks recorded traces on this machine, without Spark (`groupspec trace check`). Needs the extra `traces`.

        >>> check_traces("conformance/traces/samples/eager_pair.ndjson").violations
        []

    Args:
        paths: NDJSON (also .gz) or Parquet files, folders of them, or a folder that `groupspec trace ingest` wrote.

    Returns:
        `violations` of rules; faults of the `recording`; `notices`; and whether it is `incomplete`.

    Raises:
        UsageProblem: a path cannot be read, a layout is not as its ingest left it, or the extra is not installed.
    """
    missing.require("traces", "checking traces")
    from groupspec.conformance.traces import engine, inputs

    return engine.check(inputs.named([str(path) for path in _paths(paths)]))


def _paths(paths: StrPath | Iterable[StrPath]) -> list[Path]:
    return [Path(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
