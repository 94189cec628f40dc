"""The theorems about time, and the reference: it is put out exactly when they say that a member can be.

Two directions. A boundary case's shortest run is played to the core in virtual time, move by move: the core must make
its own moves at the very millisecond. And in small numbers the network does everything that it may do: the core must
never be out where a theorem says that no member can be. The reference's loop is woken by the next deadline, so
`granularity` is 0, and its clocks are non-strict.
"""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from msgspec.structs import replace

from groupspec.impl.core.messages import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest
from groupspec.impl.core.tests.scene import Scene
from groupspec.impl.core.timers import is_expired
from groupspec.spec.expiry.linear import NON_STRICT
from groupspec.spec.expiry.proofs import boundary, claims
from groupspec.spec.expiry.theorems import THEOREMS

COOPERATIVE = ("cooperative-sticky",)
FAR = 1_000_000


class CaseBroker:
    """The reference core as the member of a run, and a coordinator that is nothing but its two clocks."""

    def __init__(self, values: dict[str, int], cooperative: bool) -> None:
        self.values = values
        self.scene = Scene(
            heartbeat_interval_ms=values.get("interval", FAR),
            session_timeout_ms=FAR + 1,  # the member's own clock is another theorem's
            max_poll_interval_ms=FAR,
            request_timeout_ms=values.get("request", FAR),
            retry_backoff_ms=values.get("backoff", 100),
            partition_assignment_strategy=COOPERATIVE if cooperative else ("range",),
        ).stable(0)
        self.heard_ms = self.round_ms = self.scene.now_ms

    def play(self, at_ms: int, action: str) -> None:
        """One move of the run: the core's own ones are looked for, the others are made."""
        if action == "beat_sent" and at_ms > self.scene.now_ms:
            self.scene.pass_ms(at_ms - self.scene.now_ms - 1)
            assert not self.scene.is_waiting("Heartbeat"), f"a heartbeat before {at_ms} ms"
        self.scene.pass_ms(at_ms - self.scene.now_ms)
        getattr(self, action)()

    def beat_sent(self) -> None:
        assert self.scene.is_waiting("Heartbeat"), f"no heartbeat at {self.scene.now_ms} ms"

    def beat_arrives(self) -> None:
        self.heard_ms = self.scene.now_ms

    def beat_arrives_in_rebalance(self) -> None:
        self.beat_arrives()

    def beat_answered(self) -> None:
        self.scene.answer("Heartbeat")

    def swallowed(self) -> None:
        """Nothing is seen of it."""

    def beat_failed(self) -> None:
        self.scene.answer("Heartbeat", "TIMED_OUT" if "request" in self.values else "DISCONNECTED")

    def found(self) -> None:
        self.scene.coordinator_found()

    def another_joins(self) -> None:
        self.round_ms = self.scene.now_ms

    def announced(self) -> None:
        self.scene.answer("Heartbeat", "REBALANCE_IN_PROGRESS")

    def polls(self) -> None:
        self.scene.poll()

    def join_sent(self) -> None:
        self.scene.revoked()
        assert self.scene.is_waiting("JoinGroup")

    def join_arrives(self) -> None:
        assert self.scene.is_waiting("JoinGroup")

    def session_expires(self) -> None:
        assert is_expired(self.heard_ms + self.values["session"], self.scene.now_ms)

    def round_expires(self) -> None:
        assert is_expired(self.round_ms + self.values["max_poll"], self.scene.now_ms)


@pytest.mark.parametrize(
    "name",
    [
        "session-stable",
        "session-swallowed",
        "session-refused",
        "rebalance-in-poll",
        "rebalance-polite",
        "rebalance-at-once",
    ],
)
def test_the_reference_plays_the_boundary_case_to_the_millisecond(name: str) -> None:
    theorem = THEOREMS[name]
    case = boundary(replace(theorem, typical={**theorem.typical, "granularity": 0}), NON_STRICT)
    stage = CaseBroker(case.values, cooperative=name == "rebalance-at-once")

    for moment in case.run:
        stage.play(moment.at_ms, moment.action)

    assert case.run[-1].action in ("session_expires", "round_expires")


