"""A campaign's verdicts as `--json` writes them: its JSON Schema is `reports/schemas/conform.schema.json`."""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version

from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.wire.results import Campaign, Row
from groupspec.spec.rules import RULES


def as_json(campaign: Campaign) -> dict[str, object]:
    """What `--json` writes."""
    return {
        "clients": [
            {
                "name": client.client.name,
                "client": client.name,
                "version": client.version,
                "crashes": [asdict(each) | {"cases": list(each.cases)} for each in client.crashes],
                "results": [_row_json(row) for row in client.rows],
            }
            for client in campaign.clients
        ],
        "verdicts": {verdict.value: campaign.verdicts().count(verdict) for verdict in Verdict},
        "seconds": round(campaign.seconds, 3),
        "seed": campaign.seed,
        "jobs": campaign.jobs,
        "repeat": campaign.repeat,
        "stopped": campaign.stopped,
        "allowed": sorted(campaign.allowed),
        "rules": [rule for rule in RULES if rule in campaign.rules],
        "groupspec": version("groupspec"),
    }


def _row_json(row: Row) -> dict[str, object]:
    timing, counts = row.judgement.timing, row.combined.counts
    return {
        "scenario": row.case.scenario.id,
        "variant": row.case.variant.name,
        "poll_ms": row.case.variant.poll_ms,
        "rule": row.rule,
        "level": RULES[row.rule].level,
        "verdict": row.judgement.verdict.value,
        "reason": row.judgement.reason,
        "seconds": round(row.seconds, 3),
        "runs": row.combined.runs,
        "counts": {verdict.value: counts[verdict] for verdict in Verdict if verdict in counts},
        "certain": row.combined.certain,
        "flaps": row.combined.flaps,
        "symptom_of": row.symptom_of,
        "docket": str(row.docket) if row.docket else "",
        "timing": None if timing is None else {name: round(ms, 3) for name, ms in asdict(timing).items()},
        "replay": row.replay,
        "folder": row.folder,
        "at_ms": row.at_ms,
        "trace_seq": row.trace_seq,
    }
