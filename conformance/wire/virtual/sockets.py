"""Sockets of loopback whose bytes have arrived when `send` returns: those of one host, in the place of TCP's.

What goes over TCP, loopback too, is carried by the kernel when it gets to it: on a busy machine that may be a moment
after everybody waits, and then a virtual clock would have gone on to somebody's deadline. A stream between two sockets
of the host's own kind (AF_UNIX) is in the other one's buffer at once. Whoever uses one of these sees TCP: addresses of
host and port, the answer to a connect() that comes later, an end or a reset behind what was sent before.

Ports are numbers in the order in which they are asked for, so they are the same in each run.
"""

from __future__ import annotations

import errno
import itertools
import os
import socket
import struct
from collections.abc import Iterator
from typing import Any, Final, Self

Address = tuple[str, int]

FIRST_PORT: Final = 40_001
INTERNET: Final = (socket.AF_INET, socket.AF_INET6)
NOT_HERE: Final = (socket.IPPROTO_TCP, socket.IPPROTO_IPV6)
"""Levels of options that a stream within the host does not have."""


class HostSocket(socket.socket):
    """In the place of socket.socket; sockets of other families, pairs for example, are what they were."""

    _ports: Iterator[int] = itertools.count(FIRST_PORT)
    _reset: set[tuple[Address, Address]] = set()
    """Connections that one end has reset: the end that is to notice, and the other one."""

    def __init__(
        self,
        family: int = -1,
        type: int = -1,  # noqa: A002  # as socket.socket has it
        proto: int = -1,
        fileno: int | None = None,
    ) -> None:
        family = socket.AF_INET if family == -1 and fileno is None else family
        self._told_family = family if family in INTERNET else None
        self._here: Address = ("0.0.0.0", 0)
        self._there: Address | None = None
        self._problem = 0
        self._resets = False
        if self._told_family is None:
            super().__init__(family, type, proto, fileno)
        else:
            super().__init__(socket.AF_UNIX, type, 0, fileno)

    # What it looks like -----------------------------------------------------------------------------------------------

    @property
    def family(self) -> Any:
        """As it was asked for."""
        return super().family if self._told_family is None else socket.AddressFamily(self._told_family)

    @property
    def proto(self) -> int:
        """As TCP's."""
        return super().proto if self._told_family is None else socket.IPPROTO_TCP

    def getsockname(self) -> Any:
        """Host and port."""
        return super().getsockname() if self._told_family is None else self._here

    def getpeername(self) -> Any:
        """Of the other end."""
        if self._told_family is None:
            return super().getpeername()
        if self._there is None:
            raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))
        return self._there

    def setsockopt(self, *given: Any) -> None:
        """Options of TCP's change nothing here."""
        level, option, *value = given
        if self._told_family is None or level not in NOT_HERE:
            super().setsockopt(*given)
        if (level, option) == (socket.SOL_SOCKET, socket.SO_LINGER):
            self._resets = value[0] == struct.pack("ii", 1, 0)

    def getsockopt(self, *given: Any) -> Any:
        """How a connect() has ended, once."""
        if self._told_family is not None and given[:2] == (socket.SOL_SOCKET, socket.SO_ERROR) and self._problem:
            problem, self._problem = self._problem, 0
            return problem
        if self._told_family is not None and given[0] in NOT_HERE:
            return 1
        return super().getsockopt(*given)

    # Connections ------------------------------------------------------------------------------------------------------

    def bind(self, address: Any) -> None:
        """A port of its own, or this one."""
        if self._told_family is None:
            super().bind(address)
            return
        host, port, *_ = address
        self._here = (host, port or next(HostSocket._ports))
        super().bind(_place(self._here))

    def connect(self, address: Any) -> None:
        """It is known by the next look whether that has worked; at once for a socket that blocks."""
        if self._told_family is None:
            super().connect(address)
            return
        if self._here[1] == 0:
            self.bind((address[0], 0))
        try:
            super().connect(_place((address[0], address[1])))
            self._there = (address[0], address[1])
        except ConnectionRefusedError as refused:
            if self.getblocking():
                raise
            self._problem = refused.errno or errno.ECONNREFUSED
        if not self.getblocking():
            raise BlockingIOError(errno.EINPROGRESS, os.strerror(errno.EINPROGRESS))

    def connect_ex(self, address: Any) -> int:
        """The same, told by a number."""
        try:
            self.connect(address)
        except OSError as problem:
            return problem.errno or 0
        return 0

    def accept(self) -> tuple[HostSocket, Any]:
        """The next one that has come."""
        if self._told_family is None:
            raise NotImplementedError("of other families only pairs are used here")
        descriptor, name = self._accept()  # type: ignore[attr-defined]
        made = HostSocket(self._told_family, socket.SOCK_STREAM, 0, fileno=descriptor)
        made._here, made._there = self._here, _address(name)
        if socket.getdefaulttimeout() is None and self.gettimeout():
            made.setblocking(True)
        return made, made._there

    # Bytes ------------------------------------------------------------------------------------------------------------

    def send(self, *given: Any) -> int:
        """To who has closed meanwhile: gone, as with TCP, which hears of it later."""
        try:
            return super().send(*given)
        except BrokenPipeError:
            if self._told_family is None:
                raise
            return len(given[0])

    def sendall(self, *given: Any) -> None:
        """The same."""
        try:
            super().sendall(*given)
        except BrokenPipeError:
            if self._told_family is None:
                raise

    def recv(self, *given: Any) -> bytes:
        """What has come; a reset comes behind it."""
        got = super().recv(*given)
        self._expect_no_reset(len(got))
        return got

    def recv_into(self, *given: Any) -> int:
        """The same."""
        count = super().recv_into(*given)
        self._expect_no_reset(count)
        return count

    def _expect_no_reset(self, count: int) -> None:
        if not count and self._there is not None and (self._here, self._there) in HostSocket._reset:
            raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))

    def close(self) -> None:
        """The other end reads on to the end of what was sent, and is told then that it was reset if so wanted."""
        if self._resets and self._there is not None:
            HostSocket._reset.add((self._there, self._here))
        super().close()

    def __enter__(self) -> Self:
        return self


def _place(address: Address) -> bytes:
    """A name that no file has, and no other process."""
    return f"\0groupspec-{os.getpid()}-{address[1]}".encode()


def _address(name: bytes) -> Address:
    return "127.0.0.1", int(name.rpartition(b"-")[2])
