"""The verdicts as workflow commands of GitHub Actions, which become annotations of a run and of a pull request's lines.

GitHub shows ten errors and ten warnings of a step, so there is one for each client and rule, the worst first, as on a
terminal. What may stand in a command is escaped as the runner undoes it (actions/toolkit, command.ts).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.reports.log_place import log_place
from groupspec.conformance.wire.console import groups
from groupspec.conformance.wire.results import Campaign
from groupspec.spec import printable
from groupspec.spec.rules import RULES

_COMMANDS: Final = {Verdict.FAIL: "error", Verdict.DEVIATION: "warning", Verdict.INCONCLUSIVE: "warning"}
_IN_DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTIES: Final = _IN_DATA | str.maketrans({":": "%3A", ",": "%2C"})


def workflow_commands(campaign: Campaign, report: Path | None = None) -> Iterator[str]:
    """A command a line. `report`: where the runs' folders lie, for the line of the log."""
    for client in campaign.clients:
        who = f"{client.name} {client.version}".strip()
        for crash in client.crashes:
            yield _command("warning", {"title": f"INCONCLUSIVE {who}"}, f"broke off: {crash.reason}")
        for group in groups(client):
            row = group.rows[0]
            about = {"title": f"{group.verdict.value} {who}: {RULES[group.rule].title}"}
            if place := log_place(row, report):
                about |= {"file": place.path, "line": str(place.line)}
            cases = f"in {len(group.rows)} of {group.judged} case(s), first in {row.case.id} ({row.combined.how_sure})"
            data = f"{row.judgement.reason}\n{cases}\n{RULES[group.rule].statement}\nreplay: {row.replay}"
            excused = all(campaign.allows(each) or each.no_worse for each in group.rows)
            yield _command("notice" if excused else _COMMANDS[group.verdict], about, data)


def _command(name: str, properties: dict[str, str], data: str) -> str:
    told = ",".join(f"{key}={_shown(value).translate(_IN_PROPERTIES)}" for key, value in properties.items())
    return f"::{name} {told}::{_shown(data).translate(_IN_DATA)}"


def _shown(text: str) -> str:
    """As it may be shown, before it is escaped for the runner."""
    return printable.characters(text)
