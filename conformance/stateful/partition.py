"""One partition in lockstep: the subscription machine against the reference core's view of one partition.

The machine's events come from the member around it (the assignment has it, it will be taken away, it is gone), from the
application (seek, pause, poll) and from brokers (positions, records). To bring one about, the adapter does whatever a
group and its brokers would do for it: a whole rebalance to add the partition, another to take it away. What is compared
is the one partition's state and flags.
"""

from __future__ import annotations

from dataclasses import dataclass

from groupspec.conformance.stateful.core_adapter import settings_for
from groupspec.conformance.stateful.correspondence import PARTITIONS, TOPIC
from groupspec.conformance.stateful.lockstep import LockstepRun
from groupspec.impl.core import events as impl
from groupspec.impl.core.config import Config
from groupspec.impl.core.events import PartitionDescription, SendRequest
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    OffsetFetchRequest,
    Request,
    TopicPartition,
)
from groupspec.impl.scripted import ScriptedCoordinator, ScriptedCore
from groupspec.spec.compiler.member import Member, MemberState, Offer

SUBJECT = PARTITIONS[0]
OTHER = PARTITIONS[1]
_ACTIVE = ("ASSIGNED", "AWAITING_POSITION", "FETCHABLE", "PAUSED")
_ANY = ("UNASSIGNED", *_ACTIVE, "PENDING_REVOCATION")
_POSSIBLE_IN = {
    "partition_added": ("UNASSIGNED",),
    "partition_enabled": ("ASSIGNED",),
    "revocation_pending": _ACTIVE,
    "partition_removed": ("PENDING_REVOCATION",),
    **dict.fromkeys(("sought", "paused_by_user", "resumed_by_user"), _ACTIVE),
}
"""Event -> the states of the partition in which it can happen; the others can happen in any."""

_ANSWERED = {
    "position_found": (OffsetFetchRequest, ListOffsetsRequest),
    **dict.fromkeys(("fetch_answered", "fetch_failed", "fetch_out_of_range"), (FetchRequest,)),
}
"""Event -> the requests that it answers."""

_NOT_HERE = PartitionDescription("UNASSIGNED")


