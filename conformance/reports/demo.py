"""The demo: its parts, each a `groupspec` command in a process of its own, and what they found.

Two lanes run side by side, because the wire kit mostly waits: one judges the clients and then checks their traces on
Spark, the other draws, explains a log and runs the generated suite. A part that fails, hangs or writes no result is a
fact to report, and stops nothing but what depends on it. Other clients may fail as they like: that is what the demo
shows. The reference may not.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from groupspec.conformance import tied
from groupspec.conformance.errors import (
    EXIT_CONFORMANCE_FAILURE,
    EXIT_INCONCLUSIVE,
    EXIT_INTERNAL,
    EXIT_OK,
    EXIT_USAGE,
    UsageProblem,
)
from groupspec.conformance.reports.html import Results
from groupspec.conformance.reports.inputs import Conform, Generated, Pictures, Step, TraceCheck, Why, read
from groupspec.conformance.reports.verdicts import client_totals
from groupspec.conformance.wire.client_builds import BUILDS

LOG: Final = Path(__file__).parents[1] / "traces" / "captures" / "02a-slow-java" / "broker.log"
LOG_GROUP: Final = "g1"
LOG_SOURCE: Final = (
    "Its log was recorded on a real Apache Kafka broker (conformance/traces/captures): two Java consumers, "
    "one of which stopped polling for a while."
)
REFERENCE: Final = "reference"
CLIENTS: Final = (REFERENCE, "kafka-python", "aiokafka", "confluent-kafka")
QUICK_SCENARIOS: Final = ("first-join", "member-unknown", "close-while-stable")
DRIVERS: Final = ("core", "background")
HAS_RESULT: Final = (EXIT_OK, EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE)
"""Exit codes after which a command has written its result."""

LIMIT_S: Final = 600.0
"""What hangs is ended then: the longest part takes half a minute to three, as fast as the machine is."""
_GRACE_S: Final = 5.0
Read = TypeVar("Read")


# Running --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """One command of the demo.

    Attributes:
        id: A word, also the name of its files.
        name: A few words for people.
        arguments: Of `groupspec`, without `--json`; a function when they are known only after an earlier part.
        needs: The part whose result it reads; it is left out when that has none.
        limit_s: After so many seconds it is stopped.
    """

    id: str
    name: str
    arguments: Callable[[Path], Sequence[str]]
    needs: str = ""
    limit_s: float = LIMIT_S


def lanes(quick: bool) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """The parts, in the two orders in which they run side by side."""
    scenarios = [word for name in QUICK_SCENARIOS for word in ("--scenario", name)] if quick else []
    wire = Part(
        "wire",
        "four clients on the wire",
        lambda out: ["conform", *CLIENTS, *scenarios, "--no-confirm", "--report", str(out / "wire")],
    )
    traces = Part("traces", "their traces on Spark", trace_arguments, needs="wire")
    pictures = Part("pictures", "pictures of the machines", lambda out: ["render", "--out", str(out / "pictures")])
    suites = (_suite(driver, 10 if quick else 50) for driver in (DRIVERS[:1] if quick else DRIVERS))
    log = Part("log", "a broker's log explained", lambda out: ["trace", "why", LOG_GROUP, str(LOG)])
    return (wire, traces), (pictures, log, *suites)


def _suite(driver: str, examples: int) -> Part:
    words = ["test", "--driver", driver, "--examples", str(examples), "--seed", "1"]
    return Part(driver, f"generated suite, {driver}", lambda out: words)


def trace_arguments(out: Path) -> list[str]:
    """The traces of the runs that this demo's wire kit has just made; the folder may hold others."""
    conform = read(out / "wire.json", Conform)
    folders = dict.fromkeys(row.folder for client in conform.clients for row in client.results if row.folder)
    files = [out / "wire" / folder / "trace.ndjson" for folder in folders]
    return ["trace", "check", "--engine", "spark", *(str(file) for file in files if file.exists())]


