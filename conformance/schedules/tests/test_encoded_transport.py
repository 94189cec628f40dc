"""Runs whose messages are bytes: brokers of some releases, which throttle, and close what is idle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pytest

from groupspec.conformance.encoded_connections import KEPT, LATER, NEWEST, Brokers, EncodedConnection, Throttles, spoken
from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.mutation.mutant import Method, Seam, answer, nothing
from groupspec.conformance.schedules.answers import NO_FAULTS
from groupspec.conformance.schedules.brokers import WITH_BROKERS_OF_THEIR_OWN
from groupspec.conformance.schedules.campaign import search
from groupspec.conformance.schedules.further import draw
from groupspec.conformance.schedules.scenario import Scenario
from groupspec.conformance.schedules.tests.searching import expect_found
from groupspec.impl.core.events import COORDINATOR, ResponseReceived, SendRequest
from groupspec.impl.core.messages import (
    ErrorCode,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    MetadataResponse,
    TopicMetadata,
)
from groupspec.impl.network import connection
from groupspec.impl.network.connection import Connection
from groupspec.impl.network.versions import API_VERSIONS, ApiVersionsResponse, Versions
from groupspec.impl.threads.designs import DESIGNS, Design

WITHIN: Final = 250
BEAT: Final = HeartbeatRequest("billing", 1, "member-1", None)
OK: Final = HeartbeatResponse(ErrorCode.NONE)


def own(drawn: Scenario) -> Brokers:
    """The brokers of a scenario that has some."""
    return drawn.brokers or Brokers()


def throttled(drawn: Scenario) -> bool:
    """Whether a member is told to hold back, and nothing races with that."""
    return any(any(some) for some in own(drawn).throttles.values()) and not drawn.timers_race


def old(drawn: Scenario) -> bool:
    """Whether a broker is older than the reference."""
    return bool({*own(drawn).releases} - {NEWEST, LATER})


def upgraded(drawn: Scenario) -> bool:
    """Whether connections meet brokers of more than one release."""
    return len({*own(drawn).releases}) > 1


def closed(drawn: Scenario) -> bool:
    """Whether nothing goes wrong but that brokers close what is idle."""
    faults = any(set(errors) - NO_FAULTS for errors in (*drawn.answers.values(), *drawn.at_close.values()))
    return own(drawn).closes_ms > 0 and not (faults or drawn.breaks or drawn.timers_race)


def never_over(seam: Seam) -> None:
    """Who has been told to hold back once does so for ever."""
    seam.replace(Connection.throttle_over, nothing)


def newest_versions(seam: Seam) -> None:
    """Every request in the newest version that the client knows."""

    def ours(_: Method, ours: Versions, theirs: Versions) -> dict[str, int]:
        return {api: each.highest for api, each in ours.items() if api in theirs}

    seam.replace((connection, "negotiate"), ours)


def first_versions_kept(seam: Seam) -> None:
    """The versions of the first broker count for all connections."""
    first: list[ApiVersionsResponse] = []

    @seam.replacing(Connection._negotiated)
    def negotiated(original: Method, self: Connection, response: ApiVersionsResponse) -> None:
        first.append(response)
        original(self, first[0])


def metadata_not_asked_again(seam: Seam) -> None:
    """That the connection has ended over which metadata were asked for is not noticed."""
    seam.replace(answer("Metadata", "DISCONNECTED"), nothing)


PLANTED: Final[Mapping[str, tuple[Callable[[Seam], None], Callable[[Scenario], bool], str]]] = {
    "W2-ignored": (MUTANTS["W2-ignored"].change, throttled, "before the throttle time is over"),
    "W2-not-for-fetch": (
        MUTANTS["W2-not-for-fetch"].change,
        lambda drawn: throttled(drawn) and "Fetch" in own(drawn).throttles,
        "Fetch .* before the throttle time is over",
    ),
    "throttle time never over": (never_over, throttled, "nothing comes of|is no idleness|does not join|every thread"),
    "newest versions": (newest_versions, old, "and the broker speaks"),
    "first versions kept": (first_versions_kept, upgraded, "and the broker speaks"),
    "Metadata lost": (
        metadata_not_asked_again,
        lambda drawn: closed(drawn) and not drawn.away_ms,  # of which nothing comes then
        "without Metadata in between",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_what_breaks_there_is_found(name: str) -> None:
    change, can_show, told = PLANTED[name]
    expect_found(change, lambda drawn: drawn.brokers is not None and can_show(drawn), told, WITHIN)


@pytest.mark.parametrize("design", DESIGNS)
def test_a_reference_as_it_is_keeps_its_promises_there(design: Design) -> None:
    with_their_own = [seed for seed in range(600) if draw(seed).brokers is not None]
    assert len(with_their_own) == 60
    for seed in with_their_own[:40]:
        failure = search(1, seed, shrink=False, design=design)
        assert failure is None, failure


def test_runs_of_other_seeds_stay_as_they_were_and_the_draw_covers_what_brokers_vary() -> None:
    drawn = [draw(seed) for seed in range(2_000)]
    assert {seed % 20 for seed, one in enumerate(drawn) if one.brokers is not None} == {*WITH_BROKERS_OF_THEIR_OWN}
    own = [one.brokers for one in drawn if one.brokers is not None]
    assert {release for one in own for release in one.releases} == {*spoken()}
    assert any(one.closes_ms for one in own)
    assert any(len({*one.releases}) > 1 for one in own)
    assert any(one.throttles for one in own)
    assert "brokers of" in str(next(one for one in drawn if one.brokers is not None))


# One connection -------------------------------------------------------------------------------------------------------


def beat(number: int) -> SendRequest:
    return SendRequest(number, COORDINATOR, BEAT, 1_000)


def test_what_is_sent_while_the_client_is_over_its_quota_arrives_when_that_is_over_W2() -> None:
    wire = EncodedConnection(spoken()[NEWEST], 0)
    assert wire.send(beat(1), 1_000, 0) == [beat(1)]
    assert wire.answer(1, OK, 500, 100) == [ResponseReceived(1, OK, 500)]
    assert wire.send(beat(2), 1_100, 100) == []
    assert (wire.has_written(2), wire.throttle_over(599), wire.throttle_over(600)) == (False, [], [beat(2)])


def test_a_request_that_no_version_can_say_is_answered_by_the_client_itself() -> None:
    speaks = {api: each for api, each in API_VERSIONS.items() if api != "Heartbeat"}
    wire = EncodedConnection(speaks, 0)
    assert wire.send(beat(1), 1_000, 0) == []
    assert wire.refused() == [ResponseReceived(1, HeartbeatResponse(ErrorCode.UNSUPPORTED_VERSION))]


def test_a_late_answer_ends_a_connection_and_one_that_was_never_sent_does_not() -> None:
    wire = EncodedConnection(spoken()[NEWEST], 0)
    wire.send(beat(1), 1_000, 0)
    wire.answer(1, OK, 5_000, 0)
    wire.send(beat(2), 1_000, 0)
    assert not wire.expires(1_000)
    assert wire.throttle_over(5_000) == []
    wire.send(beat(3), 6_000, 5_000)
    assert wire.expires(6_000)


def test_a_connection_is_idle_when_nothing_has_been_under_way_for_so_long() -> None:
    wire = EncodedConnection(spoken()[NEWEST], 0)
    wire.send(beat(1), 1_000, 100)
    assert not wire.is_idle(500, 700)
    wire.answer(1, OK, 0, 700)
    assert (wire.is_idle(500, 1_199), wire.is_idle(500, 1_200)) == (False, True)
    assert wire.ends() == []


def test_an_answer_is_read_in_the_version_of_its_broker() -> None:
    told = MetadataResponse((), (TopicMetadata("__orders", (), topic_id=bytes(15) + b"1", is_internal=True),))
    read = {}
    for release in (KEPT, NEWEST, LATER):
        wire = EncodedConnection(spoken()[release], 0)
        wire.send(SendRequest(1, 1, MetadataRequest(("__orders",)), 1_000), 1_000, 0)
        [received] = wire.answer(1, told, 0, 0)
        read[release] = received.response
    assert read[NEWEST] == read[LATER] == read[KEPT] == told
    assert Throttles(Brokers(throttles={"Fetch": (7,)})).next_ms("Heartbeat") == 0
