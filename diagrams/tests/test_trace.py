"""Runs of models as sequence diagrams: who does what, in order, and what it changes."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from groupspec.diagrams.trace import run_mermaid, run_picture, run_svg, step_texts
from groupspec.spec.composition import models
from groupspec.spec.explorer import Trace
from groupspec.spec.explorer.interpreter import replay


def joined() -> Trace:
    """Two members; the first is assigned everything, and both are seen."""
    one = {"i": 1}
    actions = [
        ("subscribes", one),
        ("join_arrives", one),
        ("initial_delay_ends", {}),
        ("join_accepted_arrives", one),
        ("sync_arrives", {"i": 1, "k": 1}),
        ("sync_accepted_arrives", one),
    ]
    return replay(models()["base-cooperative-deployed-2"](), actions)


def test_a_run_of_a_group_shows_messages_timers_and_what_they_change() -> None:
    picture = run_picture(joined(), "joins", "there it is", is_violation=False)
    assert picture.lanes == ("member 1", "group")
    assert [(entry.source, entry.target, entry.label) for entry in picture.entries] == [
        ("member 1", "", "subscribes"),
        ("member 1", "group", "JoinGroup"),
        ("group", "", "initial delay ends"),
        ("group", "member 1", "JoinGroup: NONE"),
        ("member 1", "group", "SyncGroup"),
        ("group", "member 1", "SyncGroup: NONE, with the assignment"),
        ("member 1", "", "owns partition 1 and partition 2"),
        ("group", "", "there it is"),
    ]
    assert "group Empty → PreparingRebalance" in picture.entries[1].note
    assert [entry.at_ms for entry in picture.entries] == [1, 2, 3, 4, 5, 6, 6, 6]


def test_it_is_drawn_with_numbers_of_steps_and_no_clock() -> None:
    svg = run_svg(run_picture(joined(), "joins"))
    texts = [text.text for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert {"1", "2", "3", "4", "5", "6"} <= set(texts)
    assert "ms" not in svg.replace("params", "")


def test_mermaid_and_words_tell_the_same() -> None:
    picture = run_picture(joined(), "joins")
    assert "    member_1->>group: JoinGroup (group Empty to PreparingRebalance)" in run_mermaid(picture).splitlines()
    assert step_texts(picture)[1] == "member 1 to group: JoinGroup (group Empty → PreparingRebalance)"
    assert len(step_texts(picture)) == 6
