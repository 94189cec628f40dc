"""Log dialects: which program wrote a log, and what its lines mean.

A new dialect is one subclass of `base.Dialect` with its own `parse`, and one entry in DIALECTS. `reading.read_logs`
takes paths, names the dialect of each file and returns the events of those that are supported, with an account of every
file.
"""

from __future__ import annotations

import re
from typing import Final

from groupspec.conformance.traces.dialects.base import Dialect, LogEvent, LogLine, ParsedLog
from groupspec.conformance.traces.dialects.broker import BrokerCoordinatorLog
from groupspec.conformance.traces.dialects.times import Clock

DIALECTS: Final[tuple[Dialect, ...]] = (
    BrokerCoordinatorLog(),
    Dialect(
        "Java client log",
        re.compile(
            r"\[(?:Consumer|Producer|AdminClient) (?:instanceId=[^,\]]*, )?clientId="
            r"|\(org\.apache\.kafka\.(?:clients|common)\."
        ),
    ),
    Dialect("librdkafka log", re.compile(r"^%\d\|\d+\.\d+\|[A-Z_]+\|")),
    Dialect(
        "kafka-python log",
        re.compile(
            r"(?<![(.\w])kafka\."
            r"(?:coordinator|net|conn|client|client_async|cluster|consumer|producer|metrics|sasl|protocol)\b"
        ),
    ),
)

__all__ = ["DIALECTS", "Clock", "Dialect", "LogEvent", "LogLine", "ParsedLog"]
