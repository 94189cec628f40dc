"""What a campaign finds wrong with a built-in client and nobody has read: the docket has no entry for it."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.checks.verdicts import BROKEN
from groupspec.conformance.wire.campaign import run_campaign
from groupspec.conformance.wire.results import Campaign, ClientResult, Row

JOBS: Final = 4


def undocketed(campaign: Campaign) -> list[str]:
    """Its breaches without an entry that are certain: where it did not confirm them, their cases are run again here."""
    return [f"{client.name} {one}" for client in campaign.clients for one in _of_client(client)]


def _of_client(client: ClientResult) -> list[str]:
    unread = [row for row in client.rows if _is_unread(row)]
    open_cases = list(dict.fromkeys(row.case for row in unread if row.combined.runs == 1))
    again = run_campaign([client.client], open_cases, jobs=JOBS, confirm=True).clients if open_cases else []
    rows = [*unread, *(row for each in again for row in each.rows if _is_unread(row))]
    return [f"{row.case.id} {row.rule}: {row.judgement.reason}" for row in rows if row.combined.certain]


def _is_unread(row: Row) -> bool:
    return row.judgement.verdict in BROKEN and row.docket is None and not row.symptom_of
