"""`groupspec harness`: judges a harness itself, before any client is judged by it."""

from __future__ import annotations

import click

from groupspec.conformance.commands._common import Known, Steps, json_option, results, write_json
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE, EXIT_OK, UsageProblem
from groupspec.conformance.wire.clients import BUILT_IN, find_client
from groupspec.conformance.wire.console import STYLES
from groupspec.conformance.wire.harness_check import NOT_STARTED, Checked, check_harness
from groupspec.conformance.wire.verdicts import Verdict

STORIES_TOLD = 6


@click.group("harness")
def command() -> None:
    """Judge the harness of a client: does it speak the protocol of conformance/wire/PROTOCOL.md?

    Example: groupspec harness check cmd:'python3 my_harness.py'
    """


@command.command("check")
@click.argument("client", metavar="CLIENT", type=Known("client", BUILT_IN, refused=False))
@json_option
def check(client: str) -> int:
    """Try every part of the harness protocol, in some short stories against a scripted broker.

    CLIENT is a built-in name, or cmd:COMMAND LINE of a program that speaks the harness protocol. It takes about ten
    seconds.

    Example: groupspec harness check cmd:'java -jar target/harness.jar' --json harness.json

    Exit code 0 when every check passes, 1 when one fails, 2 when there is no such client, 4 when the machine stood
    still.
    """
    found = find_client(client)
    with Steps("trying the harness", STORIES_TOLD) as steps:
        try:
            checked = check_harness(found, lambda _: steps.done())
        except OSError as problem:
            raise UsageProblem(
                f"the harness or the scripted broker cannot be started: {problem}",
                where=client,
                allowed=[*BUILT_IN, "cmd:COMMAND LINE"],
                next_step="`groupspec doctor` says whether this machine allows a server on loopback",
            ) from problem
    _show(checked)
    write_json("harness-check", _as_json(checked))
    if checked.count(Verdict.FAIL):
        return EXIT_CONFORMANCE_FAILURE
    return EXIT_INCONCLUSIVE if checked.count(Verdict.INCONCLUSIVE) else EXIT_OK


def _show(checked: Checked) -> None:
    console = results()
    console.print(f"{checked.client.name}: {checked.name} {checked.version}".rstrip(": "), markup=False)
    for result in checked.results:
        outcome = result.verdict
        if result.found == (NOT_STARTED,):
            continue
        console.print(f"[{STYLES[outcome]}]{outcome.value:<13}[/]{result.check.id:<16}{result.check.about}")
        for line in result.found:
            console.print(
                f"{'':<13}{'found:' if outcome is not Verdict.UNSUPPORTED else 'since:':<8}{line}", markup=False
            )
        if outcome in (Verdict.FAIL, Verdict.INCONCLUSIVE):
            console.print(f"{'':<13}{'see:':<8}PROTOCOL.md, {result.check.section}", markup=False)
            console.print(f"{'':<13}{'next:':<8}{result.check.advice}", markup=False)
    if skipped := sum(result.found == (NOT_STARTED,) for result in checked.results):
        outcome = Verdict.INCONCLUSIVE
        text = f"{outcome.value:<13}{NOT_STARTED}: the other {skipped} checks judge nothing"
        console.print(text, style=STYLES[outcome], markup=False)
    if checked.stderr and checked.count(Verdict.FAIL):
        console.print("the end of its stderr:", markup=False)
        for line in checked.stderr.splitlines()[-10:]:
            console.print(f"  {line}", markup=False)
    counts = ", ".join(f"{n} {outcome.value}" for outcome in Verdict if (n := checked.count(outcome)))
    console.print(counts)


def _as_json(checked: Checked) -> dict[str, object]:
    return {
        "client": checked.client.name,
        "name": checked.name,
        "version": checked.version,
        "features": list(checked.features),
        "checks": [
            {
                "id": result.check.id,
                "about": result.check.about,
                "outcome": result.verdict.value,
                "found": list(result.found),
                "section": result.check.section,
                "advice": result.check.advice,
            }
            for result in checked.results
        ],
    }
