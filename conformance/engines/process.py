"""Starting other people's programs: bounded in time, in a folder that is gone afterwards, with all their children."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from groupspec.conformance import tied
from groupspec.conformance.errors import UsageProblem

MAX_OUTPUT = 4 << 20
"""Characters of a program's output that are read; the rest is cut off in the middle."""

START_LIMIT_S = 60.0

LOOK_EACH_S = 1.0
"""How often a program's output is looked at while it runs, if somebody wants to know."""


@dataclass(frozen=True)
class Ended:
    """How a program ended.

    Attributes:
        code: Its exit code; negative: the signal that ended it. None: its time was up, and it was ended.
        output: What it wrote, both streams.
        seconds: How long it took.
    """

    code: int | None
    output: str
    seconds: float

    @property
    def last_lines(self) -> str:
        """The end of the output, for a message."""
        return " | ".join(self.output.strip().splitlines()[-4:])[-600:]


def run_bounded(
    command: Sequence[str],
    folder: Path,
    seconds: float | None,
    environment: Mapping[str, str] | None = None,
    look: Callable[[str], None] | None = None,
) -> Ended:
    """Runs a program in `folder` for at most `seconds`; `look` is told what it wrote last, while it runs.

    Raises:
        OSError: it cannot be started.
    """
    begun = time.monotonic()
    written = folder / "output.txt"
    with written.open("wb") as output:
        process = tied.start(
            command,
            folder=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            environment={**os.environ, "TMPDIR": str(folder), **(environment or {})},
        )
    with process:
        try:
            code = _wait(process, seconds, None if look is None else lambda: look(_last(written)))
        finally:
            tied.end(process)
    return Ended(code, _text(written), time.monotonic() - begun)


def require_version(program: str, found: str, minimum: tuple[int, int], where: str, install: str) -> None:
    """Accepts a version, or raises.

    Raises:
        UsageProblem: it is older than `minimum`.
    """
    if tuple(int(part) for part in found.split(".")[:2]) < minimum:
        wanted = ".".join(map(str, minimum))
        raise UsageProblem(f"{program} {found} is too old", where, f"{wanted} or later", install)


def said_at_start(program: str, command: Sequence[str], where: str, install: str) -> Ended:
    """What a program says when it is asked who it is.

    Raises:
        UsageProblem: it cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="groupspec-engine-") as folder:
        try:
            return run_bounded(command, Path(folder), START_LIMIT_S)
        except OSError as problem:
            raise UsageProblem(f"{program} does not start: {problem}", where, next_step=install) from problem


def _wait(process: subprocess.Popen[bytes], seconds: float | None, look: Callable[[], None] | None) -> int | None:
    """Its exit code; None if its time was up."""
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        left = None if until is None else max(until - time.monotonic(), 0.0)
        try:
            return process.wait(left if look is None else LOOK_EACH_S if left is None else min(left, LOOK_EACH_S))
        except subprocess.TimeoutExpired:
            if until is not None and time.monotonic() >= until:
                return None
            if look is not None:
                look()


def _last(file: Path) -> str:
    """The last line that is not empty."""
    with file.open("rb") as output:
        output.seek(max(file.stat().st_size - 4096, 0))
        return (output.read().decode(errors="replace").strip().splitlines() or [""])[-1]


def _text(file: Path) -> str:
    text = file.read_bytes()[: 8 * MAX_OUTPUT].decode(errors="replace")
    half = MAX_OUTPUT // 2
    return text if len(text) <= MAX_OUTPUT else f"{text[:half]}\n...\n{text[-half:]}"