class PartitionAdapter(ScriptedCore):
    """A core in a group of its own, of which one partition is watched.

    Attributes:
        given_up: Numbers of requests about the partition whose answers are late.
        emitted: The fetches of the partition since the last event.
    """

    def __init__(self, member: Member, start: MemberState) -> None:
        self.cooperative = member.rebalance == "cooperative"
        self.given_up: set[int] = set()
        self.emitted: list[str] = []
        self._offset = 100
        self._in_group = False
        self._topics_made = 1
        self.settings = settings_for(member, start)
        super().__init__(Config(**self.settings), ScriptedCoordinator())
        self.coordinator.topic_ids[TOPIC] = self._topics_made.to_bytes(16)

    # What can happen --------------------------------------------------------------------------------------------------

    def can(self, offer: Offer) -> bool:
        """Whether the member around the partition could bring this about now."""
        if offer.event in _ANSWERED:
            current = bool(dict(offer.inputs).get("current", True))
            return self._find(_ANSWERED[offer.event], current) is not None
        return self.observe().state in _POSSIBLE_IN.get(offer.event, _ANY)

    def _find(self, kinds: tuple[type, ...], current: bool) -> SendRequest | None:
        """An open request about the partition: one whose answer is waited for, or one that was given up."""
        about = [sent for sent in self.unanswered if isinstance(sent.request, kinds) and _is_about(sent.request)]
        return next((sent for sent in reversed(about) if (sent.request_id in self.given_up) != current), None)

    def _give_up(self, *kinds: type) -> None:
        """From here on, answers to what is under way about the partition (of these kinds; any, if none) are late."""
        about = [sent for sent in self.unanswered if _is_about(sent.request)]
        self.given_up.update(sent.request_id for sent in about if not kinds or isinstance(sent.request, kinds))

    # Making it happen -------------------------------------------------------------------------------------------------

    def perform(self, offer: Offer, variant: int) -> list[Offer]:
        """Bring the event about; what has happened to the partition by that, in order."""
        self.emitted.clear()
        self._act(offer, variant)
        return [offer]

    def end(self) -> None:
        """There is nothing to take down."""

    def _act(self, offer: Offer, variant: int) -> None:
        self.now_ms += 1
        current = bool(dict(offer.inputs).get("current", True))
        match offer.event:
            case "partition_added":
                self._have_added()
            case "partition_enabled":
                self.do(impl.PartitionsAssigned())
            case "revocation_pending":
                self._give_up(OffsetFetchRequest, ListOffsetsRequest)
                self._have_taken()
            case "partition_removed":
                self._give_up()
                self._end_callbacks()
            case "sought":
                self._offset += 1
                self._give_up()
                self._seek()
                self.do(impl.Poll())
            case "topic_recreated":
                self._give_up()
                self._recreate()
            case "paused_by_user":
                self._pause(SUBJECT)
                self.do(impl.Poll())
            case "resumed_by_user":
                self._resume()
                self.do(impl.Poll())
            case "position_found":
                self._find_position(current, variant)
            case "fetch_requested":
                self.do(impl.Fetch())
            case "records_returned":
                self._return_records(bool(dict(offer.inputs)["more"]))
                self.do(impl.Poll())
            case _:
                self._answer_fetch(offer.event, current)

    def _seek(self) -> None:
        self.subscription.positions.seek(SUBJECT, self._offset)

    def _recreate(self) -> None:
        """The topic has another id, and the next metadata say so, which come after a backoff."""
        self._topics_made += 1
        self.coordinator.topic_ids[TOPIC] = self._topics_made.to_bytes(16)
        self._pass_ms(self.config.retry_backoff_ms)
        self.do(impl.MetadataUpdate((TOPIC,)))

    def _pass_ms(self, duration_ms: int) -> None:
        self.now_ms += duration_ms

    def _pause(self, partition: TopicPartition) -> None:
        self.subscription.positions.pause([partition])

    def _resume(self) -> None:
        self.subscription.positions.resume([SUBJECT])

    def heard(self, output: impl.Output) -> None:
        """Note the fetches of the partition."""
        if isinstance(output, SendRequest) and isinstance(output.request, FetchRequest) and _is_about(output.request):
            self.emitted.append("Fetch")

    def _answer(self, api: str, assigned: tuple[TopicPartition, ...] = ()) -> bool:
        """Answer the newest open request of a kind, well; False if there is none."""
        sent = self.newest(api)
        if sent is not None:
            self.do(self.answered(sent, assigned=assigned))
        return sent is not None

    # The group around the partition -----------------------------------------------------------------------------------

    def _have_added(self) -> None:
        if not self._in_group:
            self._in_group = True
            if self.describe().connection == "DOWN":
                self.do(impl.Start())
            self.do(impl.Subscribe((TOPIC,)))
            self.do(impl.Poll())
        elif self.describe().rebalance == "STABLE":
            self.do(impl.EnforceRebalance("a test wants it"))
        self._until_synced((SUBJECT, OTHER))
        self._pause(OTHER)

    def _have_taken(self) -> None:
        if self.observe().state == "ASSIGNED":
            self._in_group = False
            self.do(impl.Unsubscribe(1))
            return
        self.do(impl.EnforceRebalance("a test wants it"))
        if self.cooperative:
            self._until_synced((OTHER,))

    def _until_synced(self, assigned: tuple[TopicPartition, ...]) -> None:
        """Answer everything up to a SyncGroup, and that one with `assigned`."""
        for _ in range(20):
            if self._answer("SyncGroup", assigned):
                return
            if not any(self._answer(api) for api in ("FindCoordinator", "OffsetCommit", "JoinGroup")):
                self._end_callbacks()
        raise AssertionError(f"the member does not join: {self.describe()}")

    def _end_callbacks(self) -> None:
        self._answer("OffsetCommit")
        state = self.describe().rebalance
        if state == "REVOKING_PARTITION":
            self.do(impl.CallbackStarted())
            self.do(impl.PartitionsRevoked())
        if self.describe().rebalance == "ASSIGNING_PARTITIONS":
            self.do(impl.PartitionsAssigned())

    # Positions and records --------------------------------------------------------------------------------------------

    def _find_position(self, current: bool, variant: int) -> None:
        sent = self._find(_ANSWERED["position_found"], current)
        assert sent is not None
        self._offset += 1
        nothing_committed = isinstance(sent.request, OffsetFetchRequest) and variant % 2 == 1
        self.coordinator.listed = self._offset
        self.coordinator.committed = -1 if nothing_committed else self._offset
        self.do(self.answered(sent))
        if nothing_committed and current:
            self._find_position(current, variant)

    def _answer_fetch(self, event: str, current: bool) -> None:
        sent = self._find(_ANSWERED[event], current)
        assert sent is not None
        assert isinstance(sent.request, FetchRequest)
        self.unanswered.remove(sent)
        error = ErrorCode.OFFSET_OUT_OF_RANGE if event == "fetch_out_of_range" else ErrorCode.NONE
        found = event == "fetch_answered"
        fetched = {
            partition: FetchedPartition(_records(offset) if found else b"", 1_000, error)
            for partition, offset in sent.request.offsets.items()
        }
        self.do(impl.ResponseReceived(sent.request_id, FetchResponse(fetched)))

    def _return_records(self, more: bool) -> None:
        for _ in range(len(PARTITIONS)):
            buffered = self.subscription.positions.next_buffered()
            if buffered is None:
                return
            position = self.subscription.positions.position(buffered.partition) or 0
            is_subject = buffered.partition == SUBJECT
            self.subscription.positions.advance(buffered, position, position + 1, exhausted=not (more and is_subject))
            if is_subject:
                return

    def observe(self) -> PartitionDescription:
        """The partition, as the core describes it."""
        return self.describe().partitions.get(SUBJECT, _NOT_HERE)


