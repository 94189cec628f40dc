"""Dialects that are recognised and not read yet: the user gets "librdkafka log" instead of "unknown file"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from groupspec.conformance.traces.dialects.base import ParsedLog
from groupspec.conformance.traces.dialects.times import Clock


@dataclass(frozen=True, slots=True)
class RecognisedOnly:
    """A dialect with a name and a mark that its lines carry."""

    name: str
    mark: re.Pattern[str]

    def sniff(self, lines: Sequence[str]) -> float:
        """The share of the lines that carry the mark."""
        written = [line for line in lines if line.strip()]
        return sum(1 for line in written if self.mark.search(line)) / len(written) if written else 0.0

    def parse(self, file: str, lines: Iterable[str], clock: Clock, group: str | None = None) -> ParsedLog | None:
        """Nothing: the dialect is not supported yet."""
        del file, lines, clock, group
        return None


JAVA_CLIENT: Final = RecognisedOnly(
    "Java client log",
    re.compile(
        r"\[(?:Consumer|Producer|AdminClient) (?:instanceId=[^,\]]*, )?clientId="
        r"|\(org\.apache\.kafka\.(?:clients|common)\."
    ),
)
LIBRDKAFKA: Final = RecognisedOnly("librdkafka log", re.compile(r"^%\d\|\d+\.\d+\|[A-Z_]+\|"))
KAFKA_PYTHON: Final = RecognisedOnly(
    "kafka-python log",
    re.compile(
        r"(?<![(.\w])kafka\."
        r"(?:coordinator|net|conn|client|client_async|cluster|consumer|producer|metrics|sasl|protocol)\b"
    ),
)
