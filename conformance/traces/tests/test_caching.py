"""What is kept between two runs: damaged, it is made anew; where others may write, nothing is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupspec.conformance.traces import registers
from groupspec.conformance.traces.caching import is_private


def add_one(number: int) -> int:
    return number + 1


@pytest.mark.parametrize("left", [0, 1, 100])
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_half_a_file_of_compiled_code_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, left: int
) -> None:
    monkeypatch.setattr(registers, "_KEPT_IN", tmp_path / "kept")
    assert registers.compiled(add_one)(1) == 2
    [file] = (tmp_path / "kept").rglob(f"*{suffix}")
    whole = file.read_bytes()
    file.write_bytes(whole[:left])
    assert registers.compiled(add_one)(1) == 2
    [file] = (tmp_path / "kept").rglob(f"*{suffix}")
    assert len(file.read_bytes()) > len(whole) // 2  # the name of the place in it differs


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_nothing_is_kept_where_others_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int) -> None:
    monkeypatch.setattr(registers, "_KEPT_IN", tmp_path / "kept")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept").chmod(mode)
    assert not is_private(tmp_path / "kept")
    assert registers.compiled(add_one)(1) == 2
    assert not list((tmp_path / "kept").iterdir())


def test_a_folder_of_ones_own_is_made(tmp_path: Path) -> None:
    assert is_private(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").touch()
    assert not is_private(tmp_path / "file" / "b")
