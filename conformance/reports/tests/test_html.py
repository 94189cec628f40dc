"""The report.

Everything in one file, everything that failed opens, and nothing that a client says can break the page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from groupspec.conformance.checks import CHECKERS
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.reports.consequences import consequences
from groupspec.conformance.reports.html import Results, conform_page, report_html
from groupspec.conformance.reports.inputs import ClientVerdicts, Conform, Step, TraceCheck, read
from groupspec.conformance.reports.pictures import embedded, lanes_apart
from groupspec.conformance.reports.position import position, rows_of
from groupspec.conformance.reports.templating import template_text
from groupspec.conformance.reports.tests import samples
from groupspec.conformance.reports.verdicts import by_own_names, cell, findings, matrix
from groupspec.conformance.wire.gathering import judged_again
from groupspec.conformance.wire.recording import judge_recording, load

RECORDED = Path(__file__).parents[2] / "wire" / "recorded" / "broken"
VOID = {"meta", "input", "br", "img", "link", "hr", "line", "rect", "path", "polygon", "ellipse", "polyline", "circle"}


class Page(HTMLParser):
    """A page as a list of what is in it; every tag that is opened must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(text)
        assert not self.stack, f"not closed: {self.stack}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [str(given["id"])] if "id" in given else []
        self.links += [str(given[name]) for name in ("href", "src") if name in given]
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.stack, f"{tag} closes nothing"
            assert self.stack.pop() == tag, f"{tag} closes something else"

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("runs")
    samples.write_run(folder)
    return report_html(samples.results(folder))


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_the_page_is_well_formed_and_no_id_occurs_twice(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))


def test_the_page_loads_nothing_and_every_link_leads_somewhere_in_it(text: str, page: Page) -> None:
    assert page.links
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert "@import" not in text
    assert not re.search(r"url\(", text)


def test_what_a_client_said_is_shown_and_never_run(text: str, page: Page) -> None:
    assert "<script>alert" not in text
    assert page.text.count("<script>alert('x')</script>") >= 5


def test_every_rule_that_the_wire_kit_judges_has_a_consequence_in_whole_sentences() -> None:
    assert set(consequences()) == set(CHECKERS)
    for rule, each in consequences().items():
        assert each.expected.endswith("."), rule
        assert each.why.endswith("."), rule


def test_a_finding_opens_with_what_was_expected_what_happened_and_why_it_matters(page: Page) -> None:
    told = page.text[page.text.index("Findings") :]
    places = [
        told.index(part)
        for part in (
            "ExpectedA member has at most one JoinGroup or SyncGroup in flight.",
            "HappenedIn rebalance-eager, 812 ms after the start: a second JoinGroup was sent 12 ms after the first",
            "Why it mattersThe second request starts another round",
            "At most one of JoinGroup/SyncGroup MUST be in flight",
        )
    ]
    assert places == sorted(places)


def test_what_must_be_kept_comes_first_and_of_that_what_harms_most() -> None:
    broken = (
        samples.row("D3", "FAIL"),
        samples.row("H1", "DEVIATION"),
        samples.row("C2", "FAIL"),
        samples.row("H2", "FAIL"),
    )
    run = Conform((ClientVerdicts("c", "1", (samples.row("D1", "PASS"), *broken)),), 1.0)
    (found,) = findings(matrix(run)).values()
    assert [finding.cell.rule for finding in found] == ["C2", "H2", "D3", "H1"]
    assert [line.rule.id for line in matrix(run)] == ["C2", "H2", "D3", "H1", "D1"]


def test_a_stall_is_one_finding_and_what_it_broke_besides_stands_below_it(tmp_path: Path) -> None:
    rows = (
        samples.row("P4", "FAIL"),
        msgspec.structs.replace(samples.row("H1", "DEVIATION"), symptom_of="P4"),
        msgspec.structs.replace(samples.row("K1", "FAIL"), symptom_of="H1"),
    )
    run = Conform((ClientVerdicts("c", "1", rows),), 1.0)
    ((finding,),) = findings(matrix(run)).values()
    assert finding.cell.rule == "P4"
    assert [cell.rule for cell, _ in finding.symptoms] == ["K1", "H1"]
    page = Page(report_html(Results("Stall", conform=run, runs_folder=tmp_path)))
    assert "The same stall shows besides as" in page.text
    assert all(link[1:] in page.ids for link in page.links)


