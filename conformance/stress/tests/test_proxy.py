"""The proxy: it forwards, and cuts, holds back or delays what it is told to."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from groupspec.conformance.real_broker.probe import free_ports
from groupspec.conformance.stress.proxy import Network, Proxy

pytestmark = pytest.mark.realtime
LIMIT_S = 10.0


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """A proxy before a server that sends back what it gets."""
    [port] = free_ports(1)
    with socket.create_server(("127.0.0.1", 0)) as server, Network() as network:
        threading.Thread(target=_echo, args=(server,), daemon=True).start()
        yield network.proxy(port, server.getsockname()[1])


def _echo(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        threading.Thread(target=_send_back, args=(connection,), daemon=True).start()


def _send_back(connection: socket.socket) -> None:
    with connection:
        while data := connection.recv(100):
            connection.sendall(data)


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=LIMIT_S)


def answer(connection: socket.socket, data: bytes) -> bytes:
    connection.sendall(data)
    return connection.recv(100)


def is_broken(connection: socket.socket) -> bool:
    try:
        return connection.recv(100) == b""
    except ConnectionResetError:
        return True


def test_bytes_go_through_and_back(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        assert answer(connection, b"one") == b"one"


def test_a_cut_breaks_what_is_there_and_what_comes_until_it_is_open_again(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        assert answer(connection, b"one") == b"one"
        proxy.cut()
        assert is_broken(connection)
    with connect(proxy) as connection:
        assert is_broken(connection)
    proxy.open()
    with connect(proxy) as connection:
        assert answer(connection, b"two") == b"two"


def test_a_stalled_network_loses_nothing(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        assert answer(connection, b"one") == b"one"
        proxy.stall()
        connection.settimeout(0.2)
        connection.sendall(b"two")
        with pytest.raises(TimeoutError):
            connection.recv(100)
        connection.settimeout(LIMIT_S)
        proxy.open()
        assert connection.recv(100) == b"two"


def test_a_delay_takes_its_time_in_each_direction(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        assert answer(connection, b"one") == b"one"
        proxy.delay(100)
        began = time.monotonic()
        assert answer(connection, b"two") == b"two"
        assert time.monotonic() - began >= 0.2


def test_what_is_done_to_a_way_is_done_to_each_of_its_proxies() -> None:
    ports = free_ports(2)
    with socket.create_server(("127.0.0.1", 0)) as server, Network() as network:
        threading.Thread(target=_echo, args=(server,), daemon=True).start()
        way = network.way([(port, server.getsockname()[1]) for port in ports])
        assert way.bootstrap == f"127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}"
        for port in ports:
            with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as connection:
                assert answer(connection, b"one") == b"one"
                way.cut()
                assert is_broken(connection)
                way.open()
