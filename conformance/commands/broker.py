"""`groupspec broker`: a real Apache Kafka broker on loopback, to try clients and to record logs."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import click

from groupspec.conformance.commands._common import json_option, progress, results, write_json
from groupspec.conformance.errors import EXIT_OK
from groupspec.conformance.real_broker import instance
from groupspec.conformance.real_broker.jars import KAFKA_VERSION

_directory_option = click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="The broker's folder.  [default: broker in ~/.cache/groupspec; see GROUPSPEC_CACHE]",
)


@click.group("broker")
def command() -> None:
    """Run a real Apache Kafka broker on loopback (Java 17+; its jars come by mvn, once).

    Example: groupspec broker up && groupspec broker status && groupspec broker down
    """


@command.command("up")
@click.option("--port", type=click.IntRange(1024, 65535), help="For clients.  [default: one that is free]")
@click.option(
    "--lifetime-s", type=click.IntRange(1), default=3600, show_default=True, help="It ends itself after that."
)
@_directory_option
@json_option
def up(port: int | None, lifetime_s: int, directory: Path | None, json_file: Path | None) -> int:
    """Start a fresh broker, and return when it answers; one that is up already is kept.

    Example: groupspec broker up --port 9092

    Exit code 0 when it is up, 2 when it cannot be started.
    """
    folder = _folder(directory)
    running = instance.status(folder)
    if running is None or (port is not None and running.bootstrap != f"127.0.0.1:{port}"):
        with progress(f"Apache Kafka {KAFKA_VERSION} is starting"):
            running = instance.start(folder, lifetime_s=lifetime_s, port=port).running
    _show(running)
    write_json("broker", _as_json(running, folder), json_file)
    return EXIT_OK


@command.command("down")
@_directory_option
@json_option
def down(directory: Path | None, json_file: Path | None) -> int:
    """Stop the broker and wait until it is gone.

    Example: groupspec broker down

    Exit code 0, whether or not a broker was up.
    """
    folder = _folder(directory)
    with progress("the broker is stopping"):
        was_up = instance.stop(folder)
    results().print("stopped" if was_up else "no broker is up")
    write_json("broker", _as_json(None, folder), json_file)
    return EXIT_OK


@command.command("status")
@_directory_option
@json_option
def status(directory: Path | None, json_file: Path | None) -> int:
    """Say whether the broker is up, and where.

    Example: groupspec broker status --json broker.json

    Exit code 0, whether or not a broker is up: see `running` in the JSON.
    """
    folder = _folder(directory)
    running = instance.status(folder)
    _show(running)
    write_json("broker", _as_json(running, folder), json_file)
    return EXIT_OK


def _folder(directory: Path | None) -> Path:
    return (directory or instance.default_directory()).absolute()


def _show(running: instance.Running | None) -> None:
    if running is None:
        results().print("no broker is up; start one with `groupspec broker up`")
        return
    left_s = max(0, round(running.ends_at_s - time.time()))
    ends_at = datetime.fromtimestamp(running.ends_at_s, UTC).strftime("%H:%M:%S UTC")
    results().print(f"bootstrap        {running.bootstrap}")
    results().print(f"version          Apache Kafka {running.version}")
    results().print(f"pid              {running.pid}")
    results().print(f"ends itself      at {ends_at}, in {left_s} s")
    results().print(f"coordinator log  {running.coordinator_log}  (for `groupspec trace why GROUP`)")


def _as_json(running: instance.Running | None, folder: Path) -> dict[str, object]:
    return {
        "running": running is not None,
        "bootstrap": running.bootstrap if running else None,
        "version": running.version if running else KAFKA_VERSION,
        "pid": running.pid if running else None,
        "ends_at_ms": round(running.ends_at_s * 1000) if running else None,
        "directory": str(folder),
        "coordinator_log": running.coordinator_log if running else None,
    }
