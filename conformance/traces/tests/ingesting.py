"""A process that ingests and stops at one of its steps, to be killed there.

    python -m groupspec.conformance.traces.tests.ingesting ENGINE TRACES OUT BUCKETS STEP

It prints each step as it comes ("read 1 of 3") and, at the one whose number is STEP, waits for ever. When it gets to
the end it prints "ended".
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from groupspec.conformance.traces import engine

STOPPED = "stopped"


def main() -> None:
    which, traces, out, buckets, stop = sys.argv[1:]
    step = 0

    def told(what: str, done: int, of: int) -> None:
        nonlocal step
        print(f"{what} {done} of {of}", flush=True)
        if step == int(stop):
            print(STOPPED, flush=True)
            signal.pause()
        step += 1

    if which == "local":
        engine.ingest([Path(traces)], Path(out), int(buckets), told)
    else:
        from groupspec.conformance.spark.ingest import ingest
        from groupspec.conformance.spark.session import session

        with session("local[2]", memory="1g") as spark:
            ingest(spark, [Path(traces)], Path(out), int(buckets), progress=told)
    print("ended", flush=True)


def killed_at(which: str, traces: Path, out: Path, buckets: int, step: int) -> list[str]:
    """The steps of an ingest that was killed (SIGKILL) at this one; its last is "ended" if it never got there."""
    words = [sys.executable, "-m", __name__, which, str(traces), str(out), str(buckets), str(step)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        steps: list[str] = []
        for line in process.stdout:
            if line.strip() == STOPPED:
                process.kill()
                break
            steps.append(line.strip())
        process.stdout.close()
        process.wait(timeout=60)
    return steps


if __name__ == "__main__":
    main()
