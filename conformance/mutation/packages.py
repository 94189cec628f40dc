"""Where stories are told, and how their names carry rules. Nothing is imported here, so that looking is quick."""

from __future__ import annotations

import re
from typing import Final

PACKAGES: Final = (
    "groupspec.impl.core.tests",
    "groupspec.impl.threads.tests",
    "groupspec.impl.broker.tests",
    "groupspec.impl.tests",
    "groupspec.spec.tests",
)
"""Of the implementation, and of the machines of the specification."""

NAME: Final = re.compile(r"test_((?:[A-Z][0-9]+_)+)")
"""A test whose name begins with rule ids is a story of those rules."""
