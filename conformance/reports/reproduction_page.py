"""README.md of each reproduction in a report: what was expected, what happened, why it matters, how to run it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from groupspec.conformance.outputs import write_text
from groupspec.conformance.reports.consequences import consequences
from groupspec.conformance.wire.reproduction import FOLDER
from groupspec.diagrams.markup import in_markdown
from groupspec.spec import printable
from groupspec.spec.rules import RULES

_NO_SETTINGS: Final = ("command", "bootstrap", "after_ms", "more")
_BEGIN: Final = """
## Run it

Python 3.11 or later, without any package:

    python play.py 19092

Then start the client with `bootstrap.servers=127.0.0.1:19092` and:

| setting | value |
|---|---|"""
_END: Final = """\
It ends with 1 if the request that broke the rule comes again, with 0 if it does not in a run that comes as far as then,
and with 4 if that cannot be told: the harness died, for one.

The player answers a request as one of the same kind and content was answered in the recorded run, after as long a
time; it cannot react. A client that does something else gets answers that may not fit, and a rule that was broken by
lateness, or by what did not come, has to be looked for in what the player prints."""


def write_readmes(report: Path) -> None:
    """Writes one beside each `run.json`."""
    for file in sorted(report.glob(f"*/*/{FOLDER}/run.json")):
        recorded = json.loads(file.read_text(encoding="utf-8"))
        write_text(file.with_name("README.md"), "\n".join((*_what_happened(recorded), *_how_to_run(recorded), "")))


def _what_happened(recorded: Mapping[str, Any]) -> Iterator[str]:
    """Three sentences for each broken rule."""
    titles = ", ".join(RULES[rule].title for rule in recorded["failed"])
    yield f"# {in_markdown(recorded['client'])} in {recorded['case']}: {titles}\n"
    for rule, reason in recorded["failed"].items():
        known = consequences()[rule]
        yield f"- Expected ({rule}): {known.expected}"
        yield f"- Happened: {in_markdown(reason)}."
        yield f"- Why it matters: {known.why}"


def _how_to_run(recorded: Mapping[str, Any]) -> Iterator[str]:
    """For a client by itself, and for one behind a harness."""
    configure, *commands = recorded["commands"]
    yield _BEGIN
    settings = {name: value for name, value in configure.items() if name not in _NO_SETTINGS} | configure["more"]
    for name, value in settings.items():
        yield f"| {name} | {in_markdown(value if isinstance(value, str) else json.dumps(value))} |"
    yield "\n`callback_ms` is how long each callback of the rebalance listener takes. Then, in this order:\n"
    for command in commands:
        given = ", ".join(f"{name}={json.dumps(value)}" for name, value in command.items() if name not in _NO_SETTINGS)
        told = f"{command['command']} {given}".strip()
        yield f"1. {told}, {command['after_ms']:.0f} ms after the step before"
    yield "\nWith a harness that speaks the protocol of the kit all of this is one command:\n"
    yield f"    python play.py 19092 {printable.line(shlex.join(recorded['harness'])) or 'COMMAND'}\n"
    yield _END
