"""(d) The coordinator no longer knows the member."""

from groupspec.conformance.wire.kit import Kit
from groupspec.conformance.wire.scenario import Variant, scenario


@scenario(
    rules="D1 D4 J1 J2 J4 S3 H2 H3 H4 C1 C2 C3 C5 M1 M4 M7 O1 O3 W1",
    source="KIP-429 (onPartitionsLost); AbstractCoordinator.HeartbeatResponseHandler",
    variants=(Variant(), Variant("slow-callback", callback_ms=600, not_judged="H2")),
)
def member_unknown(kit: Kit) -> None:
    """A heartbeat is answered UNKNOWN_MEMBER_ID: everything is lost, and the member joins as a new one.

    Not revoked but lost, without a commit: somebody else may own the partitions by now. Heartbeats stop until the member has
    joined again; the coordinator is the same, so it is not looked up.
    """
    kit.stable_member()
    kit.answer_next("Heartbeat", "UNKNOWN_MEMBER_ID")
    expelled = kit.expect_answer("Heartbeat", "UNKNOWN_MEMBER_ID", rule=kit.judged("H2", "H3"))
    joined = kit.expect_request("JoinGroup", rule="H4", since=expelled)
    if kit.offers("lost_callback"):
        kit.expect_event("partitions_lost", rule="C2", since=expelled)
    synced = kit.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    kit.expect_assigned(rule="S3", since=joined)
    kit.expect_heartbeats(rule="H3", since=synced)
    kit.close()
