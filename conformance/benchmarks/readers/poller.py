"""A member that polls an empty topic, and how late each poll was; beside it a thread that only waits.

python -m groupspec.conformance.benchmarks.readers.poller DRIVER BOOTSTRAP TOPIC GROUP SECONDS
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from groupspec.impl import Consumer

TIMEOUT_MS: Final = 20
SETTLE_S: Final = 3.0


def late_ms(call: Callable[[], object]) -> float:
    """How much longer than the timeout it took."""
    begun = time.perf_counter()
    call()
    return max(0.0, (time.perf_counter() - begun) * 1_000 - TIMEOUT_MS)


def worst(late: Sequence[float]) -> float:
    """The 99.9th percentile."""
    return sorted(late)[int(len(late) * 0.999)]


def main(driver: str, bootstrap: str, topic: str, group: str, seconds: float) -> None:
    """Poll and wait for so long, and print the worst of both."""
    polls: list[float] = []
    waits: list[float] = []
    over = threading.Event()

    def wait() -> None:
        condition = threading.Condition()
        with condition:
            while not over.is_set():
                waits.append(late_ms(lambda: condition.wait(TIMEOUT_MS / 1_000)))

    waiter = threading.Thread(target=wait, daemon=True)
    with Consumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        heartbeat_interval_ms=200,
        session_timeout_ms=10_000,
        driver=driver,  # type: ignore[arg-type]
    ) as consumer:
        settled = time.monotonic() + SETTLE_S
        while time.monotonic() < settled:
            consumer.poll(TIMEOUT_MS)
        waiter.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            polls.append(late_ms(lambda: consumer.poll(TIMEOUT_MS)))
        over.set()
        waiter.join()
    print(json.dumps({"polls": len(polls), "poll_ms": worst(polls), "wait_ms": worst(waits)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], float(sys.argv[5]))