def arrivals(interval: int, latency: int, trips: tuple[tuple[int, int], ...]) -> list[int]:
    """When the coordinator hears of the reference.

    Each heartbeat is on its way, and answered, for as long as `trips` says.
    """
    scene = Scene(heartbeat_interval_ms=interval, session_timeout_ms=FAR, max_poll_interval_ms=FAR).stable(0)
    heard = [scene.now_ms]
    for there, back in trips:
        while not scene.is_waiting("Heartbeat"):
            scene.pass_ms(1)
        heard.append(scene.now_ms + there)
        scene.pass_ms(there + back)
        scene.answer("Heartbeat")
    return heard


@pytest.mark.parametrize("interval", range(1, 5))
@pytest.mark.parametrize("latency", range(4))
def test_h1_h2_it_is_expelled_exactly_by_the_session_timeouts_that_the_theorem_names(
    interval: int, latency: int
) -> None:
    trips = [(there, both - there) for both in range(latency + 1) for there in range(both + 1)]
    runs = [arrivals(interval, latency, choice) for choice in product(trips, repeat=2)]
    longest_silence = max(after - before for run in runs for before, after in pairwise(run))

    for session in range(1, 15):
        values = {"interval": interval, "granularity": 0, "latency": latency, "session": session}
        assert is_expired(session, longest_silence) == claims(THEOREMS["session-stable"], NON_STRICT, values)


@pytest.mark.parametrize(("interval", "session"), [(i, s) for i in range(1, 5) for s in range(i + 1, 9)])
def test_h5_it_doubts_its_coordinator_exactly_when_the_theorem_says_and_keeps_its_identity(
    interval: int, session: int
) -> None:
    for latency in range(6):
        scene = Scene(heartbeat_interval_ms=interval, session_timeout_ms=session, max_poll_interval_ms=FAR).stable(0)
        scene.pass_ms(interval + latency)  # the first heartbeat, answered as late as can be
        values = {"interval": interval, "granularity": 0, "latency": latency, "session": session}
        doubts = scene.describe().connection != "STABLE"

        assert doubts == claims(THEOREMS["doubt"], NON_STRICT, values)
        assert scene.describe().generation == 1
        assert len(scene.sent(HeartbeatRequest)) == 1


@pytest.mark.parametrize("max_poll", range(1, 7))
@pytest.mark.parametrize("processing", range(1, 9))
def test_p1_it_leaves_exactly_when_the_processing_time_reaches_the_poll_interval(
    max_poll: int, processing: int
) -> None:
    scene = Scene(max_poll_interval_ms=max_poll).stable(0)
    for _ in range(3):
        scene.pass_ms(processing)
        scene.poll()

    left = bool(scene.sent(LeaveGroupRequest))
    assert left == claims(THEOREMS["poll-limit"], NON_STRICT, {"processing": processing, "max_poll": max_poll})


def test_p1_keeping_to_the_poll_interval_does_not_save_it_from_a_rebalance() -> None:
    """With Kafka's defaults, a network of 20 ms, and an application that polls every 299 s."""
    scene = Scene(enable_auto_commit=False).stable(0)
    scene.pass_ms(3_000)
    scene.answer("Heartbeat")
    round_began_ms = scene.now_ms  # another member joins just after the coordinator has answered
    scene.pass_ms(3_000 + 20)
    scene.answer("Heartbeat", "REBALANCE_IN_PROGRESS")
    scene.poll()  # the revocation callback runs in a poll
    scene.revoked()
    (join,) = scene.sent(JoinGroupRequest)
    assert join.rebalance_timeout_ms == 300_000
    in_time = {"interval": 3_000, "granularity": 0, "latency": 20, "callback": 0, "max_poll": 300_000}

    assert scene.now_ms - round_began_ms == 3_020  # this much of the rebalance timeout is gone before it can act
    assert claims(THEOREMS["rebalance-polite"], NON_STRICT, {**in_time, "processing": 299_000})
    assert not claims(THEOREMS["rebalance-polite"], NON_STRICT, {**in_time, "processing": 296_000})
