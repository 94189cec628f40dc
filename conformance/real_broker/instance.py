"""One broker in one folder: start it, ask about it, stop it.

The folder holds the broker's configuration, data and logs, and two lock files that say who is alive (see `keeper`).
Every start is a fresh broker without topics, unless it goes on with what is there; the logs of the last one stay until
then.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from groupspec.conformance.errors import InternalProblem, UsageProblem
from groupspec.conformance.real_broker import probe
from groupspec.conformance.real_broker.jars import KAFKA_VERSION, cache_folder, kafka_jars, locked, template
from groupspec.conformance.real_broker.keeper import STOP_LIMIT_S
from groupspec.conformance.spark.java import java_home

START_LIMIT_S: Final = 90
_STARTED: Final = "Kafka Server started"
_CLUSTER: Final = "Z3JvdXBzcGVjLWxvb3BiYWNr"[:22]
_ATTEMPTS: Final = 3
_TURN_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Listener:
    """One more listener for clients: who connects to it is told to come back to another port, where a proxy may be."""

    name: str
    port: int
    advertised_port: int


@dataclass(frozen=True, slots=True)
class Node:
    """Which of its cluster a broker is: 1 is the controller, too. `controller_port`: that one's; 0: any free one."""

    number: int = 1
    controller_port: int = 0

    @property
    def is_controller(self) -> bool:
        """Whether the cluster's metadata is here."""
        return self.number == 1


@dataclass(frozen=True, slots=True)
class Running:
    """A broker that is up.

    bootstrap        host:port for clients
    pid              the JVM's
    keeper_pid       the process to ask for its end
    ends_at_s        when its time is up, seconds since 1970
    coordinator_log  the file that `groupspec trace why` reads
    """

    bootstrap: str
    version: str
    pid: int
    keeper_pid: int
    ends_at_s: float
    coordinator_log: str
    server_log: str


@dataclass(slots=True)
class Started:
    """A broker and its keeper, a child of this process; an owned keeper ends when its stdin is closed."""

    running: Running
    keeper: subprocess.Popen[bytes]


def default_directory() -> Path:
    """Where the command line's broker lives."""
    return cache_folder() / "broker"


