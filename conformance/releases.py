"""What brokers of each release of Apache Kafka speak: the highest version of each request (`releases.toml`)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).with_name("releases.toml")


def releases() -> Iterator[tuple[str, dict[str, int]]]:
    """Each release with the highest version of each request, the oldest first."""
    caps: dict[str, int] = {}
    for release, changed in tomllib.loads(FILE.read_text(encoding="utf-8")).items():
        caps = caps | changed
        yield release, caps
