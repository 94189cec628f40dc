"""The parts of the demo: each is one `groupspec` command in a process of its own, with a limit and a result file.

Two lanes run side by side, because the wire kit mostly waits: one judges the clients and then checks their traces on
Spark, the other draws, runs the generated suite and explains a log. A part that fails, hangs or writes no result is a
fact to report, and stops nothing but what depends on it.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from groupspec.conformance import tied
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE, EXIT_INTERNAL, EXIT_OK
from groupspec.conformance.reports.inputs import Conform, read

LOG: Final = Path(__file__).parents[1] / "traces" / "captures" / "02a-slow-java" / "broker.log"
LOG_GROUP: Final = "g1"
CLIENTS: Final = ("reference", "kafka-python", "aiokafka", "confluent-kafka")
QUICK_SCENARIOS: Final = ("first-join", "member-unknown", "close-while-stable")
HAS_RESULT: Final = (EXIT_OK, EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE)
"""Exit codes after which a command has written its result."""

_GRACE_S: Final = 5.0

Status = Literal["ok", "failed", "left out"]


@dataclass(frozen=True)
class Part:
    """One command of the demo.

    Attributes:
        id: A word, also the name of its files.
        name: A few words for people.
        arguments: Of `groupspec`, without `--json`; a function when they are known only after an earlier part.
        limit_s: After so many seconds it is stopped.
        needs: The part whose result it reads; it is left out when that has none.
    """

    id: str
    name: str
    arguments: Callable[[Path], Sequence[str]]
    limit_s: float
    needs: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a part ended.

    Attributes:
        part: Which.
        status: Whether there is a result.
        code: The command's exit code; EXIT_INTERNAL when it was stopped.
        seconds: How long it took.
        command: What was run, to be run again.
        said: Why there is no result.
    """

    part: Part
    status: Status
    code: int
    seconds: float
    command: str
    said: str = ""


def lanes(quick: bool) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """The parts, in the two orders in which they run side by side."""
    scenarios = [word for name in QUICK_SCENARIOS for word in ("--scenario", name)] if quick else []
    drivers = ("core",) if quick else ("core", "background")
    wire = Part(
        "wire",
        "four clients on the wire",
        lambda out: ["conform", *CLIENTS, *scenarios, "--no-confirm", "--report", str(out / "wire")],
        170,
    )
    traces = Part("traces", "their traces on Spark", trace_arguments, 170, needs="wire")
    pictures = Part("pictures", "pictures of the machines", lambda out: ["render", "--out", str(out / "pictures")], 90)
    suites = tuple(_suite(driver, 10 if quick else 50) for driver in drivers)
    log = Part("log", "a broker's log explained", lambda out: ["trace", "why", LOG_GROUP, str(LOG)], 60)
    return (wire, traces), (pictures, log, *suites)


def _suite(driver: str, examples: int) -> Part:
    words = ["test", "--driver", driver, "--examples", str(examples), "--seed", "1"]
    return Part(driver, f"generated suite, {driver}", lambda out: words, 150)


def trace_arguments(out: Path) -> list[str]:
    """The traces of the runs that this demo's wire kit has just made; the folder may hold others."""
    conform = read(out / "wire.json", Conform)
    folders = dict.fromkeys(row.folder for client in conform.clients for row in client.results if row.folder)
    files = [out / "wire" / folder / "trace.ndjson" for folder in folders]
    return ["trace", "check", "--engine", "spark", *(str(file) for file in files if file.exists())]


class Runner:
    """Runs both lanes; `watch` hears of every beginning and end, from either thread."""

    def __init__(self, out: Path, watch: Callable[[Part, Outcome | None], None]) -> None:
        self.out = out
        self.watch = watch
        self.outcomes: dict[str, Outcome] = {}
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = threading.Event()
        self._lock = threading.Lock()

    def run(self, both: Sequence[Sequence[Part]]) -> dict[str, Outcome]:
        """Returns when both lanes have ended; stops what runs when the user interrupts."""
        threads = [threading.Thread(target=self._lane, args=(lane,), name=f"lane {n}") for n, lane in enumerate(both)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException:
            self._stop_all()
            for thread in threads:
                thread.join()
            raise
        return self.outcomes

    def _lane(self, parts: Sequence[Part]) -> None:
        for part in parts:
            self.watch(part, None)
            outcome = self._part(part)
            self.outcomes[part.id] = outcome
            self.watch(part, outcome)

    def _part(self, part: Part) -> Outcome:
        if self._stopped.is_set():
            return Outcome(part, "left out", EXIT_INTERNAL, 0.0, "", "the demo was stopped")
        if part.needs and self.outcomes[part.needs].status != "ok":
            return Outcome(part, "left out", EXIT_INTERNAL, 0.0, "", f"there is no result of: {part.needs}")
        result = self.out / f"{part.id}.json"
        result.unlink(missing_ok=True)
        arguments = [*part.arguments(self.out), "--json", str(result)]
        begun = time.monotonic()
        code, said = self._process(part, arguments)
        seconds = time.monotonic() - begun
        if self._stopped.is_set():
            return Outcome(part, "left out", EXIT_INTERNAL, seconds, "", "the demo was stopped")
        if not said and (code not in HAS_RESULT or not result.exists()):
            said = self._last_words(part) or f"it ended with exit code {code} and said nothing"
        command = _shown(arguments)
        return Outcome(part, "failed" if said else "ok", code, seconds, command, said)

    def _process(self, part: Part, arguments: Sequence[str]) -> tuple[int, str]:
        """Runs it with its output in a file; the exit code, and why it was stopped if it was."""
        with (self.out / f"{part.id}.txt").open("wb") as output:
            process = tied.start(
                [sys.executable, "-m", "groupspec.conformance.cli", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            with self._lock:
                self._running.add(process)
            try:
                return process.wait(part.limit_s), ""
            except subprocess.TimeoutExpired:
                _stop(process)
                return EXIT_INTERNAL, f"it was stopped after {part.limit_s:.0f} s"
            finally:
                tied.end(process)
                with self._lock:
                    self._running.discard(process)

    def _stop_all(self) -> None:
        self._stopped.set()
        with self._lock:
            running = list(self._running)
        for process in running:
            _stop(process)

    def _last_words(self, part: Part) -> str:
        text = (self.out / f"{part.id}.txt").read_text(encoding="utf-8", errors="replace")
        lines = [line.strip() for line in text.strip().split("\n") if line.strip()]
        first = next((n for n, line in enumerate(lines) if line.startswith("groupspec:")), max(len(lines) - 3, 0))
        return " ".join(lines[first:])[:500]


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends it as Ctrl-C would, so that it cleans up; then, if it does not, for good, with all that it started."""
    for number, patience in ((signal.SIGINT, _GRACE_S), (signal.SIGKILL, _GRACE_S)):
        try:
            os.killpg(process.pid, number)
            process.wait(patience)
            return
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def _shown(arguments: Sequence[str]) -> str:
    """The command for people: a long list of traces is shortened to a pattern."""
    words = [word for word in arguments if not word.endswith("/trace.ndjson")]
    traces = [word for word in arguments if word.endswith("/trace.ndjson")]
    if traces:
        words.insert(words.index("--json"), str(Path(traces[0]).parents[2] / "*" / "*" / "trace.ndjson"))
    return " ".join(["groupspec", *(word if "*" in word else shlex.quote(word) for word in words)])
