"""`groupspec bench soak`: one group of several clients on a real broker, under faults, for as long as one likes."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from groupspec.conformance.commands._common import Steps, say, write_json
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK, UsageProblem
from groupspec.conformance.outputs import writable_folder
from groupspec.conformance.reports.soak import html as soak_page
from groupspec.conformance.stress import report
from groupspec.conformance.stress.plan import draw
from groupspec.conformance.stress.run import Run
from groupspec.conformance.wire.client_builds import BUILDS, build_of
from groupspec.conformance.wire.clients import BUILT_IN, find_client, no_such_client

NAME: Final = "soak"
ABOUT: Final = "one group of several clients on a real broker, under faults: lost and doubled records, hangs."
DEFAULT: Final = ("reference", "reference-heartbeat", "kafka-python", "confluent-kafka")
FEWEST: Final = 2
MOST: Final = 8
TOLD_EVERY_S: Final = 30.0


def soak(minutes: float, seed: int | None, members: str | None, keep: Path | None) -> int:
    """One run; see `groupspec bench --help`."""
    clients = tuple(members.split(",")) if members else (*DEFAULT, *(["java"] if BUILDS["java"].installed else []))
    if not FEWEST <= len(clients) <= MOST:
        raise UsageProblem(
            f"--members {members}",
            allowed=f"{FEWEST} to {MOST} of {', '.join(BUILT_IN)}, with commas between them",
        )
    for client in clients:
        if client not in BUILT_IN and build_of(client) is None:
            raise no_such_client(client, advice="`groupspec clients list` shows them")
        find_client(client)
    chosen = random.SystemRandom().randrange(2**32) if seed is None else seed
    plan = draw(chosen, clients, round(minutes * 60_000))
    replay = f"groupspec bench soak --minutes {minutes:g} --seed {chosen} --members {','.join(clients)}"
    with ExitStack() as stack:
        folder = _folder(stack) if keep is None else writable_folder(keep)
        steps = stack.enter_context(Steps("soak"))
        told_s = time.monotonic()

        def now(what: str) -> None:
            nonlocal told_s
            steps.now(what)
            if not steps.is_seen and time.monotonic() - told_s >= TOLD_EVERY_S:
                told_s = time.monotonic()
                steps.say(what)

        run = stack.enter_context(Run(plan, folder, now))
        outcome = run.execute()
        if keep is not None:
            (folder / "report.html").write_text(soak_page(outcome, replay), encoding="utf-8")
    say(*report.lines(outcome, replay))
    write_json("bench-soak", report.data(outcome, replay))
    return EXIT_CONFORMANCE_FAILURE if report.of_reference(outcome) else EXIT_OK


def _folder(stack: ExitStack) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="groupspec-soak-"))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    return folder