def test_every_fail_leads_to_its_reproduction_where_one_was_written(tmp_path: Path) -> None:
    rows = (
        samples.row("P4", "FAIL"),
        msgspec.structs.replace(samples.row("K1", "FAIL", "a symptom"), symptom_of="P4"),
        samples.row("P4", "FAIL", "a symptom"),
        samples.row("J1", "FAIL", "not-written"),
        samples.row("H1", "DEVIATION"),
    )
    for scenario in ("rebalance-eager", "a symptom"):
        (tmp_path / "wire" / "kafka-python" / scenario / "repro").mkdir(parents=True)
    run = Conform((ClientVerdicts("c", "1", rows),), 1.0)
    beside = Results("x", conform=run, runs_folder=tmp_path / "wire", page_folder=tmp_path)
    links = [link for link in Page(report_html(beside)).links if not link.startswith("#")]
    own, symptom = "wire/kafka-python/rebalance-eager/repro/", "wire/kafka-python/a%20symptom/repro/"
    assert sorted(links) == [symptom, symptom, own], "P4 in both of its cases, and K1 below P4"
    somewhere = Page(report_html(Results("x", conform=run, runs_folder=tmp_path / "wire")))
    assert all(link.startswith("#") for link in somewhere.links)


def test_a_finding_says_how_many_runs_showed_it_and_whether_it_flaps(tmp_path: Path) -> None:
    row = msgspec.structs.replace(samples.row("P4", "FAIL"), runs=17, counts={"FAIL": 5, "PASS": 12}, flaps=True)
    told = Page(
        report_html(Results("x", conform=Conform((ClientVerdicts("c", "1", (row,)),), 1.0), runs_folder=tmp_path))
    ).text
    assert "So it was in 5 of 17 runs, flaps." in told
    assert "1 of 1 case flaps" in told


def test_a_kept_rule_opens_to_the_cases_that_judged_it_and_those_that_did_not(tmp_path: Path) -> None:
    rows = (samples.row("J1", "PASS"), samples.row("J1", "UNTESTABLE", "first-join", "no second JoinGroup was due"))
    run = Conform((ClientVerdicts("c", "1", rows),), 1.0)
    text = report_html(Results("x", conform=run, runs_folder=tmp_path))
    (cell,) = re.findall(r'<details class="kept">(.*?)</details>', text, re.DOTALL)
    told = Page(cell).text
    assert "rebalance-eager: as it should be" in told
    assert "first-join: no second JoinGroup was due" in told
    assert 'id="findings"' not in text


def test_the_headings_of_a_sequence_diagrams_lanes_stand_apart_and_stay(text: str) -> None:
    (frame,) = re.findall(r'<div class="scroll sequence".*?</div>', text, re.DOTALL)
    headings, rest = frame.split("</svg>")[:2]
    assert 'class="gs-sequence lanes"' in headings
    assert re.search(r'viewBox="0 78 \d+ \d+"', rest)
    assert lanes_apart("<svg/>") == "<svg/>"


def test_a_cell_shows_the_worst_verdict_and_how_often_and_leads_to_its_finding(text: str) -> None:
    found = re.search(r'<a class="verdict fail" href="#kafka-python-j1">(.*?)</a>', text, re.DOTALL)
    assert found
    assert "FAIL" in found.group(1)
    assert "1 of 2" in found.group(1)
    assert '<details class="finding" id="kafka-python-j1">' in text