def _records(offset: int) -> bytes:
    """Two records from an offset on, in the form that the driven consumer's decoder reads; the core does not look."""
    return b"%d:first\n%d:second" % (offset, offset + 1)


def _is_about(request: Request) -> bool:
    match request:
        case OffsetFetchRequest():
            return SUBJECT in request.partitions
        case ListOffsetsRequest():
            return SUBJECT in request.timestamps
        case FetchRequest():
            return SUBJECT in request.offsets
        case _:
            return False


@dataclass
class PartitionLockstep(LockstepRun):
    """One run of the subscription machine and one partition together."""

    adapter: PartitionAdapter

    def offer(self, offer: Offer, variant: int = 0) -> bool:
        """Let one event happen on both sides. False: it can't be brought about now, and nothing has happened.

        Raises:
            Divergence: they differ.
        """
        if not self.adapter.can(offer):
            return False
        self.history.append(str(offer))
        emitted: list[str] = []
        for happened in self.adapter.perform(offer, variant):
            emitted += (word for word in self.react(happened) if word == "Fetch")
        self.compare("what was sent", emitted, self.adapter.emitted)
        described = self.adapter.observe()
        self.compare("state", self.member.state_of(self.state, "subscription"), described.state)
        self.compare("position", self.value("position"), described.position is not None)
        self.compare("paused", self.value("user_paused"), described.paused)
        self.compare("buffered", self.value("buffered"), described.buffered)
        self.compare("fetch in flight", self.value("fetch_out"), described.fetch_in_flight)
        return True

    def end(self) -> None:
        """Take the implementation down."""
        self.adapter.end()
