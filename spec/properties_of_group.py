"""What is claimed of one group in any environment.

What its machine believes, and what the records beside it say (`composition/open_group.py`).
"""

from __future__ import annotations

from groupspec.spec.compiler.model import ModelProperty
from groupspec.spec.properties import FAULT, assertion

_G = "Kafka GroupMetadataManager"
_C = "Kafka ClassicGroup"
_SOME_WAIT = "any(parked[j] == 'join' for j in members)"


_ANSWERS = (
    assertion("illegal-event", "Nothing happens that a correct peer never does: no error row fires.",
              ("the error rows of the tables",), "G11"),
    assertion("answered-once", "A request is answered or parked, and only once.", (_G,), "G8"),
    assertion("session-range-is-checked",
              "A session timeout outside the broker's range is refused before anything else is looked at.",
              ("KIP-62, 'Proposed Changes'", "Kafka GroupCoordinatorService.joinGroup"), "G12 G8"),
    assertion("gone-group-says-so", "Who does not coordinate the group tells every request so, whoever sends it.",
              ("Kafka CoordinatorRuntime.contextOrThrow",), "G13 G8"),
    assertion("loading-group-says-so", "Who is still reading the group's log tells every request so, but heartbeats.",
              ("Kafka CoordinatorRuntime.withActiveContextOrThrow",), "G13 G8"),
    assertion("loading-group-keeps-its-members",
              "A heartbeat to a coordinator that is still reading is answered NONE, so that nobody leaves for it.",
              ("Kafka GroupCoordinatorService.heartbeat",), "G13"),
    assertion("full-group-refuses", "A group that is full says so before it looks at protocols and ids.",
              (f"{_G}.acceptJoiningMember",), "G8"),
    assertion("protocol-is-shared",
              "JoinGroup needs a protocol that all members support, SyncGroup the protocol that was chosen.",
              (f"{_C}.supportsProtocols", f"{_G}.classicGroupSync"), "G12 G8"),
    assertion("strangers-are-told",
              "An id that is no member's is told UNKNOWN_MEMBER_ID, and so is everybody while the group is Empty.",
              (f"{_C}.validateMember",), "G8 G13"),
    assertion("the-fenced-are-told",
              "Every request of an id that was replaced gets FENCED_INSTANCE_ID, whatever its generation.",
              ("KIP-345", "Kafka ClassicGroup.validateMember"), "G11 G8"),
    assertion("old-generation-is-told", "A member that names another generation is told, also during a join phase.",
              (f"{_G}.classicGroupHeartbeat", f"{_G}.classicGroupSync"), "G8"),
    assertion("id-comes-first", "A dynamic member that is new is handed an id, and comes back with it.",
              ("KIP-394", f"{_G}.classicGroupJoinNewDynamicMember"), "G4"),
    assertion("unchanged-is-answered-at-once",
              "A member that rejoins unchanged after the join phase is told the current generation again; in Stable a "
              "follower only.", (f"{_G}.classicGroupJoinExistingMember",), "G10"),
    assertion("static-returns-in-peace",
              "A static member that returns to a Stable group is told the current generation, if the protocol stays.",
              ("KIP-345", f"{_G}.updateStaticMemberThenRebalanceOrCompleteJoin"), "G11"),
    assertion("joins-wait", "Every other JoinGroup is accepted, and waits for the join phase to end.",
              ("KIP-62, 'Proposed Changes'",), "G1"),
    assertion("syncs-wait", "In CompletingRebalance SyncGroup waits for the assignment.", (f"{_G}.classicGroupSync",),
              "G9"),
    assertion("assignment-is-given", "In Stable SyncGroup is answered with the assignment at once.",
              (f"{_G}.classicGroupSync",), "G9"),
    assertion("rebalance-is-told",
              "REBALANCE_IN_PROGRESS: heartbeats and SyncGroup in the join phase, commits in the sync phase.",
              (f"{_G}.classicGroupHeartbeat", f"{_C}.validateOffsetCommit"), "G7"),
    assertion("missing-group-is-told", "A commit to a group that nobody knows is told so, in the words of its version.",
              ("Kafka OffsetMetadataManager.validateOffsetCommit",), "G13"),
    assertion("good-requests-are-accepted",
              "Heartbeats, commits and LeaveGroups that pass the checks are accepted, and so is a commit without "
              "identity to an Empty group.", (_G, f"{_C}.validateOffsetCommit"), "G7 D8"),
)  # fmt: skip
"""What a request is told."""

