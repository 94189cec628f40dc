"""The threading designs by their names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

from groupspec.impl.core.errors import ConfigError
from groupspec.impl.threads.background import BackgroundDriver
from groupspec.impl.threads.driver import DriverFactory
from groupspec.impl.threads.heartbeat import HeartbeatDriver

Design = Literal["background", "heartbeat"]

DESIGNS: Final[Mapping[Design, DriverFactory]] = MappingProxyType(
    {"background": BackgroundDriver, "heartbeat": HeartbeatDriver}
)
"""One background thread for everything (the threading refactor), or one for heartbeats alone (KIP-62)."""


def driver_factory(driver: Design | DriverFactory) -> DriverFactory:
    """What makes the driver of this name. ConfigError if there is no such design."""
    if not isinstance(driver, str):
        return driver
    if driver not in DESIGNS:
        raise ConfigError(f"driver={driver!r}: must be one of {', '.join(map(repr, DESIGNS))}")
    return DESIGNS[driver]
