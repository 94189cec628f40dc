"""Where the consumer meets the network: the one file that knows both.

The Consumer asks for this only if it was not given a transport and a decoder of its own; so it can be used, and read,
without any of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Final

from groupspec.impl.core.config import Config
from groupspec.impl.core.errors import ConfigError
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.transport import Transport
from groupspec.impl.journal import Journal
from groupspec.impl.network.records import decode_records
from groupspec.impl.network.transport import SocketSettings, SocketTransport
from groupspec.impl.records import Decoded, RecordDecoder
from groupspec.impl.runtime import Runtime


def socket_transport(bootstrap_servers: str | Sequence[str], config: Config, runtime: Runtime) -> Transport:
    """Sockets, to find the cluster through these servers. ConfigError if they can't be addresses."""
    try:
        journal = Journal(config.client_id, config.group_id)
        settings = SocketSettings(**{one.name: getattr(config, one.name) for one in fields(SocketSettings)})
        return SocketTransport(bootstrap_servers, config.client_id, runtime.now_ms, journal=journal, settings=settings)
    except ValueError as error:
        raise ConfigError(str(error)) from error


class BatchDecoder:
    """Record batches of every format and compression that Kafka has."""

    def __init__(self, check_crcs: bool = True) -> None:
        self._check_crcs = check_crcs

    def decode(
        self,
        partition: TopicPartition,
        data: bytes,
        from_offset: int,
        aborted_transactions: Sequence[tuple[int, int]] = (),
    ) -> Decoded:
        """See RecordDecoder."""
        return decode_records(partition, data, from_offset, aborted_transactions, check_crcs=self._check_crcs)


DECODER: Final[RecordDecoder] = BatchDecoder()
