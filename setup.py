"""What a wheel holds, which pyproject.toml cannot say: the list of packages, and what is left out of them.

The four folders are installed under other names than they have here (`spec` as `groupspec.spec`), and setuptools'
own discovery knows no such prefix. A list written by hand would be out of date with every new folder, and an install
that lacks a package says nothing until it is imported.

An editable install holds everything; a wheel leaves out what only a checkout needs (`LEFT_OUT`). A command that needs
it says so (conformance/missing.py).
"""

from fnmatch import fnmatch
from pathlib import Path
from shutil import rmtree

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

FOLDERS = ("spec", "impl", "diagrams", "conformance")

LEFT_OUT = (
    "*/tests/*",
    # What verifies the specification itself, and tries the reference and the tests against it; what presents that.
    "conformance/benchmarks/*",
    "conformance/book/*",
    "conformance/books.py",
    "conformance/checks/lives.py",
    "conformance/defects/*",
    "conformance/differential/failing_log.py",
    "conformance/differential/loading.py",
    "conformance/engines/*",
    "conformance/explain/lab.py",
    "conformance/explain/model_words.py",
    "conformance/findings/*",
    "conformance/frozen/*",
    "conformance/general_checks.py",
    "conformance/fuzzing/*",
    "conformance/generate.py",
    "conformance/history/event.py",
    "conformance/history/life.py",
    "conformance/history/member_life.py",
    "conformance/history/notes.py",
    "conformance/mutation/*",
    "conformance/noticed.py",
    "conformance/reports/demo.py",
    "conformance/reports/soak.py",
    "conformance/reports/templates/book/*",
    "conformance/schedules/*",
    "conformance/scores/*",
    "conformance/simulation/*",
    "conformance/stress/*",
    # All but routes.py and what that stands on: a vector file is recognised by what made it, and that is a part of how.
    "conformance/stateful/[!_rei]*",
    "conformance/tour.py",
    "conformance/traces/fleet.py",
    "conformance/vectors/core_binding.py",
    "conformance/vectors/examples/*",
    "conformance/wire/virtual/*",
    "conformance/wire_holes/*",
    "conformance/wire_kills/*",
    "diagrams/expiry.py",
    "diagrams/trace.py",
    "impl/scheduling/*",
    "impl/scripted.py",
    "impl/testing.py",
    "spec/compiler/expressions.py",
    "spec/compiler/library.py",
    "spec/compiler/model*.py",
    "spec/compiler/promela*.py",
    "spec/compiler/resolved.py",
    "spec/compiler/tla*.py",
    "spec/compiler/writing.py",
    "spec/composition/*",
    "spec/data/properties/*",
    "spec/expiry/*",
    "spec/explorer/*",
    "spec/properties.py",
    # What is made from the tables, and recorded runs that only tests read.
    "conformance/generated/*",
    "conformance/traces/captures/*",
    "conformance/traces/samples/*",
    "conformance/wire/recorded/*",
    "diagrams/generated/*",
)
"""Patterns of files, from the top of the repository."""


def is_left_out(file: str) -> bool:
    """Whether a file is none of a wheel's; `file` is relative to the top of the repository."""
    return any(fnmatch(Path(file).as_posix(), pattern) for pattern in LEFT_OUT)


class BuildWithoutTheLab(build_py):
    """Copies what users need."""

    def run(self):
        """Starts afresh: what an earlier build has left there would get into the wheel."""
        if not self.editable_mode:
            rmtree(self.build_lib, ignore_errors=True)
        super().run()

    def find_package_modules(self, package, package_dir):
        """The modules of a package: (package, module, file)."""
        found = super().find_package_modules(package, package_dir)
        return found if self.editable_mode else [each for each in found if not is_left_out(each[2])]

    def find_data_files(self, package, src_dir):
        """Its other files."""
        found = super().find_data_files(package, src_dir)
        return found if self.editable_mode else [file for file in found if not is_left_out(file)]


setup(
    cmdclass={"build_py": BuildWithoutTheLab},
    packages=[f"groupspec.{folder}" for folder in FOLDERS]
    + [f"groupspec.{folder}.{package}" for folder in FOLDERS for package in find_packages(folder)],
)