def status(directory: Path) -> Running | None:
    """The broker of this folder; None when it is not up. A broker whose keeper died counts as not up."""
    if not _is_held(directory / "keeper.lock"):
        return None
    try:
        return Running(**json.loads((directory / "running.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None  # it is starting or stopping right now


def start(
    directory: Path,
    *,
    lifetime_s: float,
    port: int | None = None,
    owned: bool = False,
    settings: Mapping[str, str] | None = None,
    listeners: Sequence[Listener] = (),
    node: Node = Node(),
    goes_on: bool = False,
    start_limit_s: float = START_LIMIT_S,
    version: str = KAFKA_VERSION,
) -> Started:
    """Start a broker in `directory`, and return when it answers.

    Args:
        directory: its folder; made, and emptied of the last broker's data.
        lifetime_s: it ends itself after that time.
        port: for clients; one that is free when None.
        owned: it ends too when the returned keeper's stdin is closed, or this process ends.
        settings: more lines of server.properties.
        listeners: besides the one at `port`.
        node: a cluster of several is started one by one, in any order; each has a folder of its own.
        goes_on: with configuration, data and logs of the last broker of this folder, which was stopped; `port` is its.
        start_limit_s: how long it may take to come up.
        version: Apache Kafka's, one of `jars.VERSIONS`.

    Raises:
        UsageProblem: no Java or mvn, the port is taken, another broker runs in this folder, or it does not come up.
    """
    java = _java()
    jars = kafka_jars(cache_folder(), java, version)
    with locked(directory / "start.lock"):
        if _is_held(directory / "keeper.lock"):
            raise UsageProblem(
                "a broker is up in this folder",
                where=str(directory),
                next_step="`groupspec broker status`, or `… down`",
            )
        clear_orphan(directory)
        for attempt in range(1, _ATTEMPTS + 1):
            ports = _ports(port, node)
            launch = _Launch(
                directory, java / "bin" / "java", jars, version, *ports, node, dict(settings or {}), tuple(listeners)
            )
            if not goes_on:
                launch.prepare()
            keeper = launch.go(lifetime_s, owned)
            try:
                return Started(launch.wait(keeper, lifetime_s, start_limit_s), keeper)
            except _PortTakenError as problem:
                if port is not None or attempt == _ATTEMPTS:
                    raise _port_taken(launch.port) from problem
    raise AssertionError("unreachable: every attempt returns or raises")


def stop(directory: Path) -> bool:
    """End the broker of this folder and wait until it is gone; False when none was up."""
    was_up = _is_held(directory / "keeper.lock")
    if was_up:
        with contextlib.suppress(ProcessLookupError):
            os.kill(_holder(directory / "keeper.lock"), signal.SIGTERM)
        _until(lambda: not _is_held(directory / "keeper.lock"), STOP_LIMIT_S + 10)
    orphan = clear_orphan(directory)
    (directory / "running.json").unlink(missing_ok=True)
    return was_up or orphan


def clear_orphan(directory: Path) -> bool:
    """Kill a JVM whose keeper is gone. The lock that the JVM itself holds proves that the pid is still its own."""
    if not _is_held(directory / "jvm.lock"):
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(_holder(directory / "jvm.lock"), signal.SIGKILL)
    if not _until(lambda: not _is_held(directory / "jvm.lock"), STOP_LIMIT_S):
        raise UsageProblem(
            "an old broker cannot be ended", where=str(directory / "jvm.lock"), next_step="end it by hand"
        )
    return True


@dataclass(slots=True)
class _Launch:
    """One attempt to bring a broker up."""

    directory: Path
    java: Path
    jars: Path
    version: str
    port: int
    controller_port: int
    node: Node
    settings: dict[str, str]
    listeners: tuple[Listener, ...]
    starts_before: int = 0

    def prepare(self) -> None:
        """Write its files, in place of the last broker's."""
        data, logs = self.directory / "data", self.directory / "logs"
        for folder in (data, logs):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        addresses = [(one.name, one.port) for one in self.listeners]
        if self.node.is_controller:
            addresses.insert(0, ("CONTROLLER", self.controller_port))
        values = {
            "roles": "broker,controller" if self.node.is_controller else "broker",
            "node": str(self.node.number),
            "port": str(self.port),
            "controller_port": str(self.controller_port),
            "data": str(data),
            "logs": str(logs),
            "listeners": "".join(f",{name}://127.0.0.1:{port}" for name, port in addresses),
            "advertised": "".join(f",{one.name}://127.0.0.1:{one.advertised_port}" for one in self.listeners),
            "protocols": "".join(f",{one.name}:PLAINTEXT" for one in self.listeners),
            "settings": "\n".join(f"{name}={value}" for name, value in self.settings.items()),
        }
        for name in ("server.properties", "log4j2.xml"):
            (self.directory / name).write_text(template(name, values), encoding="utf-8")
        self._format_storage()

    def go(self, lifetime_s: float, owned: bool) -> subprocess.Popen[bytes]:
        """Start its keeper, which starts the JVM."""
        for name in ("running.json", "jvm.out"):
            (self.directory / name).unlink(missing_ok=True)
        self.starts_before = self._starts()
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "groupspec.conformance.real_broker.keeper"),
                *(str(self.directory), str(lifetime_s), "owned" if owned else "free"),
                *self._java("kafka.Kafka", str(self.directory / "server.properties")),
            ],
            stdin=subprocess.PIPE if owned else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(self.directory / "keeper.err").open("wb"),
            start_new_session=True,  # a Ctrl-C in the terminal is not for the broker
        )

    def wait(self, keeper: subprocess.Popen[bytes], lifetime_s: float, limit_s: float) -> Running:
        """Wait until the broker says that it has started, and answers."""
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            with contextlib.suppress(subprocess.TimeoutExpired):
                keeper.wait(_TURN_S)
                raise self._not_started("it ended at once")
            if self._starts() > self.starts_before and probe.answers(self.port, timeout_s=1.0):
                return self._note(keeper, lifetime_s)
        keeper.terminate()
        keeper.wait(STOP_LIMIT_S + 10)
        raise self._not_started(f"it did not answer within {limit_s:.0f} s")

    def _starts(self) -> int:
        return sum(_STARTED in line for line in _lines(self.directory / "logs" / "server.log"))

    def _note(self, keeper: subprocess.Popen[bytes], lifetime_s: float) -> Running:
        running = Running(
            bootstrap=f"127.0.0.1:{self.port}",
            version=self.version,
            pid=_holder(self.directory / "jvm.lock"),
            keeper_pid=keeper.pid,
            ends_at_s=time.time() + lifetime_s,
            coordinator_log=str(self.directory / "logs" / "coordinator.log"),
            server_log=str(self.directory / "logs" / "server.log"),
        )
        part = self.directory / "running.json.part"
        part.write_text(json.dumps(asdict(running), indent=2) + "\n", encoding="utf-8")
        part.rename(self.directory / "running.json")
        return running

    def _format_storage(self) -> None:
        command = self._java("kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c")
        command.append(str(self.directory / "server.properties"))
        try:
            run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=False)
        except subprocess.TimeoutExpired as problem:
            raise self._not_started("its storage could not be formatted within 60 s") from problem
        if run.returncode != 0:
            raise self._not_started(f"its storage could not be formatted: {(run.stdout + run.stderr).strip()[:500]}")

    def _java(self, main: str, *arguments: str) -> list[str]:
        return [
            str(self.java),
            *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xms64m", "-Xmx512m"),
            f"-Dlog4j2.configurationFile={self.directory / 'log4j2.xml'}",
            *("-cp", f"{self.jars}/*", main, *arguments),
        ]

    def _not_started(self, what: str) -> Exception:
        server_log, output = self.directory / "logs" / "server.log", self.directory / "jvm.out"
        if any(
            _has_line(file, "Address already in use") or _has_line(file, "BindException")
            for file in (server_log, output)
        ):
            return _PortTakenError()
        complaints = [
            line for file in (output, server_log) for line in _lines(file) if " ERROR " in line or "xception" in line
        ]
        return UsageProblem(
            f"the broker did not come up: {what}",
            where="; ".join(complaints[:2])[:600] or str(server_log),
            next_step=f"read {server_log} and {output}",
        )


