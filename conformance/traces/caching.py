"""What takes seconds to make is kept in the user's cache folder, under a name that says what it was made from."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path


def cache_folder() -> Path:
    """The project's folder below XDG_CACHE_HOME, by default ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "groupspec"


def is_private(folder: Path) -> bool:
    """Whether this folder, made if need be, is the user's own: what is unpickled from it can do whatever they can."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        there = folder.stat()
    except OSError:
        return False
    return there.st_uid == os.geteuid() and not there.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def digest(*files: str | Path, more: str = "") -> str:
    """16 hexadecimal digits that change with the content of these files, and with `more`."""
    content = hashlib.sha256(more.encode())
    for file in files:
        content.update(Path(file).read_bytes())
    return content.hexdigest()[:16]