def test_a_finding_has_rule_source_state_event_rows_replay_and_evidence(page: Page) -> None:
    told = page.text[page.text.index("Findings") :]
    for part in (
        "At most one of JoinGroup/SyncGroup MUST be in flight",
        "KAFKA-3949",
        "rebalance.PREPARING_REBALANCE",
        "join_answered MEMBER_ID_REQUIRED",
        "join_member_id_required",
        "groupspec conform kafka-python --scenario rebalance-eager --report out/replay",
        "groupspec explain J1",
        "JoinGroup v5 #1",
        "more lines in kafka-python/rebalance-eager/wire.txt",
    ):
        assert part in told, part


def test_faults_of_a_recording_and_notices_stand_apart_from_violations(page: Page) -> None:
    told = page.text[page.text.index("In quarantine") - 200 :]
    headings = [
        told.index(text) for text in ("T-TWO-JOINS", "Faults of the recording", "T-STANDSTILL", "Notices", "T-MANY")
    ]
    assert headings == sorted(headings)
    assert "20 violations, faults of the recording: 1, notices: 1" in told


def test_runs_that_several_rules_share_are_embedded_once(text: str) -> None:
    assert text.count('id="run-kafka-python-rebalance-eager"') == 1
    assert text.count('data-run="run-kafka-python-rebalance-eager"') == 4


@pytest.mark.parametrize(
    ("verdicts", "shown"),
    [
        (("UNTESTABLE", "PASS"), ("PASS", 1, 1)),
        (("FAIL", "PASS", "INCONCLUSIVE", "UNSUPPORTED"), ("FAIL", 1, 3)),
        (("UNTESTABLE", "UNTESTABLE", "UNSUPPORTED"), ("UNTESTABLE", 2, 3)),
    ],
)
def test_a_cell_counts_the_cases_that_judged_the_rule(verdicts: Sequence[str], shown: object) -> None:
    client = ClientVerdicts("aiokafka", "0.14", tuple(samples.row("J1", verdict) for verdict in verdicts))
    assert (found := cell(client, "J1"))
    assert (found.verdict, found.count, found.total) == shown


def test_a_client_started_by_a_command_line_is_told_by_its_own_name_unless_two_have_it() -> None:
    rows = (samples.row("J1", "PASS"),)
    first = ClientVerdicts("cmd:node a.js", "1", rows, client="acme")
    second = ClientVerdicts("cmd:node b.js", "2", rows, client="acme")
    old = ClientVerdicts("java@3.9.1", "3.9.1", rows, client="java")
    assert [each.name for each in by_own_names(Conform((first, old), 0.0)).clients] == ["acme", "java@3.9.1"]
    assert [each.name for each in by_own_names(Conform((first, second), 0.0)).clients] == [first.name, second.name]


def test_a_rule_without_a_case_for_a_client_has_an_empty_cell() -> None:
    line = next(line for line in matrix(samples.conform()) if line.rule.id == "H2")
    assert line.cells[1] is None


def test_the_folder_of_one_conform_run_is_enough_for_a_page(tmp_path: Path) -> None:
    samples.write_run(tmp_path)
    (tmp_path / "conform.json").write_bytes(msgspec.json.encode(samples.conform()))
    page = Page(conform_page(tmp_path))
    assert "a second JoinGroup was sent 12 ms after the first" in page.text
    assert "JoinGroup v5 #1" in page.text


def test_a_demo_without_results_says_what_to_run_and_a_single_command_has_no_empty_sections() -> None:
    page = Page(report_html(Results("Nothing", steps=(Step("wire", "wire kit", "failed", said="no"),))))
    assert page.text.count("groupspec ") >= 4
    assert not re.search(r"<section id=", report_html(Results("Nothing")))


def test_svgs_lose_their_prolog_links_and_ids() -> None:
    svg = (
        '<?xml version="1.0"?>\n<svg width="1pt"><g id="a"><a xlink:href="#" xlink:title="J1 &lt; 2"><path '
        'id="b"/></a></g></svg>\n'
    )
    assert embedded(svg) == '<svg width="1pt"><g><g><title>J1 &lt; 2</title><path/></g></g></svg>'


def test_a_trace_that_cannot_be_read_tells_no_position(tmp_path: Path) -> None:
    assert position(tmp_path / "missing", 1) is None
    (tmp_path / "broken").write_text("{")
    assert position(tmp_path / "broken", 1) is None


