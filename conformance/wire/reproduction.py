"""What broke a rule, to be run again without the kit: the brokers' answers as data, beside a player (`play.py`).

<run>/repro/run.json    every request with its answer, in order; what the harness was told; which request broke a rule
           /play.py     serves these answers; of Python it needs the standard library alone
           /README.md   what was expected, what happened, and how to run it (`reports.reproduction_page` writes it)

Only of a run that has just ended: a recording keeps what was said, not its bytes.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.history.exchange import GROUP_APIS
from groupspec.conformance.history.pairing import pairs
from groupspec.conformance.outputs import json_text, write_text
from groupspec.conformance.wire import play
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.impl.broker.controls import CUT
from groupspec.impl.network.versions import API_KEYS

FOLDER: Final = "repro"
_HEADER_BYTES: Final = 10  # API key, version, correlation id, and the length of the client id


def write_reproduction(result: CaseResult, folder: Path) -> None:
    """Writes it below the folder of a run in which a rule was broken that every client must keep."""
    failed = {rule: each.reason for rule, each in result.judgements.items() if each.verdict is Verdict.FAIL}
    exchanges = list(_exchanges(result.entries))
    commands = list(_commands(result.entries))
    if not failed or not exchanges or not commands:
        return
    ports = [int(address.rpartition(":")[2]) for address in commands[0]["bootstrap"].split(",")]
    recorded = {
        "case": result.case.id,
        "client": f"{result.client_name} {result.client_version}".strip(),
        "harness": list(result.client.command) if result.client.name.startswith("cmd:") else [],
        "seconds": round(result.seconds, 1),
        "ports": ports,
        "failed": failed,
        "broken": list(_broken(result)),
        "commands": commands,
        "exchanges": exchanges,
    }
    target = folder / FOLDER
    target.mkdir(exist_ok=True)
    write_text(target / "run.json", json_text(recorded, 1))
    (target / "play.py").write_text(Path(play.__file__).read_text(encoding="utf-8"), encoding="utf-8")


def _body(request: Entry) -> str:
    """A request behind its header, as text: correlation and client id may differ from run to run."""
    length = int.from_bytes(request.raw[_HEADER_BYTES - 2 : _HEADER_BYTES], "big", signed=True)
    return b64encode(request.raw[_HEADER_BYTES + max(length, 0) :]).decode()


def _exchanges(entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """Each request with what became of it."""
    for request, end in pairs(entries):
        if not request.raw:
            continue
        answer = end if end is not None and end.kind == "response" else None
        yield {
            "api": request.api,
            "key": API_KEYS[request.api],
            "version": request.version,
            "node": request.node,
            "request": _body(request),
            "then": "answer" if answer is not None else "close" if end is not None and _is_cut(end) else "never",
            "after_ms": round((answer.at_us - request.at_us) / 1000, 1) if answer is not None else 0.0,
            "error": _error(answer) if answer is not None else "",
            "answer": b64encode(answer.raw[4:]).decode() if answer is not None else "",
        }


def _is_cut(entry: Entry) -> bool:
    return entry.kind == "note" and entry.text.startswith(CUT)


def _error(answer: Entry) -> str:
    return answer.error if answer.api in (*GROUP_APIS, "FindCoordinator") and answer.error != "NONE" else ""


def _commands(entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """What the harness was told, and how long after the command before had been done."""
    done_us = 0
    for entry in entries:
        if entry.kind in ("startup_complete", "command_done"):
            done_us = entry.at_us
        elif entry.source == "kit" and entry.kind == "command":
            yield json.loads(entry.text) | {"after_ms": round(max(0, entry.at_us - done_us) / 1000, 1)}


def _broken(result: CaseResult) -> Iterator[dict[str, Any]]:
    """The requests that broke rules, and at what place of the run: what had come, been refused, and was waiting.

    Not those that were wrong by their time alone, which a player cannot tell.
    """
    entries = result.entries
    for rule, judgement in result.judgements.items():
        if judgement.verdict is not Verdict.FAIL or judgement.timed:
            continue
        moments = (place for place, entry in enumerate(entries) if entry.at_us == judgement.at_us)
        place = next((place for place in moments if entries[place].kind == "request" and entries[place].raw), None)
        if place is not None:
            before, request = entries[:place], entries[place]
            came = Counter(entry.api for entry in before if entry.kind == "request")
            answered = [entry for entry in before if entry.kind == "response"]
            yield {
                "rule": rule,
                "reason": judgement.reason,
                "api": request.api,
                "request": _body(request),
                "place": [
                    sum(came[api] for api in play.ROUND),
                    sum(bool(_error(entry)) for entry in answered),
                    came[request.api] - sum(entry.api == request.api for entry in answered),
                ],
            }
