"""Which tests fail with which mutant: run by pytest, with `groupspec.conformance.mutation.plugin`.

Tried are the tests that carry a rule in their name. Those that need a socket or more than some seconds, and those whose
examples Hypothesis draws, are not.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from groupspec.conformance.errors import UsageProblem

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = (
    *("impl/core/tests", "impl/threads/tests", "impl/coordinator/tests", "impl/broker/tests", "impl/network/tests"),
    *("impl/tests", "spec/tests"),
)
"""Tests of the implementation, and of the machines of the specification."""

RULES_IN_NAME: Final = re.compile(r"test_((?:[A-Z][0-9]+_)+)")
NOT_HERE: Final = frozenset({"realtime", "real_broker", "spark", "exhaustive", "tools"})
"""Marks of tests that need more than this process, or too long."""

UNCHANGED: Final = "-"
"""Instead of a mutant's id: nothing is changed, and every test has to pass."""

_WITHOUT: Final = ("cacheprovider", "logging", "warnings", "unraisableexception", "threadexception")
"""Plugins of pytest that would only cost time."""

OPTIONS: Final = (
    *("-p", "groupspec.conformance.mutation.plugin", "-q", "--capture=no", "--tb=no"),
    *(f"-pno:{plugin}" for plugin in _WITHOUT),
)


def checks() -> Iterator[tuple[str, str]]:
    """(file, name) of every test whose name carries a rule; nothing where no tests are installed."""
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).glob("test_*.py")):
            for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE):
                if RULES_IN_NAME.match(name):
                    yield f"{folder}/{file.name}", name


def rules_of(check: str) -> frozenset[str]:
    """The ids in the name of a test, given as pytest has it."""
    found = RULES_IN_NAME.match(check.rpartition("::")[2])
    return frozenset(found[1].strip("_").split("_")) if found else frozenset()


def tried(
    identifiers: Sequence[str], told: Callable[[], None] = lambda: None, jobs: int = 1, of_its_rules: bool = False
) -> tuple[list[str], dict[str, Any]]:
    """Some mutants against every test; or each against those of the rules that it breaks.

    Returns:
        The tests by their ids, sorted; and by mutant {"failed": [test], "defect": text}.

    Raises:
        UsageProblem: there are no tests here, or they can't be run.
    """
    files = sorted({file for file, _ in checks()})
    if not files:
        raise UsageProblem(
            "there are no tests here, and they are what mutants are tried against",
            where=str(ROOT),
            next_step="call it in a checkout of the repository: an installed groupspec has no tests",
        )
    arguments = [*files, *(["--of-its-rules"] if of_its_rules else ())]
    with ThreadPoolExecutor(jobs) as pool:
        shares = [identifiers[first::jobs] for first in range(jobs)]
        lines = [
            line for share in pool.map(lambda share: list(_lines(arguments, share, told)), shares) for line in share
        ]
    tests: list[str] = lines[0]["tests"]
    return sorted(tests), {line["mutant"]: line for line in lines if "mutant" in line}


def _lines(arguments: Sequence[str], identifiers: Sequence[str], told: Callable[[], None]) -> Iterator[dict[str, Any]]:
    """What one process of pytest writes, line by line."""
    reader, writer = os.pipe()
    chosen = [f"--mutant={identifier}" for identifier in identifiers]
    with tempfile.TemporaryFile() as said:
        pytest = subprocess.Popen(
            [sys.executable, "-m", "pytest", *OPTIONS, f"--kills=/dev/fd/{writer}", *chosen, *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": "0", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            stdout=said,
            stderr=said,
            pass_fds=(writer,),
        )
        os.close(writer)
        with os.fdopen(reader, encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)
                told()
        if pytest.wait():
            said.seek(0)
            text = said.read().decode(errors="replace")[-2_000:]
            raise UsageProblem(
                "pytest can't run the tests, or has died",
                where=text,
                next_step="is pytest there? it comes with the extra 'dev': pip install '.[dev]'",
            )
