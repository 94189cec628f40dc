"""`groupspec verify`: explore every state of the models, and hold three engines against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from groupspec.conformance.commands._common import json_option, progress, remarks, results, write_json
from groupspec.conformance.commands._machines import require
from groupspec.conformance.commands._verify_models import about, catalogue, chosen_models, fitting, size
from groupspec.conformance.commands._verify_mutation import verify_mutation
from groupspec.conformance.commands._verify_scores import verify_scores
from groupspec.conformance.engines import ENGINES, EngineLimits, EngineRun, counts, run_engine
from groupspec.conformance.engines.explorer import run_explorer
from groupspec.conformance.engines.judge import Judgement
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE, EXIT_OK, UsageProblem
from groupspec.conformance.generate import MODELS, folder_path
from groupspec.spec.compiler import PROFILES, REBALANCES
from groupspec.spec.compiler.model import Model, ModelMaker
from groupspec.spec.explorer import Trace

EXITS = {"ok": EXIT_OK, "failed": EXIT_CONFORMANCE_FAILURE, "inconclusive": EXIT_INCONCLUSIVE}
ROW = "  {:<18}{:>14}{:>16}{:>7}{:>10}{:>13}   {}"
SIGNS = {"ok": "OK", "failed": "FAILED", "inconclusive": "INCONCLUSIVE"}


@click.command("verify")
@click.option("--model", metavar="M", default="", help="Only this one; see --list.")
@click.option("--members", type=click.IntRange(1), metavar="N", help="Only models of so many members; else up to 2.")
@click.option("--rebalance", metavar="R", default="", help=f"Only this one: {' or '.join(REBALANCES)}.")
@click.option("--profile", metavar="F", default="", help=f"Only this one: {' or '.join(PROFILES)}.")
@click.option("--engine", metavar="E", default="python", show_default=True, help="python, tlc, spin or all.")
@click.option("--max-states", type=click.IntRange(1), metavar="N", help="Stop the explorer at so many states.")
@click.option("--max-seconds", type=click.FloatRange(0), metavar="S", help="Stop each run of an engine after so long.")
@click.option(
    "--max-memory", callback=size, default="6GiB", metavar="B", show_default=True, help="Stop each run there."
)
@click.option("--fold", is_flag=True, help="Count states that differ by a renaming of members once.")
@click.option(
    "--mutation", "--held", is_flag=True, help="Instead: which test notices that a rule is broken, for every rule."
)
@click.option("--safety", is_flag=True, help="Leave liveness out of what TLC checks.")
@click.option("--scores", is_flag=True, help="Instead: which property notices that a row is changed, for every row.")
@click.option("--record", is_flag=True, help="Put the explorer's counts into the committed table of models.")
@click.option("--list", "listing", is_flag=True, help="Show the models that there are, or those that are asked for.")
@json_option
def command(
    model: str,
    members: int | None,
    rebalance: str,
    profile: str,
    engine: str,
    max_states: int | None,
    max_seconds: float | None,
    max_memory: int,
    fold: bool,
    mutation: bool,
    safety: bool,
    scores: bool,
    record: bool,
    listing: bool,
    json_file: Path | None,
) -> int:
    """Visit every state of the models, and check what is claimed of them.

    `python` is the explorer of this project. TLC and SPIN are given the same models, and must find the same number of
    distinct states. An engine that is missing is named, and leaves the result inconclusive.

    With --mutation it breaks each rule on purpose, in the implementation or in a row, and says which test notices.
    With --scores it changes each row of the specification, and says which property notices.

    Without options: every model of at most two members, by the explorer, in a minute or two.

    Example: groupspec verify --model base-eager-deployed-2 --engine all --safety

    Exit code 1 if a property is violated that is not expected to be, or the engines disagree; 4 if not every engine
    got through.
    """
    if mutation:
        code, matrix = verify_mutation()
        write_json("verify", {"runs": [], "models": [], "mutation": matrix}, json_file)
        return code
    if scores:
        code, scored = verify_scores()
        write_json("verify", {"runs": [], "models": [], "scores": scored}, json_file)
        return code
    known = catalogue()
    if listing:
        _list(fitting(known, model, members, rebalance, profile))
        return EXIT_OK
    require(engine, (*ENGINES, "all"), "engine", "--engine")
    engines = ENGINES if engine == "all" else (engine,)
    chosen = chosen_models(known, model, members, rebalance, profile)
    _only_the_explorer_can(engines, max_states, fold)
    limits = EngineLimits(max_states, max_seconds, max_memory)
    judged: list[Judgement] = []
    with progress("verifying", total=len(chosen) * len(engines)) as steps:
        for each in chosen:
            runs: list[EngineRun] = []
            traces: dict[str, Trace] = {}
            for name in engines:
                steps.now(f"{each.name}: {name}")
                run, found = _run(name, each, limits, fold, safety, steps.now)
                runs.append(run)
                if record and name == "python":
                    counts.record(folder_path("conformance") / MODELS, each, run, fold)
                traces |= found
                steps.done()
            judged.append(Judgement(each, runs, known.expected(each.name)))
            _show(judged[-1], traces)
    write_json("verify", _data(judged), json_file)
    return _end(judged)


def _list(makers: Sequence[ModelMaker]) -> None:
    """A line for each of these models.

    Members x partitions, how many states it had when they were counted, and what it is about.
    """
    counted = counts.recorded(folder_path("conformance") / MODELS)
    width = max(len(maker.name) for maker in makers)
    for maker in makers:
        model, name = maker(), maker.name
        size = f"{model.sizes['members']} x {model.sizes['partitions']}"
        states = f"{counted[name].states:,}" if name in counted and counted[name].counted else "?"
        results().print(f"{name:<{width}}  {size}  {states:>10} states  {about(model)}", markup=False, soft_wrap=True)


def _only_the_explorer_can(engines: tuple[str, ...], max_states: int | None, fold: bool) -> None:
    """Refuses what would be asked of an engine that cannot do it.

    Raises:
        UsageProblem: with what can.
    """
    for option, given in (("--fold", fold), ("--max-states", max_states)):
        if given and engines != ("python",):
            what = f"{option} is the explorer's only"
            raise UsageProblem(what, f"--engine {' '.join(engines)}", "--engine python", f"leave {option} out")


def _run(
    engine: str, model: Model, limits: EngineLimits, fold: bool, safety: bool, now: Callable[[str], None]
) -> tuple[EngineRun, dict[str, Trace]]:
    if engine != "python":
        return run_engine(engine, model, limits, not safety, lambda said: now(_progress(model, engine, said))), {}
    run, found = run_explorer(model, limits, fold, lambda where: now(str(where)))
    return run, dict(found.violations)


def _progress(model: Model, engine: str, said: str) -> str:
    """One line of a few words: what an engine says is longer than a terminal is wide."""
    return f"{model.name}: {engine}: {said[:60]}"


def _end(judged: list[Judgement]) -> int:
    verdicts = [judgement.verdict for judgement in judged]
    counted = ", ".join(f"{verdicts.count(verdict)} {SIGNS[verdict]}" for verdict in EXITS if verdict in verdicts)
    states = sum(max((run.states for run in judgement.runs), default=0) for judgement in judged)
    results().print(f"{len(judged)} models, {states:,} states: {counted}", markup=False)
    for verdict in ("failed", "inconclusive", "ok"):
        if verdict in verdicts:
            return EXITS[verdict]
    return EXIT_OK


def _show(judgement: Judgement, traces: dict[str, Trace]) -> None:
    say = results().print
    say(f"{judgement.model.name}: {SIGNS[judgement.verdict]}", markup=False)
    say(ROW.format("engine", "states", "edges", "depth", "seconds", "states/s", "verdict"), markup=False)
    for run in judgement.runs:
        numbers: tuple[str, ...] = ("",) * 5
        if run.outcome != "absent":
            edges, depth = "" if run.edges is None else f"{run.edges:,}", "" if run.depth is None else str(run.depth)
            numbers = (f"{run.states:,}", edges, depth, f"{run.seconds:.2f}", f"{run.states_per_second:,.0f}")
        say(ROW.format(_engine(run), *numbers, _says(run, judgement)), markup=False)
    _show_findings(judgement, traces)


def _engine(run: EngineRun) -> str:
    """What visited the states: `python` is the explorer, which compiles a model to C."""
    return f"{run.engine} {run.version}".strip() if run.engine != "python" else "explorer (C)"


def _says(run: EngineRun, judgement: Judgement) -> str:
    expected = judgement.expected
    if run.outcome != "complete":
        return run.outcome.upper()
    decided = [answer for answer in run.properties.values() if answer in ("holds", "violated")]
    new = run.violated - expected
    as_expected = f", {len(run.violated & expected)} violated as expected" if run.violated & expected else ""
    wrong = f", {len(new)} VIOLATED" if new else ""
    lively = f"; liveness {run.liveness_seconds:.0f} s more" if run.liveness_seconds else ""
    left = [
        claim.id
        for claim in judgement.model.properties
        if claim.kind == "recoverable" and run.properties.get(claim.id) not in ("holds", "violated")
    ]
    alone = f"; without {', '.join(left)}: recoverability is the explorer's alone" if left else ""
    return f"{decided.count('holds')} hold{as_expected}{wrong}{lively}{alone if run.engine != 'python' else ''}"


def _show_findings(judgement: Judgement, traces: dict[str, Trace]) -> None:
    say = results().print
    for run in judgement.runs:
        if run.problem:
            say(f"  {run.engine}: {run.outcome}: {run.problem}", markup=False)
    if judgement.counts_differ:
        counts = ", ".join(f"{engine} {states:,}" for engine, states in judgement.counts.items())
        say(f"  the engines differ about the number of states: {counts}", markup=False)
    for claim in judgement.disputed:
        answers = ", ".join(f"{run.engine}: {run.properties[claim]}" for run in judgement.complete)
        say(f"  the engines differ about {claim}: {answers}", markup=False)
    for claim in judgement.missing:
        say(f"  {claim}: expected to be violated, and is not; or there is no such property", markup=False)
    by_id = {claim.id: claim for claim in judgement.model.properties}
    for name in sorted(judgement.violated & judgement.expected):
        say(
            f"  {name} is violated as expected; why, and where its run is shown: groupspec explain {name}", markup=False
        )
    for name in judgement.new:
        say(f"  {name} is violated: {by_id[name].statement}", markup=False)
        for line in _path(judgement, name, traces):
            say(f"    {line}", markup=False)
    never = sorted({action for run in judgement.complete for action in run.missing_actions})
    if never:
        remarks().print(f"  {judgement.model.name}: never possible: {', '.join(never)}", markup=False)


def _path(judgement: Judgement, name: str, traces: dict[str, Trace]) -> list[str]:
    if name in traces:
        return str(traces[name]).splitlines()[1:]
    for run in judgement.runs:
        if name in run.traces:
            return [f"{run.engine}: {' -> '.join(run.traces[name])}"]
    return ["no state of that kind was found" if judgement.complete else "`--engine python` gives a shortest path"]


def _data(judged: list[Judgement]) -> dict[str, object]:
    return {
        "runs": [_run_data(judgement, run) for judgement in judged for run in judgement.runs],
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
                "absent_engines": [run.engine for run in judgement.runs if run.outcome == "absent"],
            }
            for judgement in judged
        ],
    }


def _run_data(judgement: Judgement, run: EngineRun) -> dict[str, object]:
    scope = judgement.model.scope
    return {
        "engine": run.engine,
        "version": run.version,
        "model": run.model,
        "rebalance": scope.rebalance if scope.rebalance in REBALANCES else None,
        "profile": scope.profile or None,
        "members": judgement.model.sizes["members"],
        "partitions": judgement.model.sizes["partitions"],
        "outcome": run.outcome,
        "problem": run.problem,
        "states": run.states,
        "edges": run.edges,
        "depth": run.depth,
        "seconds": run.seconds,
        "properties": [
            {
                "id": claim.id,
                "kind": claim.kind,
                "answer": run.properties.get(claim.id, "not decided"),
                "expected": "violated" if claim.id in judgement.expected else "holds",
                "trace": list(run.traces.get(claim.id, ())),
            }
            for claim in judgement.model.properties
        ],
    }
