"""Answers for a client behind a proxy: every broker that they name has the proxy's address, and no more changes."""

from __future__ import annotations

import pytest

from groupspec.impl.core.messages import Broker, ErrorCode, FindCoordinatorResponse, HeartbeatResponse, MetadataResponse
from groupspec.impl.network import wire
from groupspec.impl.network.addresses import Address, told_otherwise
from groupspec.impl.network.codec import Answer, decode_response, encode_response
from groupspec.impl.network.errors import MalformedMessage
from groupspec.impl.network.versions import API_KEYS, API_VERSIONS, ApiVersionsResponse, VersionRange

BROKERS = (Broker(1, "one.example", 9092), Broker(2, "two.example", 9092))
FOUND = FindCoordinatorResponse(ErrorCode.NONE, 2, "two.example", 9092)
NOBODY = FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)


def tell(node: int, address: Address) -> Address:
    return "127.0.0.1", 10_000 + 100 * node + len(address[0])


def told(api: str, version: int, answer: Answer) -> Answer:
    data = encode_response(answer, version, 7, api=api)
    correlation_id, read = decode_response(api, version, told_otherwise(API_KEYS[api], version, data, tell))
    assert correlation_id == 7
    return read


def versions(api: str) -> list[int]:
    return [*range(API_VERSIONS[api].lowest, API_VERSIONS[api].highest + 1)]


@pytest.mark.parametrize("version", versions("Metadata"))
def test_metadata_names_proxies(version: int) -> None:
    answer = told("Metadata", version, MetadataResponse(BROKERS, (), 1))
    assert isinstance(answer, MetadataResponse)
    assert answer.brokers == (Broker(1, "127.0.0.1", 10_111), Broker(2, "127.0.0.1", 10_211))


@pytest.mark.parametrize("version", versions("FindCoordinator"))
def test_a_coordinator_that_was_found_is_a_proxy_and_nobody_stays_nobody(version: int) -> None:
    answer = told("FindCoordinator", version, FOUND)
    assert isinstance(answer, FindCoordinatorResponse)
    assert (answer.node_id, answer.host, answer.port) == (2, "127.0.0.1", 10_211)
    data = encode_response(NOBODY, version, 7, api="FindCoordinator")
    assert told_otherwise(API_KEYS["FindCoordinator"], version, data, tell) == data


def test_a_leader_that_fetch_names_is_a_proxy() -> None:
    """KIP-951."""
    leader = {"node_id": 2, "host": "two.example", "port": 9092, "rack": None}
    body = {"error_code": ErrorCode.NONE, "session_id": 0, "responses": (), "node_endpoints": [leader]}
    data = wire.encode_response(API_KEYS["Fetch"], 16, 7, body)
    read = wire.decode_response_body(1, 16, told_otherwise(1, 16, data, tell), 5)
    [endpoint] = read.structs("node_endpoints")
    assert (endpoint.get("host"), endpoint.get("port"), endpoint.get("rack")) == ("127.0.0.1", 10_211, None)


def test_a_describe_cluster_names_proxies() -> None:
    broker = {"broker_id": 1, "host": "one.example", "port": 9092, "rack": "a"}
    body = {
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "cluster_id": "c",
        "controller_id": 1,
        "brokers": [broker],
    }
    data = wire.encode_response(60, 0, 7, body)
    [named] = wire.decode_response_body(60, 0, told_otherwise(60, 0, data, tell), 5).structs("brokers")
    assert (named.get("host"), named.get("port"), named.get("rack")) == ("127.0.0.1", 10_111, "a")


def test_an_answer_that_names_no_broker_is_the_same_bytes() -> None:
    data = encode_response(HeartbeatResponse(ErrorCode.NONE), 4, 7)
    assert told_otherwise(API_KEYS["Heartbeat"], 4, data, tell) is data
    of_us = MetadataResponse((), (), 1)
    same = encode_response(of_us, 9, 7)
    assert told_otherwise(API_KEYS["Metadata"], 9, same, tell) is same


@pytest.mark.parametrize("version", versions("ApiVersions"))
def test_a_client_hears_of_no_version_that_cannot_be_read_here(version: int) -> None:
    offered = {"Metadata": VersionRange(0, 99), "Heartbeat": VersionRange(0, 3)}
    answer = told("ApiVersions", version, ApiVersionsResponse(offered))
    assert isinstance(answer, ApiVersionsResponse)
    assert answer.versions == {"Metadata": API_VERSIONS["Metadata"], "Heartbeat": VersionRange(0, 3)}


def test_a_version_that_the_broker_does_not_know_is_refused_as_it_was() -> None:
    """KIP-511: in version 0."""
    refused = encode_response(ApiVersionsResponse({}, ErrorCode.UNSUPPORTED_VERSION), 0, 7)
    assert told_otherwise(API_KEYS["ApiVersions"], 4, refused, tell) == refused


def test_a_version_from_the_future_cannot_be_read() -> None:
    with pytest.raises(MalformedMessage, match="version 99"):
        told_otherwise(API_KEYS["Metadata"], 99, b"\0\0\0\7", tell)
