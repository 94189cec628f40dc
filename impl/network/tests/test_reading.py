"""Frames that say more than they have, and what the description of a message says about null and about tags.

Mutated frames of all versions: `groupspec.conformance.fuzzing`.
"""

from __future__ import annotations

import dataclasses
import sys
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.serial import entity_reader

from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedPartition,
    FetchResponse,
    HeartbeatResponse,
    MetadataRequest,
    TopicPartition,
)
from groupspec.impl.network import reading, wire
from groupspec.impl.network.codec import decode_request, decode_response, encode_request, encode_response
from groupspec.impl.network.errors import CodecError, MalformedMessage
from groupspec.impl.network.reading import Cursor, reader_of
from groupspec.impl.network.tests.messages import ANSWERS, IDS, REQUESTS
from groupspec.impl.network.versions import API_KEYS, API_VERSIONS, CLIENT_VERSIONS

EVERY_VERSION = [
    (api, version) for api, versions in API_VERSIONS.items() for version in range(versions.lowest, versions.highest + 1)
]
every_version = pytest.mark.parametrize(("api", "version"), EVERY_VERSION)
CLAIMS = (b"\xff\xff\xff\xff\x0f", b"\x7f\xff\xff\xff", b"\x7f\xff", b"\xff" * 10)
"""The greatest lengths that there are, compact or not, and a number without end."""


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (
            "000300090000000200016d00ffffffff0f",
            "topics is said to have 4294967294 elements of 2 bytes or more; 0",
        ),
        (
            "000300010000000200016d7fffffff0000",
            "topics is said to have 2147483647 elements of 2 bytes or more; 2",
        ),
        ("000300090000000200016d00ffffffffff0f", "a number of more than 5 bytes"),
        ("000300090000000200016d00020a6162", "9 bytes are announced at byte 14, and 2 are left"),
        ("000300090000000200016d00020461ff6200", "can't decode byte 0xff"),
        ("000300010000000200016dfffffffe", "topics of length -2"),
        ("000c00040000000200016d000000", "string is null, and must not be"),
        ("000800080000000200016d000267ffffffff026d0000", "topics is null, and must not be"),
    ],
)
def test_a_frame_that_contradicts_its_message_is_refused(frame: str, why: str) -> None:
    with pytest.raises(MalformedMessage, match=why):
        decode_request(bytes.fromhex(frame))


@every_version
@settings(max_examples=3)
@given(data=st.data())
def test_no_length_is_believed_beyond_the_bytes_that_are_left(api: str, version: int, data: st.DataObject) -> None:
    request = encode_request(data.draw(REQUESTS[api]), version, 7, "client", IDS)
    answer = encode_response(data.draw(ANSWERS[api]), version, 7, topic_ids=IDS)
    for claim in CLAIMS:
        for at in range(len(request) - len(claim)):
            _refused_or_read(lambda: decode_request(request[:at] + claim + request[at + len(claim) :], IDS))  # noqa: B023
        for at in range(len(answer) - len(claim)):
            changed = answer[:at] + claim + answer[at + len(claim) :]
            _refused_or_read(lambda: decode_response(api, version, changed, IDS))  # noqa: B023


def _refused_or_read(decode: Any) -> None:
    try:
        decode()
    except CodecError as refusal:
        assert str(refusal)  # noqa: PT017  (either outcome is right)


@every_version
@settings(max_examples=5)
@given(data=st.data())
def test_kio_reads_the_same(api: str, version: int, data: st.DataObject) -> None:
    """What is right is what kio's own reader makes of it."""
    answer = encode_response(data.draw(ANSWERS[api]), version, 7, topic_ids=IDS)
    _, start = wire.decode_response_header(API_KEYS[api], version, answer)
    entity = wire.load_response_schema(API_KEYS[api], version)
    assert reader_of(entity)(Cursor(answer, start)) == _fields(entity_reader(entity)(answer, start)[0])


def _fields(entity: Any) -> object:
    if isinstance(entity, tuple):
        return tuple(_fields(each) for each in entity)
    if isinstance(entity, timedelta):
        return round(entity / timedelta(milliseconds=1))
    if dataclasses.is_dataclass(entity):
        return {field.name: _fields(getattr(entity, field.name)) for field in dataclasses.fields(entity)}
    return entity


def test_a_message_becomes_so_many_fields_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = encode_request(MetadataRequest(("a", "b", "c")), 12, 7, "client")  # a name and an id for each
    monkeypatch.setattr(reading, "MOST_FIELDS", 6)
    assert decode_request(encoded)
    monkeypatch.setattr(reading, "MOST_FIELDS", 5)
    with pytest.raises(MalformedMessage, match="it has more than 5 fields"):
        decode_request(encoded)


def test_a_tag_that_nobody_knows_is_skipped() -> None:
    """KIP-482."""
    encoded = encode_response(HeartbeatResponse(ErrorCode.NONE), 4, 7)
    assert encoded.endswith(b"\0")
    assert decode_response("Heartbeat", 4, encoded[:-1] + b"\x02\x63\x03abc\x64\x00") == decode_response(
        "Heartbeat", 4, encoded
    )
    with pytest.raises(MalformedMessage, match="3 bytes are announced at byte 14, and 2 are left"):
        decode_response("Heartbeat", 4, encoded[:-1] + b"\x01\x63\x03ab")


def test_a_tagged_field_has_the_size_that_stands_before_it() -> None:
    body = {"error_code": ErrorCode.NONE, "api_keys": [], "finalized_features_epoch": 5}
    encoded = wire.encode_response(API_KEYS["ApiVersions"], 3, 7, body)
    assert wire.decode_response_body(API_KEYS["ApiVersions"], 3, encoded, 4).get("finalized_features_epoch") == 5
    wrong = encoded.replace(b"\x01\x08" + bytes(7), b"\x01\x07" + bytes(7))
    with pytest.raises(MalformedMessage, match="tagged field 1 is said to have 7 bytes, and has 8"):
        decode_response("ApiVersions", 3, wrong)


def calls_to_decode(partitions: int) -> int:
    """How many functions of Python are entered for an answer to Fetch."""
    parts = {TopicPartition("orders", number): FetchedPartition(b"batch", 5) for number in range(partitions)}
    version, calls = CLIENT_VERSIONS["Fetch"].highest, 0
    encoded = encode_response(FetchResponse(parts), version, 7, topic_ids=IDS)
    decode_response("Fetch", version, encoded, IDS)  # what is made once is there

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        decode_response("Fetch", version, encoded, IDS)
    finally:
        sys.setprofile(None)
    return calls


def test_a_partition_of_an_answer_to_Fetch_takes_few_calls() -> None:
    """They are what reading takes its time for: with 39 it took twice as long."""
    assert calls_to_decode(11) - calls_to_decode(1) <= 10 * 30
