"""The verdicts as SARIF 2.1.0 (OASIS), which code-scanning pages and editors show: a rule of ours is a rule there.

One run of the tool for all clients, since a scanning page takes one run of a tool at a time. A broken rule of one case
is a result; what is allowed or no worse than a baseline is suppressed, which such pages know; what was kept or not
judged is no result. Each result leads to the line of the log, and to the command that runs the case again. A scanning
page refuses a whole file of which one result names no file, so there is none without a report; a run that left no log
leads to the report's `conform.json`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.explain.sources import source
from groupspec.conformance.outputs import json_text
from groupspec.conformance.reports.consequences import consequences
from groupspec.conformance.reports.log_place import LogPlace, log_place
from groupspec.conformance.wire.results import Campaign, ClientResult, Row
from groupspec.spec.rules import RULES, Rule

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS: Final = {Verdict.FAIL: "error", Verdict.DEVIATION: "warning"}
"""What is a result; INCONCLUSIVE says nothing about a client, and is told as a notification of the tool."""


def sarif_text(campaign: Campaign, report: Path) -> str:
    """The whole document. `report`: where the runs' folders lie."""
    rules = [rule for rule in RULES if any(row.rule == rule for each in campaign.clients for row in each.rows)]
    results = [
        _result(campaign, client, row, rules, report)
        for client in campaign.clients
        for row in client.rows
        if row.judgement.verdict in LEVELS
    ]
    run = {
        "tool": {
            "driver": {
                "name": "groupspec",
                "semanticVersion": version("groupspec"),
                "rules": [_rule(RULES[rule]) for rule in rules],
            }
        },
        "automationDetails": {"id": "groupspec/conform/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(campaign)],
        "results": results,
    }
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: Rule) -> dict[str, object]:
    known = consequences().get(rule.id)
    why = f"\n\n{known.why}" if known else ""
    sources = "; ".join(rule.sources)
    address = re.search(r'href="([^"]+)"', str(source(sources)))
    told: dict[str, object] = {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": known.expected if known else rule.statement},
        "fullDescription": {"text": rule.statement},
        "help": {"text": f"{rule.statement}{why}\n\nSource: {sources}\n\nMore: groupspec explain {rule.id}"},
        "defaultConfiguration": {"level": "error" if rule.level == "must" else "warning"},
        "properties": {"tags": [rule.level, "kafka", "consumer-group"], "sources": list(rule.sources)},
    }
    return told | ({"helpUri": address[1].replace("&amp;", "&")} if address else {})


def _result(
    campaign: Campaign, client: ClientResult, row: Row, rules: Sequence[str], report: Path
) -> dict[str, object]:
    who = f"{client.name} {client.version}".strip()
    reason = f"{row.judgement.reason} ({row.combined.how_sure})"
    place = log_place(row, report) or LogPlace(report / "conform.json", 1)
    location: dict[str, object] = {
        "logicalLocations": [{"fullyQualifiedName": f"{client.name}/{row.case.id}", "kind": "resource"}],
        "physicalLocation": {"artifactLocation": {"uri": place.uri}, "region": {"startLine": place.line}},
    }
    result: dict[str, object] = {
        "ruleId": row.rule,
        "ruleIndex": rules.index(row.rule),
        "kind": "fail",
        "level": LEVELS[row.judgement.verdict],
        "message": {"text": f"{who} in {row.case.id}: {reason}\nreplay: {row.replay}"},
        "locations": [location],
        "partialFingerprints": {"clientCaseRule/v1": f"{client.client.name}/{row.case.id}/{row.rule}"},
        "properties": {
            "client": client.name,
            "version": client.version,
            "case": row.case.id,
            "runs": row.combined.how_sure,
            "log": str(place.file),
            "replay": row.replay,
        },
    }
    if why := _why_suppressed(campaign, row):
        result["suppressions"] = [{"kind": "external", "justification": why}]
    return result


def _why_suppressed(campaign: Campaign, row: Row) -> str:
    if row.no_worse:
        return "no worse than the baseline"
    return "allowed by --allow" if campaign.allows(row) else ""


def _invocation(campaign: Campaign) -> dict[str, object]:
    """How the run of the tool itself went: whether it came to its end, and what it could not judge."""
    unsure = [
        {"level": "warning", "message": {"text": f"{client.name}: {row.rule} in {row.case.id}: {row.judgement.reason}"}}
        for client in campaign.clients
        for row in client.rows
        if row.judgement.verdict is Verdict.INCONCLUSIVE
    ]
    return {"executionSuccessful": not campaign.stopped, "toolExecutionNotifications": unsure}
