"""The clients that are built first, as parameters of a test: those in Rust, which take minutes, for `make nightly`."""

from __future__ import annotations

from typing import Final

import pytest

from groupspec.conformance.wire.client_builds import BUILDS, REGISTRY

IN_RUST: Final = {name for name, entry in REGISTRY.items() if entry.build is not None and entry.build.folder == "rust"}
BUILT_FIRST: Final = [
    pytest.param(name, marks=pytest.mark.nightly, id=name) if name in IN_RUST else pytest.param(name, id=name)
    for name in BUILDS
]
