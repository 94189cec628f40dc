"""The list of defects, its pages and its reproductions."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from groupspec.conformance.defects import DEFECTS, Defect
from groupspec.conformance.real_broker.tests.fixture import RealBroker
from groupspec.conformance.stress.known import KNOWN
from groupspec.conformance.tests.repository import ROOT
from groupspec.conformance.wire import docket
from groupspec.conformance.wire.client_builds import BUILDS
from groupspec.conformance.wire.clients import BUILT_IN
from groupspec.spec.rules import RULES

HEADINGS = (
    "What happens",
    "What should happen",
    "Reproduce",
    "How the kit finds it",
    "Where it is",
    "What it costs",
    "A possible fix",
)
LIMIT_S = 150
of_each = pytest.mark.parametrize("defect", DEFECTS.values(), ids=lambda defect: str(defect.id))


@of_each
def test_an_entry_is_about_what_there_is(defect: Defect) -> None:
    assert defect.client in BUILT_IN
    assert not defect.rule or defect.rule in RULES
    pinned = BUILDS[defect.client].version if defect.client in BUILDS else None
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    is_tried = pinned == defect.version or f"{defect.client}=={defect.version}" in constraints
    assert is_tried, "another version: try it anew"
    assert defect.script.is_file()


@of_each
def test_it_is_said_what_has_found_it(defect: Defect) -> None:
    assert bool(defect.kit or defect.known) is not bool(defect.found)
    if defect.known:
        known = KNOWN[defect.known]
        assert (known.client, known.version) == (defect.client, defect.version)
    if defect.kit:
        assert defect.rule
        of_client = [one for one in docket.of_rule(defect.rule) if one.client == defect.client]
        assert any(one.explains(defect.client, one.version, defect.rule, defect.kit, one.verdict) for one in of_client)


@of_each
def test_a_page_says_all_that_a_report_needs(defect: Defect) -> None:
    text = defect.page.read_text(encoding="utf-8")
    assert tuple(line[3:] for line in text.splitlines() if line.startswith("## ")) == HEADINGS
    assert text.startswith(f"# {defect.client} {defect.version}")
    assert f"    {' '.join(_command(defect, 'JARS'))} 127.0.0.1:PORT\n" in text
    assert f"rule {defect.rule}" in text or not defect.rule


def _command(defect: Defect, jars: str) -> list[str]:
    """What starts the reproduction in its folder, as a page says it."""
    if defect.client == "java":
        return ["java", "-cp", f"'{jars}/*'", defect.script.name]
    return ["python", defect.script.name]


def test_each_folder_is_in_the_list() -> None:
    folders = {file.parent for file in (ROOT / "conformance" / "defects").glob("*/README.md")}
    assert {folder.name for folder in folders} == {defect.folder.name for defect in DEFECTS.values()}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealBroker]:
    with RealBroker(tmp_path_factory.mktemp("broker"), lifetime_s=len(DEFECTS) * LIMIT_S) as running:
        yield running


@pytest.mark.nightly
@of_each
def test_the_reproduction_shows_it_at_a_real_broker(defect: Defect, broker: RealBroker) -> None:
    if defect.client == "java":
        jars = BUILDS["java"].install() / "target" / "jars"
        started_by = [shutil.which("java") or "java", "-cp", f"{jars}/*"]
    else:
        started_by = [sys.executable]
    run = subprocess.run(
        [*started_by, str(defect.script), broker.bootstrap],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert run.returncode == 1, run.stdout + run.stderr
    assert "Traceback" not in run.stderr, "an exception ends with 1, too"
