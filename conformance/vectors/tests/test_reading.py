"""A vector file that is not what it should be says so: which file, which line, and what to do."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.vectors import read_vectors, vector_files
from groupspec.conformance.vectors.making import vectors_text
from groupspec.conformance.vectors.subjects import SUBJECTS

PARTITION = next(subject for subject in SUBJECTS if subject.name == "partition")


@pytest.fixture
def lines() -> list[str]:
    """A small file's lines, made anew."""
    return vectors_text(PARTITION, "any").splitlines(keepends=True)


def written(folder: Path, text: str) -> Path:
    """A compressed file of that text."""
    file = folder / "some.ndjson.gz"
    file.write_bytes(gzip.compress(text.encode()))
    return file


def header(lines: list[str], **changed: object) -> str:
    """The text with something else in its first line."""
    return json.dumps({**json.loads(lines[0]), **changed}) + "\n" + "".join(lines[1:])


def test_a_file_is_read_whole(tmp_path: Path, lines: list[str]) -> None:
    file = read_vectors(written(tmp_path, "".join(lines)))

    assert (file.subject, file.rebalance) == ("partition", "any")
    assert (len(file.states), len(file.pairs)) == (file.counts["states"], file.counts["pairs"])
    deepest = file.states[-1]
    way = file.way_to(deepest.number)
    assert way[-1].target == deepest.number
    assert file.start_of(deepest.number) == 0


def test_a_file_need_not_be_compressed(tmp_path: Path, lines: list[str]) -> None:
    file = tmp_path / "plain.ndjson"
    file.write_text("".join(lines))

    assert read_vectors(file).states == read_vectors(written(tmp_path, "".join(lines))).states


SPOILT: dict[str, tuple[Callable[[list[str]], str], str, str]] = {
    "another version": (lambda lines: header(lines, version=7), "of version 7, and this release reads 1", "line 1"),
    "another specification": (lambda lines: header(lines, spec="0" * 64), "another specification", "line 1, key spec"),
    "another format": (lambda lines: header(lines, format="other"), "no vector file", "line 1, key format"),
    "an unknown subject": (lambda lines: header(lines, subject="broker"), "another specification", "line 1"),
    "cut between lines": (lambda lines: "".join(lines[:-3]), "cut short", "line"),
    "cut within a line": (lambda lines: "".join(lines)[:-20], "cut short", "line"),
    "a line that is not JSON": (lambda lines: "".join([*lines[:4], "{oops\n", *lines[5:]]), "not JSON", "line 5"),
    "a line that is no object": (
        lambda lines: "".join([*lines[:4], "[1]\n", *lines[5:]]),
        "not a JSON object",
        "line 5",
    ),
    "a key that is missing": (
        lambda lines: "".join([*lines[:4], '{"state":3}\n', *lines[5:]]),
        "does not keep the format",
        "line 5",
    ),
    "a code that the legend lacks": (
        lambda lines: "".join([*lines[:4], lines[4].replace('"does":[[', '"does":[[99'), *lines[5:]]),
        "does not keep the format",
        "line 5",
    ),
    "a state twice": (lambda lines: "".join([*lines[:4], *lines[3:]]), "state 2 where state 3 comes next", "line 5"),
    "a line changed by hand": (lambda lines: "".join(lines).replace('"start":0', '"start":1', 1), "changed", "line 1"),
    "an empty file": (lambda lines: "", "not JSON", "line 1"),
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_a_spoilt_file_is_named_with_its_line_and_what_to_do(tmp_path: Path, lines: list[str], spoilt: str) -> None:
    spoil, what, where = SPOILT[spoilt]
    file = written(tmp_path, spoil(lines))

    with pytest.raises(UsageProblem) as caught:
        read_vectors(file)

    assert what in caught.value.what
    assert str(file) in caught.value.where
    assert where in caught.value.where
    assert "groupspec generate" in caught.value.next_step


def test_a_download_that_stopped_is_called_cut_short(tmp_path: Path, lines: list[str]) -> None:
    file = written(tmp_path, "".join(lines))
    file.write_bytes(file.read_bytes()[:-40])

    with pytest.raises(UsageProblem, match="cut short"):
        read_vectors(file)


def test_a_file_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem) as caught:
        read_vectors(tmp_path / "nothing.gz")

    assert all(file.name in caught.value.allowed for file in vector_files())


def test_vectors_of_another_specification_are_read_if_one_insists(tmp_path: Path, lines: list[str]) -> None:
    file = read_vectors(written(tmp_path, header(lines, spec="0" * 64)), any_spec=True)

    assert file.spec == "0" * 64
