"""Log dialects: which program wrote a log, and what its lines mean.

A new dialect is one class with a name, `sniff` and `parse` (see `base.Dialect`) and one entry in DIALECTS.
`reading.read_logs` takes paths, names the dialect of each file and returns the events of those that are supported,
with an account of every file.
"""

from __future__ import annotations

from typing import Final

from groupspec.conformance.traces.dialects.base import Dialect, LogEvent, LogLine, ParsedLog
from groupspec.conformance.traces.dialects.broker import BrokerCoordinatorLog
from groupspec.conformance.traces.dialects.recognised import JAVA_CLIENT, KAFKA_PYTHON, LIBRDKAFKA
from groupspec.conformance.traces.dialects.times import Clock

DIALECTS: Final[tuple[Dialect, ...]] = (BrokerCoordinatorLog(), JAVA_CLIENT, LIBRDKAFKA, KAFKA_PYTHON)

__all__ = ["DIALECTS", "Clock", "Dialect", "LogEvent", "LogLine", "ParsedLog"]
