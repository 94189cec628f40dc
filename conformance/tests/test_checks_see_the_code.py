"""The type checker and import-linter see every file, and reject what they should, in the layout of the install.

With their defaults both say "success" about this repository and look at nothing, because its folders are installed
under other names than they have here. So: every file must be among those that each tool says it reads, and errors
planted into a strict editable install must be found. The planted install is built from the real settings by the
real build backend; its packages hold only their `__init__.py` and the planted file, which makes it quick.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import grimp
import pytest

from groupspec.conformance.tests.repository import FOLDERS, ROOT, module_name, python_files, settings

MYPY_SOURCES = """
from mypy.main import process_options
sources, _ = process_options(["--config-file", "pyproject.toml"])
print("\\n".join(source.module for source in sources))
"""


FREE = {"spec": "spec/expiry", "impl": "impl/network", "diagrams": "diagrams", "conformance": "conformance/book"}
"""A place in each folder where a module may be added without being given a layer."""


@dataclass(frozen=True)
class Planted:
    """A strict editable install of a small copy of this repository."""

    copy: Path
    links: Path
    planted: list[Path] = field(default_factory=list)

    def plant(self, file: str, text: str) -> None:
        """Adds a file to the copy and, as a refreshed install would, a link to it."""
        (self.copy / file).write_text(text)
        (self.links / "groupspec" / file).symlink_to(self.copy / file)
        self.planted.extend([self.copy / file, self.links / "groupspec" / file])

    def weed(self) -> None:
        """Takes away what was planted."""
        while self.planted:
            self.planted.pop().unlink()

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Runs a tool in the copy, with the install first on its paths."""
        environment = {**os.environ, "PYTHONPATH": str(self.links), "MYPYPATH": str(self.links)}
        return subprocess.run(
            [sys.executable, *command], cwd=self.copy, env=environment, capture_output=True, text=True, check=False
        )

    def mypy(self) -> subprocess.CompletedProcess[str]:
        return self.run("-m", "mypy", "--cache-dir", str(self.copy / "cache"))

    def lint_imports(self) -> subprocess.CompletedProcess[str]:
        return self.run("-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache")


@pytest.fixture
def planted(installed: Planted) -> Iterator[Planted]:
    yield installed
    installed.weed()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    copy = tmp_path_factory.mktemp("copy")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    contracts = settings()["tool"]["importlinter"]["contracts"]
    for package in (*FOLDERS, *(place for contract in contracts for place in _places(contract))):
        (copy / package).mkdir(parents=True, exist_ok=True)
        (copy / package / "__init__.py").write_text('"""Empty."""\n')
    for folder_name in FOLDERS:
        (copy / folder_name / "py.typed").touch()
    program = "from setuptools import build_meta; build_meta.build_editable('wheel', {'editable_mode': 'strict'})"
    (copy / "wheel").mkdir()
    subprocess.run([sys.executable, "-c", program], cwd=copy, capture_output=True, check=True)
    (links,) = (copy / "build").glob("__editable__*")
    return Planted(copy, links)


def _places(contract: dict[str, Any]) -> Iterator[str]:
    """The folders, in the copy, of the modules that a contract names: there each of them is a package."""
    modules = [*contract.get("source_modules", ()), *contract.get("forbidden_modules", ())]
    for container in contract.get("containers", ()):
        modules += [f"{container}.{name}" for layer in contract["layers"] for name in re.split(r" [|:] ", layer)]
    for module in modules:
        yield "/".join(module.split(".")[1:])


def test_mypy_reads_every_file() -> None:
    run = subprocess.run([sys.executable, "-c", MYPY_SOURCES], cwd=ROOT, capture_output=True, text=True, check=True)
    unread = {module_name(path) for path in python_files()} - set(run.stdout.split())
    assert not unread, "mypy does not look at these; in an editable install run `make install` first"


def test_import_linter_reads_every_file() -> None:
    graph = grimp.build_graph(*settings()["tool"]["importlinter"]["root_packages"], cache_dir=None)
    unread = {module_name(path) for path in python_files()} - graph.modules
    assert not unread, "import-linter does not look at these; in an editable install run `make install` first"


Imports = dict[str, set[str]]


@pytest.fixture(scope="module")
def imports() -> Imports:
    """What each module imports itself, for types only included."""
    roots = settings()["tool"]["importlinter"]["root_packages"]
    graph = grimp.build_graph(*roots, exclude_type_checking_imports=False, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) - {module} for module in graph.modules}