_CHANGES = (
    assertion("who-joins-is-a-member", "Whoever's JoinGroup waits is a member, and its id is pending no more.",
              (f"{_G}.addMemberThenRebalanceOrCompleteJoin",), "G4 G1"),
    assertion("handed-out-id-is-pending", "An id that was handed out is pending.", ("KIP-394",), "G4"),
    assertion("pending-id-ends", "A pending id is forgotten when it leaves or its session timeout ends.",
              ("KIP-394", f"{_G}.expireClassicGroupMemberHeartbeat"), "G4"),
    assertion("members-go-for-a-reason",
              "A member is removed when it leaves, its session expires while nothing of it is parked, it does not sync "
              "in time, or the group is too large for it: then, and for nothing else.", (_G,), "G5 G9"),
    assertion("static-is-replaced", "A static member that returns takes its own place.", ("KIP-345",), "G11"),
    assertion("rebalance-has-a-reason",
              "The join phase begins when a JoinGroup waits, or a member or a pending id leaves, or one is silent, or "
              "the sync phase fails: at once, and for nothing else.", (f"{_G}.prepareRebalance",), "G1 G5 G9 G10"),
    assertion("first-member-waits-for-others",
              "Whoever joins an Empty group waits for the initial delay, and neither joins nor leaves cut it short.",
              ("KIP-134",), "G3"),
    assertion("newcomers-prolong-the-delay", "The initial delay is prolonged for newcomers, and only for them.",
              ("KIP-134",), "G3"),
    assertion("waits-for-nobody-else",
              "When all members have joined and no id is pending, the join phase ends at once.",
              (f"{_C}.hasAllMembersJoined",), "G1 G4"),
    assertion("waits-for-all",
              "Before its timeout the join phase ends only when all members have joined and no id is pending.",
              (f"{_C}.hasAllMembersJoined",), "G1 G4"),
    assertion("timeout-ends-the-phase",
              "A timeout ends the join phase: with whoever has joined, or as an Empty group. Where only static members "
              "remain that have not, it goes on.", (f"{_G}.completeClassicGroupJoin",), "G1 G6"),
    assertion("somebody-has-rejoined", "A generation has members that have joined it.",
              (f"{_G}.completeClassicGroupJoin",), "G1 G2"),
    assertion("nobody-is-left", "A group becomes Empty when nobody is left.", (f"{_G}.completeClassicGroupJoin",),
              "G2"),
    assertion("grows-once-a-phase", "The generation grows when a join phase ends, once, and at no other time.",
              (f"{_C}.initNextGeneration",), "G2"),
    assertion("leader-is-written", "The leader's accepted SyncGroup is written to the log, and nobody else's.",
              (f"{_G}.classicGroupSync",), "G9"),
    assertion("given-out-when-stored",
              "When the log has this generation's assignment, every parked SyncGroup is answered, and the group is "
              "Stable.", (f"{_G}.classicGroupSync",), "G9"),
    assertion("lost-write-is-told",
              "If the log refuses the assignment, whoever waits for it is told so, and not that a rebalance is in "
              "progress.", (f"{_G}.classicGroupSync",), "G9"),
    assertion("late-writes-do-nothing", "What becomes of an earlier generation's record changes nothing.",
              (f"{_G}.classicGroupSync",), "G9"),
    assertion("sign-of-life",
              "A session timer starts anew with an accepted heartbeat or commit of a member, and not with other "
              "requests.",
              ("KIP-62, 'Proposed Changes'", "Kafka GroupMetadataManager.rescheduleClassicGroupMemberHeartbeat"),
              "G5 G7"),
    assertion("stopped-timers-do-nothing", "A timer that was stopped, or news that are known, change nothing.", (_G,),
              "G1 G9 G13"),
    assertion("gone-group-lets-go", "When its coordinator goes, everything parked is answered and no timer runs.",
              (f"{_G}.onUnloaded",), "G13"),
    assertion("deleted-is-forgotten",
              "Of a group that was deleted nothing is left, pending ids neither: it is Empty, as one that nobody has "
              "ever asked for.", (f"{_G}.createGroupTombstoneRecordsAndCancelTimers",), "G13"),
    assertion("log-is-restored", "A group that is loaded is what the log's last record says, and nothing else.",
              (f"{_G}.onLoaded",), "G13"),
)  # fmt: skip
"""What an event changes."""

