"""README and the guides say what is so: figures are the committed ones, counts are counted, commands exist."""

from __future__ import annotations

import json
import re
import shlex
from itertools import pairwise

import click
import pytest

from groupspec.conformance import cli
from groupspec.conformance.book import guides
from groupspec.conformance.tests.repository import ROOT
from groupspec.conformance.wire import scenarios as _registered  # noqa: F401  # registers them
from groupspec.conformance.wire.scenario import SCENARIOS
from groupspec.spec import composition
from groupspec.spec.rules import RULES

README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = ROOT / "conformance" / "benchmarks" / "results.json"
TEXTS = [README, *(file.read_text(encoding="utf-8") for file in guides.FILES)]
COMMANDS = [line for text in TEXTS for line in re.findall(r"(?m)^    (?:\$ )?groupspec ([^#\n]+)", text)]


def test_the_figures_are_those_of_the_committed_results() -> None:
    """To change one: measure it, write it with its date into results.json, and copy the row."""
    committed = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert all(each["date"] and each["machine"] for each in committed)
    rows = [f"| {each['what']} | {each['figure']} | `{each['command']}` |" for each in committed]
    measured = README.partition("## Measured")[2]
    assert [line for line in measured.splitlines() if line.startswith("| ") and "| command |" not in line] == rows


def test_the_counts_are_counted() -> None:
    on_the_wire = {rule for scenario in SCENARIOS.values() for rule in scenario.rules}
    assert f"with {len(RULES)} rules" in README.replace("\n", " ")
    assert f"each of the {len(on_the_wire)} rules that a run on the wire can break" in README


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_line_can_be_parsed(line: str) -> None:
    words = shlex.split(line)
    context = click.Context(cli.cli)
    command: click.Command = cli.cli
    while isinstance(command, click.Group):
        name = words.pop(0)
        found = command.get_command(context, name)
        assert found is not None, name
        command = found
    command.make_context(name, words, resilient_parsing=True)
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    words = words[: words.index("2>/dev/null")] if "2>/dev/null" in words else words
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known
    for option, model in pairwise(words):
        assert option != "--model" or model in composition.models()


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
