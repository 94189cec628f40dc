"""The settings do what they claim: nothing is left out of the install, the checks or the pins.

Each of these has gone wrong somewhere without a sign: a package that is not installed, a type checker that says
"success" about nothing, a pin with the address of somebody's server in it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from groupspec.conformance.tests.repository import FOLDERS, ROOT, files_below, project_files, settings

PIN = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==[0-9][A-Za-z0-9.!+]*")

BUILD = "from setuptools import build_meta; build_meta.build_editable('wheel', {'editable_mode': 'strict'})"


def canonical(name: str) -> str:
    """A distribution's name as an index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_an_install_holds_every_file(tmp_path: Path) -> None:
    """A strict editable install of a copy of this tree; its links are the list of what an install holds."""
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    wanted = {path.relative_to(ROOT) for folder in FOLDERS for path in files_below(ROOT / folder)}
    for path in wanted:
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_bytes(b"")
    (copy / "wheel").mkdir()
    subprocess.run([sys.executable, "-c", BUILD], cwd=copy, capture_output=True, check=True)
    (links,) = (copy / "build").glob("__editable__*/groupspec")
    left_out = wanted - {path.relative_to(links) for path in links.rglob("*")}
    assert not left_out, (
        "not installed; a folder with Python files needs an __init__.py, and any other kind of file an entry in "
        "pyproject.toml, [tool.setuptools.package-data]"
    )


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_says_that_it_is_typed(folder: str) -> None:
    assert (ROOT / folder / "py.typed").is_file()


def test_there_is_no_groupspec_folder() -> None:
    assert not (ROOT / "groupspec").exists(), "groupspec is a namespace; a folder of that name would hide it"


def pins() -> dict[str, str]:
    """Name and line of each pin in constraints.txt."""
    result = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            match = PIN.fullmatch(line)
            assert match, f"constraints.txt holds names and versions only, not {line!r}"
            result[canonical(match["name"])] = line
    return result


def test_the_constraints_hold_names_and_versions_and_no_addresses() -> None:
    assert pins()
    assert not re.search(r"://|@|--|\\", (ROOT / "constraints.txt").read_text())


def test_every_dependency_is_pinned() -> None:
    project = settings()["project"]
    wanted = [*project["dependencies"], *settings()["build-system"]["requires"]]
    for extra in project["optional-dependencies"].values():
        wanted += extra
    names = {canonical(re.split(r"[<>=!~ \[]", requirement)[0]) for requirement in wanted}
    assert names - {canonical(project["name"])} <= pins().keys()  # an extra may bring another extra


def test_no_file_mentions_the_machine_that_it_was_written_on() -> None:
    # Put together here so that this file does not match itself.
    machine_paths = re.compile("|".join(("/" + "work/", "/" + "root/", r"\.\./" + "shared", "/" + r"home/\w+/")))
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in project_files()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        if machine_paths.search(line)
    ]
    assert not found, "\n".join(found)


def test_no_data_file_is_wider_than_a_page() -> None:
    """Ruff sees to the Python files."""
    wide = [
        f"{path.relative_to(ROOT)}:{number}: {len(line)} columns"
        for path in project_files()
        if path.suffix == ".toml"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if len(line) > 120
    ]
    assert not wide, "\n".join(wide)


def test_the_scripts_can_be_run() -> None:
    for script in sorted((ROOT / ".ci").iterdir()):
        assert os.access(script, os.X_OK), f"{script.name} is not executable"
        shell = script.read_text().partition("\n")[0].removeprefix("#!")
        subprocess.run([shell, "-n", str(script)], check=True)


@pytest.mark.parametrize("target", ["help", "install", "demo", "test", "check", "lint", "clean"])
def test_make_knows_its_targets(target: str) -> None:
    run = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
