"""Runs of models as sequence diagrams: who does what, in order, and what it changes."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from groupspec.diagrams.trace import run_picture, run_svg, step_texts
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


def test_a_run_in_words_has_a_line_for_each_step() -> None:
    picture = run_picture(joined(), "joins")
    assert step_texts(picture)[1] == "member 1 to group: JoinGroup (group Empty → PreparingRebalance)"
    assert len(step_texts(picture)) == 6


def test_G4_a_run_with_ids_shows_which_are_handed_out() -> None:
    one = {"i": 1}
    actions = [("subscribes", one), ("join_arrives", one), ("join_member_id_required_arrives", one)]
    trace = replay(models()["base-ids-eager-deployed-2"](), [*actions, ("join_again_arrives", one)])
    assert step_texts(run_picture(trace, "an id")) == (
        "member 1: subscribes (UNJOINED → PREPARING_REBALANCE)",
        "member 1 to group: JoinGroup; group: the id of member 1 is pending",
        "group to member 1: JoinGroup: come back with this id (KIP-394)",
        "member 1 to group: JoinGroup; group: the id of member 1 is pending no more (group Empty → PreparingRebalance)",
    )


def test_G13_a_run_with_a_log_shows_what_the_log_has_and_which_generation_the_group_is_in() -> None:
    model = models()["base-log-cooperative-deployed-2"]()
    actions = [(step.action, step.arguments) for step in joined().steps]
    trace = replay(model, [*actions, ("coordinator_dies", {}), ("coordinator_returns", {})])
    texts = step_texts(run_picture(trace, "the log"))
    assert "group: the group's generation is one after the log's" in texts[2]
    assert "group: the log has member 1; group: the group's generation is the log's" in texts[4]
    assert texts[6:] == (
        "group: coordinator dies (group Stable → Dead)",
        "group: coordinator returns (group Dead → Stable)",
    )


def test_what_runs_out_at_a_member_stands_at_the_member() -> None:
    steps = [("subscribes", {"i": 1}), ("join_arrives", {"i": 1}), ("initial_delay_ends", {})]
    steps += [
        ("join_accepted_arrives", {"i": 1}),
        ("session_expires_at_member", {"i": 1}),
        ("session_expires", {"i": 1}),
    ]
    picture = run_picture(replay(models()["base-eager-deployed-2"](), steps), "timers")
    assert [(entry.source, entry.label) for entry in picture.entries[-2:]] == [
        ("member 1", "session expires at member"),
        ("group", "session expires"),
    ]
