"""The report: everything in one file, everything that failed opens, and nothing that a client says can break the page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.reports.html import Results, conform_page, report_html
from groupspec.conformance.reports.inputs import ClientVerdicts, Conform, TraceCheck, read
from groupspec.conformance.reports.pictures import embedded
from groupspec.conformance.reports.position import position, rows_of
from groupspec.conformance.reports.tests import samples
from groupspec.conformance.reports.verdicts import cell, matrix

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


def test_a_cell_shows_the_worst_verdict_and_how_often_and_leads_to_its_finding(text: str) -> None:
    found = re.search(r'<a class="verdict fail" href="#kafka-python-j1">(.*?)</a>', text, re.DOTALL)
    assert found
    assert "FAIL" in found.group(1)
    assert "1 of 2" in found.group(1)
    assert 'id="kafka-python-j1"' in text


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


def test_a_pass_where_the_rule_could_be_judged_outweighs_the_rest() -> None:
    rows = (samples.row("J1", "UNTESTABLE"), samples.row("J1", "PASS"))
    client = ClientVerdicts("aiokafka", "0.14", rows)
    assert (found := cell(client, "J1"))
    assert (found.verdict, found.count, found.total) == ("PASS", 1, 2)


def test_a_rule_without_a_case_for_a_client_has_an_empty_cell() -> None:
    line = next(line for line in matrix(samples.conform()) if line.rule.id == "H2")
    assert line.cells[1] is None


def test_the_folder_of_one_conform_run_is_enough_for_a_page(tmp_path: Path) -> None:
    samples.write_run(tmp_path)
    (tmp_path / "conform.json").write_bytes(msgspec.json.encode(samples.conform()))
    page = Page(conform_page(tmp_path))
    assert "a second JoinGroup was sent 12 ms after the first" in page.text
    assert "JoinGroup v5 #1" in page.text


def test_nothing_at_all_still_makes_a_page_that_says_what_to_run() -> None:
    page = Page(report_html(Results("Nothing")))
    assert page.text.count("groupspec ") >= 4


def test_svgs_lose_their_prolog_links_and_ids() -> None:
    svg = '<?xml version="1.0"?>\n<svg width="1pt"><g id="a"><a xlink:href="#" xlink:title="J1 &lt; 2"><path id="b"/></a></g></svg>\n'
    assert embedded(svg) == '<svg width="1pt"><g><g><title>J1 &lt; 2</title><path/></g></g></svg>'


def test_a_trace_that_cannot_be_read_tells_no_position(tmp_path: Path) -> None:
    assert position(tmp_path / "missing", 1.0) is None
    (tmp_path / "broken").write_text("{")
    assert position(tmp_path / "broken", 1.0) is None


def test_rows_of_a_rule_are_those_of_the_protocol_in_question() -> None:
    assert all("J1" in row.rules for row in rows_of("J1", "eager"))
    assert rows_of("K1", "cooperative") != rows_of("K1", "eager")


def test_a_result_of_another_command_is_refused_with_the_file_and_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "conform.json"
    file.write_text('{"engine": "local"}')
    with pytest.raises(UsageProblem, match=r"no result of groupspec[\s\S]*conform\.json"):
        read(file, Conform)
    with pytest.raises(UsageProblem):
        read(tmp_path / "missing.json", TraceCheck)
