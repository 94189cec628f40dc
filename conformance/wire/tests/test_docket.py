"""The docket: its entries are about what there is, and they explain the verdicts that they are about and no others."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
import pytest

from groupspec.conformance.checks.verdicts import CERTAIN_RUNS, Judgement, Verdict, combine
from groupspec.conformance.cli import main
from groupspec.conformance.commands._common import results
from groupspec.conformance.errors import EXIT_OK
from groupspec.conformance.tests.repository import ROOT
from groupspec.conformance.wire import docket
from groupspec.conformance.wire.campaign import JOBS, run_campaign
from groupspec.conformance.wire.case import PLAIN, Case
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.client_builds import BUILDS
from groupspec.conformance.wire.clients import BUILT_IN, Client
from groupspec.conformance.wire.console import show
from groupspec.conformance.wire.docket import Entry, entries, explanation
from groupspec.conformance.wire.docket_page import PAGE, clients_markdown, clients_table, versions
from groupspec.conformance.wire.gathering import judged_again
from groupspec.conformance.wire.judging import Outcome
from groupspec.conformance.wire.live_cases import LIVE_CASES
from groupspec.conformance.wire.planning import unsure_of
from groupspec.conformance.wire.results import Campaign, ClientResult, Row
from groupspec.conformance.wire.results_json import as_json
from groupspec.conformance.wire.scenarios import FULL, SCENARIOS, all_cases, written_cases
from groupspec.conformance.wire.tests import fake_harnesses as fake
from groupspec.conformance.wire.tests import stories
from groupspec.conformance.wire.tests.stability import installed
from groupspec.conformance.wire.tests.undocketed import undocketed
from groupspec.spec.rules import RULES

CASES = [*all_cases(FULL), *LIVE_CASES.values()]
FIRST_JOIN = Case(SCENARIOS["first-join"], PLAIN)
LEVEL = {"FAIL": "must", "DEVIATION": "should"}


def pinned(client: str) -> set[str]:
    """The versions of a client that the project runs: what the docket has to be about."""
    built = {build.version for name, build in BUILDS.items() if name.partition("@")[0] == client}
    installed = re.findall(rf"(?m)^{client}==(.+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"))
    return built | {*installed}


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: f"{entry.client}-{entry.rule}")
def test_an_entry_is_about_what_there_is(entry: Entry) -> None:
    assert entry.client in BUILT_IN
    of = {version.split()[0] for version in entry.versions}
    assert of <= pinned(entry.client), "another version: read its wire logs anew"
    assert RULES[entry.rule].level == LEVEL[entry.verdict]
    for pattern in entry.scenarios:
        cases = [case for case in CASES if fnmatchcase(case.id, pattern)]
        assert any(entry.rule in case.rules for case in cases), f"{pattern}: no such case is judged by {entry.rule}"


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: f"{entry.client}-{entry.rule}")
def test_an_entry_says_who_does_it_or_which_issue_knows_it(entry: Entry) -> None:
    if entry.kind == "known":
        assert re.search(r"#\d+|KAFKA-\d+", entry.where), "a known defect has the number of its issue"
    else:
        assert re.search(r"\w\.\w", entry.where), "what is true of a client has the class and method that does it"
    assert len(entry.evidence) > 80, "say what was seen, and what the source says"


def test_no_two_entries_explain_one_verdict() -> None:
    names = [case.id for case in CASES]
    explained: Counter[tuple[str, ...]] = Counter()
    for entry in entries():
        of = entry.rule, entry.verdict
        found = {name for name in names for pattern in entry.scenarios if fnmatchcase(name, pattern)}
        explained.update((entry.client, version, *of, name) for version in entry.versions for name in found)
    assert [each for each, times in explained.items() if times > 1] == []


def test_an_entry_explains_its_verdict_and_no_other() -> None:
    entry = explanation("kgo", "1.22.2", "J4", "member-unknown", "DEVIATION")
    assert entry is not None
    assert "handleJoinResp" in str(entry)
    assert explanation("kgo", "1.22.3", "J4", "member-unknown", "DEVIATION") is None
    assert explanation("kgo", "1.22.2", "H1", "rebalance-eager", "DEVIATION") is None
    assert explanation("kgo", "1.22.2", "J4", "member-unknown", "FAIL") is None
    assert explanation("java", "4.3.1", "J4", "member-unknown", "DEVIATION") is None


def test_an_entry_is_about_the_versions_that_it_names() -> None:
    old, new = "2.6.1 (librdkafka 2.6.1)", "2.16.1 (librdkafka 2.16.0)"
    assert explanation("confluent-kafka@2.6.1", old, "H2", "first-join", "FAIL") is not None
    assert explanation("confluent-kafka@2.6.1", old, "M1", "member-unknown", "FAIL") is not None
    assert explanation("confluent-kafka", new, "M1", "member-unknown", "FAIL") is None


def test_an_entry_about_an_engine_is_about_every_client_that_has_that_version_of_it() -> None:
    wrapper, version = "cmd:node harness.js", "3.6.1 (librdkafka 2.12.1)"
    of_engine = explanation(wrapper, version, "H2", "first-join", "FAIL")
    assert of_engine is not None
    assert (of_engine.client, of_engine.where.partition(" ")[0]) == ("rdkafka", "librdkafka")
    assert explanation(wrapper, "3.6.1 (librdkafka 2.12.0)", "H2", "first-join", "FAIL") is None
    assert explanation(wrapper, "3.6.1", "H2", "first-join", "FAIL") is None
    assert explanation(wrapper, "3.6.1 (otherlib 2.12.1)", "H2", "first-join", "FAIL") is None


def test_an_entry_about_what_a_wrapper_does_is_not_about_the_engine() -> None:
    of_wrapper = "O4", "callback-raises/assigned", "FAIL"
    assert explanation("confluent-kafka", "2.16.1 (librdkafka 2.16.0)", *of_wrapper) is not None
    assert explanation("cmd:node harness.js", "3.6.1 (librdkafka 2.16.0)", *of_wrapper) is None


@pytest.mark.parametrize(("version", "certain"), [("2.16.1 (librdkafka 2.16.0)", False), ("9.9", True)])
def test_what_the_docket_knows_to_flap_is_not_certain_however_often_it_is_broken(version: str, certain: bool) -> None:
    case = next(each for each in written_cases() if each.id == "commits-in-order")
    story = stories.eager_rebalance().history()
    judgements = dict.fromkeys(case.rules, Judgement(Verdict.PASS, "kept")) | {"M6": Judgement(Verdict.FAIL, "24, 6")}
    client = Client("confluent-kafka", ("true",))
    run = CaseResult(client, case, client.name, version, story, Outcome(), judgements, 2.0)
    [result] = judged_again([run] * CERTAIN_RUNS).clients
    combined = next(row.combined for row in result.rows if row.rule == "M6")
    assert (combined.certain, combined.flaps) == (certain, not certain)
    assert combined.how_sure == ("5 of 5 runs" if certain else "5 of 5 runs, flaps")


@pytest.mark.parametrize(("says", "known"), [("kafka-python", True), ("mine", False)])
def test_an_author_s_own_harness_says_which_client_it_drives(says: str, known: bool) -> None:
    case = next(each for each in written_cases() if each.id == "rebalance-eager")
    judgements = dict.fromkeys(case.rules, Judgement(Verdict.PASS, "kept")) | {"S3": Judgement(Verdict.FAIL, "never")}
    client, history = Client("cmd:python mine.py", ("true",)), stories.eager_rebalance().history()
    run = CaseResult(client, case, says, "3.0.12", history, Outcome(), judgements, 2.0)
    [result] = judged_again([run]).clients
    assert [row.rule for row in result.rows if row.docket] == (["S3"] if known else [])
    assert ("S3" in unsure_of([run], frozenset(RULES))) is not known  # it flaps: no further run makes it certain


@pytest.mark.parametrize(
    "spoil", [{"kind": "our mistake"}, {"evidence": ""}, {"verdict": "PASS"}, {"scenarios": []}, {"note": "later"}]
)
def test_what_is_no_entry_is_refused(spoil: dict[str, object]) -> None:
    raw = msgspec.json.decode(docket.FILE.read_bytes(), type=list[dict[str, object]])[0] | spoil
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(raw, Entry)


def test_the_report_says_what_the_docket_explains(capsys: pytest.CaptureFixture[str]) -> None:
    case = next(each for each in written_cases() if each.id == "member-unknown")
    explained = explanation("kgo", "1.22.2", "J4", case.id, "DEVIATION")
    combined = combine([Judgement(Verdict.DEVIATION, "an old id")])
    row = Row(case, "J4", combined, seconds=1.0, replay="groupspec conform kgo", docket=explained)
    kgo = ClientResult(Client("kgo", ("kgo",)), "kgo", "1.22.2", [row])
    campaign = Campaign([kgo], seconds=1.0, seed=0, jobs=1, repeat=1)
    show(results(), campaign, None)
    shown = capsys.readouterr().out
    assert (
        "known deviation (docket): 1 of 1 case; read in its code: the client does so: kgo groupConsumer.handleJoinResp"
        in shown
    )
    assert "1 DEVIATION (1 known); 1.0 s" in shown
    (result,) = as_json(campaign)["clients"][0]["results"]  # type: ignore[index]  # JSON
    assert "handleJoinResp" in result["docket"]


def test_explain_of_a_rule_names_the_clients_that_break_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["explain", "M1", "--all", "--json", str(tmp_path / "M1.json")]) == EXIT_OK
    shown = capsys.readouterr().out
    assert "known deviations of clients (docket)" in shown
    assert (
        "FAIL aiokafka 0.14.0, 0.12.0 in any scenario; read in its code: the client does so: aiokafka GroupCoordinator"
        in shown
    )
    told = json.loads((tmp_path / "M1.json").read_text())["deviations"]
    assert {each["client"] for each in told} == {entry.client for entry in entries() if entry.rule == "M1"}


# Of clients that run --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdicts", "entry", "symptom_of", "told"),
    [
        ([Verdict.FAIL] * CERTAIN_RUNS, None, "", ["fake first-join J2: never"]),
        ([Verdict.FAIL] * CERTAIN_RUNS, None, "D2", []),
        ([Verdict.FAIL] * CERTAIN_RUNS, entries()[0], "", []),
        ([Verdict.FAIL, Verdict.PASS], None, "", []),
    ],
    ids=["a certain breach", "the symptom of another", "one that is read", "a race"],
)
def test_what_is_certain_and_unread_is_told(
    verdicts: Sequence[Verdict], entry: Entry | None, symptom_of: str, told: Sequence[str]
) -> None:
    combined = combine([Judgement(verdict, "never") for verdict in verdicts])
    row = Row(FIRST_JOIN, "J2", combined, seconds=1.0, replay="", docket=entry, symptom_of=symptom_of)
    assert undocketed(Campaign([ClientResult(Client("fake", ("true",)), "fake", "1", [row])])) == told


@pytest.mark.realtime
@pytest.mark.exhaustive
def test_what_was_seen_once_is_run_again_before_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    fake.wait_in_vain(monkeypatch, 300)
    campaign = run_campaign([Client("fake", fake.DOES_NOTHING)], [FIRST_JOIN], jobs=1)
    assert {row.combined.runs for row in campaign.clients[0].rows} == {1}
    [told] = [line for line in undocketed(campaign) if "J2" in line]
    assert told.startswith("fake first-join J2: request JoinGroup did not come within 300 ms")


def test_each_line_of_the_table_leads_to_its_client_and_each_entry_stands_there() -> None:
    page, table = clients_markdown(), clients_table()
    for each in versions():
        part = page.partition(f"\n## {each.title}\n")[2].partition("\n## ")[0]
        assert all(f"### {RULES[entry.rule].title} ({RULES[entry.rule].level})" in part for entry in each.entries)
        assert part.count("\n* ") == len(each.entries)
        assert f"[{each.title}]({PAGE}#{each.anchor}) | {' '.join(each.rules('FAIL'))} |" in table
    assert {entry.client for entry in entries()} == {each.client for each in versions()}
    assert max(map(len, page.splitlines())) <= 200, "wrapped, but for what has no blank"


@pytest.mark.realtime
@pytest.mark.nightly
@pytest.mark.parametrize("name", BUILT_IN)
def test_all_that_a_client_does_wrong_in_the_full_profile_is_in_the_docket(name: str) -> None:
    told = undocketed(run_campaign(installed([name]), all_cases(FULL), jobs=JOBS))
    assert not told, "\n".join(told)  # whole: the runs take many minutes


@pytest.mark.parametrize(
    ("says", "version", "note"),
    [
        ("kafka-python", "2.3.0", "of kafka-python the docket knows 3.0.12 and 3.0.0, and not 2.3.0"),
        ("kafka-python", "3.0.12", ""),
        ("mine", "2.3.0", ""),
    ],
)
def test_where_a_client_s_version_is_not_in_the_docket_those_that_are_there_are_told(
    says: str, version: str, note: str, capsys: pytest.CaptureFixture[str]
) -> None:
    case = next(each for each in written_cases() if each.id == "rebalance-eager")
    client, history = Client("cmd:python mine.py", ("true",)), stories.eager_rebalance().history()
    for verdict in (Verdict.FAIL, Verdict.PASS):
        judgements = dict.fromkeys(case.rules, Judgement(Verdict.PASS, "kept")) | {"S3": Judgement(verdict, "never")}
        run = CaseResult(client, case, says, version, history, Outcome(), judgements, 2.0)
        show(results(), judged_again([run]), None)
        told = capsys.readouterr().out
        if verdict is Verdict.FAIL and note:
            assert note in told
            assert "groupspec conform kafka-python@VERSION" in told
        else:
            assert "the docket knows" not in told
