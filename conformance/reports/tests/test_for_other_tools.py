"""What other tools read: SARIF, annotations of GitHub Actions, a badge; each leads to the line of the log."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_to_bytes
from xml.etree import ElementTree

import jsonschema
import pytest

from groupspec.conformance.checks.verdicts import Judgement, Verdict, combine
from groupspec.conformance.cli import main
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_USAGE
from groupspec.conformance.reports.badge import badge
from groupspec.conformance.reports.github import workflow_commands
from groupspec.conformance.reports.sarif import sarif_text
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.gathering import judged_again
from groupspec.conformance.wire.recording import judge_recording, load
from groupspec.conformance.wire.results import Campaign, ClientResult, Row
from groupspec.conformance.wire.scenarios import all_cases, written_cases
from groupspec.spec.rules import RULES

BROKEN = Path(__file__).parents[2] / "wire" / "recorded" / "broken"
RECORDING = BROKEN / "aiokafka-commits-without-identity.ndjson.gz"
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
# What SARIF 2.1.0 (OASIS, sections 3.13 to 3.52) requires of the objects that are written here.
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results", "invocations"],
                "properties": {
                    "tool": {"$ref": "#/$defs/tool"},
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "invocations": {"type": "array", "items": {"required": ["executionSuccessful"]}},
                    "results": {"type": "array", "items": {"$ref": "#/$defs/result"}},
                },
            },
        },
    },
    "$defs": {
        "tool": {
            "required": ["driver"],
            "properties": {
                "driver": {
                    "required": ["name", "rules"],
                    "properties": {
                        "rules": {
                            "uniqueItems": True,
                            "items": {
                                "required": ["id", "shortDescription", "fullDescription", "help"],
                                "properties": {
                                    "shortDescription": TEXT,
                                    "fullDescription": TEXT,
                                    "help": TEXT,
                                    "helpUri": {"type": "string", "format": "uri"},
                                    "defaultConfiguration": {
                                        "properties": {"level": {"enum": ["none", "note", "warning", "error"]}}
                                    },
                                },
                            },
                        }
                    },
                }
            },
        },
        "result": {
            "type": "object",
            "required": ["message", "ruleId", "ruleIndex", "level", "locations", "partialFingerprints"],
            "additionalProperties": False,
            "properties": {
                "message": TEXT,
                "ruleId": {"type": "string"},
                "ruleIndex": {"type": "integer", "minimum": 0},
                "kind": {"const": "fail"},  # with any other, level would have to be "none" (3.27.10)
                "level": {"enum": ["warning", "error"]},
                "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
                "properties": {"type": "object"},
                "suppressions": {"items": {"required": ["kind"], "properties": {"kind": {"const": "external"}}}},
                "locations": {
                    "minItems": 1,
                    "items": {
                        "required": ["physicalLocation"],
                        "properties": {
                            "physicalLocation": {
                                "required": ["artifactLocation", "region"],
                                "properties": {
                                    "artifactLocation": {
                                        "required": ["uri"],
                                        "properties": {"uri": {"type": "string", "pattern": "^[!-~]+$"}},
                                    },
                                    "region": {"properties": {"startLine": {"type": "integer", "minimum": 1}}},
                                },
                            }
                        },
                    },
                },
            },
        },
    },
}


def campaign_of(report: Path | None) -> Campaign:
    return judged_again([judge_recording(load(RECORDING), RECORDING)], report)


def written(campaign: Campaign, report: Path) -> dict[str, Any]:
    """The run of a SARIF document, which is as it has to be."""
    document = json.loads(sarif_text(campaign, report))
    jsonschema.Draft202012Validator(SARIF, format_checker=jsonschema.FormatChecker()).validate(document)
    [run] = document["runs"]
    assert all(run["tool"]["driver"]["rules"][each["ruleIndex"]]["id"] == each["ruleId"] for each in run["results"])
    return dict(run)


def test_each_broken_rule_is_a_result_with_the_line_of_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = written(campaign_of(Path("a report")), Path("a report"))
    [commit] = [each for each in run["results"] if each["ruleId"] == "M1"]
    place = commit["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20report/aiokafka/member-unknown/wire.txt"
    lines = Path(unquote(place["artifactLocation"]["uri"])).read_text(encoding="utf-8").splitlines()
    assert "OffsetCommit" in lines[int(place["region"]["startLine"]) - 1]
    assert '"generation": -1' in lines[int(place["region"]["startLine"]) - 1]
    assert "replay: groupspec conform --judge" in json.dumps(commit)


def test_every_rule_that_was_judged_has_its_statement_its_sources_and_what_it_means(tmp_path: Path) -> None:
    campaign = campaign_of(tmp_path)
    rules = written(campaign, tmp_path)["tool"]["driver"]["rules"]
    assert {each["id"] for each in rules} == {row.rule for row in campaign.clients[0].rows}
    for each in rules:
        rule = RULES[each["id"]]
        assert rule.statement in each["help"]["text"]
        assert all(source in each["help"]["text"] for source in rule.sources)


def test_what_does_not_count_is_suppressed_and_a_run_without_a_log_names_the_report(tmp_path: Path) -> None:
    campaign = replace(campaign_of(None), allowed=frozenset({"M1"}))
    campaign = campaign.against({("aiokafka", "member-unknown", "C2")})
    results = written(campaign, tmp_path)["results"]
    why = {each["ruleId"]: each.get("suppressions") for each in results}
    assert why["M1"] == [{"kind": "external", "justification": "allowed by --allow"}]
    assert why["C2"] == [{"kind": "external", "justification": "no worse than the baseline"}]
    assert why["M7"] is None
    named = {each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in results}
    assert named == {(tmp_path / "conform.json").as_uri()}


NASTY = "50% done: a, b\r\n::error::not a command"


def nasty(verdict: Verdict) -> Campaign:
    case = next(case for case in written_cases() if "M1" in case.rules)
    row = Row(case, "M1", combine([Judgement(verdict, NASTY)]), seconds=1.0, replay="groupspec conform x")
    return Campaign([ClientResult(Client("x", ()), "x, y: z", "1%", [row])])


@pytest.mark.parametrize(
    ("verdict", "command"),
    [(Verdict.FAIL, "error"), (Verdict.DEVIATION, "warning"), (Verdict.INCONCLUSIVE, "warning")],
)
def test_an_annotation_is_one_command_whatever_a_client_says(verdict: Verdict, command: str) -> None:
    [line] = workflow_commands(nasty(verdict))
    assert not {"\r", "\n"} & {*line}
    found = re.fullmatch(rf"::{command} title=([^,:]*)::(.*)", line)
    assert found is not None
    title, data = (unquote_to_bytes(part).decode() for part in found.groups())  # as the runner undoes it
    assert title == f"{verdict.value} x, y: z 1%: {RULES['M1'].title}"
    assert data.startswith(NASTY.replace("\r", "\\r") + "\n")


def test_what_does_not_count_is_a_notice_and_names_the_line(tmp_path: Path) -> None:
    campaign = replace(campaign_of(tmp_path), allowed=frozenset({"M1"}))
    lines = list(workflow_commands(campaign, tmp_path))
    [notice] = [line for line in lines if line.startswith("::notice")]
    assert re.search(rf"M1 [\w-]+,file={tmp_path}/aiokafka/member-unknown/wire.txt,line=\d+::", notice)
    assert sum(line.startswith("::error ") for line in lines) == 3


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ({"J1": Verdict.PASS, "M1": Verdict.FAIL, "H1": Verdict.UNTESTABLE}, "1 of 2 rules"),
        ({"J1": Verdict.PASS}, "1 of 1 rule"),
        ({"J1": Verdict.DEVIATION, "M1": Verdict.PASS}, "1 of 2 rules"),
        ({"J1": Verdict.INCONCLUSIVE}, "not judged"),
        ({}, "not judged"),
    ],
)
def test_a_badge_counts_the_rules_that_were_judged(verdicts: dict[str, Verdict], said: str) -> None:
    case = all_cases()[0]
    rows = [Row(case, rule, combine([Judgement(each, "")]), 1.0, "") for rule, each in verdicts.items()]
    kept = [Row(case, rule, combine([Judgement(Verdict.PASS, "")]), 1.0, "") for rule in verdicts]
    clients = [ClientResult(Client("a", ()), "a", "1", rows), ClientResult(Client("b", ()), "b", "1", kept)]
    picture = ElementTree.fromstring(badge(clients[:1]))
    assert picture.get("aria-label") == f"groupspec: {said}"
    assert [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")] == ["groupspec", said]
    if Verdict.INCONCLUSIVE not in verdicts.values():
        assert badge(clients).count("#b01818") == (Verdict.FAIL in verdicts.values())


def test_the_command_writes_them_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report, file = tmp_path / "report", tmp_path / "result.sarif"
    arguments = ["conform", "--judge", str(RECORDING), "--report", str(report), "--sarif", str(file), "--github"]
    assert main(arguments) == EXIT_CONFORMANCE_FAILURE
    assert json.loads(file.read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert "\n::error title=FAIL aiokafka" in capsys.readouterr().out
    for folder in (report, report / "aiokafka"):
        assert "14 of 18 rules" in (folder / "badge.svg").read_text(encoding="utf-8")
    assert main([*arguments[:-2], str(tmp_path)]) == EXIT_USAGE
    capsys.readouterr()
    assert main(["conform", "reference", "--sarif", str(file)]) == EXIT_USAGE
    assert "add --report DIR" in capsys.readouterr().err
