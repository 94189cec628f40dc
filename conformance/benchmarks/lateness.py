"""How late poll(t) returns while the group rebalances again and again, beside a bare Condition.wait(t) in that process.

A member of the reference polls an empty topic for 20 ms at a time (`readers.poller`), and a second thread of its
process waits as long on a condition that nobody notifies: what the machine and the interpreter do meets both. Meanwhile
another member joins and leaves. Late is what lies behind the timeout; the 99.9th percentile counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Final

from groupspec.conformance import tied
from groupspec.conformance.benchmarks.consume import broker, create_topic
from groupspec.conformance.benchmarks.figures import Figure
from groupspec.conformance.benchmarks.rebalance import TOPIC, Member
from groupspec.conformance.errors import InternalProblem
from groupspec.conformance.wire.log import now_us

DESIGNS: Final = {"background": "reference", "heartbeat": "reference-heartbeat"}
"""By driver, the built-in client with it."""

SECONDS: Final = 40.0
ALLOWED_MS: Final = 5.0
START_LIMIT_S: Final = 30.0


def measure(now: Callable[[str], None], seconds: float = SECONDS) -> list[Figure]:
    """Both designs, one after the other."""
    with broker(now, "lateness") as bootstrap:
        create_topic(bootstrap, TOPIC)
        figures = []
        for driver, client in DESIGNS.items():
            now(f"lateness: {driver}, {seconds:.0f} s")
            figures.append(_measure(driver, client, bootstrap, seconds))
    return figures


def _measure(driver: str, client: str, bootstrap: str, seconds: float) -> Figure:
    module = "groupspec.conformance.benchmarks.readers.poller"
    command = [sys.executable, "-m", module, driver, bootstrap, TOPIC, f"rebalance-{client}", str(seconds)]
    poller = tied.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    other, rebalances = Member(client, "B", bootstrap), 0
    try:
        while poller.poll() is None:
            begun_us = now_us()
            other.join()
            other.told_us(None, begun_us)
            other.leave()
            rebalances += 1
        told, complaint = poller.communicate(timeout=START_LIMIT_S)
        if poller.returncode != 0:
            raise InternalProblem(f"the poller ended with {poller.returncode}: {complaint.decode()[-500:]}")
    finally:
        other.end()
        tied.end(poller)
    late = json.loads(told)
    ours, bare = late["poll_ms"], late["wait_ms"]
    note = f"{late['polls']} polls, {rebalances} joins; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    goal = f"<= its + {ALLOWED_MS:g} ms"
    return Figure(
        f"poll(20) is late, 99.9 %, {driver}",
        "ms",
        [ours],
        "Condition.wait",
        [bare],
        goal,
        ours <= bare + ALLOWED_MS,
        note,
    )
