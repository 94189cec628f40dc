"""`groupspec trace why`: explain each rebalance of a group from the logs of its coordinator."""

from __future__ import annotations

import time
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from groupspec.conformance.commands._common import json_option, results, write_json
from groupspec.conformance.errors import EXIT_OK, UsageProblem
from groupspec.conformance.traces.dialects import Clock
from groupspec.conformance.traces.why import as_json, explain_logs
from groupspec.conformance.traces.why_text import show


@click.command("why")
@click.argument("group")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…", type=click.Path(path_type=Path))
@click.option("--timezone", "zone_name", default="UTC", show_default=True, help="The time zone that the logs print.")
@click.option("--brief", is_flag=True, help="Leave the log lines out.")
@json_option
def why(group: str, paths: tuple[Path, ...], zone_name: str, brief: bool, json_file: Path | None) -> int:
    """Explain why GROUP rebalanced: cause, who caused it, the lines that prove it, and what to change.

    PATH is the log of the broker that coordinates the group (Apache Kafka 4.x, also 3.x; .gz too), or a folder of logs.

    Example: groupspec trace why orders-service /var/log/kafka/server.log

    Exit code 0 when the group was found; 2 when no path is a log that can be explained, or none names the group.
    """
    zone = _zone(zone_name)
    started = time.perf_counter()
    answer = explain_logs(group, paths, Clock(zone))
    seconds = time.perf_counter() - started
    show(answer, results(), zone, evidence=not brief)
    write_json("trace-why", as_json(answer, seconds), json_file)
    return EXIT_OK


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as problem:
        raise UsageProblem(
            f"there is no time zone {name!r}", where="--timezone", allowed="a name such as UTC or Europe/Berlin"
        ) from problem
