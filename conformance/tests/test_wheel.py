"""What `pip install groupspec` brings: no tests, nothing generated, and a command that works with few libraries.

The wheel is built from a copy of this tree and installed into an environment of its own. Nothing is downloaded: the
libraries that it asks for are linked from the environment that runs the tests, and no others are there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from groupspec.conformance import missing
from groupspec.conformance.tests.repository import FOLDERS, ROOT, files_below, settings
from groupspec.conformance.wire.client_builds import REGISTRY
from groupspec.conformance.wire.skeleton import SKELETONS

BUILD = "from setuptools import build_meta; build_meta.build_wheel('wheel')"
LOG = ROOT / "conformance" / "traces" / "captures" / "02a-slow-java" / "broker.log"

WIRE = "groupspec/conformance/wire"

IMPORT_ALL = """
import sys
from importlib import import_module
from groupspec import conformance, impl, spec
assert all(getattr(package, name) for package in (conformance, impl, spec) for name in package.__all__)
for module in sys.argv[1:]:
    try:
        import_module(module)
    except ImportError as error:
        print(module, error.name)
"""


def libraries(requirement: str, extra: str = "", known: dict[str, Path] | None = None) -> dict[str, Path]:
    """Everything that a requirement brings, as files and folders of this environment, by name."""
    known = {} if known is None else known
    parsed = Requirement(requirement)
    if parsed.marker is not None and not parsed.marker.evaluate({"extra": extra}):
        return known
    found = distribution(parsed.name)
    for file in found.files or ():
        top = file.parts[0]
        if top not in ("..", "__pycache__"):
            known[top] = Path(str(found.locate_file(top)))
    if f"dist-info of {parsed.name}" not in known:
        known[f"dist-info of {parsed.name}"] = Path()
        for each in found.requires or ():
            libraries(each, "", known)
    return known


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("wheel") / "copy"
    for folder in FOLDERS:
        for file in files_below(ROOT / folder):
            target = copy / file.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(file.resolve(), target)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    (copy / "wheel").mkdir()
    subprocess.run([sys.executable, "-c", BUILD], cwd=copy, capture_output=True, check=True)
    [built] = (copy / "wheel").iterdir()
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Iterator[Path]:
    """The `bin` of an environment with the wheel and what a plain install of it brings."""
    venv = wheel.parent / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(venv / "bin" / "python")]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)], check=True)
    [packages] = venv.glob("lib/*/site-packages")
    for requirement in settings()["project"]["dependencies"]:
        for name, path in libraries(requirement).items():
            if path.name and not (packages / name).exists():
                (packages / name).symlink_to(path)
    yield venv / "bin"
    shutil.rmtree(venv)


def run(command: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [command, *arguments], cwd=command.parent, env={"PATH": os.defpath}, capture_output=True, text=True, check=False
    )


def test_a_wheel_holds_no_tests_nothing_generated_and_nothing_that_verifies_the_specification(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert f"{WIRE}/PROTOCOL.md" in names
    built = (each.build for each in REGISTRY.values() if each.build is not None)
    harnesses = {f"{WIRE}/harnesses/{how.folder}/{name}" for how in built for name in how.sources}
    assert harnesses <= set(names)
    skeletons = f"{WIRE}/skeletons"
    assert {f"{skeletons}/{each.language}/{file}" for each in SKELETONS.values() for file in each.files} <= set(names)
    shared = {f"{WIRE}/harnesses/{each.shared_from}/{file}" for each in SKELETONS.values() for file in each.shared}
    assert {f"{skeletons}/README.md", f"{skeletons}/skeletons.toml", *shared} <= set(names)
    unwanted = ("/tests/", "/generated/", "/mutation/", "/explorer/", "/benchmarks/", "/captures/", ".tla", ".pml")
    assert [name for name in names if any(part in name for part in unwanted)] == []


def test_whatever_is_left_out_is_there_to_be_left_out() -> None:
    """A folder that is renamed must not come back into the wheel unnoticed."""
    source = (ROOT / "setup.py").read_text(encoding="utf-8")
    scope: dict[str, object] = {}
    exec(source[source.index("LEFT_OUT = (") : source.index('"""Patterns')], scope)  # the rest of it would run setup()
    patterns = scope["LEFT_OUT"]
    assert isinstance(patterns, tuple)
    assert {pattern: any(ROOT.glob(pattern.replace("*/", "**/", 1))) for pattern in patterns} == dict.fromkeys(
        patterns, True
    )


