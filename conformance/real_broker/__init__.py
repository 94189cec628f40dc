"""A real Apache Kafka broker on loopback, for tests that only the real thing can pass and for whoever wants to try.

The jars come from Maven once and are kept in the user's cache. One broker is one process on two ports of 127.0.0.1,
watched by a keeper process that ends it: on request, when its time is up, when its owner is gone. So nothing is left
behind, even when the program that started it is killed.

    instance.start / stop / status   what the command line calls
    fixture.RealBroker               a context manager for tests: topics, records, the coordinator's log
"""

from __future__ import annotations