def test_a_finding_names_the_event_at_which_its_rule_was_broken_although_the_machine_had_stalled(
    tmp_path: Path,
) -> None:
    file = RECORDED / "aiokafka-commits-without-identity.ndjson.gz"
    (client,) = judged_again([judge_recording(load(file), file)], tmp_path).clients
    seqs = {row.rule: (row.folder, row.trace_seq) for row in client.rows}
    told = {
        rule: position(tmp_path / folder / "trace.ndjson", seq)
        for rule, (folder, seq) in seqs.items()
        if rule in ("C2", "M1", "M7") and seq is not None
    }
    assert {rule: (where.event, set(where.states)) for rule, where in told.items() if where} == {
        rule: ("commit_sent", {"REVOKING_PARTITION", "STABLE"}) for rule in ("C2", "M1", "M7")
    }


def test_rows_of_a_rule_are_those_of_the_protocol_in_question() -> None:
    assert all("J1" in row.rules for _, row in rows_of("J1", "eager"))
    assert rows_of("K1", "cooperative") != rows_of("K1", "eager")


def test_a_result_of_another_command_is_refused_with_the_file_and_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "conform.json"
    file.write_text('{"engine": "local"}')
    with pytest.raises(UsageProblem, match=r"no result of groupspec[\s\S]*conform\.json"):
        read(file, Conform)
    with pytest.raises(UsageProblem):
        read(tmp_path / "missing.json", TraceCheck)


PAIRS = {
    "ink": ("paper", "ground", "mark", "hover"),
    "soft": ("paper", "ground", "hover"),
    "faint": ("paper", "ground", "mark"),
    "accent": ("paper", "ground", "accent-soft", "mark"),
    "pass": ("paper", "pass-soft"),
    "fail": ("paper", "fail-soft"),
    "deviation": ("paper", "deviation-soft", "mark"),
    "inconclusive": ("paper", "inconclusive-soft"),
    "none": ("paper", "none-soft"),
    "timer": ("paper", "ground"),
    "within": ("paper", "ground"),
}
"""Colours of text, and what they stand on: names of the variables in base.css."""


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_text_can_be_read_on_what_it_stands_on(scheme: int) -> None:
    colours: dict[str, str] = {}
    for block in re.findall(r":root \{(.*?)\}", template_text("base.css"), re.DOTALL)[: scheme + 1]:
        colours |= re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block)
    low = [
        (text, ground, round(ratio, 2))
        for text, grounds in PAIRS.items()
        for ground in grounds
        if (ratio := contrast(colours[text], colours[ground])) < 4.5
    ]
    assert low == []


def contrast(one: str, other: str) -> float:
    """The ratio of two colours as WCAG 2 defines it, 1 to 21."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb`, 0 to 1."""
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_finding_of_many_cases_shows_three_of_them_and_links_the_others(tmp_path: Path) -> None:
    """A full report once had 15 MB of pictures in its page."""
    rows = []
    for number in range(5):
        row = msgspec.structs.replace(samples.row("J1", "FAIL"), variant=str(number), folder=f"acme/{number}")
        (tmp_path / row.folder).mkdir(parents=True)
        (tmp_path / row.folder / "sequence.svg").write_text("<svg><text>drawn</text></svg>")
        (tmp_path / row.folder / "wire.txt").write_text("JoinGroup")
        rows.append(row)
    (tmp_path / "conform.json").write_bytes(
        msgspec.json.encode(Conform((ClientVerdicts("acme", "1", tuple(rows)),), 0.0))
    )
    page = Page(conform_page(tmp_path))
    assert [name for name in page.ids if name.startswith("run-acme")] == ["run-acme-0", "run-acme-1", "run-acme-2"]
    linked = [link for link in page.links if link.endswith(("sequence.svg", "wire.txt"))]
    assert linked == [f"acme/{number}/{file}" for number in (3, 4) for file in ("sequence.svg", "wire.txt")]
