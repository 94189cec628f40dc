"""`groupspec verify`: explore every state of the models, and hold three engines against each other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from groupspec.conformance.commands._common import Known, Steps, json_option, remark, say, write_json
from groupspec.conformance.commands._machines import scope_options
from groupspec.conformance.commands._verify_models import ModelNames, fitting, list_models
from groupspec.conformance.commands._verify_mutants import verify_mutation, verify_scores
from groupspec.conformance.commands._verify_text import SIGNS, as_json, lines, never_possible
from groupspec.conformance.commands._verify_wire import verify_wire_mutation
from groupspec.conformance.engines import ENGINES, EngineRun, counts, run_engine
from groupspec.conformance.engines.explorer import ENGINE as EXPLORER
from groupspec.conformance.engines.explorer import run_explorer
from groupspec.conformance.engines.judge import Judgement
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE, EXIT_OK, UsageProblem
from groupspec.conformance.generate import MODELS, ROOT
from groupspec.spec import composition
from groupspec.spec.compiler import check as check_table
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.tables import whole_tables
from groupspec.spec.explorer import Limits, Trace

EXITS = {"failed": EXIT_CONFORMANCE_FAILURE, "inconclusive": EXIT_INCONCLUSIVE, "ok": EXIT_OK}
"""Worst first."""
MEMBERS_BY_DEFAULT = 2
"""Without --model and --members: models with at most so many members, which take minutes all together."""

LEAST_MEMORY = 64 << 20
"""Bytes. Less SPIN's program cannot be told, and what the explorer begins with is not measured by the limit."""

_GOES_WITH = {
    "--scores": ("--json",),
    "--mutation": ("--json",),
    "--wire-mutation": ("--json", "--resume"),
    "--held": ("--json",),
    "--list": ("--model", "--members", "--rebalance", "--profile"),
}
"""Options that do something else than exploring, and the options that they look at."""

_EITHER = ", ".join(ENGINES)
_SOUND: set[str] = set()
"""Hashes of tables that have been looked at: looking at all takes seconds."""
_SIZES = "a number of bytes, or of KiB, MiB, GiB or TiB (K and KB mean KiB, and so on)"
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)


def _size(context: click.Context, parameter: click.Parameter, value: str) -> int:
    """A number of bytes as one writes it: 500000000, 512MiB, 6G.

    Raises:
        UsageProblem: it is none, or less than an engine can keep to.
    """
    match, where = _SIZE.fullmatch(value.strip()), f"{parameter.opts[0]} {value}"
    if not match:
        raise UsageProblem("this is no size", where, _SIZES, "write 6GiB, for example")
    size = int(float(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " "))
    if size < LEAST_MEMORY:
        raise UsageProblem("no engine can keep to so little", where, f"{LEAST_MEMORY >> 20}MiB or more", "allow more")
    return size


class _Engine(Known):
    """The name of an engine; the explorer was called `python` before."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name that it has now."""
        return super().convert(EXPLORER if value == "python" else value, param, ctx)


@click.command("verify")
@click.option(
    "--model", metavar="M", type=ModelNames(), help="Only this one, or those that match, as 'open-*'; see --list."
)
@click.option("--members", type=click.IntRange(1), metavar="N", help="Only models of so many members; else up to 2.")
@scope_options
@click.option(
    "--engine", metavar="E", type=_Engine("engine", (*ENGINES, "all")), default=EXPLORER, help=f"{_EITHER} or all."
)
@click.option("--max-states", type=click.IntRange(1), metavar="N", help="Stop the explorer at so many states.")
@click.option("--max-seconds", type=click.FloatRange(0), metavar="S", help="Stop each run of an engine after so long.")
@click.option(
    "--max-memory", callback=_size, default="6GiB", metavar="B", help="Stop each run at so much; 64MiB or more."
)
@click.option("--fold", is_flag=True, help="Count states that differ by a renaming of members once.")
@click.option("--mutation", is_flag=True, help="Instead: which test notices that a rule is broken, for every rule.")
@click.option("--wire-mutation", is_flag=True, help="Instead: which case of the wire kit finds which mutant.")
@click.option(
    "--resume",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --wire-mutation: keep each run in FILE, and go on with what it has.",
)
@click.option("--held", is_flag=True, hidden=True)
@click.option("--safety", is_flag=True, help="Leave liveness out of what TLC checks; no effect on other engines.")
@click.option("--scores", is_flag=True, help="Instead: which property notices that a row is changed, for every row.")
@click.option("--record", is_flag=True, help="Put the explorer's counts into the committed table of models.")
@click.option("--list", "listing", is_flag=True, help="Show the models that there are, or those that are asked for.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    model: str | None,
    members: int | None,
    rebalance: str | None,
    profile: str | None,
    engine: str,
    max_states: int | None,
    max_seconds: float | None,
    max_memory: int,
    fold: bool,
    mutation: bool,
    wire_mutation: bool,
    resume: Path | None,
    held: bool,
    safety: bool,
    scores: bool,
    record: bool,
    listing: bool,
) -> int:
    """Visit every state of the models, and check what is claimed of them.

    `explorer` is this project's own. TLC and SPIN are given the same models, and must find the same number of
    distinct states. An engine that is missing is named, and leaves the result inconclusive.

    With --mutation it breaks each rule on purpose, in the implementation or in a row, and says which test notices.
    With --scores it changes each row of the specification, and says which property notices. With --wire-mutation it
    runs the cases of the wire kit against each mutant of the reference, in virtual time: hours, with --resume in parts.

    Without options: every model of at most two members, by the explorer, in a minute or two.

    Example: groupspec verify --model base-eager-deployed-2 --engine all --safety

    Exit code 1 if a property is violated that is not expected to be, or the engines disagree; 4 if not every engine
    got through. What no engine was asked about is named; OK does not cover it.
    """
    _require_consistent(context)
    if resume is not None and not wire_mutation:
        raise UsageProblem("--resume is for --wire-mutation only", where=f"--resume {resume}", next_step="leave it out")
    if wire_mutation:
        code, data = verify_wire_mutation(resume)
        write_json("verify", {"runs": [], "models": [], "wire_mutation": data})
        return code
    if mutation or held or scores:
        code, data = verify_scores() if scores else verify_mutation()
        write_json("verify", {"runs": [], "models": [], ("scores" if scores else "mutation"): data})
        return code
    if listing:
        list_models(fitting(model, members, rebalance, profile))
        return EXIT_OK
    engines = ENGINES if engine == "all" else (engine,)
    for option, value in (("--fold", fold), ("--max-states", max_states), ("--record", record)):
        if value and engines != (EXPLORER,):
            where = f"--engine {' '.join(engines)}"
            raise UsageProblem(f"{option} is the explorer's only", where, f"--engine {EXPLORER}", f"leave {option} out")
    if safety and "tlc" not in engines:
        remark("--safety has no effect without --engine tlc or all: it leaves liveness out of what TLC checks")
    _require_sound_tables()
    most = MEMBERS_BY_DEFAULT if members is None and model is None else None
    chosen = [maker() for maker in fitting(model, members, rebalance, profile, most)]
    limits = Limits(max_states, max_seconds, max_memory)
    judged = _judged(chosen, engines, limits, fold, safety, record)
    write_json("verify", as_json(judged))
    return _end(judged)


