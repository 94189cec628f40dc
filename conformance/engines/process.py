"""Starting other people's programs: bounded in time, in a folder that is gone afterwards, with all their children."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_OUTPUT = 4 << 20
"""Characters of a program's output that are read; the rest is cut off in the middle."""


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
    command: Sequence[str], folder: Path, seconds: float | None, environment: Mapping[str, str] | None = None
) -> Ended:
    """Runs a program in `folder` for at most `seconds`.

    Raises:
        OSError: it cannot be started.
    """
    begun = time.monotonic()
    written = folder / "output.txt"
    with (
        written.open("wb") as output,
        subprocess.Popen(
            list(command),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(folder), **(environment or {})},
            start_new_session=True,
        ) as process,
    ):
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(process)
    return Ended(code, _text(written), time.monotonic() - begun)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends what is left of it; it was started as a group of its own, whose number is its own id."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _text(file: Path) -> str:
    text = file.read_bytes()[: 8 * MAX_OUTPUT].decode(errors="replace")
    half = MAX_OUTPUT // 2
    return text if len(text) <= MAX_OUTPUT else f"{text[:half]}\n...\n{text[-half:]}"
