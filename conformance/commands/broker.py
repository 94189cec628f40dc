"""`groupspec broker`: a real Apache Kafka broker on loopback, to try clients and to record logs."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import click

from groupspec.conformance.commands._common import Steps, json_option, say, write_json
from groupspec.conformance.real_broker import instance
from groupspec.conformance.real_broker.jars import KAFKA_VERSION, VERSIONS

_directory_option = click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    default=lambda: instance.default_directory(),
    show_default="broker in ~/.cache/groupspec; see GROUPSPEC_CACHE",
    help="The broker's folder.",
    callback=lambda context, option, directory: directory.absolute(),
)


@click.group("broker")
def command() -> None:
    """Run a real Apache Kafka broker on loopback (Java 17+; its jars come by mvn, once).

    Example: groupspec broker up && groupspec broker status && groupspec broker down
    """


@command.command("up")
@click.option("--port", type=click.IntRange(1024, 65535), show_default="one that is free", help="For clients.")
@click.option("--lifetime-s", type=click.IntRange(1), default=3600, help="It ends itself after that.")
@click.option(
    "--kafka",
    "version",
    type=click.Choice(VERSIONS),
    default=KAFKA_VERSION,
    show_default=True,
    help="Apache Kafka's version; 3.9.1 has the former group coordinator.",
)
@_directory_option
@json_option
def up(port: int | None, lifetime_s: int, version: str, directory: Path) -> None:
    """Start a fresh broker, and return when it answers; one that is up already is kept.

    Example: groupspec broker up --port 9092

    Example: groupspec broker up --kafka 3.9.1

    Exit code 0 when it is up, 2 when it cannot be started.
    """
    running = instance.status(directory)
    as_asked = running is not None and (port is None or running.bootstrap == f"127.0.0.1:{port}")
    if running is None or not as_asked or running.version != version:
        with Steps(f"Apache Kafka {version} is starting"):
            running = instance.start(directory, lifetime_s=lifetime_s, port=port, version=version).running
    _tell(running, directory)


@command.command("down")
@_directory_option
@json_option
def down(directory: Path) -> None:
    """Stop the broker and wait until it is gone.

    Example: groupspec broker down

    Exit code 0, whether or not a broker was up.
    """
    with Steps("the broker is stopping"):
        was_up = instance.stop(directory)
    _tell(None, directory, "stopped" if was_up else "no broker is up")


@command.command("status")
@_directory_option
@json_option
def status(directory: Path) -> None:
    """Say whether the broker is up, and where.

    Example: groupspec broker status --json broker.json

    Exit code 0, whether or not a broker is up: see `running` in the JSON.
    """
    _tell(instance.status(directory), directory, "no broker is up; start one with `groupspec broker up`")


def _tell(running: instance.Running | None, directory: Path, if_none: str = "") -> None:
    if running is None:
        say(if_none)
    else:
        left_s = max(0, round(running.ends_at_s - time.time()))
        ends_at = datetime.fromtimestamp(running.ends_at_s, UTC).strftime("%H:%M:%S UTC")
        say(
            f"bootstrap        {running.bootstrap}",
            f"version          Apache Kafka {running.version}",
            f"pid              {running.pid}",
            f"ends itself      at {ends_at}, in {left_s} s",
            f"coordinator log  {running.coordinator_log}  (for `groupspec trace why GROUP`)",
        )
    result = {
        "running": running is not None,
        "bootstrap": running.bootstrap if running else None,
        "version": running.version if running else KAFKA_VERSION,
        "pid": running.pid if running else None,
        "ends_at_ms": round(running.ends_at_s * 1000) if running else None,
        "directory": str(directory),
        "coordinator_log": running.coordinator_log if running else None,
    }
    write_json("broker", result)
