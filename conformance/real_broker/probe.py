"""Is a broker there? One real ApiVersions request, answered or not."""

from __future__ import annotations

import random
import socket
import struct
from typing import Final

_API_VERSIONS: Final = 18
_CORRELATION: Final = 77
_CLIENT: Final = b"groupspec-probe"
PORTS: Final = (16_384, 32_768)


def answers(port: int, timeout_s: float) -> bool:
    """Whether a Kafka broker on 127.0.0.1:`port` answers ApiVersions version 0 without an error, within the time."""
    body = struct.pack(f">hhih{len(_CLIENT)}s", _API_VERSIONS, 0, _CORRELATION, len(_CLIENT), _CLIENT)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=timeout_s) as connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            answer = connection.makefile("rb").read(10)
    except OSError:
        return False
    if len(answer) < 10:
        return False
    _, correlation, error = struct.unpack(">iih", answer)
    return bool(correlation == _CORRELATION and error == 0)


def is_free(port: int) -> bool:
    """Whether nobody listens on 127.0.0.1:`port`."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, all different.

    They lie below those that systems give to who asks for none (32768 and up): between now and their use no other
    process gets one by chance.
    """
    ports: set[int] = set()
    while len(ports) < count:
        port = random.SystemRandom().randrange(*PORTS)
        if is_free(port):
            ports.add(port)
    return list(ports)
