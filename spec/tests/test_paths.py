"""The six paths of a rebalance, literally: three as the proposal publishes them, three as they are deployed.

Each test is one story told to the composed member: what happens from outside, and through which states the rebalance
goes.
"""

from __future__ import annotations

import pytest

from groupspec.spec.compiler.member import Member, MemberState

UNJOINED = "UNJOINED"
PREPARE_REVOCATION = "PREPARE_REVOCATION"
REVOKING_PARTITION = "REVOKING_PARTITION"
PARTITION_REVOKED = "PARTITION_REVOKED"
PREPARING_REBALANCE = "PREPARING_REBALANCE"
COMPLETING_REBALANCE = "COMPLETING_REBALANCE"
ASSIGNING_PARTITIONS = "ASSIGNING_PARTITIONS"
STABLE = "STABLE"

Chapter = tuple[tuple[str, dict[str, bool]], ...]

FIRST_JOIN: Chapter = (
    ("started", {}),
    ("subscribed_to_topics", {}),
    ("application_polled", {}),
    ("discovery_succeeded", {"current": True}),
    ("join_accepted", {"current": True}),
    (
        "sync_accepted",
        {"current": True, "revokes_any": False, "retains_any": False, "adds_any": True, "fits_subscription": True},
    ),
    ("partitions_assigned", {}),
)
EMPTY_HANDED: Chapter = (
    *FIRST_JOIN[:-2],
    (
        "sync_accepted",
        {"current": True, "revokes_any": False, "retains_any": False, "adds_any": False, "fits_subscription": True},
    ),
)
"""A first join that assigns nothing, and whose listener has not returned."""
ANNOUNCED: Chapter = (("heartbeat_due", {}), ("heartbeat_rebalance_in_progress", {"current": True}))
COMMITTED: Chapter = (("commit_settled", {"current": True}),)
CALLBACK: Chapter = (("callback_started", {}), ("partitions_revoked", {}))
JOINED: Chapter = (("join_accepted", {"current": True}),)
SYNCED: Chapter = (
    (
        "sync_accepted",
        {"current": True, "revokes_any": False, "retains_any": True, "adds_any": True, "fits_subscription": True},
    ),
)
SYNCED_WITH_LESS: Chapter = (
    (
        "sync_accepted",
        {"current": True, "revokes_any": True, "retains_any": True, "adds_any": False, "fits_subscription": True},
    ),
)
SYNCED_UNFIT: Chapter = (
    (
        "sync_accepted",
        {"current": True, "revokes_any": True, "retains_any": True, "adds_any": True, "fits_subscription": False},
    ),
)
RESUBSCRIBED: Chapter = (("subscription_changed", {"revokes_any": True, "retains_any": True}),)
ASSIGNED: Chapter = (("partitions_assigned", {}),)


class MemberCase:
    """One member, told events from outside; it remembers the states of its rebalance and what it sent."""

    def __init__(self, rebalance: str, profile: str) -> None:
        self.member = Member(rebalance, profile)
        self.state: MemberState = self.member.initial(auto_commit=True, static=False)
        self.path = [self.member.state_of(self.state, "rebalance")]
        self.sent: list[str] = []

    def tell(self, *chapters: Chapter) -> MemberCase:
        for chapter in chapters:
            for event, inputs in chapter:
                reaction = self.member.react(self.state, event, inputs)
                self.state = reaction.state
                self.sent.extend(reaction.emitted)
                for move in reaction.moves:
                    if move.machine == "rebalance" and move.target != self.path[-1]:
                        self.path.append(move.target)
        return self

    def from_now_on(self) -> MemberCase:
        del self.path[:-1]
        self.sent.clear()
        return self


