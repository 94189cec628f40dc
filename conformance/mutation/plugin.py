"""A pytest plugin that runs tests with a mutant applied: to see which of them notice it, and how.

    pytest -p groupspec.conformance.mutation.plugin --mutant BUG-23 impl/core/tests

With `--kills FILE` the tests are collected once. For each mutant a process is forked from the one that has collected
them, runs those that carry a rule in their name, and a line of JSON goes to FILE: {"mutant", "failed": [test],
"defect": text}; the first line is {"tests": [test]}. So nothing of a mutant is left for the next one, neither a
replaced function nor a thread that hangs in a test. With `--of-its-rules` each runs only tests of the rules that its
mutant breaks.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import pytest

from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.mutation.guards import is_defect, stop_the_endless
from groupspec.conformance.mutation.mutant import Mutant, Seam
from groupspec.conformance.mutation.trials import NOT_HERE, RULES_IN_NAME, UNCHANGED, rules_of

MAX_S: Final = 60.0
"""For all tests with one mutant, which take some seconds: with more, the mutant hangs in one of them."""

FORK: Final = multiprocessing.get_context("fork")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of this plugin."""
    group = parser.getgroup("mutants of groupspec")
    group.addoption("--mutant", action="append", default=[], metavar="ID", help="apply this mutant (repeatable)")
    group.addoption("--kills", metavar="FILE", help="try one mutant after the other, and write here which tests fail")
    group.addoption("--of-its-rules", action="store_true", help="with --kills: only tests of a rule that it breaks")


def pytest_configure(config: pytest.Config) -> None:
    """Apply the mutants, or get ready to apply one after the other.

    Raises:
        UsageError: there is no such mutant.
    """
    chosen: list[str] = config.getoption("--mutant")
    unknown = [one for one in chosen if one not in MUTANTS and one != UNCHANGED]
    if unknown:
        raise pytest.UsageError(f"there is no mutant {unknown[0]!r}; there are: {', '.join(MUTANTS)}")
    if config.getoption("--kills"):
        kills = _Kills(
            chosen or [UNCHANGED, *MUTANTS], Path(config.getoption("--kills")), config.getoption("--of-its-rules")
        )
        config.pluginmanager.register(kills)
        return
    seam = Seam()
    config.add_cleanup(seam.close)
    for one in chosen:
        MUTANTS[one].change(seam)


class _Kills:
    """Which tests fail with each of some mutants."""

    def __init__(self, chosen: Sequence[str], file: Path, of_its_rules: bool) -> None:
        self.chosen, self.file, self.of_its_rules = chosen, file, of_its_rules
        self.failed: dict[str, None] = {}
        self.defect = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Only tests that carry a rule, and that are quick and the same each time."""
        items[:] = [
            item
            for item in items
            if RULES_IN_NAME.match(item.name)
            and not NOT_HERE & {mark.name for mark in item.iter_markers()}
            and not hasattr(getattr(item, "obj", None), "hypothesis")
        ]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Every mutant in a process of its own.

        Raises:
            UsageError: a test file could not be collected.
        """
        if session.testsfailed:
            raise pytest.UsageError("the tests can't be collected")
        gc.freeze()  # what has been collected is shared with the forked processes, and not looked at again by each
        with self.file.open("w", encoding="utf-8") as file:
            print(json.dumps({"tests": list(dict.fromkeys(map(_test, session.items)))}), file=file, flush=True)
            for identifier in self.chosen:
                print(json.dumps({"mutant": identifier, **self._forked(identifier, session)}), file=file, flush=True)
        return True

    def _forked(self, identifier: str, session: pytest.Session) -> dict[str, object]:
        receiver, sender = FORK.Pipe(duplex=False)
        child = FORK.Process(target=self._send_result, args=(sender, identifier, session))
        child.start()
        sender.close()
        try:
            if not receiver.poll(MAX_S):
                return {"failed": [], "defect": f"one of the tests has not ended after {MAX_S:.0f} s"}
            found: dict[str, object] = receiver.recv()
        except EOFError:
            return {"failed": [], "defect": "its process died"}
        finally:
            child.kill()  # threads of tests that broke off are still there, and nobody is to wait for them
            child.join()
        return found

    def _send_result(self, sender: Connection, identifier: str, session: pytest.Session) -> None:
        """In the process of the mutant."""
        session.config.pluginmanager.unregister(name="terminalreporter")  # it would say each test's outcome
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what threads that die say there
        sender.send(self._result(MUTANTS.get(identifier), session.items))

    def _result(self, one: Mutant | None, items: Sequence[pytest.Item]) -> dict[str, object]:
        seam = Seam()
        stop_the_endless(seam)
        if one is not None:
            try:
                one.change(seam)
            except Exception as problem:
                return {"failed": [], "defect": f"it can't be applied: {problem!r}"}
            items = [item for item in items if item.nodeid.startswith("spec/") is one.of_spec]
            if self.of_its_rules:
                items = [item for item in items if rules_of(_test(item)).intersection(one.rules)]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.defect:
                break
        return {"failed": list(self.failed), "defect": self.defect}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """One failed case of a test is enough."""
        if _test(item) in self.failed:
            pytest.skip("another case of it has failed")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport:
        """Without pytest's rendering of the traceback, which would take longer than the tests."""
        error = call.excinfo.value if call.excinfo else None
        if error is not None and not isinstance(error, pytest.skip.Exception):
            self.failed[_test(item)] = None
            if is_defect(error):
                self.defect = "".join(traceback.format_exception(error)[-6:])
        when = call.when if call.when != "collect" else "setup"
        return pytest.TestReport(item.nodeid, item.location, {}, "failed" if error else "passed", None, when)


def _test(item: pytest.Item) -> str:
    """Its id without parameters."""
    return item.nodeid.partition("[")[0]
