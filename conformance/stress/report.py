"""The result of a stress run: what each client lost, doubled or hung on, for people and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, get_args

from groupspec.conformance.stress.judging import Finding, Promise
from groupspec.conformance.stress.known import Known, known_of
from groupspec.conformance.stress.run import Outcome

OURS: Final = "reference"
"""How the names of the reference's designs begin."""

_PROMISES: Final[Sequence[Promise]] = get_args(Promise)
MEANS: Final = {
    "lost": "records that nobody processed",
    "doubled": "records that were processed twice without an excuse",
    "owners": "a partition had two owners",
    "hang": "silent though it could poll",
    "expired": "put out of the group for its silence, without a reason for that",
    "close": "close() did not end",
    "crash": "the process ended by itself",
    "unstable": "the group did not settle",
}


def of_reference(outcome: Outcome) -> list[Finding]:
    """What is put down to the reference, or to nobody in particular."""
    return [one for one in outcome.verdict.findings if one.client.startswith(OURS) or not one.process]


def lines(outcome: Outcome, replay: str) -> Iterator[str]:
    """For people: a line for each client, then each finding, then how to see it again."""
    verdict, plan = outcome.verdict, outcome.plan
    settled = "never stable again" if outcome.settled_s is None else f"stable {outcome.settled_s:.1f} s after the last"
    yield (
        f"seed {plan.seed}, {plan.rebalance}: {outcome.records:,} records, {len(plan.steps)} steps in "
        f"{plan.faults_end_ms / 1000:.0f} s of faults, {settled}; whoever was put out of the group let go "
        f"of its partitions {verdict.longest_overlap_ms:,} ms after it could hear of it, or sooner; the machine stood "
        f"still for {_longest_stall_ms(outcome):,} ms at most"
    )
    for client in _clients(outcome):
        counts = _counts(outcome, client)
        wrong = ", ".join(f"{counts[promise]} {promise}" for promise in _PROMISES if counts[promise])
        raised = ", ".join(f"{name} {count}x" for name, count in outcome.raised.get(client, Counter()).most_common(3))
        yield (
            f"  {client}: {verdict.processed.get(client, 0):,} processed, {verdict.excused.get(client, 0):,} of them "
            f"again with an excuse; {wrong or 'nothing wrong'}{f'; raised {raised}' if raised else ''}"
        )
    for one in verdict.findings:
        at_s = (one.at_us - outcome.began_us) / 1e6
        yield f"FOUND {one.promise} ({MEANS[one.promise]}): {one.process or 'nobody'} at {at_s:.1f} s: {one.text}"
    for known in _known(outcome):
        promises = " or ".join(known.promises)
        yield f"known of {known.client} {known.version} ({promises}): {known.title}; {known.upstream}"
    yield f"replay: {replay}"


def data(outcome: Outcome, replay: str) -> dict[str, object]:
    """In the shape of its JSON Schema."""
    verdict = outcome.verdict
    return {
        "seed": outcome.plan.seed,
        "rebalance": outcome.plan.rebalance,
        "plan": str(outcome.plan).splitlines(),
        "seconds": round(outcome.seconds, 1),
        "records": outcome.records,
        "settled_seconds": None if outcome.settled_s is None else round(outcome.settled_s, 1),
        "longest_overlap_ms": verdict.longest_overlap_ms,
        "longest_stall_ms": _longest_stall_ms(outcome),
        "clients": {
            client: {
                "processed": verdict.processed.get(client, 0),
                "excused": verdict.excused.get(client, 0),
                "raised": dict(outcome.raised.get(client, Counter())),
                **{promise: _counts(outcome, client)[promise] for promise in _PROMISES},
            }
            for client in _clients(outcome)
        },
        "findings": [
            {
                "promise": one.promise,
                "client": one.client,
                "process": one.process,
                "at_seconds": round((one.at_us - outcome.began_us) / 1e6, 2),
                "partition": None if one.partition < 0 else one.partition,
                "records": one.records,
                "text": one.text,
                "known": [known.id for known in known_of(one)],
            }
            for one in verdict.findings
        ],
        "replay": replay,
    }


def _longest_stall_ms(outcome: Outcome) -> int:
    return max((end - begin for begin, end in outcome.stalls_us), default=0) // 1000


def _known(outcome: Outcome) -> list[Known]:
    """What is known of the clients that did what was found, each once."""
    return list({one.id: one for finding in outcome.verdict.findings for one in known_of(finding)}.values())


def _clients(outcome: Outcome) -> list[str]:
    return list(dict.fromkeys(member.client for member in outcome.plan.members))


def _counts(outcome: Outcome, client: str) -> Counter[str]:
    """By promise: how many records of it a client lost or doubled; of the others how often."""
    counts: Counter[str] = Counter()
    for one in outcome.verdict.findings:
        if one.client == client:
            counts[one.promise] += one.records or 1
    return counts