class Runner:
    """Runs the lanes; `watch` is told of each part when it begins, and again with how it ended, from any thread."""

    def __init__(self, out: Path, watch: Callable[[Part, Step | None], None]) -> None:
        self.out = out
        self.watch = watch
        self.steps: dict[str, Step] = {}
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = threading.Event()

    def run(self, parts: Sequence[Sequence[Part]]) -> dict[str, Step]:
        """How each part ended, when all lanes have; stops what runs when the user interrupts."""
        with ThreadPoolExecutor(len(parts)) as pool:
            try:
                list(pool.map(self._lane, parts))
            except BaseException:
                self._stopped.set()
                for process in tuple(self._running):
                    _stop(process)
                raise
        return self.steps

    def _lane(self, parts: Sequence[Part]) -> None:
        for part in parts:
            self.watch(part, None)
            step = self.steps[part.id] = self._part(part)
            self.watch(part, step)

    def _part(self, part: Part) -> Step:
        if part.needs and self.steps[part.needs].status != "ok":
            return Step(part.id, part.name, "left out", said=f"there is no result of: {part.needs}")
        result = self.out / f"{part.id}.json"
        result.unlink(missing_ok=True)
        begun = time.monotonic()
        arguments: tuple[str, ...] = ()
        code, said = EXIT_INTERNAL, ""
        if not self._stopped.is_set():
            arguments = (*part.arguments(self.out), "--json", str(result))
            code, said = self._process(part, arguments)
        seconds = time.monotonic() - begun
        if self._stopped.is_set():
            return Step(part.id, part.name, "left out", seconds=seconds, said="the demo was stopped")
        if not said and (code not in HAS_RESULT or not result.exists()):
            said = self._last_words(part) or f"it ended with exit code {code} and said nothing"
        return Step(part.id, part.name, "failed" if said else "ok", code, seconds, _shown(arguments), said)

    def _process(self, part: Part, arguments: Sequence[str]) -> tuple[int, str]:
        """Runs it with its output in a file; the exit code, and why it was stopped if it was."""
        command = [sys.executable, "-m", "groupspec.conformance.cli", *arguments]
        with (self.out / f"{part.id}.txt").open("wb") as output:
            process = tied.start(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
            self._running.add(process)
            try:
                return process.wait(part.limit_s), ""
            except subprocess.TimeoutExpired:
                _stop(process)
                return EXIT_INTERNAL, f"it was stopped after {part.limit_s:.0f} s"
            finally:
                tied.end(process)
                self._running.discard(process)

    def _last_words(self, part: Part) -> str:
        text = (self.out / f"{part.id}.txt").read_text(encoding="utf-8", errors="replace")
        lines = [line.strip() for line in text.strip().split("\n") if line.strip()]
        first = next((n for n, line in enumerate(lines) if line.startswith("groupspec:")), max(len(lines) - 3, 0))
        return " ".join(lines[first:])[:500]


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends it as Ctrl-C would, so that it cleans up; then, if it does not, for good, with all that it started."""
    with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
        os.killpg(process.pid, signal.SIGINT)
        process.wait(_GRACE_S)
    tied.end(process)


def _shown(arguments: Sequence[str]) -> str:
    """The command for people: a long list of traces is shortened to a pattern."""
    words = [word for word in arguments if not word.endswith("/trace.ndjson")]
    traces = [word for word in arguments if word.endswith("/trace.ndjson")]
    if traces:
        words.insert(words.index("--json"), str(Path(traces[0]).parents[2] / "*" / "*" / "trace.ndjson"))
    return " ".join(["groupspec", *(word if "*" in word else shlex.quote(word) for word in words)])


# Telling --------------------------------------------------------------------------------------------------------------


def gather(out: Path, steps: Sequence[Step]) -> Results:
    """What the parts wrote, for the report; a part whose result cannot be read has failed after all."""
    judged = {step.id: step for step in steps}

    def result(part: str, kind: type[Read]) -> Read | None:
        if part not in judged or judged[part].status != "ok":
            return None
        try:
            return read(out / f"{part}.json", kind)
        except UsageProblem as problem:
            judged[part] = msgspec.structs.replace(
                judged[part], status="failed", exit_code=EXIT_INTERNAL, said=problem.what
            )
            return None

    suites = {driver: result(driver, Generated) for driver in DRIVERS}
    return Results(
        title="The demo",
        conform=result("wire", Conform),
        runs_folder=out / "wire",
        page_folder=out,
        generated={driver: suite for driver, suite in suites.items() if suite is not None},
        trace_check=result("traces", TraceCheck),
        why=result("log", Why),
        why_source=LOG_SOURCE,
        pictures=result("pictures", Pictures),
        steps=tuple(judged.values()),
    )


def exit_code(found: Results) -> int:
    """Whether the reference kept the rules, and if it did, whether everything could be run."""
    clients = found.conform.clients if found.conform else ()
    verdicts = {row.verdict for client in clients if client.name == REFERENCE for row in client.results}
    if "FAIL" in verdicts or _violations(found) or any(suite.failures for suite in found.generated.values()):
        return EXIT_CONFORMANCE_FAILURE
    codes = {step.exit_code for step in found.steps if step.status == "failed"}
    if codes:
        told = next((code for code in (EXIT_USAGE, EXIT_INCONCLUSIVE) if code in codes), EXIT_INTERNAL)
        return told if codes <= {EXIT_USAGE, EXIT_INCONCLUSIVE} else EXIT_INTERNAL
    return EXIT_INCONCLUSIVE if "INCONCLUSIVE" in verdicts else EXIT_OK


def _violations(found: Results) -> int:
    """In the traces of the reference."""
    violations = found.trace_check.violations if found.trace_check else ()
    return sum(violation.run.partition("/")[0] == REFERENCE for violation in violations)


def summary(found: Results, report: Path) -> list[str]:
    """One line for each thing that was done, at most ten.

    Then what was left out on this machine, and the report's path.
    """
    lines = [*_told(found), ("left out", _left_out(found)), ("report", str(report))]
    width = max(len(name) for name, _ in lines)
    return [f"{name:<{width}}  {said}" for name, said in lines]


def _told(found: Results) -> Iterator[tuple[str, str]]:
    if found.pictures:
        drawn = sum(file.endswith(".svg") for file in found.pictures.files)
        yield "pictures", f"{drawn} machines drawn, with a matrix of every state and event beside each"
    for driver, suite in found.generated.items():
        yield (
            driver,
            f"{suite.transitions.covered:,} of {suite.transitions.of:,} transitions, {suite.pairs.covered:,} of "
            f"{suite.pairs.of:,} pairs, {suite.steps:,} steps: {len(suite.failures) or 'no'} divergences",
        )
    for client in found.conform.clients if found.conform else ():
        yield client.name, ", ".join(f"{n} {verdict}" for verdict, n in client_totals(client).items())
    if check := found.trace_check:
        broken, own = len(check.violations), _violations(found)
        told = f"{broken:,} violation{'s' if broken != 1 else ''}, {own or 'none'} of the reference's"
        yield "traces", f"{check.events:,} events checked on {check.engine.title()}: {told}"
    if found.why:
        causes = Counter(rebalance.cause.replace("_", " ") for rebalance in found.why.rebalances)
        told = ", ".join(f"{n} {cause}" for cause, n in causes.most_common())
        yield "log", f"{len(found.why.rebalances)} rebalances of {LOG_GROUP} explained: {told}"
    for step in found.steps:
        if step.status != "ok":
            yield step.id, f"{step.status.upper()}: {step.said}"


def _left_out(found: Results) -> str:
    parts = [step.name for step in found.steps if step.status != "ok"]
    absent = [name for name, build in BUILDS.items() if not build.installed]
    here = f"{len(absent)} of {len(BUILDS)} not built on this machine" if absent else "all built on this machine"
    return (
        f"{', '.join(parts) or 'nothing of the demo'}; it judges no client in another language ({here}): `groupspec "
        "clients list`"
    )