def _require_consistent(context: click.Context) -> None:
    """Refuses options that `--scores`, `--mutation` or `--list` would not look at.

    Raises:
        UsageProblem: there are such.
    """
    typed = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
    for option in (option for option in typed if option in _GOES_WITH):
        others = [other for other in typed if other not in (option, *_GOES_WITH[option])]
        if others:
            where, advice = " ".join((option, *others)), f"leave {' and '.join(others)} out"
            allowed = f"{option} with {', '.join(_GOES_WITH[option])}"
            raise UsageProblem(f"{option} does not look at {' and '.join(others)}", where, allowed, advice)


def _judged(
    models: Sequence[Model], engines: Sequence[str], limits: Limits, fold: bool, safety: bool, record: bool
) -> list[Judgement]:
    """Each model by each engine; told as soon as it is judged."""
    judged: list[Judgement] = []
    with Steps("verifying", total=len(models) * len(engines)) as steps:
        for each in models:
            runs: list[EngineRun] = []
            traces: dict[str, Trace] = {}
            for name in engines:
                steps.now(f"{each.name}: {name}")
                run, found = _run(name, each, limits, fold, safety, steps)
                runs.append(run)
                if record and name == EXPLORER:
                    counts.record(ROOT / MODELS, each, run, fold)
                traces |= found
                steps.done()
            judged.append(Judgement(each, runs, composition.expected_violations(each.name)))
            say(*lines(judged[-1], traces))
            if never := never_possible(judged[-1]):
                remark(f"  {each.name}: never possible: {', '.join(never)}")
    return judged


def _require_sound_tables() -> None:
    """Models are made of the tables: of one that leaves something open they would say nothing.

    Raises:
        SpecError: a table has an overlap, a gap, or a state that cannot be reached.
    """
    for table in whole_tables().values():
        if table.hash not in _SOUND:
            check_table(table)
            _SOUND.add(table.hash)


def _run(
    engine: str, model: Model, limits: Limits, fold: bool, safety: bool, steps: Steps
) -> tuple[EngineRun, dict[str, Trace]]:
    if engine == EXPLORER:
        run, found = run_explorer(model, limits, fold, lambda where: steps.now(str(where)))
        return run, dict(found.violations)
    # What an engine says is longer than a terminal is wide.
    return run_engine(
        engine, model, limits, not safety, lambda said: steps.now(f"{model.name}: {engine}: {said[:60]}")
    ), {}


def _end(judged: Sequence[Judgement]) -> int:
    verdicts = [judgement.verdict for judgement in judged]
    counted = ", ".join(f"{verdicts.count(verdict)} {sign}" for verdict, sign in SIGNS.items() if verdict in verdicts)
    states = sum(max((run.states for run in judgement.runs), default=0) for judgement in judged)
    left = sum(len(judgement.unchecked) for judgement in judged if judgement.verdict == "ok")
    left_out = f"; properties left out: {left} (OK does not cover them)" if left else ""
    say(f"{len(judged)} models, {states:,} states: {counted}{left_out}")
    return next(code for verdict, code in EXITS.items() if verdict in verdicts)