_ALWAYS = (
    ModelProperty("empty-is-empty", "invariant", "(broker_group == 'Empty') == (phase == 'empty')", "",
                  "Empty: nobody is a member, and nobody joins.", (f"{_C}State",), ("G13", "G2")),
    ModelProperty("preparing-is-joining", "invariant", "(broker_group == 'PreparingRebalance') == (phase == 'joining')",
                  "", "PreparingRebalance is the join phase.", (f"{_C}State",), ("G13", "G1")),
    ModelProperty("completing-is-syncing", "invariant",
                  "(broker_group == 'CompletingRebalance') == (phase == 'syncing')", "",
                  "CompletingRebalance is the sync phase.", (f"{_C}State",), ("G13", "G9")),
    ModelProperty("stable-is-stable", "invariant", "(broker_group == 'Stable') == (phase == 'stable')", "",
                  "Stable: the assignment was given out.", (f"{_C}State",), ("G13", "G9")),
    ModelProperty("dead-is-gone", "invariant", "(broker_group == 'Dead') == (phase == 'gone')", "",
                  "Dead: the coordinator is gone.", (f"{_G}.onUnloaded",), ("G13",)),
    ModelProperty("loading-is-loading", "invariant", "(broker_group == 'Loading') == (phase == 'loading')", "",
                  "Loading: the next coordinator reads the log.", ("Kafka CoordinatorRuntime.CoordinatorState",),
                  ("G13",)),
    ModelProperty("delay-is-known", "invariant", "initial_delay == (clock == 'delay')", "",
                  "The group knows whether the initial delay runs.", ("KIP-134",), ("G3",)),
    ModelProperty("join-phase-is-timed", "invariant",
                  "(phase == 'joining') == (clock == 'delay' or clock == 'rebalance')", "",
                  "A timer runs as long as the join phase lasts, so that it ends.", (f"{_G}.prepareRebalance",),
                  ("G1", "G3", "G6")),
    ModelProperty("sync-phase-is-timed", "invariant", "phase != 'syncing' or clock == 'sync'", "",
                  "A timer runs as long as the sync phase lasts, so that it ends.", (f"{_G}.schedulePendingSync",),
                  ("G9",)),
    ModelProperty("unsynced-is-timed", "invariant",
                  "phase == 'gone' or phase == 'loading' or not any(yet_to_sync[j] for j in members) or clock == "
                  "'sync'", "", "Whoever has yet to sync has the rebalance timeout to do so, also in a Stable group.",
                  (f"{_G}.expirePendingSync",), ("G9",)),
    ModelProperty("no-timer-for-nobody", "invariant", "phase != 'empty' or clock == 'none'", "",
                  "No timer of the group runs while it is Empty.", (f"{_G}.completeClassicGroupJoin",), ("G2",)),
    ModelProperty("joins-wait-in-the-join-phase", "invariant",
                  "phase == 'joining' or all(parked[j] != 'join' for j in members)", "",
                  "When the join phase ends, every JoinGroup was answered.", (f"{_G}.completeClassicGroupJoin",),
                  ("G1",)),
    ModelProperty("syncs-wait-in-the-sync-phase", "invariant",
                  "phase == 'syncing' or all(parked[j] != 'sync' for j in members)", "",
                  "When the sync phase ends, every SyncGroup was answered.", (f"{_G}.classicGroupSync",), ("G9",)),
    ModelProperty("only-members-wait", "invariant", "all(parked[j] == 'nothing' or member[j] for j in members)", "",
                  "Nothing is parked of an id that is no member's: it was answered.", (f"{_G}",), ("G1", "G5")),
    ModelProperty("pending-or-member", "invariant", "all(not pending[j] or not member[j] for j in members)", "",
                  "An id is pending, or a member's.", (f"{_C}.addPendingMember",), ("G4",)),
    ModelProperty("new-ones-wait", "invariant",
                  "all(not is_new[j] or parked[j] == 'join' or phase == 'gone' or phase == 'loading' for j in members)",
                  "", "Who is new has joined, and waits.", (f"{_G}.addMemberThenRebalanceOrCompleteJoin",), ("G1",)),
    ModelProperty("settled-has-members", "invariant",
                  "phase != 'syncing' and phase != 'stable' or any(member[j] for j in members)", "",
                  "A generation has members.", (f"{_C}State",), ("G2",)),
    ModelProperty("empty-has-none", "invariant",
                  "phase != 'empty' or all(not member[j] and not logged[j] for j in members)", "",
                  "An Empty group has no members, in the log either.", (f"{_C}State",), ("G2", "G13")),
    ModelProperty("stable-is-stored", "invariant", "phase != 'stable' or all(member[j] == logged[j] for j in members)",
                  "", "Whoever is in a Stable group is in its log.", (f"{_G}.classicGroupSync",), ("G9", "G13")),
)  # fmt: skip
"""What holds between two events."""

