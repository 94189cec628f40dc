"""`groupspec harness`: judges a harness itself, before any client is judged by it."""

from __future__ import annotations

import click

from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.commands._common import Known, Steps, json_option, results, say, write_json
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE, EXIT_OK, UsageProblem
from groupspec.conformance.terminal import Styled
from groupspec.conformance.wire.clients import BUILT_IN, find_client
from groupspec.conformance.wire.console import STYLES
from groupspec.conformance.wire.harness_check import Checked, check_harness

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
    """Try every part of the harness protocol, in six short runs (stories) against a scripted broker.

    CLIENT is a built-in name, or cmd:COMMAND LINE of a program that speaks the harness protocol. It takes ten to
    fifteen seconds; longer where the harness does not do what is waited for.

    Example: groupspec harness check cmd:'java -jar target/harness.jar' --json harness.json

    Exit code 0 when every check passes, 1 when one fails, 2 when there is no such client, 4 when something is still to
    be filled in, the client sent what the broker does not serve, or the machine stood still.
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
    say(f"{checked.client.name}: {checked.name} {checked.version}".rstrip(": "))
    told = [each for each in checked.results if each.verdict is Verdict.FAIL or each.found != (checked.stopped,)]
    if skipped := len(checked.results) - len(told):
        outcome = next(each.verdict for each in checked.results if each not in told)
        text = f"{outcome.value:<13}{checked.stopped}: the other {skipped} checks judge nothing"
        results().line(Styled(text, STYLES[outcome]))
    for result in told:
        verdict = Styled(f"{result.verdict.value:<13}", STYLES[result.verdict])
        results().line(verdict, f"{result.check.id:<16}{result.check.about}")
        found = "since:" if result.verdict is Verdict.UNSUPPORTED else "found:"
        say(*(f"{'':<13}{found:<8}{line}" for line in result.found))
        if result.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE):
            section = f"PROTOCOL.md, {result.check.section}"
            say(f"{'':<13}{'see:':<8}{section}", f"{'':<13}{'next:':<8}{result.check.advice}")
    if checked.to_fill_in:
        say("still to be filled in:", *(f"  {each}" for each in checked.to_fill_in))
        say("  next:    fill them in, from the top, build, and check again")
    if checked.stderr and checked.count(Verdict.FAIL):
        say("the end of its stderr:", *(f"  {line}" for line in checked.stderr.splitlines()[-10:]))
    say(", ".join(f"{n} {outcome.value}" for outcome in Verdict if (n := checked.count(outcome))))


def _as_json(checked: Checked) -> dict[str, object]:
    return {
        "client": checked.client.name,
        "name": checked.name,
        "version": checked.version,
        "features": list(checked.features),
        "to_fill_in": list(checked.to_fill_in),
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
