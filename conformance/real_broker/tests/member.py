"""One group member in a process of its own, so that it can be killed: reads records, says what happens, obeys.

It speaks newline JSON with the event names of Kafka's VerifiableConsumer. On stdout: startup_complete,
partitions_assigned, partitions_revoked, partitions_lost, records_consumed, positions, shutdown_complete, and
wrong_record for a record that is not what was produced there. On stdin: {"do": "positions"} and {"do": "close"}; the
end of stdin is a close, too.

The n-th record of a test topic lies in partition n % partitions and has the text of n as its value: so each record says
where it belongs, and one that is lost, moved or repeated is seen.

Run as `python -m groupspec.conformance.real_broker.tests.member SETTINGS`, settings being JSON (see
`member_protocol.MemberSettings`).
"""

from __future__ import annotations

import json
import queue
import sys
import threading
from typing import Final, Protocol

from groupspec.conformance.real_broker.tests.member_protocol import MemberSettings, Read, say

POLL_MS: Final = 100


class Client(Protocol):
    """What differs between the implementations."""

    def poll(self, timeout_ms: int) -> list[Read]:
        """Read some records; callbacks are made inside."""

    def positions(self) -> dict[int, int]:
        """The position of each partition that is assigned."""

    def close(self) -> None:
        """Commit, leave, and be done."""


def report(records: list[Read], settings: MemberSettings) -> None:
    """Say which offsets were read, and complain about each record that is not what it should be."""
    by_partition: dict[int, list[Read]] = {}
    for record in records:
        by_partition.setdefault(record.partition, []).append(record)
        if int(record.value) != record.offset * settings.partitions + record.partition:
            say("wrong_record", partition=record.partition, offset=record.offset, value=record.value.decode())
    ranges = []
    for partition, some in by_partition.items():
        offsets = [record.offset for record in some]
        if offsets != list(range(offsets[0], offsets[0] + len(offsets))):
            say("wrong_record", partition=partition, offset=offsets[0], value=f"a gap or disorder in {offsets[:5]}…")
        ranges.append({"partition": partition, "minOffset": offsets[0], "maxOffset": offsets[-1]})
    say("records_consumed", count=len(records), partitions=ranges)


def main(arguments: list[str]) -> int:
    """Be a member until told to close."""
    settings = MemberSettings(**json.loads(arguments[0]))
    commands: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(commands,), daemon=True).start()
    client = _made(settings)
    say("startup_complete")
    while True:
        records = client.poll(POLL_MS)
        if records:
            report(records, settings)
        while not commands.empty():
            if commands.get() == "close":
                client.close()
                say("shutdown_complete")
                return 0
            say("positions", positions=client.positions())


def _listen(commands: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        commands.put(json.loads(line)["do"])
    commands.put("close")


def _made(settings: MemberSettings) -> Client:
    if settings.client == "confluent":
        from groupspec.conformance.real_broker.tests.member_confluent import ConfluentMember

        return ConfluentMember(settings)
    from groupspec.conformance.real_broker.tests.member_reference import ReferenceMember

    return ReferenceMember(settings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
