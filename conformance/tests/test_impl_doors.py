"""The reference implementation reaches threads, clocks and sockets through its doors only.

Tests run it in virtual time, under a scheduler that decides which thread goes next. One `time.monotonic()` in the
wrong file, and a run is no longer the same twice. So the imports of every file of `impl/` are read, wherever in the
file they stand, and each module that touches the outside is allowed in the files named here and nowhere else.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from groupspec.conformance.tests.repository import ROOT, imports_of, is_test, module_name, python_files

THREADS_AND_CLOCKS = ("threading", "_thread", "time", "queue", "sched", "concurrent", "multiprocessing", "subprocess")
SOCKETS = ("socket", "selectors", "select", "ssl", "socketserver", "asyncio", "http", "urllib")
CHANCE = ("random", "secrets", "uuid", "datetime")
HARMLESS = {"uuid.UUID", "uuid.uuid5", "uuid.NAMESPACE_OID", "datetime.timedelta"}
"""Types and pure functions of modules that also read a clock or draw lots."""

RUNTIME = {"impl/runtime.py"}
WIRE = {"impl/network/transport.py", "impl/broker/server.py", "impl/broker/held_answers.py"}
DOORS: dict[str, set[str]] = {
    # The broker serves in a thread of its own, in real time, beside whatever it is the opposite side of.
    **dict.fromkeys(THREADS_AND_CLOCKS, RUNTIME | {"impl/broker/server.py"}),
    **dict.fromkeys(SOCKETS, WIRE),
    # The threads of virtual time.
    "greenlet": {"impl/run_to_idle.py"},
    # A scheduler that searches for races draws its choices from a seed.
    **dict.fromkeys(CHANCE, RUNTIME | {"impl/scheduling/strategies.py"}),
}


def impl_files() -> list[Path]:
    """Every file of the implementation that is not a test."""
    return [path for path in python_files("impl") if not is_test(path)]


def through_the_wall(path: Path) -> list[str]:
    """What a file imports that only a door may."""
    place = str(path.relative_to(ROOT))
    return [
        f"{place}:{line}: imports {name}; only {', '.join(sorted(DOORS[name.partition('.')[0]]))} may"
        for line, name in imports_of(path)
        if name not in HARMLESS and place not in DOORS.get(name.partition(".")[0], {place})
    ]


def test_only_the_doors_touch_threads_clocks_and_sockets() -> None:
    found = [line for path in impl_files() for line in through_the_wall(path)]
    assert not found, "\n".join(found)


def test_impl_never_imports_spec() -> None:
    """import-linter says the same; it does not see an import that is spelled as a string."""
    found = [
        f"{module_name(path)}:{line}"
        for path in impl_files()
        for line, name in imports_of(path)
        if name.startswith(("groupspec.spec", "groupspec.conformance", "groupspec.diagrams", "spec"))
    ]
    words = [
        module_name(path)
        for path in impl_files()
        if "groupspec.spec" in path.read_text(encoding="utf-8") or "import_module" in path.read_text(encoding="utf-8")
    ]
    assert not found + words


def test_the_core_is_plain_python() -> None:
    """Sans-IO: bytes and events in, bytes and events out; nothing that could open a file, either."""
    outside = {"os", "sys", "io", "pathlib", "shutil", "tempfile", "logging", "kio", "aiokafka", "signal"}
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in python_files("impl/core")
        if not is_test(path)
        for line, name in imports_of(path)
        if name.partition(".")[0] in outside or name.startswith(("groupspec.impl.network", "groupspec.impl.threads"))
    ]
    assert not found, "\n".join(found)


def test_the_consumer_knows_events_and_futures_and_not_the_network() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in impl_files()
        if path.relative_to(ROOT).parts[1] in ("consumer.py", "choice_calls.py", "partition_calls.py", "calls.py")
        for line, name in imports_of(path)
        if name.startswith("groupspec.impl.network")
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("library", ["kio", "aiokafka"])
def test_the_wire_libraries_stay_in_the_network(library: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in impl_files()
        for line, name in imports_of(path)
        if name.partition(".")[0] == library and path.relative_to(ROOT).parts[1] != "network"
    ]
    assert not found, f"{library} is used behind impl/network only: {found}"


@pytest.mark.parametrize(
    "statement", ["import time", "from time import monotonic", "def f():\n    import threading", "import os, socket"]
)
def test_a_planted_import_is_found(statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search itself works: an import is found at any depth and in any spelling."""
    from groupspec.conformance.tests import repository, test_impl_doors

    for module in (repository, test_impl_doors):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    planted = tmp_path / "impl" / "core" / "planted.py"
    planted.parent.mkdir(parents=True)
    planted.write_text(statement + "\n")
    assert len(test_impl_doors.through_the_wall(planted)) == 1