@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
@pytest.mark.parametrize("profile", ["published", "deployed"])
def test_J7_first_join(rebalance: str, profile: str) -> None:
    story = MemberCase(rebalance, profile).tell(FIRST_JOIN)

    assert story.path == [UNJOINED, PREPARING_REBALANCE, COMPLETING_REBALANCE, ASSIGNING_PARTITIONS, STABLE]
    assert story.sent == ["FindCoordinator", "JoinGroup", "SyncGroup", "ASSIGN_PARTITIONS"]


def test_Q4_published_eager() -> None:
    story = MemberCase("eager", "published").tell(FIRST_JOIN).from_now_on()
    story.tell(ANNOUNCED, CALLBACK, COMMITTED, JOINED, SYNCED, ASSIGNED)

    assert story.path == [
        STABLE,
        PREPARE_REVOCATION,
        REVOKING_PARTITION,
        PARTITION_REVOKED,
        PREPARING_REBALANCE,
        COMPLETING_REBALANCE,
        ASSIGNING_PARTITIONS,
        STABLE,
    ]
    assert story.sent.index("REVOKE_PARTITIONS") < story.sent.index("OffsetCommit") < story.sent.index("JoinGroup")


def test_Q4_published_cooperative_never_sends_a_join() -> None:
    story = MemberCase("cooperative", "published").tell(FIRST_JOIN).from_now_on()
    story.tell(ANNOUNCED, CALLBACK, COMMITTED)

    assert story.path == [STABLE, PREPARE_REVOCATION, REVOKING_PARTITION, PARTITION_REVOKED, COMPLETING_REBALANCE]
    assert "JoinGroup" not in story.sent

    story.from_now_on().tell(SYNCED, ASSIGNED)

    assert story.path[:3] == [COMPLETING_REBALANCE, ASSIGNING_PARTITIONS, STABLE]
    assert "JoinGroup" not in story.sent


def test_Q4_deployed_eager_commits_before_the_callback() -> None:
    story = MemberCase("eager", "deployed").tell(FIRST_JOIN).from_now_on()
    story.tell(ANNOUNCED, COMMITTED, CALLBACK, JOINED, SYNCED, ASSIGNED)

    assert story.path == [
        STABLE,
        PREPARE_REVOCATION,
        REVOKING_PARTITION,
        PARTITION_REVOKED,
        PREPARING_REBALANCE,
        COMPLETING_REBALANCE,
        ASSIGNING_PARTITIONS,
        STABLE,
    ]
    assert story.sent.index("OffsetCommit") < story.sent.index("REVOKE_PARTITIONS") < story.sent.index("JoinGroup")


def test_Q4_K2_M8_deployed_cooperative_that_loses_a_partition_rejoins() -> None:
    story = MemberCase("cooperative", "deployed").tell(FIRST_JOIN).from_now_on()
    story.tell(ANNOUNCED, COMMITTED, JOINED, SYNCED_WITH_LESS, COMMITTED, CALLBACK, ASSIGNED)

    assert story.path == [
        STABLE,
        PREPARING_REBALANCE,
        COMPLETING_REBALANCE,
        PREPARE_REVOCATION,
        REVOKING_PARTITION,
        PARTITION_REVOKED,
        ASSIGNING_PARTITIONS,
        STABLE,
    ]
    assert [word for word in story.sent if word in ("OffsetCommit", "SyncGroup", "REVOKE_PARTITIONS")] == [
        "OffsetCommit",
        "SyncGroup",
        "OffsetCommit",
        "REVOKE_PARTITIONS",
        "OffsetCommit",
    ], "M8: before JoinGroup, and again before the revocation; and the rejoin begins at once, with its own commit"

    story.from_now_on().tell(COMMITTED, JOINED, SYNCED, ASSIGNED)

    assert story.path == [STABLE, PREPARING_REBALANCE, COMPLETING_REBALANCE, ASSIGNING_PARTITIONS, STABLE]


