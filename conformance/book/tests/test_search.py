"""The search of the book: what people type leads to what they mean, first or nearly first."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping

import pytest

from groupspec.conformance.book.search import names, search_index
from groupspec.conformance.reports.templating import template_text

WANTED = {
    "J3": "J3",
    "heartbeat-interval": "H2",
    "join_accepted": "join_accepted",
    "STABLE": "STABLE",
    "zombie": "zombie",
    "static member": "static member",
    "CommitFailedException": "CommitFailedException",
    "commitfailedexeption": "CommitFailedException",
    "commit cannot be completed": "M2",
    "hearbeat": "Heartbeat",
    "unknwon member": "J4",
    "unknown_member_id": "J4",
    "rebalence in progress": "JoinGroup REBALANCE_IN_PROGRESS",
    "KIP-848": "KIP-848",
    "poll too slow": "P1",
    "my consumer is slow": "P1",
    "max.poll.interval.ms": "max.poll.interval.ms",
    "why was my consumer kicked out of the group?": "G5",
    "rebalance storm": "G6",
    "onPartitionsLost": "C2",
    "data loss": "O1",
    "duplicate messages": "C2",
    "what happens when a member is fenced": "FENCED_INSTANCE_ID",
    "KAFKA-19242": "M1",
    "session.timeout.ms": "session.timeout.ms",
    "graceful shutdown": "L1",
    "deadlock": "T1",
    "auto commit": "M4",
}
FIRST = {
    "member": "member",
    "generation": "generation",
    "assignment": "assignment",
    "fencing": "fencing",
    "in flight": "IN_FLIGHT",
    "discovery": "FindCoordinator",
    "coordinator": "coordinator",
    "monitor": "monitor",
    "mutant": "mutant",
    "trace": "trace",
    "property": "property",
    "liveness": "property",
    "scenario": "scenario",
    "timeouts": "Timeouts",
    "rebalance timeout": "rebalance timeout",
    "wakeup": "T4",
    "counterexample": "Flaws found",
    "error code": "Error codes",
    "quarantine": "trace",
}
"""What is typed, and what must come first."""
"""What is typed, and what must be among the first three results."""


@pytest.fixture(scope="module")
def index() -> str:
    return search_index()


def test_whatever_people_call_something_leads_to_titles_that_are_there(index: str) -> None:
    titles = {json.loads(line.rstrip(","))[0] for line in index.split("\n") if line.startswith("[")}
    assert {title for name in names().values() for title in name.means} <= titles
    phrases = [phrase.lower() for name in names().values() for phrase in name.said]
    assert len(phrases) == len(set(phrases))


@pytest.mark.tools
def test_the_ranking_puts_what_is_meant_first(index: str) -> None:
    found = asked(index, list(WANTED))
    first = {query: entries[:3] for query, (entries, _) in found.items()}
    missed = {query: first[query] for query, title in WANTED.items() if not any(title in each for each in first[query])}
    assert missed == {}
    assert {query: entries[0] for query, (entries, _) in asked(index, list(FIRST)).items()} == FIRST
    said = {phrase: name.means[0] for name in names().values() for phrase in name.said}
    assert {phrase: entries[0] for phrase, (entries, _) in asked(index, list(said)).items()} == said


@pytest.mark.tools
def test_a_misspelling_is_read_as_the_nearest_word_and_says_so(index: str) -> None:
    found = asked(index, ["hearbeat", "unknwon member", "heartbeat", "qqqqqqqq"])
    assert [read for _, read in found.values()] == ["heartbeat", "unknown member", "", ""]
    assert found["qqqqqqqq"][0] == []


def asked(index: str, queries: list[str]) -> Mapping[str, tuple[list[str], str]]:
    """The titles of the first results of each query, and how it was read."""
    script = (
        "globalThis.window = globalThis;\n"
        + index
        + re.sub(r'"use strict";', "", template_text("book/search.js"))
        + f"const index = prepared(globalThis);\nconst asked = {json.dumps(queries)};\n"
        "const first = ({ found, read }) => [found.slice(0, 8).map(({ title }) => title), read];\n"
        "console.log(JSON.stringify(asked.map((query) => first(search(index, query)))));\n"
    )
    run = subprocess.run(["node", "-"], input=script, capture_output=True, text=True, check=True, timeout=60)
    return dict(zip(queries, json.loads(run.stdout), strict=True))
