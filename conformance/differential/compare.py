"""The reference against the table, request by request; which differences have an explanation.

Where Kafka does other than the table says, the reference does what Kafka does. Each such difference is named here, with
the class of Kafka that makes it. Where the two hold different members after it, the comparison of that group ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from groupspec.conformance.differential.drawing import Drawer, Pace
from groupspec.conformance.differential.history import Sent
from groupspec.conformance.differential.reference import NODES, ReferenceGroup, next_sent
from groupspec.conformance.differential.table import TableGroup, UnknownInput
from groupspec.impl.coordinator.context import GroupResponse, Handle
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core import messages
from groupspec.impl.core.messages import ErrorCode


@dataclass(frozen=True, slots=True)
class Has:
    """What a group is after a step."""

    state: str
    generation: int
    members: tuple[str, ...]
    pending: tuple[str, ...]
    deadline_ms: int | None
    phase_deadline_ms: int | None


_NOTHING = Has("Empty", 0, (), (), None, None)


@dataclass(frozen=True, slots=True)
class Quirks:
    """What Kafka's group remembered before the step, and the table's does not."""

    old_ids_unsynced: bool = False
    early_newcomer: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """What differs after one request, or after time has passed (`sent` is None)."""

    sent: Sent | None
    state_before: str
    reference: dict[Handle, GroupResponse]
    table: dict[Handle, GroupResponse]
    reference_has: Has
    table_has: Has
    quirks: Quirks

    @property
    def only_in_table(self) -> dict[Handle, GroupResponse]:
        """What the table answers and the reference does not, or otherwise."""
        return {handle: answer for handle, answer in self.table.items() if self.reference.get(handle) != answer}

    @property
    def only_in_reference(self) -> dict[Handle, GroupResponse]:
        """What the reference answers and the table does not, or otherwise."""
        return {handle: answer for handle, answer in self.reference.items() if self.table.get(handle) != answer}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a difference is there. `ends`: the two groups go different ways from then on."""

    name: str
    made_by: str
    text: str
    explains: Callable[[Step], bool]
    ends: bool = True


def _is_sync_of_the_removed(step: Step) -> bool:
    gone = messages.SyncGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID)
    same_state = step.reference_has == step.table_has
    answers = [answer for answer in step.only_in_table.values() if isinstance(answer, messages.SyncGroupResponse)]
    return same_state and not step.only_in_reference and len(answers) == len(step.only_in_table) and all(
        answer.error is gone.error for answer in answers
    )  # fmt: skip


def _is_pending_with_instance(step: Step) -> bool:
    request = step.sent.request if step.sent else None
    return (
        isinstance(request, messages.JoinGroupRequest)
        and request.group_instance_id is not None
        and any(answer.error is ErrorCode.UNKNOWN_SERVER_ERROR for answer in step.reference.values())
    )


def _is_refused_for_size(step: Step) -> bool:
    request = step.sent.request if step.sent else None
    return (
        isinstance(request, messages.JoinGroupRequest)
        and request.member_id in (*step.table_has.pending, *step.table_has.members)
        and request.member_id not in (*step.reference_has.pending, *step.reference_has.members)
        and any(answer.error is ErrorCode.GROUP_MAX_SIZE_REACHED for answer in step.reference.values())
    )


def _is_leave_of_several(step: Step) -> bool:
    request = step.sent.request if step.sent else None
    return isinstance(request, messages.LeaveGroupRequest) and bool(request.others)


def _is_commit_without_generation(step: Step) -> bool:
    request = step.sent.request if step.sent else None
    return (
        isinstance(request, messages.OffsetCommitRequest)
        and request.generation < 0
        and step.state_before == "Empty"
        and bool(request.member_id or request.group_instance_id)
    )


def _is_forgotten_old_id(step: Step) -> bool:
    return step.quirks.old_ids_unsynced


def _is_nobody_rejoined(step: Step) -> bool:
    stays = step.reference_has.state == step.table_has.state == step.state_before == "PreparingRebalance"
    return stays and set(step.reference_has.members) < set(step.table_has.members)


def _is_early_newcomer(step: Step) -> bool:
    return step.sent is None and step.quirks.early_newcomer


EXPLANATIONS = (
    Explanation(
        "sync of a removed member",
        "GroupMetadataManager.removeMemberAndUpdateClassicGroup, removeCurrentMemberFromClassicGroup",
        "Only the JoinGroup of a removed member is answered; its SyncGroup that waits never is. The table says "
        "UNKNOWN_MEMBER_ID (REMOVE_MEMBER).",
        _is_sync_of_the_removed,
        ends=False,
    ),
    Explanation(
        "pending id with an instance id",
        "GroupMetadataManager.classicGroupJoinExistingMember",
        "An IllegalStateException, which a client sees as UNKNOWN_SERVER_ERROR. The table leaves it out.",
        _is_pending_with_instance,
    ),
    Explanation(
        "id refused for the size",
        "GroupMetadataManager.classicGroupJoinToClassicGroup",
        "Whoever is refused for the size is removed by its id, a pending id too, and a member whose instance id is "
        "wrong. In the table only a member that names itself rightly is.",
        _is_refused_for_size,
    ),
    Explanation(
        "several leave at once",
        "GroupMetadataManager.classicGroupLeaveToClassicGroup",
        "All of them are removed before the join phase begins or ends. To the table each is an event of its own.",
        _is_leave_of_several,
    ),
    Explanation(
        "commit without a generation into an Empty group",
        "ClassicGroup.validateOffsetCommit",
        "Accepted whatever member id or instance id it names. The table asks for the identity.",
        _is_commit_without_generation,
    ),
    Explanation(
        "old id among the pending syncs",
        "ClassicGroup.replaceStaticMember",
        "A static member that is replaced before it has sent SyncGroup is waited for under its old id until the sync "
        "timer begins a rebalance, whatever the new id sends. In the table the new id takes its place.",
        _is_forgotten_old_id,
    ),
    Explanation(
        "nobody has joined in time",
        "GroupMetadataManager.completeClassicGroupJoin",
        "Dynamic members that have not joined are removed also when only static ones are left and the join phase goes "
        "on. In the table nobody is removed then.",
        _is_nobody_rejoined,
    ),
    Explanation(
        "newcomer of an earlier round",
        "ClassicGroup.newMemberAdded, GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule",
        "That somebody came is forgotten when the initial delay is prolonged, and not when the join phase ends: the "
        "first delay of the group's next round out of Empty is prolonged then, though nobody came.",
        _is_early_newcomer,
    ),
)


