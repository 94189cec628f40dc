"""The group's table as a coordinator: it hears requests and timers with what its guards ask, and its words are done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from groupspec.conformance.differential.history import History, Sent, as_received
from groupspec.conformance.differential.reference import NewId, numbered, smallest
from groupspec.conformance.differential.table_answers import fetched, left, plain
from groupspec.conformance.differential.table_records import Records, Row
from groupspec.impl.coordinator.context import Choose, GroupRequest, GroupResponse, Handle
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core import messages
from groupspec.impl.core.messages import ErrorCode
from groupspec.spec.api import load_machine
from groupspec.spec.terms import Value
from groupspec.spec.vocabulary import ANSWERS

_ANSWER: Final = "ANSWER_"


class UnknownInput(AssertionError):
    """The table says that this event cannot be."""


class TableGroup:
    """One group, in virtual time. `cells` counts state and event, `rows` the rows that fired.

    `is_tied`: two timers were due at once.
    """

    def __init__(self, settings: Settings, choose: Choose = smallest, new_id: NewId = numbered) -> None:
        self.history = History()
        self._make_id = new_id
        self.cells: Counter[tuple[str, str]] = Counter()
        self.rows: Counter[int] = Counter()
        self.records = Records(choose)
        self.is_tied = False
        self._settings = settings
        self._machine = load_machine("broker_group", "eager")
        self._numbers = {id(row): number for number, row in enumerate(self._machine.table.rows)}
        self.state = self._machine.initial()
        self._is_known = False
        self._offsets: dict[messages.TopicPartition, messages.OffsetAndMetadata] = {}
        self._timer: tuple[str, int] | None = None  # the group's one timer: event and deadline
        self._delay_left_ms = 0
        self._delay_ms = 0
        self.newcomer_seen = False
        self._now_ms = 0
        self._sent: dict[Handle, Sent] = {}
        self._answered: list[Handle] = []
        self._current: Sent | None = None
        self._subject = ""  # the member that the event is about
        self._led_before = ""

    # Events ----------------------------------------------------------------------------------------------------------

    def send(self, sent: Sent) -> list[Handle]:
        """A request; which requests are answered by it."""
        self._now_ms = sent.at_ms
        self.history.sent.append(sent)
        self._sent[sent.handle] = sent
        self._current, self._answered = sent, []
        leavers: tuple[messages.LeavingMember, ...] = ()
        match sent.request:
            case messages.JoinGroupRequest() as request:
                self._join(request, sent)
            case messages.SyncGroupRequest() as request:
                self._sync(request, sent)
            case messages.HeartbeatRequest() as request:
                self._about(request)
                matches = request.generation == self.records.generation
                self._fire("group_heartbeat", {"requester": self._who(request), "generation_matches": matches})
            case messages.OffsetCommitRequest() as request:
                self._commit(request)
            case messages.OffsetFetchRequest() as request:
                away = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if self._is_away else ErrorCode.NONE
                self._answer(sent.handle, fetched(request, self._offsets, away, sent.caller.version))
            case messages.LeaveGroupRequest() as request:
                leavers = (messages.LeavingMember(request.member_id, request.group_instance_id), *request.others)
        if leavers:
            self._leave(leavers, sent)
        self._current = None
        return self._answered

    def begin_move(self, now_ms: int) -> list[Handle]:
        """The node that has the group gives it up, and the next one begins to read it; who is answered by it."""
        self._now_ms, self._answered = now_ms, []
        self._fire("group_unloaded", {})
        self._fire("group_loading", {})
        return self._answered

    def end_move(self, now_ms: int) -> list[Handle]:
        """The next one has read it; who is answered by it."""
        self._now_ms, self._answered = now_ms, []
        stored = self.records.stored
        self._fire("group_loaded", {"members_stored": stored is not None and bool(stored.rows)})
        return self._answered

    @property
    def _is_away(self) -> bool:
        return self.state.name == "Loading"

    def _who(self, request: GroupRequest) -> str:
        """Of a request that only members send: without an id it names nobody, or, by its instance id, another."""
        instance = getattr(request, "group_instance_id", None)
        who = self.records.requester(getattr(request, "member_id", ""), instance, False)
        if who == "none":
            return "unknown" if self.records.instance_holder(instance) is None else "fenced"
        return who

    def _about(self, request: GroupRequest) -> None:
        self._subject = getattr(request, "member_id", "")

    def _join(self, request: messages.JoinGroupRequest, sent: Sent) -> None:
        records, instance = self.records, request.group_instance_id
        settings = self._settings
        who = records.requester(request.member_id, instance, True)
        in_range = settings.min_session_timeout_ms <= request.session_timeout_ms <= settings.max_session_timeout_ms
        holder = records.instance_holder(instance)
        replaces = who == "none" and holder is not None
        subject = holder if replaces and holder is not None else request.member_id
        row = records.rows.get(subject)
        accepted = records.accepts(request, self.state.name == "Empty")
        self._subject = subject
        if not self._is_known and request.member_id:
            accepted = True  # an unknown group does not look at protocols
        changes = self.state.name == "Stable" and replaces and accepted
        self._led_before = records.leader or ""
        if not request.member_id and in_range and not self._is_away:
            if not self._is_known:
                self.records.store()
            self._is_known = True
        self._fire(
            "group_join",
            {
                "requester": who,
                "fresh_instance": who == "none" and instance is not None and holder is None,
                "replaces_static": replaces,
                "requires_member_id": sent.caller.version >= 4,
                "in_session_range": in_range,
                "has_room": self._has_room(request.member_id),
                "protocol_accepted": accepted,
                "metadata_changed": row is not None and row.protocols != request.protocols,
                "protocol_changes": changes and records.elected(subject, request.protocols) != records.protocol,
                "is_leader": subject == records.leader and row is not None,
            },
        )

    def _has_room(self, member_id: str) -> bool:
        most, records = self._settings.max_size, self.records
        if self.state.name == "Empty":
            return True
        if self.state.name == "PreparingRebalance":
            row = records.rows.get(member_id)
            return len(records.waiting) < most or (row is not None and row.join is not None)
        return member_id in records.rows or len(records.rows) < most

    def _sync(self, request: messages.SyncGroupRequest, sent: Sent) -> None:
        records = self.records
        self._about(request)
        named = sent.caller.version >= 5
        if named and (request.protocol_name is None or request.protocol_type is None):
            self._answer(sent.handle, messages.SyncGroupResponse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
            return
        chosen = request.protocol_name == records.protocol or records.protocol is None
        self._fire(
            "group_sync",
            {
                "requester": self._who(request),
                "generation_matches": request.generation == records.generation,
                "protocol_accepted": not named or (chosen and request.protocol_type == records.protocol_type),
                "is_leader": request.member_id == records.leader,
            },
        )

    def _commit(self, request: messages.OffsetCommitRequest) -> None:
        bare = request.generation < 0 and not request.member_id and request.group_instance_id is None
        self._about(request)
        assert self._current is not None
        self._fire(
            "group_commit",
            {
                "requester": "none" if bare else self._who(request),
                "generation_matches": request.generation == self.records.generation,
                "group_known": self._is_known,
                "reports_missing_group": self._current.caller.version >= 9,
            },
        )
        answer = self.history.answers[self._current.handle]
        if isinstance(answer, messages.OffsetCommitResponse) and not any(answer.errors.values()):
            self._is_known = True
            self._offsets.update(request.offsets)

    def _leave(self, leavers: tuple[messages.LeavingMember, ...], sent: Sent) -> None:
        """One event for each member; the answer is of all of them."""
        errors = []
        for leaver in leavers[:1] if self._is_away else leavers:
            holder = self.records.instance_holder(leaver.group_instance_id)
            who = self.records.requester(leaver.member_id, leaver.group_instance_id, True)
            replaces = who == "none" and holder is not None
            self._subject = holder if replaces and holder is not None else leaver.member_id
            inputs: dict[str, Value] = {"requester": who, "replaces_static": replaces}
            emitted = self._fire("group_leave", inputs, answers=False)
            word = next(each for each in emitted if each in ANSWERS)
            errors.append(ErrorCode[word.removeprefix(_ANSWER)])
        self._answer(sent.handle, left(leavers, errors))

    # Time ------------------------------------------------------------------------------------------------------------

    def phase_deadline_ms(self) -> int | None:
        """When the join phase or the sync phase ends at the latest."""
        return None if self._timer is None else self._timer[1]

    def next_deadline_ms(self) -> int | None:
        """The next timer's: of a session, a pending id, or the group."""
        return min(self._deadlines_ms(), default=None)

    def _deadlines_ms(self) -> list[int]:
        deadlines = [row.deadline_ms for row in self.records.rows.values() if row.deadline_ms >= 0]
        deadlines += self.records.pending.values()
        return [*deadlines, *([self._timer[1]] if self._timer else [])]

    def advance(self, now_ms: int) -> list[Handle]:
        """Run the timers that are due; which requests are answered by it."""
        self._answered = []
        while (deadline_ms := self.next_deadline_ms()) is not None and deadline_ms <= now_ms:
            self._now_ms = deadline_ms
            self.is_tied |= self._deadlines_ms().count(deadline_ms) > 1
            self._expire(deadline_ms)
        self.history.ends_at_ms = now_ms
        return self._answered

    def _expire(self, deadline_ms: int) -> None:
        if self._timer is not None and self._timer[1] <= deadline_ms:
            event, self._timer = self._timer[0], None
            self._fire(event, self._of_all(event))
            return
        for member_id, due_ms in list(self.records.pending.items()):
            if due_ms <= deadline_ms:
                self._session_over(member_id, "pending")
                return
        for row in list(self.records.rows.values()):
            if 0 <= row.deadline_ms <= deadline_ms:
                row.deadline_ms = -1
                self._session_over(row.member_id, "member")
                return

    def _session_over(self, member_id: str, who: str) -> None:
        self._subject = member_id
        records = self.records
        others = [row for row in records.rows.values() if row.member_id != member_id]
        pending = set(records.pending) - {member_id}
        joined = not pending and all(row.join is not None for row in others)
        awaiting = who == "member" and records.rows[member_id].is_awaiting
        self._fire("group_session_expired", {"requester": who, "is_awaiting": awaiting, "all_joined": joined})

    # The machine -----------------------------------------------------------------------------------------------------

    def _of_all(self, event: str) -> Mapping[str, Value]:
        """The inputs that are about all members."""
        records = self.records
        known: dict[str, Value] = {
            "all_joined": records.all_joined,
            "members_left": records.members_left,
            "some_rejoined": bool(records.waiting),
            "unsynced": any(not row.is_synced for row in records.rows.values()),
            "newcomer_seen": self.newcomer_seen and self._delay_left_ms > 0,
        }
        return {name: known[name] for name in self._machine.events[event].inputs if name in known}

    def _fire(self, event: str, inputs: Mapping[str, Value], answers: bool = True) -> tuple[str, ...]:
        before = self.state.name
        step = self._machine.step(self.state, event, **inputs)
        self.cells[before, event] += 1
        self.rows[self._numbers[id(step.row)]] += 1
        if step.row.kind == "error":
            raise UnknownInput(f"{event} with {inputs} in {before}: the table says that this cannot be")
        self.state = step.state
        later = []
        for word in step.emitted:
            if word.startswith("group_"):
                later.append(word)
            elif word not in ANSWERS or answers:
                self._do(word)
        for word in later:
            self._fire(word, self._of_all(word))
        return step.emitted

    def _do(self, word: str) -> None:
        if word in ANSWERS:
            self._say(word.removeprefix(_ANSWER))
        else:
            getattr(self, "_" + word.lower())()

    # Words: members --------------------------------------------------------------------------------------------------

    @property
    def _request(self) -> messages.JoinGroupRequest:
        assert self._current is not None
        assert isinstance(self._current.request, messages.JoinGroupRequest)
        return self._current.request

    @property
    def _row(self) -> Row:
        return self.records.rows[self._subject]

    def _new_id(self) -> str:
        assert self._current is not None
        prefix = self._request.group_instance_id
        return self._make_id(self._current.caller.client_id if prefix is None else prefix, self._current.handle)

    def _add_pending(self) -> None:
        self._subject = self._new_id()
        self.records.pending[self._subject] = self._now_ms + self._request.session_timeout_ms

    def _drop_pending(self) -> None:
        del self.records.pending[self._subject]

    def _add_member(self) -> None:
        self._subject = self._subject or self._new_id()
        if self.state.name == "PreparingRebalance" and self._timer and self._timer[0] == "group_initial_delay_elapsed":
            self.newcomer_seen = True
        self.records.add(self._request, self._subject, self._now_ms)

    def _replace_static(self) -> None:
        old = self._row
        if old.join is not None:
            fenced = messages.JoinGroupResponse(ErrorCode.FENCED_INSTANCE_ID, member_id=old.member_id)
            self._answer(old.join, fenced)
        if old.sync is not None:
            self._answer(old.sync, messages.SyncGroupResponse(ErrorCode.FENCED_INSTANCE_ID))
        self._subject = self._new_id()
        self._take_over(self.records.replace(old.member_id, self._subject, self._now_ms))

    def _take_over(self, row: Row) -> None:
        request = self._request
        row.protocols = request.protocols
        row.session_ms, row.rebalance_ms = request.session_timeout_ms, request.rebalance_timeout_ms

    def _remove_member(self) -> None:
        row = self.records.remove(self._subject)
        unknown = ErrorCode.UNKNOWN_MEMBER_ID
        if row.join is not None:
            self._answer(row.join, messages.JoinGroupResponse(unknown))
        if row.sync is not None:
            self._answer(row.sync, messages.SyncGroupResponse(unknown))

    def _remove_unsynced(self) -> None:
        for row in [row for row in self.records.rows.values() if not row.is_synced]:
            self._subject = row.member_id
            self._remove_member()

    def _await_join(self) -> None:
        assert self._current is not None
        self._take_over(self._row)
        self._row.join = self._current.handle

    def _await_sync(self) -> None:
        assert self._current is not None
        self._row.sync, self._row.is_synced = self._current.handle, True
        self._stop_if_all_synced()

    def _keep_alive(self) -> None:
        self._row.deadline_ms = self._now_ms + self._row.session_ms

    def _stop_if_all_synced(self) -> None:
        if all(row.is_synced for row in self.records.rows.values()):
            self._timer = None

    # Words: phases ---------------------------------------------------------------------------------------------------

    def _store_assignment(self) -> None:
        assert self._current is not None
        assert isinstance(self._current.request, messages.SyncGroupRequest)
        assignments = dict(self._current.request.assignments)
        for row in self.records.rows.values():
            row.assignment = assignments.get(row.member_id, b"")
        self.records.store()
        self._fire("group_assignment_stored", {"generation_matches": True})

    def _answer_syncs(self) -> None:
        for row in self.records.rows.values():
            self._end_sync(row, self.records.synced(row))

    def _fail_awaiting_syncs(self) -> None:
        for row in self.records.rows.values():
            row.assignment = b""
            self._end_sync(row, messages.SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS))

    def _fail_awaiting_not_coordinator(self) -> None:
        error = ErrorCode.NOT_COORDINATOR
        for row in self.records.rows.values():
            if row.join is not None:
                self._answer(row.join, messages.JoinGroupResponse(error, member_id=row.member_id))
                row.join = None
            self._end_sync(row, messages.SyncGroupResponse(error))

    def _restore(self) -> None:
        self.records.restore(self._now_ms)

    def _end_sync(self, row: Row, response: messages.SyncGroupResponse) -> None:
        if row.sync is not None:
            self._answer(row.sync, response)
            row.sync = None
            row.deadline_ms = self._now_ms + row.session_ms

    def _complete_join(self) -> None:
        self.records.complete(self._now_ms)
        for row in self.records.rows.values():
            if row.join is not None:
                self._answer(row.join, self.records.joined(row))
                row.join = None

    def _complete_empty(self) -> None:
        self.records.rows.clear()
        self.records.generation += 1
        self.records.protocol = self.records.leader = None
        self.records.store()

    def _start_initial_delay(self) -> None:
        """Begun, or begun again."""
        if self._timer is None and self.newcomer_seen is False and self._delay_ms == 0:
            self._delay_ms = self._settings.initial_rebalance_delay_ms
            self._delay_left_ms = max(self.records.rebalance_ms - self._delay_ms, 0)
        else:
            self.newcomer_seen = False
            again_ms = min(self._settings.initial_rebalance_delay_ms, self._delay_left_ms)
            self._delay_left_ms = max(self._delay_left_ms - self._delay_ms, 0)
            self._delay_ms = again_ms
        self._timer = ("group_initial_delay_elapsed", self._now_ms + self._delay_ms)

    def _start_rebalance_timer(self) -> None:
        self.newcomer_seen, self._delay_ms = False, 0
        self._timer = ("group_rebalance_timeout", self._now_ms + self.records.rebalance_ms)

    def _start_sync_timer(self) -> None:
        self.newcomer_seen, self._delay_ms = False, 0
        self._timer = ("group_sync_timeout", self._now_ms + self.records.rebalance_ms)

    def _stop_timers(self) -> None:
        self.newcomer_seen, self._delay_ms, self._timer = False, 0, None

    # Answers ---------------------------------------------------------------------------------------------------------

    def _say(self, what: str) -> None:
        assert self._current is not None
        handle, request = self._current.handle, self._current.request
        if what == "CURRENT_GENERATION":
            self._answer(handle, self._current_generation())
        elif what == "STORED_ASSIGNMENT":
            self._row.is_synced = True
            self._stop_if_all_synced()
            self._answer(handle, self.records.synced(self._row))
        else:
            self._answer(handle, plain(request, ErrorCode[what], self._subject))

    def _current_generation(self) -> messages.JoinGroupResponse:
        """Of who joins again without news, or of a static member that is back."""
        assert self._current is not None
        answer = self.records.joined(self._row)
        if self._request.member_id:
            return answer
        self.records.store()
        if self._current.caller.version >= 9:
            leads = self.records.leader == self._subject
            return messages.JoinGroupResponse(
                answer.error, answer.generation, answer.protocol_name, answer.leader, answer.member_id,
                answer.members, leads, answer.protocol_type,
            )  # fmt: skip
        return messages.JoinGroupResponse(
            answer.error, answer.generation, answer.protocol_name, self._led_before, answer.member_id,
            protocol_type=answer.protocol_type,
        )  # fmt: skip

    def _answer(self, handle: Handle, response: GroupResponse) -> None:
        sent = self._sent[handle]
        if isinstance(response, messages.JoinGroupResponse) and response.error is not ErrorCode.NONE:
            response = messages.JoinGroupResponse(response.error, member_id=response.member_id, protocol_type=None)
        self.history.answer(handle, as_received(sent.request, response, sent.caller), self._now_ms)
        self._answered.append(handle)
