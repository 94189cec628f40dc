"""Models, properties and findings in the book.

Pages appear with what they are about, and chapters without pages do not.
"""

from __future__ import annotations

import re

from groupspec.conformance.book.claims import finding_pages, properties_page
from groupspec.conformance.book.composition import code, composition_pages, families, guard_of, messages
from groupspec.conformance.book.page import CHAPTERS
from groupspec.conformance.book.site import PAGES, site
from groupspec.conformance.book.tests.pages import ReadPage
from groupspec.conformance.explain.lab import claims
from groupspec.conformance.findings import Counterexample, Finding
from groupspec.conformance.findings.runs import ModelRun
from groupspec.diagrams.sequence import Entry, sequence_svg
from groupspec.spec.compiler.model import Action, Call, For, If, Set
from groupspec.spec.compiler.tests.toy_model import toy_model

TOY = {model.name: model for model in (toy_model(), toy_model(3))}


FINDING = Finding(
    id="no-join",
    kind="violation",
    title="Nobody joins",
    sentence="STABLE, then REVOKING_PARTITION <at once>",
    source="Threading refactor proposal (Apache Kafka wiki), 'Rebalance States'",
    shows="Nobody asks.",
    instead="They join first.",
    test="conformance/findings/tests/test_findings.py",
    runs=(ModelRun("toy-2", "one-holder"),),
)
PICTURE = sequence_svg(("member 1", "group"), [Entry(0.0, "member 1", "group", "ask")], "Nobody joins")
FOUND = Counterexample(FINDING, ("member 1 asks", "the group waits (rule J1)"), PICTURE)


def toy_site() -> dict[str, str]:
    chapters = {chapter.key: chapter for chapter in CHAPTERS}
    listed = {chapter: list(PAGES[chapter.key]()) if chapter.key == "start" else [] for chapter in CHAPTERS}
    listed[chapters["composition"]] = list(composition_pages(TOY))
    listed[chapters["properties"]] = [properties_page(claims(TOY))]
    listed[chapters["findings"]] = list(finding_pages([FOUND]))
    return site(listed)


def test_models_properties_and_findings_have_well_formed_pages_with_links_between_them() -> None:
    files = toy_site()
    pages = {name: ReadPage(text) for name, text in files.items() if name.endswith(".html")}
    assert {name: page.problems for name, page in pages.items() if page.problems} == {}
    assert {"composition.html", "model-toy-2.html", "properties.html", "findings.html", "finding-no-join.html"} <= set(
        pages
    )
    assert "properties.html#one-holder" in pages["model-toy-2.html"].links
    assert "model-toy-3.html" in pages["properties.html"].links
    assert {"model-toy-2.html", "properties.html#one-holder", "rule-J1.html"} <= set(
        pages["finding-no-join.html"].links
    )
    assert "<at once>" in pages["finding-no-join.html"].text


def test_a_chapter_without_pages_is_not_listed() -> None:
    start = toy_site()["index.html"]
    assert 'href="findings.html">Flaws found' in start
    assert "Known bugs</a></li>" not in start


def test_a_model_says_who_sends_what_to_whom_and_what_its_actions_do() -> None:
    text = re.sub(r"\s+", " ", ReadPage(toy_site()["model-toy-2.html"]).text)
    assert "member igroupaskclient[i] == 'IDLE' and message[i] == 'none'ask" in text
    assert "one of members" not in text
    assert "grant(i, client[i] == 'WAITING')" in text
    assert messages(TOY) == [("member i", "group", "ask", [])]
    assert [[model.name for model in each] for *_, each in families(TOY)] == [["toy-2", "toy-3"]]


def test_a_body_is_written_as_it_is_read() -> None:
    body = (
        If((("a", (Set((("x", "1"), ("y", "x")), "both"),)), ("b", (Call("p", ("i",)),))), (Call("q"),),
           ("first", "", "rest")),
        For("i", "members", (Set((("z[i]", "0"),)),)),
    )  # fmt: skip
    assert code(body).split("\n") == [
        "if a:  # first",
        "    x := 1; y := x  # both",
        "elif b:",
        "    p(i)",
        "else:  # rest",
        "    q()",
        "for i in members:",
        "    z[i] := 0",
    ]


def test_what_every_action_demands_is_not_repeated() -> None:
    assert guard_of(Action("go", (), "fault == 'none' and a or b", ())) == "a or b"
