"""What was found, for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupspec.conformance.broker_kit.campaign import Asked, Judged
from groupspec.conformance.broker_kit.cells import CellVerdict, Shown
from groupspec.conformance.broker_kit.judging import error_in
from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.differential.history import Sent
from groupspec.conformance.wire.live.tap import told
from groupspec.impl.coordinator.context import GroupResponse
from groupspec.impl.core.messages import JoinGroupRequest, JoinGroupResponse, SyncGroupResponse
from groupspec.impl.network.codec import api_of

TOLD: Final = (Verdict.FAIL, Verdict.DEVIATION, Verdict.INCONCLUSIVE)


class Names:
    """Short names for a history's member ids: A, B, ... in the order in which they come."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def of(self, member_id: str) -> str:
        """The name of an id; "no id" of none."""
        if not member_id:
            return "no id"
        place = len(self._names)
        return self._names.setdefault(member_id, chr(65 + place) if place < 26 else f"M{place}")


def sequence(shown: Shown) -> list[str]:
    """The requests up to a breach, each with its answer."""
    names = Names()
    sent = shown.history.sent[: shown.breach.requests]
    return [f"{_asked(each, names)} -> {answered(shown.history.answers.get(each.handle), names)}" for each in sent]


def _asked(sent: Sent, names: Names) -> str:
    request = sent.request
    words = [f"{api_of(request)} v{sent.caller.version}", names.of(getattr(request, "member_id", ""))]
    if instance := getattr(request, "group_instance_id", None):
        words.append(f"instance {instance}")
    if (generation := getattr(request, "generation", None)) is not None:
        words.append(f"generation {generation}")
    if isinstance(request, JoinGroupRequest):
        words.append("/".join(name for name, _ in request.protocols) or "no protocols")
    others = [names.of(each.member_id) for each in getattr(request, "others", ())]
    return f"{sent.at_ms} ms {', '.join(words + ([f'and {each}' for each in others]))}"


def answered(answer: GroupResponse | None, names: Names) -> str:
    """An answer in a few words; the table's may be still to come."""
    if answer is None:
        return "no answer by then"
    words = [error_in(answer)]
    if isinstance(answer, JoinGroupResponse):
        words += [names.of(answer.member_id)] if answer.member_id else []
        words += [f"generation {answer.generation}", f"{answer.protocol_name}, led by {names.of(answer.leader)}"] * (
            answer.generation >= 0
        )
    if isinstance(answer, SyncGroupResponse) and answer.assignment:
        words.append(f"assignment {answer.assignment.hex()}")
    words += [
        f"{names.of(each.member_id)}: {each.error.name}"
        for each in getattr(answer, "members", ())
        if hasattr(each, "error")
    ]
    return ", ".join(words)


def lines(judged: Judged) -> Iterator[str]:
    """What there is to tell of cells that are not as the table says."""
    for verdict in TOLD:
        for cell in (each for each in judged.cells if each.verdict is verdict):
            for shown in cell.breaches:
                if bool(shown.breach.known) == (verdict is Verdict.DEVIATION):
                    yield from _of_breach(cell, shown)


def _of_breach(cell: CellVerdict, shown: Shown) -> Iterator[str]:
    breach, difference = shown.breach, shown.breach.difference
    names = Names()
    seen = sequence(shown)
    counted = f"{cell.counts[breach.kind]} times; {cell.met} times as the table says"
    yield f"{cell.verdict.value} {'.'.join(cell.cell)} ({counted})"
    place = next((n for n, each in enumerate(shown.history.sent, 1) if each.handle == difference.handle), 0)
    yield f"  request {place} was answered: {answered(difference.of_broker, names)}"
    yield f"  the table allows:   {answered(difference.of_reference, names)}"
    if breach.known:
        yield f"  known: {breach.known} ({breach.made_by})"
    elif cell.reason:
        yield f"  {cell.reason}"
    yield from (f"  {number:>3}. {line}" for number, line in enumerate(seen, 1))


def as_json(judged: Judged, asked: Asked) -> dict[str, object]:
    """What `--json` writes."""
    return {
        "broker": told(judged.address),
        "seed": asked.seed,
        "steps": asked.steps,
        "groups": asked.groups,
        "kafka": asked.kafka,
        "settings": {
            "min_session_timeout_ms": judged.settings.min_session_timeout_ms,
            "max_session_timeout_ms": judged.settings.max_session_timeout_ms,
            "initial_rebalance_delay_ms": judged.settings.initial_rebalance_delay_ms,
            "max_size": judged.settings.max_size,
        },
        "requests": judged.requests,
        "unconfirmed": judged.unconfirmed,
        "seconds": round(judged.seconds, 3),
        "left_behind": list(judged.left_behind),
        "verdicts": {verdict.value: judged.count(verdict) for verdict in Verdict},
        "cells": [_cell_json(each) for each in judged.cells],
    }


def _cell_json(cell: CellVerdict) -> dict[str, object]:
    state, event = cell.cell
    return {
        "state": state,
        "event": event,
        "verdict": cell.verdict.value,
        "reason": cell.reason,
        "met": cell.met,
        "breaches": [
            {
                "times": cell.counts[shown.breach.kind],
                "seed": shown.seed,
                "again": shown.again,
                "answered": answered(shown.breach.difference.of_broker, Names()),
                "allowed": answered(shown.breach.difference.of_reference, Names()),
                "known": shown.breach.known,
                "made_by": shown.breach.made_by,
                "sequence": sequence(shown),
            }
            for shown in cell.breaches
        ],
    }