def test_no_modules_import_each_other_in_a_circle(imports: Imports) -> None:
    TopologicalSorter(imports).prepare()  # raises CycleError, which names them


def test_no_packages_import_each_other_in_a_circle(imports: Imports) -> None:
    """In each package: what lies below one of its children imports the other, whatever modules these are. Tests may."""
    code = [module for module in imports if ".tests" not in module]
    for package in {module.rpartition(".")[0] for module in code}:
        child_of = {module: match[0] for module in code if (match := re.match(rf"{re.escape(package)}\.\w+", module))}
        children: Imports = {child: set() for child in child_of.values()}
        for module, child in child_of.items():
            children[child] |= {child_of[other] for other in imports[module] if other in child_of} - {child}
        TopologicalSorter(children).prepare()


def test_code_without_a_fault_passes(planted: Planted) -> None:
    checked = planted.mypy()
    assert checked.returncode == 0, checked.stdout + checked.stderr
    linted = planted.lint_imports()
    assert linted.returncode == 0, linted.stdout + linted.stderr


def test_a_planted_type_error_is_rejected_in_each_folder(planted: Planted) -> None:
    for folder in FOLDERS:
        planted.plant(f"{folder}/wrong.py", '"""Wrong."""\n\ngeneration: int = "seven"\n')
    run = planted.mypy()
    assert run.returncode == 1
    for folder in FOLDERS:
        assert f"{folder}/wrong.py:3: error: Incompatible types in assignment" in run.stdout


def test_a_planted_function_without_types_is_rejected(planted: Planted) -> None:
    planted.plant("impl/core/wrong.py", '"""Wrong."""\n\n\ndef join(member):\n    return member\n')
    run = planted.mypy()
    assert run.returncode == 1
    assert "Function is missing a type annotation" in run.stdout


def test_a_planted_misuse_of_another_package_is_rejected(planted: Planted) -> None:
    """Types must be known across the four packages: each is installed as a package of its own."""
    planted.plant("spec/rule.py", '"""A rule."""\n\nlevel: int = 1\n')
    planted.plant("conformance/wrong.py", '"""Wrong."""\n\nfrom groupspec.spec.rule import level\n\nx: str = level\n')
    run = planted.mypy()
    assert run.returncode == 1
    assert "conformance/wrong.py:5: error: Incompatible types in assignment" in run.stdout


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("spec", "impl"),
        ("spec", "conformance"),
        ("spec", "diagrams"),
        ("impl", "spec"),
        ("impl", "conformance"),
        ("impl", "diagrams"),
        ("diagrams", "impl"),
        ("diagrams", "conformance"),
    ],
)
def test_a_planted_import_that_is_forbidden_is_rejected(planted: Planted, importer: str, imported: str) -> None:
    planted.plant(f"{FREE[imported]}/used.py", '"""Used."""\n')
    used, wrong = (f"groupspec.{FREE[folder]}".replace("/", ".") for folder in (imported, importer))
    planted.plant(f"{FREE[importer]}/wrong.py", f'"""Wrong."""\n\nimport {used}.used\n')
    run = planted.lint_imports()
    assert run.returncode == 1
    assert f"{wrong}.wrong -> {used}.used" in run.stdout


@pytest.mark.parametrize(
    "statement", ["import {}", "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import {}"]
)
def test_a_planted_import_from_a_higher_layer_is_rejected(planted: Planted, statement: str) -> None:
    """Also one for types only."""
    planted.plant("impl/core/rebalance/wrong.py", f'"""Wrong."""\n\n{statement.format("groupspec.impl.core.parts")}\n')
    run = planted.lint_imports()
    assert run.returncode == 1
    assert "groupspec.impl.core.rebalance.wrong -> groupspec.impl.core.parts" in run.stdout


def test_an_import_that_is_allowed_is_not_rejected(planted: Planted) -> None:
    planted.plant("spec/expiry/used.py", '"""Used."""\n')
    planted.plant("impl/network/used.py", '"""Used."""\n')
    planted.plant("diagrams/fine.py", '"""Fine."""\n\nimport groupspec.spec.expiry.used\n')
    used = "import groupspec.diagrams.fine\nimport groupspec.impl.network.used"
    planted.plant("conformance/book/fine.py", f'"""Fine."""\n\n{used}\n')
    run = planted.lint_imports()
    assert run.returncode == 0, run.stdout
