"""An exploration goes on where it was stopped, with the same numbers; and only with its own file."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from groupspec.spec.compiler.tests.toy_model import toy_model
from groupspec.spec.explorer import Exploration, ExplorerProblem, Limits, explore
from groupspec.spec.explorer.engine import EngineName
from groupspec.spec.explorer.native import compiler
from groupspec.spec.explorer.tests.samples import counter_model

ENGINES: list[EngineName] = ["python"] if compiler() is None else ["native", "python"]


def _same(found: Exploration) -> Exploration:
    """What must not depend on how it was found."""
    return replace(found, seconds=0.0, memory_bytes=0, engine="")


@pytest.mark.parametrize(("first", "second", "third"), list(product(ENGINES, ENGINES, ENGINES)))
@pytest.mark.parametrize("fold", [False, True])
def test_in_three_parts_and_by_any_engine_the_numbers_are_the_same(
    tmp_path: Path, first: EngineName, second: EngineName, third: EngineName, fold: bool
) -> None:
    model, file = toy_model(3, broken=True), tmp_path / "toy.checkpoint"
    model = replace(model, sizes={"members": 3, "partitions": 2})
    for engine, states in ((first, 100), (second, 400)):
        stopped = explore(model, engine=engine, fold=fold, checkpoint=file, limits=Limits(max_states=states))
        assert stopped.verdict == "inconclusive"
        assert file.exists()
    resumed = explore(model, engine=third, fold=fold, checkpoint=file)
    assert not file.exists(), "there is nothing to go on with"
    assert _same(resumed) == _same(explore(model, engine=first, fold=fold))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stop_in_the_middle_of_recoverability(tmp_path: Path, engine: EngineName) -> None:
    model, file = counter_model(10), tmp_path / "counter.checkpoint"
    explore(model, engine=engine, checkpoint=file, limits=Limits(max_states=500))
    resumed = explore(model, engine=engine, checkpoint=file)
    assert _same(resumed) == _same(explore(model, engine=engine))
    assert resumed.unchecked == {}


def _stopped(tmp_path: Path) -> Path:
    file = tmp_path / "toy.checkpoint"
    explore(toy_model(3), engine="python", checkpoint=file, limits=Limits(max_states=20))
    return file


def _refusal(file: Path, **changes: object) -> ExplorerProblem:
    model = replace(toy_model(3), **changes)  # type: ignore[arg-type]
    with pytest.raises(ExplorerProblem) as caught:
        explore(model, engine="python", checkpoint=file)
    assert str(file) in caught.value.where
    assert "delete the file" in caught.value.next_step
    assert file.exists()
    return caught.value


def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    file = _stopped(tmp_path)
    problem = _refusal(file, actions=toy_model(3, broken=True).actions)
    assert problem.what.startswith("the checkpoint is of another model: toy-3, hash ")
    assert problem.allowed.startswith("toy-3, hash ")


@pytest.mark.parametrize("left", [-1, -70, 120])
def test_a_checkpoint_that_was_cut_short_is_refused(tmp_path: Path, left: int) -> None:
    file = _stopped(tmp_path)
    file.write_bytes(file.read_bytes()[:left])
    assert "cut short" in _refusal(file).what


def test_a_checkpoint_with_a_wrong_bit_is_refused(tmp_path: Path) -> None:
    file = _stopped(tmp_path)
    content = bytearray(file.read_bytes())
    content[-100] ^= 1
    file.write_bytes(content)
    assert _refusal(file).what == "the checkpoint is damaged: its checksum differs"


def test_a_checkpoint_of_another_version_is_refused(tmp_path: Path) -> None:
    file = _stopped(tmp_path)
    file.write_bytes(file.read_bytes().replace(b"checkpoint 2\n", b"checkpoint 7\n"))
    problem = _refusal(file)
    assert (problem.what, problem.allowed) == ("the checkpoint is of version 7", "version 2")


def test_a_file_that_is_no_checkpoint_is_refused_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "thesis.txt"
    file.write_text("years of work")
    assert _refusal(file).what == "the file is no checkpoint"
    assert file.read_text() == "years of work"


def test_a_checkpoint_with_folding_is_not_for_one_without(tmp_path: Path) -> None:
    file = _stopped(tmp_path)
    with pytest.raises(ExplorerProblem, match="written without folding"):
        explore(toy_model(3), engine="python", checkpoint=file, fold=True)


def test_a_checkpoint_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(ExplorerProblem, match="the checkpoint cannot be written"):
        explore(toy_model(3), engine="python", checkpoint=tmp_path / "no" / "file", limits=Limits(max_states=20))
