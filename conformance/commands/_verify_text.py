"""What `groupspec verify` says of each model, for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from groupspec.conformance.engines import EngineRun
from groupspec.conformance.engines.explorer import ENGINE as EXPLORER
from groupspec.conformance.engines.judge import Judgement
from groupspec.spec.compiler import REBALANCES
from groupspec.spec.compiler.tables import whole_tables
from groupspec.spec.composition.machines import name_of
from groupspec.spec.explorer import Trace, branches_taken
from groupspec.spec.explorer.interpreter import Taken

ROW = "  {:<18}{:>14}{:>16}{:>7}{:>10}{:>13}   {}"
RUN_FIELDS = ("engine", "version", "model", "outcome", "problem", "states", "edges", "depth", "seconds")
EDGES_DIFFER = (
    "states are compared, edges are not: TLC counts one as often as its guard has disjuncts that hold, SPIN one more "
    "for a state in which nothing can happen"
)
SIGNS = {"ok": "OK", "failed": "FAILED", "inconclusive": "INCONCLUSIVE"}


def lines(judgement: Judgement, traces: Mapping[str, Trace]) -> Iterator[str]:
    """The verdict, a row for each engine, and what was found; `traces` has the explorer's shortest ways to it."""
    yield f"{judgement.model.name}: {SIGNS[judgement.verdict]}{_covered(judgement)}"
    yield ROW.format("engine", "states", "edges", "depth", "seconds", "states/s", "verdict")
    for run in judgement.runs:
        numbers: tuple[str, ...] = ("",) * 5
        if run.outcome != "absent":
            edges, depth = "" if run.edges is None else f"{run.edges:,}", "" if run.depth is None else str(run.depth)
            numbers = (f"{run.states:,}", edges, depth, f"{run.seconds:.2f}", f"{run.states_per_second:,.0f}")
        yield ROW.format(_engine(run), *numbers, _says(run, judgement))
    if len({run.edges for run in judgement.complete}) > 1:
        yield f"  {EDGES_DIFFER}"
    for run in judgement.runs:
        if run.problem:
            yield f"  {run.engine}: {run.outcome}: {run.problem}"
    if judgement.counts_differ:
        counts = ", ".join(f"{engine} {states:,}" for engine, states in judgement.counts.items())
        yield f"  the engines differ about the number of states: {counts}"
    for claim in judgement.disputed:
        answers = ", ".join(f"{run.engine}: {run.properties[claim]}" for run in judgement.complete)
        yield f"  the engines differ about {claim}: {answers}"
    for claim in judgement.missing:
        yield f"  {claim}: expected to be violated, and is not; or there is no such property"
    for name in sorted(judgement.violated & judgement.expected):
        yield f"  {name} is violated as expected; why, and where its run is shown: groupspec explain {name}"
    statements = {claim.id: claim.statement for claim in judgement.model.properties}
    for name in judgement.new:
        yield f"  {name} is violated: {statements[name]}"
        yield from (f"    {line}" for line in _path(judgement, name, traces))


def never_possible(judgement: Judgement) -> list[str]:
    """Actions of the model that could not happen in any state."""
    return sorted({action for run in judgement.complete for action in run.missing_actions})


def _covered(judgement: Judgement) -> str:
    """How many properties *OK* is about, where it is not all."""
    claimed, left = len(judgement.model.properties), len(judgement.unchecked)
    return f" for {claimed - left} of {claimed} properties" if left and judgement.verdict == "ok" else ""


def _engine(run: EngineRun) -> str:
    """What visited the states; the explorer compiles a model to C."""
    return f"{run.engine} {run.version}".strip() if run.engine != EXPLORER else "explorer (C)"


def _says(run: EngineRun, judgement: Judgement) -> str:
    if run.outcome != "complete":
        return run.outcome.upper()
    expected = len(run.violated & judgement.expected)
    new = len(run.violated - judgement.expected)
    said = f"{list(run.properties.values()).count('holds')} hold"
    said += f", {expected} violated as expected" if expected else ""
    said += f", {new} VIOLATED" if new else ""
    said += f"; liveness {run.liveness_seconds:.0f} s more" if run.liveness_seconds else ""
    return said + "".join(f"; without {', '.join(left)}: {why}" for why, left in _left_out(run, judgement).items())


def _left_out(run: EngineRun, judgement: Judgement) -> Mapping[str, Sequence[str]]:
    """Why a run says nothing of some properties, and of which."""
    left: dict[str, list[str]] = {}
    for claim in judgement.model.properties:
        if claim.id not in run.decided:
            left.setdefault(run.left_out.get(claim.kind, "not decided"), []).append(claim.id)
    return left


def _path(judgement: Judgement, name: str, traces: Mapping[str, Trace]) -> list[str]:
    if name in traces:
        return list(_steps(traces[name]))
    for run in judgement.runs:
        if name in run.traces:
            return [f"{run.engine}: {' -> '.join(run.traces[name])}"]
    return ["no state of that kind was found" if judgement.complete else "`--engine explorer` gives a shortest path"]


def _steps(trace: Trace) -> Iterator[str]:
    """Each step with what it changes; below it the rows that fired in it, in order, each with file and line."""
    _, *steps = str(trace).splitlines()
    for step, fired in zip(steps, branches_taken(trace), strict=True):
        yield step
        yield from (f"       {row}" for taken in fired if (row := _row(taken)))


def _row(taken: Taken) -> str:
    """`rebalance.STABLE.stopped.1 [L1]  spec/rebalance.py:312`; empty if it is no row of a machine."""
    row_id = taken.note.partition(" ")[0]
    for table in whole_tables().values():
        if row_id in table.places and taken.procedure == name_of(table.name, row_id.split(".")[1]):
            return f"{table.name}.{taken.note}  {table.places[row_id]}"
    return ""


def as_json(judged: Sequence[Judgement]) -> dict[str, object]:
    """The result in the shape of its JSON Schema."""
    return {
        "runs": [_run(judgement, run) for judgement in judged for run in judgement.runs],
        "models": [
            {
                "model": judgement.model.name,
                "sha256": judgement.model.hash,
                "verdict": judgement.verdict,
                "counts_agree": not judgement.counts_differ,
                "expected_violations": sorted(judgement.expected),
                "new_violations": list(judgement.new),
                "missing_violations": list(judgement.missing),
                "disputed": list(judgement.disputed),
                "unchecked": list(judgement.unchecked),
                "absent_engines": [run.engine for run in judgement.runs if run.outcome == "absent"],
            }
            for judgement in judged
        ],
    }


def _run(judgement: Judgement, run: EngineRun) -> dict[str, object]:
    model = judgement.model
    return {
        **{name: getattr(run, name) for name in RUN_FIELDS},
        "rebalance": model.scope.rebalance if model.scope.rebalance in REBALANCES else None,
        "profile": model.scope.profile or None,
        "members": model.sizes["members"],
        "partitions": model.sizes["partitions"],
        "properties": [
            {
                "id": claim.id,
                "kind": claim.kind,
                "answer": run.properties.get(claim.id, "not decided"),
                "expected": "violated" if claim.id in judgement.expected else "holds",
                "trace": list(run.traces.get(claim.id, ())),
            }
            for claim in model.properties
        ],
    }
