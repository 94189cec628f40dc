"""What becomes of the mutants of each model, on every processor at once."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, Final

from groupspec.conformance.scores.killing import Score, scores
from groupspec.conformance.scores.subjects import Subject, subjects
from groupspec.spec import explorer
from groupspec.spec.explorer.native import cache_folder, processors

AT_ONCE: Final = 100
"""So many mutants are a share: a process tries them, and takes the next share."""


def score_row(subject: Subject, score: Score) -> dict[str, Any]:
    """One mutant, as it is committed."""
    return {
        "model": subject.name,
        "id": score.mutant.id,
        "machine": score.mutant.machine,
        "operator": score.mutant.operator,
        "fate": score.fate,
        "by": list(score.by),
    }


def tried(names: Sequence[str], every: int, said: Callable[[str], None]) -> dict[str, list[dict[str, Any]]]:
    """What became of the mutants of these models, by model; of one in `every` only. `said` is told after each share."""
    wanted = {subject.name: len(subject.mutants[::every]) for subject in subjects() if subject.name in names}
    shares = [
        (name, every, first, first + AT_ONCE) for name, number in wanted.items() for first in range(0, number, AT_ONCE)
    ]
    found: dict[tuple[str, int, int, int], list[dict[str, Any]]] = {}
    if len(shares) == 1:
        found[shares[0]] = _share(*shares[0])
    elif shares:
        # Not forked: whoever asks may have threads, and a progress bar is one.
        with ProcessPoolExecutor(processors(), get_context("spawn"), _end_with_who_started_it) as pool:
            running = {pool.submit(_share, *share): share for share in shares}
            for done in as_completed(running):
                found[running[done]] = done.result()
                said(f"{len(found)} of {len(shares)} shares of mutants are tried")
    return {name: [row for share in shares if share[0] == name for row in found[share]] for name in wanted}


def _share(name: str, every: int, first: int, last: int) -> list[dict[str, Any]]:
    """One process's work, a minute or so; it is kept, so that whoever is interrupted goes on from there."""
    subject = next(subject for subject in subjects() if subject.name == name)
    kept = cache_folder() / f"scores-{_made_from(subject)}-{every}-{first}-{last}.json"
    if kept.exists():
        known: list[dict[str, Any]] = json.loads(kept.read_text(encoding="utf-8"))
        return known
    rows = [score_row(subject, score) for score in scores(subject.mutants[::every][first:last], [subject])]
    part = kept.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(rows), encoding="utf-8")
    part.replace(kept)
    return rows


def _made_from(subject: Subject) -> str:
    """Of all that decides what becomes of the mutants, the operators and the explorer included."""
    digest = hashlib.sha256(subject.hash.encode())
    for folder in (Path(__file__).parent, Path(explorer.__file__).parent):
        for source in sorted((*folder.glob("*.py"), *folder.glob("*.c"))):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:24]


def _end_with_who_started_it() -> None:
    """A worker waits for work on a pipe that the others hold as well: for ever, if who started it is gone."""

    def wait() -> None:
        starter = parent_process()
        assert starter is not None
        starter.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