@dataclass
class Tally:
    """Of all groups that were compared. `ties`: two timers of a group were due at once, and their order is chance."""

    steps: int = 0
    cells: Counter[tuple[str, str]] = field(default_factory=Counter)
    rows: Counter[int] = field(default_factory=Counter)
    ties: int = 0
    explained: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)


def compare(seed: int, settings: Settings, pace: Pace, steps: int, tally: Tally, moves: float = 0.0) -> None:
    """One group: requests drawn from the seed go to both, until they go different ways.

    `moves`: how often the group moves to another node between two steps; meanwhile a request finds it being read.
    """
    chance = Random(seed)
    pair = _Pair(seed, Drawer("drawn", seed, pace), ReferenceGroup("drawn", settings), TableGroup(settings), tally)
    for number in range(1, steps + 1):
        now_ms = number * pace.step_ms
        tally.steps += 1
        if not (pair.wait(now_ms) and pair.send(now_ms)):
            break
        if chance.random() < moves and not (pair.begin_move(now_ms) and pair.send(now_ms) and pair.end_move(now_ms)):
            break
    tally.cells += pair.table.cells
    tally.rows += pair.table.rows


@dataclass
class _Pair:
    """The reference and the table, which hear the same. Each method tells whether both go on together."""

    seed: int
    drawer: Drawer
    reference: ReferenceGroup
    table: TableGroup
    tally: Tally
    node: int = 1

    def wait(self, now_ms: int) -> bool:
        """Until now."""
        return self._same(None, lambda: self.reference.advance(now_ms), lambda: self.table.advance(now_ms))

    def send(self, now_ms: int) -> bool:
        """The next request."""
        sent = next_sent(self.drawer, now_ms, self.node)
        return self._same(
            sent,
            lambda: self.reference.send(sent) + self.reference.advance(now_ms),
            lambda: self.table.send(sent) + self.table.advance(now_ms),
        )

    def begin_move(self, now_ms: int) -> bool:
        """The other node begins to read the group."""
        self.node = NODES + 1 - self.node
        return self._same(
            None, lambda: self.reference.begin_move(self.node, now_ms), lambda: self.table.begin_move(now_ms)
        )

    def end_move(self, now_ms: int) -> bool:
        """It has read it."""
        return self._same(None, lambda: self.reference.end_move(now_ms), lambda: self.table.end_move(now_ms))

    def _same(
        self, sent: Sent | None, reference: Callable[[], list[Handle]], table: Callable[[], list[Handle]]
    ) -> bool:
        before, quirks = self.table.state.name, quirks_of(self.reference, self.table)
        answered = reference()
        try:
            in_table = table()
        except UnknownInput as problem:
            self.tally.unexplained.append(f"seed {self.seed}: {sent}: {problem}")
            return False
        if self.table.is_tied:
            self.tally.ties += 1
            return False
        for handle in answered:
            self.drawer.learn(handle, self.reference.history.answers[handle])
        step = Step(
            sent,
            before,
            {handle: self.reference.history.answers[handle] for handle in answered},
            {handle: self.table.history.answers[handle] for handle in in_table},
            has_reference(self.reference),
            has_table(self.table),
            quirks,
        )
        if step.reference == step.table and step.reference_has == step.table_has:
            return True
        for explanation in EXPLANATIONS:
            if explanation.explains(step):
                self.tally.explained[explanation.name] += 1
                return not explanation.ends
        self.tally.unexplained.append(f"seed {self.seed}: {step}")
        return False


def has_table(table: TableGroup) -> Has:
    """What the table's group is now."""
    if table.state.name == "Loading":
        return _NOTHING
    records = table.records
    members, pending = tuple(sorted(records.rows)), tuple(sorted(records.pending))
    deadlines = table.next_deadline_ms(), table.phase_deadline_ms()
    return Has(table.state.name, records.generation, members, pending, *deadlines)


def has_reference(reference: ReferenceGroup) -> Has:
    """What the reference's group is now."""
    group = reference.group
    if group is None:
        return _NOTHING
    members, pending = tuple(sorted(group.members)), tuple(sorted(group.pending_joins))
    return Has(str(group.state), group.generation, members, pending, *_deadlines(reference))


def _deadlines(group: ReferenceGroup) -> tuple[int | None, int | None]:
    return group.next_deadline_ms(), group.phase_deadline_ms()


def quirks_of(reference: ReferenceGroup, table: TableGroup) -> Quirks:
    """What only Kafka's group remembers now."""
    group = reference.group
    if group is None:
        return Quirks()
    return Quirks(
        any(member_id not in group.members for member_id in group.pending_syncs),
        group.first_round and group.newcomer_seen and not table.newcomer_seen,
    )
