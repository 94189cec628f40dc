"""The book as a site.

Every link leads somewhere, nothing is loaded, two builds are one, and everything has its place.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from groupspec.conformance.book.questions import events, situations
from groupspec.conformance.book.rows import shown_row
from groupspec.conformance.book.sentences import sentence
from groupspec.conformance.book.site import book
from groupspec.conformance.book.tests.pages import ReadPage
from groupspec.conformance.book.variants import variants
from groupspec.conformance.cli import main
from groupspec.conformance.explain.index import explain, names
from groupspec.conformance.explain.machines import STATES
from groupspec.spec import vocabulary
from groupspec.spec.compiler.tables import whole_tables
from groupspec.spec.differences import DIFFERENCES
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.rules import RULES

MAX_PAGE = 300_000
"""Bytes."""
PUBLIC = {"cwiki.apache.org", "issues.apache.org", "github.com"}


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return book()


@pytest.fixture(scope="module")
def pages(files: dict[str, str]) -> dict[str, ReadPage]:
    return {name: ReadPage(text) for name, text in files.items() if name.endswith(".html")}


def test_every_page_is_well_formed_and_no_id_occurs_twice(pages: dict[str, ReadPage]) -> None:
    assert {name: page.problems for name, page in pages.items() if page.problems} == {}
    twice = {
        name: sorted(identifier for identifier, times in Counter(page.ids).items() if times > 1)
        for name, page in pages.items()
        if len(page.ids) > len(set(page.ids))
    }
    assert twice == {}


def test_every_link_leads_to_a_page_and_a_place_in_it_or_to_a_public_source(
    files: dict[str, str], pages: dict[str, ReadPage]
) -> None:
    ids = {name: set(page.ids) for name, page in pages.items()}
    lost = set()
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                if parts.scheme != "https" or parts.netloc not in PUBLIC:
                    lost.add((name, link))
                continue
            target = parts.path or name
            if target not in files or (parts.fragment and parts.fragment not in ids[target]):
                lost.add((name, link))
    assert lost == set()


def test_nothing_is_loaded_but_the_books_own_files(files: dict[str, str], pages: dict[str, ReadPage]) -> None:
    assert {address for page in pages.values() for address in page.loads} == {"book.css", "book.js"}
    assert not re.search(r"@import|url\(", files["book.css"])
    assert not re.search(r"https?://|fetch\(|XMLHttpRequest", files["book.js"])


def test_whatever_the_search_finds_is_there(files: dict[str, str], pages: dict[str, ReadPage]) -> None:
    script = files["search-index.js"]
    entries = json.loads(script.removeprefix("window.BOOK = ").partition(";\nwindow.ALSO = ")[0])
    titles = {title for title, *_ in entries}
    assert titles >= {*RULES, *vocabulary.EVENTS, *vocabulary.VARIABLES, *vocabulary.EFFECTS, *whole_tables()}
    ids = {name: set(page.ids) for name, page in pages.items()}
    for _, _, address, _ in entries:
        page, _, place = address.partition("#")
        assert page in ids
        assert not place or place in ids[page], address


def test_every_state_has_words_and_whatever_the_front_page_asks_has_a_cell(pages: dict[str, ReadPage]) -> None:
    assert {name: set(states) for name, states in STATES.items()} == {
        name: set(table.states) for name, table in whole_tables().items()
    }
    deciding = {
        machine: [option for _, options in events() for option in options if machine in option.machines]
        for machine in STATES
    }
    for machine, _, options in situations():
        for place in options:
            assert {event.value for event in deciding[machine]} <= set(pages[place.value].ids)


def test_every_row_of_every_table_has_its_place(pages: dict[str, ReadPage]) -> None:
    for name, each in variants().items():
        for variant in each:
            places = {
                f"{page}#{place}" for page in map(variant.state, variant.table.states) for place in pages[page].ids
            }
            assert {variant.row(row.id) for row in variant.table.rows} <= places, name
            assert {variant.cell(state, event.name) for state, event, _ in variant.table.cells()} <= places, name


def test_no_page_is_larger_than_a_phone_likes(files: dict[str, str]) -> None:
    large = {name: len(text.encode()) for name, text in files.items() if len(text.encode()) > MAX_PAGE}
    assert set(large) <= {"search-index.js"}


def test_an_answer_begins_with_one_sentence(pages: dict[str, ReadPage]) -> None:
    page = pages["table-rebalance-cooperative-deployed-PREPARING_REBALANCE.html"]
    assert "When JoinGroup is answered MEMBER_ID_REQUIRED, the member sends JoinGroup; a late answer" in page.text
    group = pages["table-broker_group-Stable.html"].text
    assert "the group answers NONE, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID, as the" in group
    for each in (variant for of_machine in variants().values() for variant in of_machine):
        for _, event, rows in each.table.cells():
            told = sentence(event.name, [shown_row(each, row) for row in rows])
            assert re.fullmatch(r"(On|When) [^\n]+, \w+ [^\n]+\.", told), told


def test_every_rule_bug_difference_and_word_has_its_place(pages: dict[str, ReadPage]) -> None:
    assert {f"rule-{rule}.html" for rule in RULES} <= set(pages)
    assert set(KNOWN_BUGS) <= set(pages["bugs.html"].ids)
    assert set(DIFFERENCES) <= set(pages["differences.html"].ids)
    words = {*vocabulary.VARIABLES, *vocabulary.EVENTS, *vocabulary.EFFECTS, *vocabulary.IGNORED_REASONS}
    assert words <= set(pages["vocabulary.html"].ids)
    assert {request for request, _ in vocabulary.RESPONSES} <= set(pages["answers.html"].ids)


def test_a_rules_page_says_statement_sources_rows_checks_and_bugs(pages: dict[str, ReadPage]) -> None:
    text = pages["rule-J3.html"].text
    for part in (
        "MEMBER_ID_REQUIRED",
        "KIP-394",
        "join_member_id_required",
        "keep_given_id",
        "first-join",
        "groupspec explain J3",
    ):
        assert part in re.sub(r"\s+", " ", text), part


def test_a_rules_page_names_the_clients_that_break_it(pages: dict[str, ReadPage]) -> None:
    text = re.sub(r"\s+", " ", pages["rule-M1.html"].text)
    assert "Known deviations of clients (docket)" in text
    assert "aiokafka 0.14.0" in text


def test_the_matrix_leads_to_rows_rules_and_words(files: dict[str, str]) -> None:
    text = files["table-rebalance-cooperative-deployed.html"]
    address = "table-rebalance-cooperative-deployed-PREPARING_REBALANCE.html#join_member_id_required"
    cell = re.search(rf'<td><a class="lines" href="{re.escape(address)}">(.*?)</td>', text, re.DOTALL)
    assert cell
    assert 'href="rule-J3.html"' in cell[1]


def test_a_state_in_a_picture_leads_to_its_rows(files: dict[str, str]) -> None:
    text = files["table-rebalance-cooperative-deployed.html"]
    drawing = text[text.index("<svg") : text.index("</svg>")]
    page = "table-rebalance-cooperative-deployed-PREPARING_REBALANCE.html"
    assert f'<a href="{page}"><g class="node">' in drawing


@pytest.mark.exhaustive
def test_the_command_writes_the_site_and_two_builds_are_the_same_byte_for_byte(
    files: dict[str, str], tmp_path: Path
) -> None:
    assert main(["book", "--out", str(tmp_path / "site"), "--json", str(tmp_path / "book.json")]) == 0
    written = json.loads((tmp_path / "book.json").read_text())["files"]
    assert sorted(written) == sorted(str(tmp_path / "site" / name) for name in files)
    assert {name: (tmp_path / "site" / name).read_bytes() for name in files} == {
        name: text.encode() for name, text in files.items()
    }


@pytest.mark.exhaustive
def test_another_process_with_another_hash_seed_writes_the_same_book(files: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "groupspec.conformance.cli", "book", "--out", str(tmp_path)]
    subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "7"}, check=True, capture_output=True, timeout=300)
    assert {name: (tmp_path / name).read_text(encoding="utf-8") for name in files} == files


@pytest.mark.exhaustive
def test_explain_names_a_place_of_the_book_for_everything_that_it_explains(pages: dict[str, ReadPage]) -> None:
    told = {each.page for name in names() for each in explain(name) if each.page}
    for address in told:
        page, _, place = address.partition("#")
        assert page in pages, address
        assert not place or place in pages[page].ids, address
    assert len(told) > 600


def test_a_place_that_cannot_be_written_is_told_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["book", "--out", str(tmp_path / "file" / "site")]) == 2
    assert "cannot write the output" in capsys.readouterr().err