_POSSIBLE = (
    ModelProperty("can-be-stable", "recoverable",
                  f"{FAULT} != 'none' or phase == 'stable' and all(member[j] for j in members)", "",
                  "Whatever has happened, the group can become Stable with all members.",
                  ("KIP-62, 'Proposed Changes'",), ("G1", "G9")),
    ModelProperty("can-be-empty", "recoverable",
                  f"{FAULT} != 'none' or phase == 'empty' and all(not pending[j] for j in members)", "",
                  "Whatever has happened, everybody can leave, and every id can be forgotten.", (f"{_G}",),
                  ("G2", "G4")),
    ModelProperty("parked-join-is-answered", "leads_to", f"not {_SOME_WAIT}", _SOME_WAIT,
                  "The rebalance timeout answers every JoinGroup that waits.", (f"{_G}.completeClassicGroupJoin",),
                  ("G1", "G6")),
    ModelProperty("sync-phase-ends", "leads_to", "phase != 'syncing' or not yet_to_sync[1]",
                  "phase == 'syncing' and yet_to_sync[1]", "Who does not sync is not waited for for ever.",
                  (f"{_G}.expirePendingSync",), ("G9",)),
    ModelProperty("reaches-a-pending-holdup", "reachable",
                  "phase == 'joining' and clock == 'rebalance' and any(pending[j] for j in members) and any(member[j] "
                  "for j in members) and all(not member[j] or parked[j] == 'join' for j in members)", "",
                  "An id that was handed out holds the join phase up.", (), ("G4",)),
    ModelProperty("reaches-a-static-holdup", "reachable",
                  "phase == 'syncing' and yet_to_sync[1] and parked[2] == 'sync'", "",
                  "A static member that is away holds the sync phase up.", (), ("G9", "G11")),
    ModelProperty("reaches-a-late-write", "reachable", "phase == 'syncing' and old_writing", "",
                  "An earlier generation's record is under way in the sync phase.", (), ("G9",)),
    ModelProperty("reaches-stable-unsynced", "reachable", "phase == 'stable' and any(yet_to_sync[j] for j in members)",
                  "", "A Stable group has a member that has not synced.", (), ("G9",)),
    ModelProperty("reaches-a-prolonged-delay", "reachable",
                  "clock == 'delay' and newcomer and all(parked[j] == 'join' for j in members)", "",
                  "The initial delay goes on although all have joined.", (), ("G3",)),
    ModelProperty("reaches-a-lost-generation", "reachable",
                  "phase == 'gone' and any(member[j] != logged[j] for j in members) and any(logged[j] for j in "
                  "members)", "", "The coordinator dies with members that the log does not have.", (), ("G13",)),
)  # fmt: skip


def of_the_group() -> tuple[ModelProperty, ...]:
    """What is claimed of one group in any environment."""
    return (*_ANSWERS, *_CHANGES, *_ALWAYS, *_POSSIBLE)