def test_Q4_deployed_cooperative_that_keeps_everything_does_not_revoke() -> None:
    story = MemberCase("cooperative", "deployed").tell(FIRST_JOIN).from_now_on()
    story.tell(ANNOUNCED, COMMITTED, JOINED, SYNCED, ASSIGNED)

    assert story.path == [STABLE, PREPARING_REBALANCE, COMPLETING_REBALANCE, ASSIGNING_PARTITIONS, STABLE]
    assert "REVOKE_PARTITIONS" not in story.sent


@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
def test_C2_deployed_lost_runs_its_callback_before_the_next_join(rebalance: str) -> None:
    story = MemberCase(rebalance, "deployed").tell(FIRST_JOIN).from_now_on()
    story.tell((("heartbeat_due", {}), ("heartbeat_unknown_member", {"current": True})), CALLBACK)

    assert story.path == [STABLE, REVOKING_PARTITION, UNJOINED, PREPARING_REBALANCE]
    assert story.sent == ["Heartbeat", "REVOKE_PARTITIONS", "JoinGroup"]


THROWN: Chapter = (("sync_fatal", {"current": True}),)
LEAVES: Chapter = (("leave_requested", {}),)
GENERATION_LOST: Chapter = (("heartbeat_due", {}), ("heartbeat_illegal_generation", {"current": True}))


@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
@pytest.mark.parametrize("profile", ["published", "deployed"])
@pytest.mark.parametrize(
    "way",
    [
        pytest.param((FIRST_JOIN[:-2], (("sync_illegal_generation", {"current": True}),), LEAVES), id="joins again"),
        pytest.param((FIRST_JOIN[:-3], (("join_member_id_required", {"current": True}),), LEAVES), id="pending id"),
        pytest.param((FIRST_JOIN, LEAVES, CALLBACK), id="member"),
    ],
)
def test_L1_who_is_a_member_or_joins_with_its_id_says_good_bye(
    rebalance: str, profile: str, way: tuple[Chapter, ...]
) -> None:
    story = MemberCase(rebalance, profile).tell(*way)

    assert story.path[-1] == UNJOINED
    assert story.sent.count("LeaveGroup") == 1


@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
@pytest.mark.parametrize(
    "way",
    [
        pytest.param((FIRST_JOIN, GENERATION_LOST, LEAVES, CALLBACK), id="lost, then leaves"),
        pytest.param((FIRST_JOIN, GENERATION_LOST, CALLBACK[:1], LEAVES, CALLBACK[1:]), id="while the callback runs"),
        pytest.param((FIRST_JOIN[:-1], GENERATION_LOST, LEAVES, CALLBACK), id="before the assigned callback is over"),
        pytest.param((FIRST_JOIN, GENERATION_LOST[:1], LEAVES, GENERATION_LOST[1:], CALLBACK), id="leaves, then lost"),
        pytest.param((EMPTY_HANDED, GENERATION_LOST, LEAVES), id="nothing owned"),
        pytest.param((FIRST_JOIN[:-2], THROWN, GENERATION_LOST, LEAVES), id="waits for a poll to join again"),
    ],
)
def test_L1_an_id_kept_from_a_lost_generation_is_nothing_to_leave(rebalance: str, way: tuple[Chapter, ...]) -> None:
    story = MemberCase(rebalance, "deployed").tell(*way)

    assert story.path[-1] == UNJOINED
    assert "LeaveGroup" not in story.sent
    assert story.member.value_of(story.state, "identity") == "none"


GIVES_UP_FIRST = [PREPARE_REVOCATION, REVOKING_PARTITION, PARTITION_REVOKED, PREPARING_REBALANCE]
GIVEN_UP_FIRST = ["OffsetCommit", "REVOKE_PARTITIONS", "JoinGroup"]


def test_Q4_deployed_cooperative_gives_up_what_it_no_longer_subscribes_to_before_it_joins() -> None:
    story = MemberCase("cooperative", "deployed").tell(FIRST_JOIN).from_now_on()
    story.tell(RESUBSCRIBED, COMMITTED, CALLBACK)

    assert story.path == [STABLE, *GIVES_UP_FIRST]
    assert story.sent == GIVEN_UP_FIRST
    assert story.member.value_of(story.state, "owned")


