"""Every message in every version.

There and back, against an implementation that is not ours, and with bytes gone bad.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.protocol import consumer as kafka_python_consumer
from kafka.protocol import metadata as kafka_python_metadata
from msgspec.structs import replace

from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedOffset,
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    LeftMember,
    MetadataRequest,
    OffsetFetchResponse,
    TopicPartition,
)
from groupspec.impl.network import codec
from groupspec.impl.network.answers import answer_with_error, error_code, error_of
from groupspec.impl.network.codec import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    throttle_time_ms,
)
from groupspec.impl.network.errors import (
    CodecError,
    MalformedMessage,
    UnencodableMessage,
    UnknownErrorCode,
    UnservedRequest,
)
from groupspec.impl.network.tests.messages import ANSWERS, IDS, REQUESTS, as_version
from groupspec.impl.network.versions import (
    API_KEYS,
    API_VERSIONS,
    BY_NAME,
    CLIENT_VERSIONS,
    THROTTLED_FROM,
    ApiVersionsResponse,
    VersionRange,
    negotiate,
)

EVERY_VERSION = [
    (api, version) for api, versions in API_VERSIONS.items() for version in range(versions.lowest, versions.highest + 1)
]
every_version = pytest.mark.parametrize(("api", "version"), EVERY_VERSION)
few = settings(max_examples=8)  # for each of 87 versions


@every_version
@few
@given(data=st.data(), correlation_id=st.integers(0, 2**31 - 1), client_id=st.none() | st.text(max_size=10))
def test_a_request_arrives_as_it_was_sent(
    api: str, version: int, data: st.DataObject, correlation_id: int, client_id: str | None
) -> None:
    request = data.draw(REQUESTS[api])
    encoded = encode_request(request, version, correlation_id, client_id, IDS)
    header, arrived = decode_request(encoded, IDS)
    assert (header.api, header.version, header.correlation_id, header.client_id) == (
        api,
        version,
        correlation_id,
        client_id,
    )
    assert arrived == as_version(request, version)


@every_version
@few
@given(data=st.data())
def test_an_answer_arrives_as_it_was_given(api: str, version: int, data: st.DataObject) -> None:
    answer = data.draw(ANSWERS[api])
    arrived = decode_response(api, version, encode_response(answer, version, 7, topic_ids=IDS), IDS)
    assert arrived == (7, _as_it_must_arrive(answer, version))


@every_version
@few
@given(data=st.data(), duration_ms=st.integers(0, 2**31 - 1))
def test_from_some_version_on_an_answer_says_how_long_the_client_is_throttled(
    api: str, version: int, data: st.DataObject, duration_ms: int
) -> None:
    answer = data.draw(ANSWERS[api])
    encoded = encode_response(answer, version, 7, topic_ids=IDS, throttle_time_ms=duration_ms)
    knows = version >= THROTTLED_FROM.get(api, version + 1)
    assert throttle_time_ms(api, version, encoded) == (duration_ms if knows else 0)


def _as_it_must_arrive(answer: codec.Answer, version: int) -> object:
    """Two APIs once had no place for an error of the whole request: it stands on every part instead."""
    if answer.error is not ErrorCode.NONE:
        if isinstance(answer, FetchResponse) and version < 7:
            answer = FetchResponse({p: replace(f, error=answer.error) for p, f in answer.partitions.items()})
        elif isinstance(answer, OffsetFetchResponse) and version < 2:
            answer = OffsetFetchResponse(
                {
                    p: FetchedOffset(f.offset, f.metadata, f.leader_epoch, answer.error)
                    for p, f in answer.offsets.items()
                }
            )
    return as_version(answer, version)


def _kafka_python(api: str, kind: str) -> type:
    name = f"{api}{kind}"
    found = getattr(kafka_python_consumer, name, None) or getattr(kafka_python_metadata, name)
    assert isinstance(found, type)
    return found


@every_version
@few
@given(data=st.data())
def test_kafka_python_reads_the_same_and_writes_the_same_bytes(api: str, version: int, data: st.DataObject) -> None:
    request = encode_request(data.draw(REQUESTS[api]), version, 7, "client", IDS)
    read = _kafka_python(api, "Request").decode(request, version=version, header=True)  # type: ignore[attr-defined]
    assert read.header.correlation_id == 7
    assert read.encode(version=version, header=True) == request
    answer = encode_response(data.draw(ANSWERS[api]), version, 8, topic_ids=IDS)
    read = _kafka_python(api, "Response").decode(answer, version=version, header=True)  # type: ignore[attr-defined]
    assert read.header.correlation_id == 8
    assert read.encode(header=True) == answer


@given(request=REQUESTS["JoinGroup"], version=st.integers(0, 9))
def test_kafka_python_finds_each_value_in_its_place(request: JoinGroupRequest, version: int) -> None:
    encoded = encode_request(request, version, 7, "client")
    read = _kafka_python("JoinGroup", "Request").decode(encoded, version=version, header=True)  # type: ignore[attr-defined]
    assert read.group_id == request.group_id
    assert read.session_timeout_ms == request.session_timeout_ms
    assert read.member_id == request.member_id
    assert [(p.name, p.metadata) for p in read.protocols] == list(request.protocols)
    if version >= 1:
        assert read.rebalance_timeout_ms == request.rebalance_timeout_ms
    if version >= 5:
        assert read.group_instance_id == request.group_instance_id


# What a version can't say --------------------------------------------------------------------------------------------


def test_the_members_own_error_stands_beside_the_member_in_new_versions_of_leave_group() -> None:
    request = LeaveGroupRequest("g", "m-1", None)
    kafka_python = _kafka_python("LeaveGroup", "Response")
    for error, on_top in ((ErrorCode.UNKNOWN_MEMBER_ID, 0), (ErrorCode.NOT_COORDINATOR, 16)):
        encoded = encode_response(LeaveGroupResponse(error), 5, 7, request=request)
        read = kafka_python.decode(encoded, version=5, header=True)  # type: ignore[attr-defined]
        assert read.error_code == on_top
        assert decode_response("LeaveGroup", 5, encoded) == (7, LeaveGroupResponse(error))
    assert [member.member_id for member in read.members] == []


@pytest.mark.parametrize("version", [3, 4, 5])
def test_several_leave_with_one_request(version: int) -> None:
    others = (LeavingMember("m-2", "i", "r" if version >= 5 else ""), LeavingMember("", "j"))
    request = LeaveGroupRequest("g", "m-1", None, others=others)
    encoded = encode_request(request, version, 7, "client")
    read = _kafka_python("LeaveGroup", "Request").decode(encoded, version=version, header=True)  # type: ignore[attr-defined]
    assert [(member.member_id, member.group_instance_id) for member in read.members] == [
        ("m-1", None),
        ("m-2", "i"),
        ("", "j"),
    ]
    assert decode_request(encoded)[1] == request
    left = LeaveGroupResponse(
        ErrorCode.NONE,
        (LeftMember("m-1", None, ErrorCode.NONE), LeftMember("m-2", "i", ErrorCode.FENCED_INSTANCE_ID)),
    )
    assert decode_response("LeaveGroup", version, encode_response(left, version, 7, request=request)) == (7, left)


def test_old_versions_of_leave_group_name_one_member_and_new_ones_at_least_one() -> None:
    request = LeaveGroupRequest("g", "m-1", None, others=(LeavingMember("m-2", None),))
    with pytest.raises(UnencodableMessage, match="version 2 can name one member only"):
        encode_request(request, 2, 7, "client")
    nobody = b"\0\x0d\0\3\0\0\0\7\0\1c\0\1g\0\0\0\0"
    with pytest.raises(MalformedMessage, match="nobody leaves"):
        decode_request(nobody)


def test_a_new_find_coordinator_names_the_group_that_was_asked_for() -> None:
    request = FindCoordinatorRequest("readers")
    encoded = encode_response(FindCoordinatorResponse(ErrorCode.NONE, 1, "h", 2), 4, 7, request=request)
    read = _kafka_python("FindCoordinator", "Response").decode(encoded, version=4, header=True)  # type: ignore[attr-defined]
    assert [(found.key, found.node_id) for found in read.coordinators] == [("readers", 1)]


def test_an_unknown_topic_id_stays_recognisable_on_the_way_back() -> None:
    stranger = IDS.name_of(None)
    request = FetchRequest({TopicPartition(stranger, 0): 5}, 1, 1, 1, 1)
    assert decode_request(encode_request(request, 13, 7, None, IDS), IDS)[1] == request


def test_metadata_version_0_can_not_ask_for_nothing() -> None:
    with pytest.raises(UnencodableMessage, match="an empty list there means all"):
        encode_request(MetadataRequest(()), 0, 7, None)


def test_what_does_not_fit_into_its_field_is_refused() -> None:
    with pytest.raises(UnencodableMessage, match="HeartbeatRequest version 4"):
        encode_request(HeartbeatRequest("g", 2**40, "m", None), 4, 7, None)
    with pytest.raises(UnencodableMessage, match="known are 0 to 4"):
        encode_request(HeartbeatRequest("g", 1, "m", None), 5, 7, None)


# Bytes gone bad ------------------------------------------------------------------------------------------------------


@given(data=st.data())
def test_a_message_cut_short_is_refused(data: st.DataObject) -> None:
    api, version = data.draw(st.sampled_from([v for v in EVERY_VERSION if v[0] != "ApiVersions"]))
    request = encode_request(data.draw(REQUESTS[api]), version, 7, "client", IDS)
    with pytest.raises(CodecError):
        decode_request(request[: data.draw(st.integers(0, len(request) - 1))], IDS)
    answer = encode_response(data.draw(ANSWERS[api]), version, 7, topic_ids=IDS)
    with pytest.raises(CodecError):
        decode_response(api, version, answer[: data.draw(st.integers(0, len(answer) - 1))], IDS)


@given(api_version=st.sampled_from(EVERY_VERSION), noise=st.binary(max_size=80))
def test_noise_is_read_or_refused_and_nothing_else_happens(api_version: tuple[str, int], noise: bytes) -> None:
    api, version = api_version
    start = API_KEYS[api].to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(4)
    for decode in (
        lambda: decode_request(noise),
        lambda: decode_request(start + noise),
        lambda: decode_response(api, version, noise),
    ):
        try:
            decode()
        except CodecError as refusal:
            assert str(refusal)  # noqa: PT017  (either outcome is right)


def test_bytes_after_the_end_of_a_request_are_left_alone() -> None:
    encoded = encode_request(MetadataRequest(None), 13, 7, "client")
    assert decode_request(encoded + bytes(3)) == decode_request(encoded)


def test_bytes_after_the_end_of_an_answer_are_refused() -> None:
    encoded = encode_response(HeartbeatResponse(ErrorCode.NONE), 4, 7)
    with pytest.raises(MalformedMessage, match=r"ends at byte \d+, but \d+ bytes came"):
        decode_response("Heartbeat", 4, encoded + b"!")


def test_an_error_code_that_kafka_does_not_have_is_told_from_broken_bytes() -> None:
    encoded = encode_response(HeartbeatResponse(error_code(999)), 4, 7)
    with pytest.raises(UnknownErrorCode, match="error code 999") as caught:
        decode_response("Heartbeat", 4, encoded)
    assert (caught.value.correlation_id, caught.value.code) == (7, 999)


def test_an_error_code_that_no_consumer_should_meet_keeps_its_number() -> None:
    encoded = encode_response(HeartbeatResponse(error_code(41)), 4, 7)  # NOT_CONTROLLER
    assert decode_response("Heartbeat", 4, encoded) == (7, HeartbeatResponse(ErrorCode(41)))


def test_an_unknown_api_and_an_unknown_version_say_what_is_served() -> None:
    with pytest.raises(UnservedRequest, match="served are Fetch") as caught:
        decode_request(b"\x00\x63\x00\x01\x00\x00\x00\x07\x00\x02me" + bytes(8))
    assert (caught.value.header.api, caught.value.header.client_id) == ("99", "me")
    with pytest.raises(UnservedRequest, match="served are versions 0 to 9"):
        decode_request(b"\x00\x0b\x00\x63\x00\x00\x00\x07\xff\xff")


def test_api_versions_falls_back_to_version_0() -> None:
    """KIP-511: a broker that does not know the version says so in version 0."""
    answer = ApiVersionsResponse({"Fetch": VersionRange(4, 6)}, ErrorCode.UNSUPPORTED_VERSION)
    assert decode_response("ApiVersions", 4, encode_response(answer, 0, 7)) == (7, answer)


# Versions and errors -------------------------------------------------------------------------------------------------


def test_both_sides_agree_on_the_highest_version_that_both_speak() -> None:
    theirs = {"JoinGroup": VersionRange(2, 5), "Heartbeat": VersionRange(9, 12), "Produce": VersionRange(0, 9)}
    assert negotiate(CLIENT_VERSIONS, theirs) == {"JoinGroup": 5}
    assert negotiate(CLIENT_VERSIONS, API_VERSIONS)["Fetch"] == 18
    assert negotiate(BY_NAME, API_VERSIONS)["Fetch"] == 12


@given(data=st.data(), error=st.sampled_from([code for code in ErrorCode if code >= -1 and code]))
def test_every_request_can_be_answered_with_an_error_that_is_found_again(data: st.DataObject, error: ErrorCode) -> None:
    api = data.draw(st.sampled_from(sorted(set(API_VERSIONS) - {"ApiVersions"})))
    request = data.draw(REQUESTS[api])
    answer = answer_with_error(request, error)
    assert error_of(answer) in (error, ErrorCode.NONE)
    for version in (API_VERSIONS[api].lowest, API_VERSIONS[api].highest):
        encoded = encode_response(answer, version, 7, request=request, topic_ids=IDS)
        arrived = decode_response(api, version, encoded, IDS)[1]
        has_parts = bool(getattr(request, "offsets", None) or getattr(request, "partitions", None))
        has_parts = has_parts or bool(getattr(request, "topics", None) or getattr(request, "timestamps", None))
        if has_parts or api in ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "FindCoordinator"):
            assert error_of(arrived) is error


def test_an_error_has_a_name_or_a_number() -> None:
    assert error_code("NOT_COORDINATOR") is error_code(16) is ErrorCode.NOT_COORDINATOR
    assert error_code(999).name == "CODE_999"
    assert error_code(999) is ErrorCode(999)
    with pytest.raises(ValueError, match="known are"):
        error_code("NO_SUCH_ERROR")