class _PortTakenError(Exception):
    """Somebody was faster: the port is in use."""


def _port_taken(port: int) -> UsageProblem:
    return UsageProblem(
        f"port {port} is taken",
        where=f"127.0.0.1:{port}",
        next_step="choose another --port, or leave it out: a free one is used",
    )


def _ports(port: int | None, node: Node) -> tuple[int, int]:
    """The clients' port and the controller's."""
    first, second = probe.free_ports(2)
    if port is not None and not probe.is_free(port):
        raise _port_taken(port)
    return port or first, node.controller_port or second


def _java() -> Path:
    try:
        return java_home().home
    except UsageProblem as problem:
        raise UsageProblem(
            "no Java 17+ to run Apache Kafka on",
            where=problem.where,
            allowed="Java 17 or later in JAVA_HOME or on the PATH",
            next_step="install a Java runtime; `groupspec doctor` says what else is missing",
        ) from problem


def _is_held(lock: Path) -> bool:
    """Whether a living process holds the lock."""
    try:
        with lock.open("r") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _holder(lock: Path) -> int:
    """The process that holds the lock; it writes its id a moment after taking it."""
    if not _until(lambda: lock.read_text().strip() != "", 5):
        raise InternalProblem("a lock is held and does not say by whom", where=str(lock))
    return int(lock.read_text())


def _lines(file: Path) -> Iterator[str]:
    if file.exists():
        with file.open(encoding="utf-8", errors="replace") as lines:
            yield from lines


def _has_line(file: Path, words: str) -> bool:
    return any(words in line for line in _lines(file))


def _until(condition: Callable[[], bool], limit_s: float) -> bool:
    """Whether the condition came true within the time."""
    until = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(_TURN_S)
    return True
