"""The guided tour and CONTRIBUTING: functions and files exist; pictures show real runs and what the text says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from groupspec.conformance import generate, tour
from groupspec.conformance.explain import code

TOUR = generate.ROOT / "impl" / "README.md"


def test_each_function_and_file_of_the_tour_exists() -> None:
    text = TOUR.read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^a-z0-9 -]", "", line.lower()).replace(" ", "-") for line in re.findall(r"^#+ (.+)$", text, re.M)
    }
    for link in re.findall(r"\]\(([^)]+)\)", text):
        file, _, heading = link.partition("#")
        assert (TOUR.parent / file).exists(), link
        assert file or heading in headings, link
    names = re.findall(r"`([A-Z]\w+\.\w+)`", text)
    assert len(names) > 30
    known = {place.name for name in names for place in code.defining(name.partition(".")[2])}
    assert [name for name in names if name not in known] == []


def test_each_picture_is_in_the_tour() -> None:
    shown = re.findall(r"tour/([\w-]+)\.svg", TOUR.read_text(encoding="utf-8"))
    assert shown == list(tour.PATHS)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("join", ["FindCoordinator", "JoinGroup: MEMBER_ID_REQUIRED", "SyncGroup", "on_partitions_assigned", "Fetch"]),
        ("heartbeat", ["Heartbeat", "Heartbeat: NONE", "Heartbeat", "Heartbeat: NONE"]),
        ("revocation", ["Heartbeat: REBALANCE_IN_PROGRESS", "SyncGroup", "on_partitions_revoked", "JoinGroup"]),
        ("commit", ["commit()", "Commit", "OffsetCommit", "OffsetCommit: NONE", "commit() returns"]),
        ("leave", ["close()", "OffsetCommit", "on_partitions_revoked", "LeaveGroup", "close() returns"]),
        ("poll-timeout", ["LeaveGroup", "poll(100)", "on_partitions_lost", "JoinGroup", "on_partitions_assigned"]),
    ],
)
def test_a_path_goes_as_the_tour_tells(path: str, expected: list[str]) -> None:
    labels = iter([entry.label for entry in tour.recorded(path)])
    assert [label for label in expected if label not in labels] == []  # in this order


def test_the_same_run_gives_the_same_picture() -> None:
    assert tour.tour_svg("revocation") == tour.tour_svg("revocation")


def test_the_pictures_are_generated_files() -> None:
    named = {Path(file.path).stem for file in generate.generated_files() if "/tour/" in file.path}
    assert named == set(tour.PATHS)


def test_what_contributing_names_exists() -> None:
    """Files of the repository; what a reader is told to make has one of these names, and is not there."""
    text = (TOUR.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = re.findall(r"`((?:conformance|diagrams|impl|spec)/[\w./-]+)`", text)
    made = [file for file in files if re.search(r"acme|my_", file)]
    assert len(made) >= 5
    assert [file for file in files if file not in made and not (TOUR.parents[1] / file).exists()] == []