@pytest.mark.realtime
def test_an_install_judges_a_client_and_explains_a_rule(installed: Path) -> None:
    judged = run(installed / "groupspec", "conform", "reference", "--scenario", "close-while-stable", "--report", "out")
    assert (judged.returncode, judged.stderr) == (0, "")
    assert "PASS" in judged.stdout
    assert (installed / "out" / "report.html").is_file()
    explained = run(installed / "groupspec", "explain", "H2")
    assert "heartbeat-interval" in explained.stdout, explained.stderr
    assert "only in a checkout" in run(installed / "groupspec", "explain", "one-owner").stderr


def test_an_install_writes_a_harness(installed: Path) -> None:
    written = run(installed / "groupspec", "init", "java", "--out", "harness")
    assert (written.returncode, written.stderr) == (0, "")
    assert (installed / "harness" / "src" / "main" / "java" / "Protocol.java").is_file()


def test_an_install_says_why_a_group_rebalanced(installed: Path) -> None:
    told = run(installed / "groupspec", "trace", "why", "g1", str(LOG))
    assert told.returncode == 0, told.stderr
    assert "poll_timeout by m1" in told.stdout


def test_what_is_not_installed_is_told_with_what_brings_it(installed: Path) -> None:
    (installed / "trace.ndjson").write_text("")
    checked = run(installed / "groupspec", "trace", "check", "trace.ndjson")
    assert checked.returncode == 2
    assert "pip install '.[traces]'" in checked.stderr
    assert "quarantine" in run(installed / "groupspec", "trace", "ingest", "--help").stdout
    written = run(installed / "groupspec", "book")
    assert written.returncode == 2
    assert "`groupspec book` works only in a checkout (the whole specification as a static site" in written.stderr
    assert "allowed: a checkout of groupspec's repository" in written.stderr
    listed = run(installed / "groupspec", "--help").stdout
    assert listed.count("(only in a checkout)") == len(missing.ONLY_IN_A_CHECKOUT)
    assert "`groupspec book` in a checkout" in run(installed / "groupspec", "explain", "H2").stdout


def test_whatever_is_installed_can_be_imported_but_for_commands_of_a_checkout_and_what_needs_an_extra(
    installed: Path, wheel: Path
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        files = [Path(name) for name in archive.namelist() if name.endswith(".py")]
    modules = [".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files]
    told = run(installed / "python", "-c", IMPORT_ALL, *modules)
    assert told.returncode == 0, told.stderr
    not_there = dict(line.split() for line in told.stdout.splitlines())
    of_extras = {module for modules in missing.EXTRAS.values() for module in modules}
    left = {module for module, lacks in not_there.items() if lacks.partition(".")[0] not in of_extras}
    commands = {module.rpartition(".")[2] for module in left if module.startswith("groupspec.conformance.commands.")}
    assert {name for name in commands if not name.startswith("_")} == missing.ONLY_IN_A_CHECKOUT
    assert {module for module in left if not module.startswith("groupspec.conformance.commands.")} == set()


def test_every_module_of_an_extra_is_told_with_that_extra() -> None:
    project = settings()["project"]
    assert set(missing.EXTRAS) == set(project["optional-dependencies"])
    for extra, modules in missing.EXTRAS.items():
        for module in modules:
            told = missing.as_problem(ModuleNotFoundError(name=f"{module}.part"))
            assert told is not None
            assert f"pip install '.[{extra}]'" in told.next_step
    assert missing.as_problem(ModuleNotFoundError(name="click")) is None
    assert missing.as_problem(ModuleNotFoundError(name="groupspec.nothing")) is None, "in a checkout it is a defect"


@pytest.mark.exhaustive
@pytest.mark.realtime
def test_from_the_index_to_the_first_verdict_of_a_real_client(wheel: Path, tmp_path: Path) -> None:
    """What README promises to take some 20 s, with packages from the index (or pip's cache)."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path], check=True)
    pip = [str(tmp_path / "bin" / "pip"), "--disable-pip-version-check", "install", "-q", f"{wheel}[clients]"]
    subprocess.run(pip, check=True)
    judged = run(tmp_path / "bin" / "groupspec", "conform", "kafka-python", "--scenario", "member-unknown")
    assert judged.returncode in (0, 1), judged.stderr  # a race of kafka-python's is its own affair
    assert "J4 identity-after-errors" in judged.stdout
