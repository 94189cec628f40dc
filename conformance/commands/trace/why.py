"""`groupspec trace why`: explain each rebalance of a group from the logs of its coordinator."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from groupspec.conformance.commands._common import Steps, json_option, results, write_json
from groupspec.conformance.errors import EXIT_INCONCLUSIVE, EXIT_OK, UsageProblem
from groupspec.conformance.traces.dialects import Clock
from groupspec.conformance.traces.dialects.reading import STANDARD_INPUT, log_files, size_bytes
from groupspec.conformance.traces.dialects.times import since
from groupspec.conformance.traces.dialects.zones import zone_named
from groupspec.conformance.traces.why import Question, as_json, explain_logs
from groupspec.conformance.traces.why_text import show


@click.command("why")
@click.argument("words", nargs=-1, metavar="(GROUP | --all-groups) PATH...")
@click.option("--all-groups", is_flag=True, help="Rank all groups of the logs; there is no GROUP then.")
@click.option("--timezone", "zone_name", default="UTC", help="The time zone that the logs print: a name, or +02:00.")
@click.option(
    "--since",
    "since_text",
    metavar="TIME",
    help="Only rebalances since then: '2026-03-01 12:00', 14:03 on the last line's day, or 2h30m before the last line.",
)
@click.option("--until", "until_text", metavar="TIME", help="Only rebalances that began by then.")
@click.option(
    "--last",
    default=20,
    type=click.IntRange(0),
    help="Show the last N one by one, or the N worst groups; 0: all. --json has all.",
)
@click.option(
    "--max-poll-interval-ms",
    default=300_000,
    type=click.IntRange(1),
    help="That of the members (logs do not say it): tells a poll timeout from a restart.",
)
@click.option("--brief", is_flag=True, help="Leave the log lines out.")
@json_option
def command(
    words: tuple[str, ...],
    all_groups: bool,
    zone_name: str,
    since_text: str | None,
    until_text: str | None,
    last: int,
    max_poll_interval_ms: int,
    brief: bool,
) -> int:
    """Explain why GROUP rebalanced: cause, who caused it, the lines that prove it, and what to change.

    PATH is the log of the broker that coordinates the group (Apache Kafka 4.x, also 3.x; .gz too), a folder of logs, or
    - for standard input. It may come through docker, Kubernetes, Strimzi, journald or a collector that writes JSON
    lines. Lines that are there twice, in several files or one file behind itself, count once.

    --all-groups ranks all groups by expulsions, then by rebalances that no join or leave began (`unplanned`; a member
    that comes back from an expulsion, `rejoin`, is one of them), then by time, and explains the worst.

    On recorded logs whose truth is known, cause and member of 56 of 56 rebalances are right; where a log leaves two
    causes open, both are named. 200 MiB take about half a minute.

    Example: groupspec trace why orders-service /var/log/kafka/server.log --since 2h

    Example: groupspec trace why --all-groups /var/log/kafka/server.log

    Exit code 0 when the group was found; 2 when a path or an option is wrong, or no path is a log that can be
    explained; 4 when the answer is not sure: the logs do not name the group, a log is empty and there is no
    other, lines that may concern the group were not understood, a file ends early or cannot be read, a part of the
    group's history is missing, or the logs look like several clusters. Never 1: a rebalance
    breaks no rule.
    """
    clock = Clock(zone_named(zone_name))
    asked, paths = _asked(words, all_groups)
    question = Question(asked, max_poll_interval_ms)
    if since_text:
        question = replace(question, since=since(since_text, clock))
    if until_text:
        question = replace(question, until=since(until_text, clock, "--until"))
    files = log_files(paths)
    started = time.perf_counter()
    with Steps("reading logs (MiB)", size_bytes(files) >> 20) as steps:
        answer = explain_logs(question, files, clock, steps.done)
    seconds = time.perf_counter() - started
    show(answer, results(), clock.zone, evidence=not brief, last=last)
    write_json("trace-why", as_json(answer, seconds))
    return EXIT_INCONCLUSIVE if answer.doubts() else EXIT_OK


def _asked(words: Sequence[str], all_groups: bool) -> tuple[str | None, list[Path]]:
    """The group, None for all of them, and the paths.

    Raises:
        UsageProblem: one is missing, or the words look as if they were meant for something else.
    """
    group, paths = (None, words) if all_groups else (next(iter(words), None), words[1:])
    if group is not None and not group.strip():
        raise UsageProblem("which group? Its id is empty", allowed="(GROUP | --all-groups) PATH...")
    if not paths or (group is None and not all_groups):
        raise UsageProblem(
            "which log is to be read?" if words or all_groups else "which group, and which log?",
            allowed="(GROUP | --all-groups) PATH...",
            next_step="pass the log of the broker that coordinates the group; - is standard input",
        )
    first, *others = (Path(each) for each in paths)
    if first != STANDARD_INPUT and not first.exists():
        if all_groups and others:
            raise UsageProblem("with --all-groups give no GROUP, only PATHs", where=str(first))
        if group is not None and Path(group).exists():
            raise UsageProblem(
                f"there is no such file or folder: {first}",
                allowed="(GROUP | --all-groups) PATH...",
                next_step=f"did you swap them? groupspec trace why {first} {group}",
            )
    return group, [first, *others]
