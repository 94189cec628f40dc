"""What the explorer's tests compile runs for a moment only: it is compiled quickly, and kept nowhere but here."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupspec.spec.explorer import native


@pytest.fixture(autouse=True)
def always_quick(quick_compilation: None) -> None:
    pass


@pytest.fixture
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache in which nothing was compiled yet."""
    monkeypatch.setattr(native, "cache_folder", lambda: tmp_path)
    return tmp_path
