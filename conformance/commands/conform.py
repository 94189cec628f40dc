"""`groupspec conform`: judges Kafka clients over TCP, rule by rule, against a scripted broker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
from rich.table import Table

from groupspec.conformance import missing
from groupspec.conformance.api import judge
from groupspec.conformance.commands._common import Known, Steps, json_option, results, say, write_json
from groupspec.conformance.errors import EXIT_INCONCLUSIVE, EXIT_OK, UsageProblem
from groupspec.conformance.outputs import writable_folder, write_text
from groupspec.conformance.wire.answers.rows import left_out
from groupspec.conformance.wire.campaign import Campaign, as_json, judged_again
from groupspec.conformance.wire.case import PLAIN_NAME
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.client_builds import BUILDS
from groupspec.conformance.wire.clients import BUILT_IN, IN_PYTHON
from groupspec.conformance.wire.console import show
from groupspec.conformance.wire.junit import junit_xml
from groupspec.conformance.wire.protocol import FEATURES
from groupspec.conformance.wire.recording import RECORDINGS, judge_recording, load, recordings_in
from groupspec.conformance.wire.scenarios import FULL, PROFILES, QUICK, SCENARIOS, all_cases, find_cases, scenarios
from groupspec.conformance.wire.verdicts import rule_named
from groupspec.spec.rules import RULES


@click.command("conform")
@click.argument("clients", nargs=-1, metavar="CLIENT...", type=Known("client", BUILT_IN, refused=False))
@click.option(
    "--scenario",
    "chosen",
    multiple=True,
    metavar="ID",
    type=Known("scenario", lambda: [*scenarios(FULL), *(case.selector for case in all_cases(FULL))], refused=False),
    help="Only this one (all its variants, or ID/VARIANT).",
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
    default=True,
    help="Run a case again in which a rule was broken, until that is certain or flaps.",
)
@click.option("--seed", type=int, default=0, help="Draws the order of the runs.")
@click.option(
    "--report",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write an HTML report there, each run's wire log, sequence diagram and trace, and JUnit XML.",
)
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
    type=Known("rule", lambda: [*RULES, *(rule.name for rule in RULES.values())], refused=False),
    help="A FAIL of this rule (id or name) is told, and does not make the exit code 1.",
)
@click.option("--list", "listing", is_flag=True, help="Show the scenarios and the built-in clients.")
@json_option
def command(
    clients: Sequence[str],
    chosen: Sequence[str],
    profile: str,
    jobs: int | None,
    repeat: int,
    confirm: bool,
    seed: int,
    report: Path | None,
    again: bool,
    allowed: Sequence[str],
    listing: bool,
) -> int:
    """Judge clients against the rules, on the wire.

    CLIENT is a built-in name (see --list), or cmd:COMMAND LINE of a program that speaks the harness protocol
    (conformance/wire/PROTOCOL.md).

    Examples: groupspec conform reference kafka-python --scenario first-join --report out/

    groupspec conform --judge out/kafka-python
    """
    if listing:
        _list()
        return EXIT_OK
    if again and not clients:
        raise UsageProblem("no recorded run to judge", allowed=RECORDINGS, next_step="`groupspec conform --judge DIR`")
    if not clients:
        raise UsageProblem(
            "no client to judge",
            allowed=[*BUILT_IN, "cmd:COMMAND LINE"],
            next_step="for example `groupspec conform reference`, or `groupspec conform --list`",
        )
    may_break = frozenset(map(rule_named, allowed))
    if again:
        campaign = _judge_again(clients, report)
    else:
        with Steps("judging", len(set(clients)) * len(find_cases(chosen, profile)) * repeat) as steps:

            def finished(_: CaseResult, more: int) -> None:
                steps.more(more)
                steps.done()

            campaign = judge(
                clients,
                chosen,
                profile=profile,
                jobs=jobs,
                repeat=repeat,
                confirm=confirm,
                seed=seed,
                report=report,
                finished=finished,
            )
    campaign = replace(campaign, allowed=may_break)
    result = as_json(campaign)
    write_json("conform", result)
    if report is not None:
        write_text(report / "junit.xml", junit_xml(campaign, report))
        write_json("conform", result, report / "conform.json")
    show(results(), campaign, report)
    if report is not None:
        from groupspec.conformance.reports.html import conform_page

        write_text(report / "report.html", conform_page(report))
        without = "" if missing.has("traces") else " (with the extra traces it says in which state a rule was broken)"
        say(f"report: {report / 'report.html'}{without}")
    if campaign.stopped:
        return EXIT_INCONCLUSIVE
    return campaign.exit_code()


def _judge_again(names: Sequence[str], report: Path | None) -> Campaign:
    """Recorded runs, by the rules as they are now."""
    files = recordings_in([Path(name) for name in names])
    if report is not None:
        writable_folder(report)
    return judged_again((judge_recording(load(file), file) for file in files), report)


def _list() -> None:
    console = results()
    written = Table(
        title="Scenarios",
        title_justify="left",
        caption="* judged in some of the variants: `groupspec explain SCENARIO/VARIANT` shows the rules of one",
        caption_justify="left",
    )
    for name in ("scenario", "variants", "about", "rules"):
        written.add_column(name, overflow="fold", no_wrap=name == "scenario")  # an id is never cut: it is to be copied
    for each in SCENARIOS.values():
        variants = ", ".join(variant.name or PLAIN_NAME for variant in each.variants)
        in_some = {rule for variant in each.variants for rule in variant.not_judged.split()}
        judged = " ".join(f"{rule}*" if rule in in_some else rule for rule in each.rules)
        written.add_row(each.id, variants, each.title, judged)
    console.print(written)
    console.print(_generated())
    clients = Table("client", "harness", title="Built-in clients", title_justify="left")
    for client in IN_PYTHON.values():
        clients.add_row(client.name, " ".join(("python", *client.command[1:])))
    for build in BUILDS.values():
        clients.add_row(build.name, f"groupspec clients install {build.name}: by {build.needs}")
    clients.add_row("cmd:COMMAND LINE", "any program that speaks conformance/wire/PROTOCOL.md")
    console.print(clients)
    result = {
        "scenarios": [
            {
                "id": each.id,
                "title": each.title,
                "source": each.source,
                "rebalance": each.rebalance,
                "needs": sorted(each.needs),
                "rules": list(each.rules),
                "variants": [{"name": variant.name, "poll_ms": variant.poll_ms} for variant in each.variants],
            }
            for each in scenarios(FULL).values()
        ],
        "left_out": dict(Counter(why for _, why in left_out())),
        "clients": [*BUILT_IN],
        "features": dict(FEATURES),
    }
    write_json("conform-list", result)


def _generated() -> Table:
    """What `--profile full` adds: a line for each scenario, not for each of its variants."""
    table = Table(
        title="Generated scenarios (--profile full)",
        title_justify="left",
        caption="a variant is POINT-ANSWER: `--scenario heartbeat-eager/stable-unknown-member-id`; "
        f"{len(left_out())} more cannot be (--json FILE has the reasons)",
        caption_justify="left",
    )
    for name in ("scenario", "variants", "about"):
        table.add_column(name, overflow="fold", no_wrap=name == "scenario")
    for each in scenarios(FULL).values():
        if each.id not in SCENARIOS:
            table.add_row(each.id, str(len(each.variants)), each.title)
    return table
