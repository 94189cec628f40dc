"""Processes that a test has started, and that must have ended."""

from __future__ import annotations

import os
import time


def is_gone(pid: int) -> bool:
    """Whether a process has ended, waiting a little for the system to clear it away."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            state = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]  # noqa: SIM115, PTH123
        except OSError:
            return True
        if state == "Z":
            return True
    return False
