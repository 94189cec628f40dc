"""What a cell of a table answers, in one English sentence; the rows beneath it say the same exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from groupspec.conformance.book.rows import ShownRow
from groupspec.spec import vocabulary

_SUBJECTS: Final = {
    "broker_group": "the group",
    "commit": "the commit",
    "connection": "the client",
    "rebalance": "the member",
    "subscription": "the partition",
    "timeouts": "the member",
}
_SAYS: Final = {
    "ERROR": "raises an error to the application",
    "REVOKE_PARTITIONS": "has the revoked or lost callback run",
    "ASSIGN_PARTITIONS": "has the assigned callback run",
}


def sentence(event: str, rows: Iterable[ShownRow]) -> str:
    """`When Heartbeat is answered ILLEGAL_GENERATION, the member goes to UNJOINED; a late answer changes nothing.`."""
    rows = tuple(rows)
    late = any(shown.row.reason == "late" for shown in rows)
    others = [shown for shown in rows if shown.row.reason != "late"]
    told = [shown for shown in others if shown.row.kind != "error"] or others
    subject = _SUBJECTS.get(rows[0].machine, f"the {rows[0].machine}")
    if not told:
        return f"{_happens(event)}, nothing changes, since {vocabulary.IGNORED_REASONS['late']}."
    outcomes = list(dict.fromkeys(map(_outcome, told)))
    answers = [each.removeprefix("answers ") for each in outcomes if each.startswith("answers ")]
    if answers[1:]:
        outcomes = [f"answers {_or(answers)}", *(each for each in outcomes if not each.startswith("answers "))]
    depends = ", as the conditions say" if outcomes[1:] or answers[1:] else ""
    also = "; a late answer changes nothing" if late else ""
    return f"{_happens(event)}, {subject} {_or(outcomes)}{depends}{also}."


@cache
def _responses() -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """Event to the request that it is an answer to, and the errors that make it."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for (request, error), event in vocabulary.RESPONSES.items():
        found[event] = request, (*found.get(event, ("", ()))[1], error)
    return found


@cache
def _happens(event: str) -> str:
    doc = vocabulary.EVENTS[event].doc.replace("`", "")
    if event not in _responses():
        return f"On {event.replace('_', ' ')} ({doc})"
    request, errors = _responses()[event]
    if errors == ("NONE",):
        return f"When {request} succeeds"
    if len(errors) > 3:
        return f"When {request} is answered with an error of this kind ({doc.partition(': ')[2]})"
    return f"When {request} is answered {_or(errors)}"


def _outcome(shown: ShownRow) -> str:
    """What the machine does, as a verb."""
    row = shown.row
    if row.kind == "ignored":
        return f"ignores it ({vocabulary.IGNORED_REASONS[row.reason]})"
    if row.kind == "error":
        return f"never sees it from a correct peer ({', '.join(row.rules)})"
    goes = [f"goes to {row.target}"] if row.target != row.source else []
    does = goes + [_says(word) for word in shown.outgoing]
    return " and ".join(does) or ("takes note of it" if row.effects else "stays as it is")


def _says(word: str) -> str:
    if word.startswith("ANSWER_"):
        return f"answers {word.removeprefix('ANSWER_')}"
    return _SAYS.get(word) or (f"sends {word}" if word in vocabulary.REQUESTS else f"tells the application {word}")


def _or(words: Sequence[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)
