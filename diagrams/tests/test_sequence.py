"""Sequence diagrams: well-formed, complete, and safe to put into a page beside others."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

from groupspec.diagrams.sequence import COLOURS, Entry, sequence_svg

LANES = ("application", "client", "node 1")


def _texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]


def test_every_label_and_lane_is_shown_in_order() -> None:
    entries = [
        Entry(0.0, "application", "client", "subscribe", "call"),
        Entry(1.5, "client", "node 1", "JoinGroup v5", "request", "member_id=''"),
        Entry(2.5, "node 1", "client", "MEMBER_ID_REQUIRED", "error"),
    ]
    texts = _texts(sequence_svg(LANES, entries, "first join"))
    assert texts[0] == "first join"
    assert [text for text in texts if text in LANES] == list(LANES)
    labels = [entry.label for entry in entries]
    assert [text for text in texts if text in labels] == labels
    assert "member_id=''" in texts
    assert "2.5 ms" in texts


def test_what_a_client_sent_cannot_break_the_page() -> None:
    hostile = '</text><script>alert(1)</script> & "quotes"'
    svg = sequence_svg(LANES, [Entry(0.0, "client", "", hostile, "note", hostile)], hostile)
    root = ElementTree.fromstring(svg)
    assert "script" not in {element.tag.rpartition("}")[2] for element in root.iter()}
    assert " id=" not in svg


def test_a_long_silence_is_drawn_and_a_short_one_is_not() -> None:
    entries = [Entry(at_ms, "client", "node 1", "Heartbeat", "request") for at_ms in (0.0, 100.0, 3_100.0)]
    silences = [text for text in _texts(sequence_svg(LANES, entries, "quiet")) if "silence" in text]
    assert silences == ["3.0 s of silence"]


def test_a_long_label_is_cut_and_whole_in_the_tooltip() -> None:
    label = "JoinGroup " + "x" * 300
    svg = sequence_svg(LANES, [Entry(0.0, "client", "node 1", label, "request")], "long")
    assert any(text.endswith("…") for text in _texts(svg))
    assert label in svg


def test_a_message_that_never_arrives_has_no_arrow_head() -> None:
    svg = sequence_svg(LANES, [Entry(0.0, "client", "nowhere", "JoinGroup", "request")], "lost")
    assert "JoinGroup" in _texts(svg)
    assert 'Z"' not in svg


def test_a_violation_is_red() -> None:
    svg = sequence_svg(LANES, [Entry(0.0, "client", "", "J3", "violation")], "broken")
    assert COLOURS["violation"] in svg


def test_an_unknown_lane_is_named() -> None:
    with pytest.raises(ValueError, match="broker"):
        sequence_svg(LANES, [Entry(0.0, "broker", "client", "x")], "wrong")


def test_no_entries_say_so() -> None:
    assert "nothing happened" in _texts(sequence_svg(LANES, [], "empty"))


def test_lanes_are_as_far_apart_as_what_is_written_between_them_and_boxes_stay_in_the_picture() -> None:
    """Four lanes once were 1,952 pixels, of which a window showed two thirds."""
    lanes = (*LANES, "node 2")
    entries = [
        Entry(0.0, "node 2", "", "the next Heartbeat is answered UNKNOWN_MEMBER_ID, and so on", "note"),
        Entry(1.0, "client", "application", "partitions_assigned: orders-0, orders-1, orders-2, orders-3", "callback"),
        Entry(2.0, "client", "node 1", "OffsetFetch", "request", "x" * 200),
    ]
    root = ElementTree.fromstring(sequence_svg(lanes, entries, "apart"))
    lines = [float(line.get("x1", "")) for line in root.iter("{http://www.w3.org/2000/svg}line")][: len(lanes)]
    gaps = [right - left for left, right in pairwise(lines)]
    assert (gaps[0] > 300, gaps[1] > 300, gaps[2] < 200) == (True, True, True)
    width = float(root.get("width", ""))
    assert width < 1_300
    boxes = [
        (float(box.get("x", 0)), float(box.get("width", ""))) for box in root.iter("{http://www.w3.org/2000/svg}rect")
    ]
    assert all(x >= 0 and x + wide <= width for x, wide in boxes)
