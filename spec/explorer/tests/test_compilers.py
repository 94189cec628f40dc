"""A machine without a C compiler explores as fast as others: the wheel `ziglang` carries one."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import pytest

from groupspec.spec.explorer import native
from groupspec.spec.explorer.exploration import ExplorerProblem

SOURCE = '__attribute__((visibility("default"))) int f(void) { return 7; }'


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """No program on the PATH, nothing in the home; the cache that would be there."""
    for name in ("CC", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "no programs"))
    monkeypatch.setenv("HOME", str(tmp_path))
    native.cache_folder.cache_clear()
    yield tmp_path / ".cache" / "groupspec" / "explorer"
    native.cache_folder.cache_clear()


@pytest.mark.exhaustive
def test_the_wheels_compiler_needs_no_program_and_no_home(bare: Path) -> None:
    library = native.build(SOURCE)
    assert library.parent == bare
    assert ctypes.CDLL(str(library)).f() == 7
    assert (bare / "zig").is_dir(), "what it keeps lies with what it made"


@pytest.mark.usefixtures("bare")
def test_the_machines_own_compiler_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("gcc", "cc", "mine"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert native.compiler() == native.Compiler((str(tmp_path / "cc"),))
    monkeypatch.setenv("CC", "mine")
    assert native.compiler() == native.Compiler((str(tmp_path / "mine"),))


@pytest.mark.usefixtures("bare")
def test_without_any_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "find_spec", lambda name: None)
    with pytest.raises(ExplorerProblem, match="no C compiler") as problem:
        native.build(SOURCE)
    assert ".[verify]" in str(problem.value)
