"""`groupspec conform`: judges Kafka clients over TCP, rule by rule, against a scripted broker."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
from msgspec import convert

from groupspec.conformance import missing
from groupspec.conformance.api import judge
from groupspec.conformance.checks.verdicts import rule_named
from groupspec.conformance.commands._common import (
    STDOUT,
    Known,
    Steps,
    json_file,
    json_option,
    remark,
    results,
    say,
    write_json,
)
from groupspec.conformance.commands._comparison import lines
from groupspec.conformance.commands._conform_list import show_list
from groupspec.conformance.commands._conform_progress import Watched
from groupspec.conformance.commands._conform_record import Live, record, record_options
from groupspec.conformance.errors import EXIT_INCONCLUSIVE, EXIT_OK, UsageProblem
from groupspec.conformance.outputs import claimed, require_writable, write_text
from groupspec.conformance.reports.badge import write_badges
from groupspec.conformance.reports.comparison import Comparison, compare
from groupspec.conformance.reports.github import workflow_commands
from groupspec.conformance.reports.inputs import Conform, read
from groupspec.conformance.reports.reproduction_page import write_readmes
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import BUILT_IN
from groupspec.conformance.wire.console import show
from groupspec.conformance.wire.gathering import judged_again
from groupspec.conformance.wire.junit import junit_xml
from groupspec.conformance.wire.recording import RECORDINGS, judge_recording, load, recordings_in
from groupspec.conformance.wire.results import Campaign
from groupspec.conformance.wire.results_json import as_json
from groupspec.conformance.wire.rule_choice import chosen_rules
from groupspec.conformance.wire.scenarios import FULL, PROFILES, QUICK, all_cases, scenarios
from groupspec.spec.rules import RULES

_FILE = click.Path(path_type=Path, dir_okay=False)


def _tried(_: click.Context, __: click.Parameter, file: Path | None) -> Path | None:
    """Finds out before the work whether the file can be written."""
    if file is not None:
        require_writable(file)
    return file


def _rule_names() -> list[str]:
    return [*RULES, *(rule.name for rule in RULES.values())]


@click.command("conform")
@click.argument("clients", nargs=-1, metavar="CLIENT...", type=Known("client", BUILT_IN, refused=False))
@click.option(
    "--scenario",
    "chosen",
    multiple=True,
    metavar="ID",
    type=Known("scenario", lambda: [*scenarios(), *(case.selector for case in all_cases(FULL))], refused=False),
    help="Only these: a scenario with all its variants, or ID/VARIANT; may be repeated.",
)
@click.option(
    "--profile",
    type=click.Choice([*PROFILES]),
    default=QUICK,
    show_default=True,
    help="Without --scenario: " + "; ".join(f"{name}: {says}" for name, says in PROFILES.items()) + ".",
)
@click.option("--jobs", type=click.IntRange(1, 64), show_default="3 per core", help="Runs at the same time.")
@click.option("--repeat", type=click.IntRange(1, 1000), default=1, help="Runs of each case.")
@click.option(
    "--confirm/--no-confirm",
    default=None,
    show_default="confirm; with --record: no-confirm",
    help="Run a case again in which a rule was broken, five times in all: that is certain then, or flaps. Of each rule "
    "the quickest cases, until it is certain in five of them (quick: in one), and not what the docket knows to flap. "
    "With --record the two members live again, on the cluster.",
)
@click.option("--seed", type=int, default=0, help="Draws the order of the runs, and the delays of --races.")
@click.option(
    "--races",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="Search for races: N variants of the cases, in which answers are late as the seed draws. A variant's name has "
    "its own seed, and --scenario replays it: first-join/plain~17.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write an HTML report there (DIR/report.html), the result (conform.json), JUnit XML and a badge, and in "
    "DIR/CLIENT/SCENARIO--VARIANT each run's wire log, sequence diagram and trace. One run at a time has the folder.",
)
@click.option(
    "--sarif", type=_FILE, callback=_tried, metavar="FILE", help="With --report: the verdicts as SARIF 2.1.0."
)
@click.option("--github", is_flag=True, help="Print the verdicts as annotations for GitHub Actions, too.")
@click.option(
    "--judge",
    "again",
    is_flag=True,
    help="Judge recorded runs again: CLIENT... are files or folders that --report wrote.",
)
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    metavar="RULE",
    type=Known("rule", _rule_names, refused=False),
    help="A FAIL of this rule (id or name) is told, and does not make the exit code 1.",
)
@click.option(
    "--resume",
    type=_FILE,
    metavar="FILE",
    help="Keep each run in FILE, and go on with a campaign that it has: nothing is run twice.",
)
@click.option(
    "--rule",
    "rule_names",
    multiple=True,
    metavar="RULE",
    type=Known("rule", _rule_names, refused=False),
    help="Judge by this rule (id or name) only, in the cases that give an occasion for it.",
)
@click.option("--must-only", is_flag=True, help="Judge only by rules that every client must keep.")
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The --json of an earlier run: only what is worse than there counts for the exit code.",
)
@record_options
@click.option("--list", "listing", is_flag=True, help="Show the scenarios and the built-in clients.")
@json_option
def command(
    clients: Sequence[str],
    chosen: Sequence[str],
    profile: str,
    jobs: int | None,
    repeat: int,
    confirm: bool | None,
    seed: int,
    races: int | None,
    report: Path | None,
    sarif: Path | None,
    github: bool,
    again: bool,
    allowed: Sequence[str],
    resume: Path | None,
    rule_names: Sequence[str],
    must_only: bool,
    baseline: Path | None,
    listing: bool,
    live: Live | None,
) -> int:
    """Judge clients against the rules, on the wire.

    CLIENT is a built-in name (see --list), or cmd:COMMAND LINE of a program that speaks the harness protocol
    (conformance/wire/PROTOCOL.md).

    Examples: groupspec conform reference kafka-python --scenario first-join --report out/

    groupspec conform --judge out/kafka-python

    groupspec conform aiokafka --record staging-1:9092 --report out/

    groupspec conform --record localhost:9092 --listen 9192 --seconds 120
    """
    if listing:
        show_list()
        return EXIT_OK
    if live is not None and (again or chosen or resume):
        raise UsageProblem(
            "--record scripts nothing, so that it has no scenario, and nothing to judge again or to resume",
            where="--judge" if again else "--scenario" if chosen else "--resume",
            next_step="leave one of the two out",
        )
    if races is not None and (again or live is not None):
        raise UsageProblem(
            "--races draws delays of a scripted broker's answers, and here is none",
            where="--judge" if again else "--record",
            next_step="leave one of the two out",
        )
    if again and not clients:
        raise UsageProblem("no recorded run to judge", allowed=RECORDINGS, next_step="`groupspec conform --judge DIR`")
    if again and resume is not None:
        raise UsageProblem("--judge runs nothing that could be resumed", next_step="leave --resume out")
    if confirm and (again or (live is not None and live.port is not None)):
        raise UsageProblem(
            "only what is run again can be confirmed: "
            + ("--judge runs nothing" if again else "--listen starts no client, and what it saw pass by is gone"),
            where="--confirm",
            allowed="--confirm with clients that are started: scripted, or with --record CLIENT",
            next_step="leave --confirm out"
            + ("" if again else ", and record again: a breach that repeats is none of chance"),
        )
    if sarif is not None and report is None:
        raise UsageProblem(
            "each result of a SARIF file leads to a line of a log, and without --report there is no log: code-scanning "
            "pages would refuse the whole file",
            where="--sarif",
            next_step="add --report DIR, and keep DIR as long as the file",
        )
    if not clients and live is None:
        raise UsageProblem(
            "no client to judge",
            allowed=[*BUILT_IN, "cmd:COMMAND LINE"],
            next_step="for example `groupspec conform reference`, or `groupspec conform --list`",
        )
    may_break = frozenset(map(rule_named, allowed))
    rules = chosen_rules(rule_names, must_only=must_only)
    old = None if baseline is None else read(baseline, Conform)
    if report is not None:
        click.get_current_context().with_resource(claimed(report))
    if again:
        campaign = _judge_again(clients, report, rules)
    elif live is not None:
        campaign = record(clients, live, repeat, report, rules, confirm=bool(confirm))
    else:
        with Steps("judging", 0) as steps:
            watched = Watched(steps, rules - may_break)
            campaign = judge(
                clients,
                chosen,
                profile=profile,
                jobs=jobs,
                repeat=repeat,
                confirm=confirm is not False,
                seed=seed,
                races=races or 0,
                report=report,
                rules=rules,
                resume=resume,
                resumed=watched.resumed,
                finished=watched.finished,
            )
    campaign = replace(campaign, allowed=may_break)
    found = None if old is None else compare(old, convert(as_json(campaign), Conform))
    if found is not None:
        campaign = campaign.against(_no_worse(campaign, found))
    result = as_json(campaign) | {"baseline": None if found is None else found.as_json()}
    write_json("conform", result)
    if report is not None:
        write_text(report / "junit.xml", junit_xml(campaign, report))
        write_json("conform", result, report / "conform.json")
        write_badges(campaign, report)
        write_readmes(report)
    if sarif is not None and report is not None:
        from groupspec.conformance.reports.sarif import sarif_text

        write_text(sarif, sarif_text(campaign, report))
    show(results(), campaign, report)
    if found is not None:
        say(f"against {baseline}:", *lines(found))
    if github:
        results().commands(*workflow_commands(campaign, report))
    if report is not None:
        from groupspec.conformance.reports.html import conform_page

        write_text(report / "report.html", conform_page(report))
        without = "" if missing.has("traces") else " (with the extra traces it says in which state a rule was broken)"
        say(f"report: {report / 'report.html'}{without}")
    kept = json_file() if report is None else report / "conform.json"
    if kept not in (None, STDOUT) and found is None and not campaign.stopped:
        say(f"compare: groupspec compare {shlex.quote(str(kept))} LATER.json tells what another run broke and mended")
    if campaign.stopped:
        return EXIT_INCONCLUSIVE
    return campaign.exit_code()


def _judge_again(names: Sequence[str], report: Path | None, rules: frozenset[str]) -> Campaign:
    """Recorded runs, by the rules as they are now; those that give no occasion for any of these are left out."""
    files = recordings_in([Path(name) for name in names])
    judged = map(_judge_file, files)
    return judged_again((each for each in judged if rules.intersection(each.case.rules)), report, rules)


def _judge_file(file: Path) -> CaseResult:
    recording = load(file)
    if recording.cut_short:
        remark(f"groupspec: {file}: {recording.cut_short}; it is judged as far as it goes")
    return judge_recording(recording, file)


def _no_worse(campaign: Campaign, found: Comparison) -> set[tuple[str, str, str]]:
    """The verdicts that a baseline has no better."""
    every = {(client.client.name, row.case.id, row.rule) for client in campaign.clients for row in client.rows}
    return every - found.worse
