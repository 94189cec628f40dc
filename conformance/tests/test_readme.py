"""README and the guides say what is so: figures are the committed ones, counts are counted, commands exist."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from itertools import pairwise

import click
import pytest

from groupspec.conformance import cli
from groupspec.conformance.book import guides
from groupspec.conformance.book.page import CHAPTERS
from groupspec.conformance.commands._verify_models import fitting
from groupspec.conformance.glossary import TERMS
from groupspec.conformance.scores import files
from groupspec.conformance.scores.mutants import OPERATORS, SpecMutant
from groupspec.conformance.scores.subjects import subjects
from groupspec.conformance.tests.repository import ROOT, project_files
from groupspec.conformance.wire.scenarios import SCENARIOS
from groupspec.impl.network.versions import API_KEYS, API_VERSIONS
from groupspec.spec import composition
from groupspec.spec.compiler.tables import tables
from groupspec.spec.explorer import explore
from groupspec.spec.rules import RULES

README = (ROOT / "README.md").read_text(encoding="utf-8")
FEASIBLE = ROOT / "conformance" / "generated" / "feasible"
RESULTS = ROOT / "conformance" / "benchmarks" / "results.json"
TEXTS = [README, *(file.read_text(encoding="utf-8") for file in guides.FILES)]
COMMANDS = [line for text in TEXTS for line in re.findall(r"(?m)^    groupspec ([^#\n]+)", text)]


def test_the_figures_are_those_of_the_committed_results() -> None:
    """To change one: measure it, write it with its date into results.json, and copy the row."""
    committed = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert all(each["date"] and each["machine"] for each in committed)
    rows = [f"| {each['what']} | {each['figure']} | `{each['command']}` |" for each in committed]
    measured = README.partition("## Measured")[2]
    assert [line for line in measured.splitlines() if line.startswith("| ") and "| command |" not in line] == rows


def test_a_page_of_the_book_that_a_text_names_has_that_title() -> None:
    named = {title for text in TEXTS for title in re.findall(r"page \*([^*]+)\*", " ".join(text.split()))}
    assert "Timeouts" in named
    assert named <= {chapter.title for chapter in CHAPTERS}


def test_the_counts_are_counted() -> None:
    on_the_wire = {rule for scenario in SCENARIOS.values() for rule in scenario.rules}
    assert f"with {len(RULES)} rules" in README.replace("\n", " ")
    assert f"each of the {len(on_the_wire)} rules that a run on the wire can break" in README


def test_the_figures_of_what_is_driven_are_those_of_the_lists_of_what_is_feasible() -> None:
    feasible = [json.loads(file.read_text(encoding="utf-8")) for file in FEASIBLE.glob("*.json")]
    transitions, pairs = (sum(len(each[f"feasible_{what}"]) for each in feasible) for what in ("transitions", "pairs"))
    assert f"core, background driver | {transitions:,} of {transitions:,}, each |" in README
    assert f"core | {pairs:,} of {pairs:,} in" in README


def test_harnesses_have_as_many_lines_as_is_said() -> None:
    """What they share, and those to copy from."""
    folder = ROOT / "conformance" / "wire" / "harnesses"
    derived = "reference_heartbeat_client.py"  # from another harness, in a few lines
    shared = {"protocol.go", "run.go", "protocol.js", "base.py", "Protocol.java", "protocol.rs"}
    lengths = {
        file: len(file.read_text(encoding="utf-8").splitlines()) for file in folder.rglob("*.*") if file.is_file()
    }
    told = []
    for suffix in (".java", ".go", ".rs", ".js", ".py"):
        files = {file: n for file, n in lengths.items() if file.suffix == suffix and n > 1 and file.name != derived}
        base = sum(n for file, n in files.items() if file.name in shared)
        harnesses = [n for file, n in files.items() if file.name not in shared]
        told.append((base, min(harnesses), max(harnesses)))
    protocol = (folder.parent / "PROTOCOL.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| \w+ \| (?:`[^|]*` )?\| (?:(\d+) )?\| [^|]* \| (\d+)(?: to (\d+))? \|$", protocol)
    assert [(int(base or 0), int(least), int(most or least)) for base, least, most in rows] == told
    assert "60 to 290 lines each" in README
    assert min(least for _, least, _ in told) >= 60
    assert max(most for _, _, most in told) <= 290


def test_what_the_kit_s_broker_speaks_and_does_not_play_is_said() -> None:
    text = (ROOT / "conformance" / "wire" / "PROTOCOL.md").read_text(encoding="utf-8")
    said = re.findall(r"(?m)^\| (\w+) \| (\d+) \| (\d+ to \d+) \|$", text)
    assert said == [(api, str(API_KEYS[api]), str(served)) for api, served in API_VERSIONS.items()]
    assert '* rules with "-" under *wire*' in text


def test_an_environment_is_activated_once_and_then_commands_are_called_by_their_names() -> None:
    for file in (file for file in project_files() if file.suffix == ".md"):
        spelt = re.findall(r"\S*bin/(?:groupspec|pip|pytest|python)\b.*", file.read_text(encoding="utf-8"))
        assert not spelt, f"{file.relative_to(ROOT)}: {spelt}: write the command alone"
    for text in TEXTS:
        before = text.partition("\n    groupspec ")[0]
        assert re.search(r"(?m)^    (.* )?\. \.?v\w*/bin/activate\b", before)
    assert ". .venv/bin/activate" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


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


def test_the_slip_that_the_guide_suggests_is_noticed_as_it_says() -> None:
    guide = next(file for file in guides.FILES if file.stem == "formal-methods").read_text(encoding="utf-8")
    (subject,) = (each for each in subjects() if each.name == "open-member-eager-deployed")
    table = tables()["rebalance", "eager", "deployed"]
    rows = tuple(
        replace(row, target="STABLE") if row.id == "PREPARE_REVOCATION.commit_deadline_expired.1" else row
        for row in table.rows
    )
    assert rows != table.rows
    slip = SpecMutant(
        "slip", "rebalance", "", (), ("commit_deadline_expired",), "", replace(table, rows=rows, places={})
    )
    changed = subject.variant(slip)
    assert changed is not None
    noticed = set(explore(changed).violations)
    assert noticed == {"callbacks-alternate", "commit-ends-once", "announced-is-pursued"}
    assert all(f"`{name}`" in guide for name in noticed)
    (command,) = re.findall(r"(?m)^    groupspec (verify --rebalance eager .*)", guide)
    assert command == "verify --rebalance eager --profile deployed"
    assert subject.name in [maker.name for maker in fitting(None, None, "eager", "deployed", 2)]


def test_what_has_no_score_is_said() -> None:
    data = files.committed()
    assert data is not None
    scored = {name for row in data["mutants"] for name in row["by"]}
    claimed = {claim.id: claim.kind for maker in composition.models().values() for claim in maker.properties}
    assert not scored & {"one-owner", "can-settle", *(name for name, kind in claimed.items() if kind == "leads_to")}
    for text in (text for text in TEXTS if "verify --scores" in text and text != README):
        said = " ".join(text.split())
        assert "composed models only (`one-owner`, `can-settle`" in said
        assert "liveness" in said


def test_the_fairness_that_is_assumed_is_listed() -> None:
    """Fair are messages, timers, a listener that returns, the application that polls, and the choice of a leader."""
    of_groups = {
        name
        for name, maker in composition.models().items()
        if name.startswith("base-") and any(claim.kind == "leads_to" for claim in maker.properties)
    }
    assert of_groups == {"base-faults-stop-eager-deployed-2", "base-faults-stop-cooperative-deployed-2"}
    others = {"polls", "revoked_callback_runs", "assigned_callback_ends", "leader_chosen"}
    for name in of_groups:
        fair = {action.name: action for action in composition.models()[name]().actions if action.fair}
        assert {action.fair for action in fair.values()} == {"weak"}
        assert {name for name, action in fair.items() if action.kind not in ("message", "timer")} == others
    guide = next(file for file in guides.FILES if file.stem == "formal-methods").read_text(encoding="utf-8")
    text = " ".join(guide.split())
    for condition in (
        "messages arrive",
        "timers run out",
        "listeners return",
        "the application polls for ever",
        "a new leader is chosen",
    ):
        assert condition in text
    for name, maker in composition.models().items():
        if any(claim.kind == "leads_to" for claim in maker.properties):
            assert f"`{name}`" in text


def test_what_the_scores_change_is_said() -> None:
    assert len(OPERATORS) == 7
    assert "every row that does something, by seven operators" in " ".join(" ".join(TEXTS).split())
    assert all(operator in TERMS["score"].means for operator in OPERATORS)


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
