"""Answers for a client that is to stay behind a proxy: every broker that they name has the proxy's address.

Brokers are named by Metadata, FindCoordinator and DescribeCluster; and, since KIP-951, by Produce and Fetch, which tell
a client that asks the wrong node who leads the partition now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupspec.impl.network import wire
from groupspec.impl.network.errors import MalformedMessage
from groupspec.impl.network.versions import API_KEYS, API_VERSIONS
from groupspec.impl.network.wire import Fields, Struct

Address = tuple[str, int]
Tell = Callable[[int, Address], Address]
"""What to call a node instead of its address."""

_NAME_BROKERS_FROM: Final = {0: 10, 1: 16, 3: 0, 10: 0, 60: 0}
"""By API key: the first version of Produce, Fetch, Metadata, FindCoordinator and DescribeCluster that does."""
_API_VERSIONS: Final = API_KEYS["ApiVersions"]
_UNSUPPORTED_VERSION: Final = b"\x00\x23"
_READ_UP_TO: Final = {0: 13, 60: 2} | {API_KEYS[api]: versions.highest for api, versions in API_VERSIONS.items()}
"""By API key: the highest version of what has to be read here; a client is to use no higher one."""


def told_otherwise(api_key: int, version: int, frame: bytes, tell: Tell) -> bytes:
    """An answer in which each address is what `tell` says; others, and those that name no broker, as they are.

    Of ApiVersions the versions are those that can be read here. Raises MalformedMessage, UnencodableMessage.
    """
    if version > _READ_UP_TO.get(api_key, version):
        raise MalformedMessage(f"version {version} of API {api_key} cannot be read here")
    if api_key == _API_VERSIONS:
        _, start = wire.decode_response_header(api_key, version, frame)
        if frame[start : start + 2] == _UNSUPPORTED_VERSION:  # answered in version 0 (KIP-511)
            return frame
        return wire.change_response(api_key, version, frame, _readable)
    if version < _NAME_BROKERS_FROM.get(api_key, version + 1):
        return frame
    return wire.change_response(api_key, version, frame, lambda struct: _renamed(struct, tell))


def _renamed(struct: Struct, tell: Tell) -> Fields:
    if "host" not in struct or "port" not in struct:
        return {}
    host, port = struct.get("host"), struct.get("port")
    if port < 0:  # nobody: FindCoordinator with an error
        return {}
    node = struct.get("node_id", struct.get("broker_id", -1))
    told = tell(int(node), (host, port))
    return {} if told == (host, port) else {"host": told[0], "port": told[1]}


def _readable(struct: Struct) -> Fields:
    if "api_key" not in struct:
        return {}
    highest = _READ_UP_TO.get(struct.get("api_key"), struct.get("max_version"))
    return {"max_version": highest} if struct.get("max_version") > highest else {}
