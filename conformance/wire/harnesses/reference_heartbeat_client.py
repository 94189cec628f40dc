"""The harness of the reference implementation in KIP-62's threading design: `Consumer(driver="heartbeat")`."""

from __future__ import annotations

from groupspec.conformance.wire.harnesses.base import main
from groupspec.conformance.wire.harnesses.reference_client import Reference


class ReferenceHeartbeat(Reference):
    """groupspec.impl.Consumer, whose background thread sends heartbeats alone."""

    client = "reference-heartbeat"
    driver = "heartbeat"


if __name__ == "__main__":
    main(ReferenceHeartbeat)
