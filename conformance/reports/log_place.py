"""Where in a run's log it shows that a rule was broken: the file and the line that other tools can open."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from groupspec.conformance.wire.results import Row


@dataclass(frozen=True)
class LogPlace:
    """A line of a `wire.txt`, from 1 on; 1 where it shows at no one moment."""

    file: Path
    line: int

    @property
    def path(self) -> str:
        """Relative to the working folder, if it lies below: so tools want it that know a repository."""
        whole = self.file.absolute()
        return (whole.relative_to(Path.cwd()) if whole.is_relative_to(Path.cwd()) else whole).as_posix()

    @property
    def uri(self) -> str:
        """The same as a URI, relative or whole."""
        return Path(self.path).as_uri() if self.path.startswith("/") else quote(self.path)


def log_place(row: Row, report: Path | None) -> LogPlace | None:
    """The place for a verdict; None if its run left no log."""
    if report is None or not row.folder:
        return None
    file = report / row.folder / "wire.txt"
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    moment = "" if row.at_ms is None else f"{row.at_ms:.1f} ms "
    found = (number for number, line in enumerate(lines, 1) if moment and line.lstrip().startswith(moment))
    return LogPlace(file, next(found, 1))