def test_Q4_M8_what_is_unsubscribed_from_while_the_commit_is_out_goes_after_another_one() -> None:
    """Simulation 14542: the application has read on since the first one was sent."""
    story = MemberCase("cooperative", "deployed").tell(FIRST_JOIN).from_now_on()
    story.tell(ANNOUNCED, RESUBSCRIBED, COMMITTED, COMMITTED, CALLBACK)

    assert story.path == [STABLE, *GIVES_UP_FIRST]
    assert [word for word in story.sent if word != "Heartbeat"] == ["OffsetCommit", *GIVEN_UP_FIRST]


def test_Q4_M8_what_is_unsubscribed_from_when_the_commit_is_over_goes_after_another_one() -> None:
    story = MemberCase("cooperative", "deployed").tell(FIRST_JOIN, ANNOUNCED).from_now_on()
    story.tell((("commit_coordinator_gone", {"current": True}), ("commit_deadline_expired", {})))
    story.tell(RESUBSCRIBED, (("discovery_succeeded", {"current": True}),), COMMITTED, CALLBACK)

    assert story.path == [STABLE, *GIVES_UP_FIRST]
    assert story.sent == ["FindCoordinator", *GIVEN_UP_FIRST]


def test_Q4_what_is_unsubscribed_from_in_the_assigned_callback_goes_after_it() -> None:
    story = MemberCase("cooperative", "deployed").tell(FIRST_JOIN[:-1]).from_now_on()
    story.tell(RESUBSCRIBED, ASSIGNED, COMMITTED, CALLBACK)

    assert story.path == [ASSIGNING_PARTITIONS, STABLE, *GIVES_UP_FIRST]
    assert story.sent == GIVEN_UP_FIRST


def test_Q4_what_is_unsubscribed_from_while_an_assignment_waits_goes_before_the_join_after_it() -> None:
    story = MemberCase("cooperative", "deployed").tell(FIRST_JOIN, ANNOUNCED, COMMITTED, JOINED).from_now_on()
    story.tell(SYNCED_WITH_LESS, COMMITTED, CALLBACK[:1], RESUBSCRIBED, CALLBACK[1:], ASSIGNED, COMMITTED, CALLBACK)

    first = [COMPLETING_REBALANCE, *GIVES_UP_FIRST[:-1], ASSIGNING_PARTITIONS]
    assert story.path == [*first, STABLE, *GIVES_UP_FIRST]
    assert story.sent == ["OffsetCommit", "REVOKE_PARTITIONS", "ASSIGN_PARTITIONS", *GIVEN_UP_FIRST]


def test_J1_an_assignment_that_does_not_fit_is_dropped_and_what_is_no_longer_wanted_goes_before_the_join() -> None:
    story = MemberCase("cooperative", "deployed").tell(FIRST_JOIN, ANNOUNCED, COMMITTED, JOINED).from_now_on()
    story.tell(RESUBSCRIBED, SYNCED_UNFIT, COMMITTED, CALLBACK)

    assert story.path == [COMPLETING_REBALANCE, STABLE, *GIVES_UP_FIRST]
    assert story.sent == GIVEN_UP_FIRST


def test_J1_an_eager_member_whose_assignment_does_not_fit_joins_again_without_it() -> None:
    story = MemberCase("eager", "deployed").tell(FIRST_JOIN[:-2]).from_now_on()
    story.tell(SYNCED_UNFIT, CALLBACK)

    assert story.path == [COMPLETING_REBALANCE, STABLE, *GIVES_UP_FIRST]
    assert story.sent == ["REVOKE_PARTITIONS", "JoinGroup"]
    assert not story.member.value_of(story.state, "owned")
