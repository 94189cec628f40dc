"""One run: a plan is carried out, and everything is watched. The same plan gives the same run, event by event."""

from __future__ import annotations

import traceback
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Final, Literal, cast

from groupspec.conformance.simulation.cluster import Cluster
from groupspec.conformance.simulation.consumer_process import ConsumerProcess
from groupspec.conformance.simulation.core_process import CoreProcess
from groupspec.conformance.simulation.divisions import Divisions
from groupspec.conformance.simulation.ledger import Broken, Ledger, expect
from groupspec.conformance.simulation.loop import Livelock, Loop
from groupspec.conformance.simulation.network import Peer, error_of
from groupspec.conformance.simulation.plan import GROUP, Fault, MemberPlan, Plan
from groupspec.conformance.simulation.process import Process
from groupspec.conformance.simulation.situations import Watch
from groupspec.conformance.simulation.tracing import check_traces
from groupspec.conformance.simulation.wording import in_words, names
from groupspec.impl.core import messages
from groupspec.impl.core.events import COORDINATOR, Description, SendRequest
from groupspec.impl.core.messages import ErrorCode, Response, TopicPartition
from groupspec.impl.core.protocol import decode_assignment
from groupspec.impl.scripted import api_of
from groupspec.impl.threads.designs import Design
from groupspec.impl.trace import TraceEvent

Driver = Literal["core"] | Design
"""What members are made of: a core and an application in steps, or a whole consumer in one of its threading designs."""

WINDOW_MS: Final = 10_000
MOST_REQUESTS: Final = 400
"""In a window, of one process: retries are `retry_backoff_ms`, a tenth of a second, apart, and of a few kinds."""

FENCED_REST_MS: Final = 5_000
"""After which a member is started again that was fenced off, and of which no other process is there."""

QUIET_POLL_MS: Final = 60_000
FAIR: Final = frozenset({ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED})


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happened: for people."""

    at_ms: int
    source: str
    target: str
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        promise: Which promise is broken, in a word; empty: none.
        error: What was broken, and by what.
        virtual_ms: How much time has passed in it.
        ended_ms: When the promise was broken, or else the run ended, on its clock.
        seen: How often each rare situation occurred.
        processes: All that there were; their traces tell what happened.
    """

    promise: str
    error: str
    virtual_ms: int
    ended_ms: int
    seen: Counter[str]
    records: int
    doubles: int
    processes: tuple[Process, ...]
    steps: tuple[Step, ...]

    def trace_text(self) -> str:
        """Everything that happened, line by line: what is equal in a replay."""
        told = (f"{process.name} {event}" for process in self.processes for event in process.trace)
        return "\n".join([*told, *map(str, self.steps), self.error])


class Run:
    """A group's life."""

    def __init__(self, plan: Plan, is_recording: bool = False, driver: Driver = "core") -> None:
        self.plan = plan
        self._driver = driver
        self.loop = Loop()
        self.cluster = Cluster(self.loop, plan)
        self.ledger = Ledger(self.cluster.is_member, self.cluster.has_forgotten, self.cluster.logs)
        self.watch = Watch()
        self.processes: list[Process] = []
        self.steps: list[Step] | None = [] if is_recording else None
        self._incarnations: Counter[int] = Counter()
        self._requests: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._restarting: dict[int, int] = {}
        self._came_back: dict[int, int] = {}
        self._divisions = Divisions()
        self._divided: dict[int, tuple[int, frozenset[TopicPartition]]] = {}  # by generation: when, and what
        self._plans = {member.number: member for member in plan.members}
        self._acts: dict[str, Callable[[Fault], None]] = {
            "connections break": self._each(lambda process, fault: process.link.break_all()),
            "network is slow": self._each(partial(_until, "slow_until_ms")),
            "network is silent": self._each(partial(_until, "silent_until_ms")),
            "coordinator out of reach": self._each(partial(_until, "cut_off_until_ms")),
            "request lost": self._each(_loses),
            "answer lost": self._each(_loses),
            "answer late": self._each(_loses),
            "error": self._each(_error),
            "crash and restart": self._crash,
            "close and restart": self._close,
            "close at once": partial(self._close, limit_ms=0),
            "second process": self._second,
            "process stands still": self._each(self._stand_still),
            "slow callback": self._each(_slow_callback),
            "slow processing": self._each(_slow_work),
            "other topics": self._each(_want),
            "unsubscribe": self._each(_want),
            "rebalance wanted": self._each(_want),
            "callback raises": self._each(_raises),
            "pause": self._each(_pause),
            "seek back": self._each(_want),
            "rolling restart": partial(self._rolling, close=True),
            "rolling kill": partial(self._rolling, close=False),
            "partitions added": lambda fault: self.cluster.logs.add_partitions("orders", int(fault.what)),
            "coordinator moves": self._move,
            "broker down": self._broker_down,
            "leader elected": self._elect,
            "topic made anew": self._make_anew,
            "over its quota": self._each(_throttle),
        }

    # The run ---------------------------------------------------------------------------------------------------------

    def execute(self) -> Outcome:
        """From the first start to the end."""
        wrong: Exception | None = None
        began_ms = self.loop.now_ms
        try:
            self._live()
            check_traces(self.processes, self.cluster.undone)
        except Exception as raised:  # whatever the core or the coordinator raises is what the run has found
            wrong = raised
        finally:
            for process in self.alive():
                process.unwind()
        wrong = self.ledger.kept.first or wrong
        broken_ms = wrong.at_ms if isinstance(wrong, Broken) else None
        return Outcome(
            *_promise(wrong),
            self.loop.now_ms - began_ms,
            self.loop.now_ms if broken_ms is None else broken_ms,
            self.watch.seen,
            self.ledger.processed_count,
            self.ledger.doubles,
            tuple(self.processes),
            tuple(self.steps or ()),
        )

    def _live(self) -> None:
        plan = self.plan
        for member in plan.members:
            self.loop.at(member.starts_ms, partial(self._start, member.number))
        for fault in plan.faults:
            self.loop.at(fault.at_ms, partial(self._happens, fault))
        self.loop.run_until(plan.faults_end_ms)
        self._calm()
        self.loop.run_until(plan.faults_end_ms + plan.settling_ms)
        if self._waits_for_a_rebalance():
            for process in self.alive():
                process.application.want("rebalance wanted")
            self.loop.run_until(self.loop.now_ms + plan.settling_ms)
        self._expect_stable()
        logs = self.cluster.logs
        there = {p: logs.end(p) for p in logs.all_partitions(self._topics())}
        for process in self.alive():  # nothing comes any more, and nobody is in a hurry
            process.application.poll_ms = max(process.application.poll_ms, QUIET_POLL_MS)
        self.loop.run_until(self.loop.now_ms + plan.quiet_ms)
        self._expect_stable()
        self._expect_processed(there)

    def _happens(self, fault: Fault) -> None:
        self.note(
            f"m{fault.member}" if fault.member >= 0 else "brokers",
            "",
            fault.kind,
            f"{fault.ms:,} ms {fault.what}" if fault.ms else fault.what,
        )
        self._acts[fault.kind](fault)

    def _calm(self) -> None:
        """No more faults; what has begun is over."""
        self.note("brokers", "", "faults end")
        for process in self.alive():
            process.link.calm()
            process.go_on()
            process.application.hurry()
        self.cluster.down.clear()

    # Ends ------------------------------------------------------------------------------------------------------------

    def _topics(self) -> set[str]:
        return {topic for process in self.alive() for topic in process.application.topics}

    def _waits_for_a_rebalance(self) -> bool:
        """Whether partitions have no owner, and none is to be expected, since static members came back.

        A static member that comes back to a Stable group is given what its instance id had, whatever it subscribes to
        now; and if it leads, its new process can't know which partitions its old one has divided, and takes those that
        were added meanwhile for old ones. Nor does its new process give up, and so join again for, what a cooperative
        leader withheld until the old one did. The group is divided anew by its next rebalance, for which Kafka leaves
        the application to ask. Sources: Kafka GroupMetadataManager, updateStaticMemberThenRebalanceOrCompleteJoin;
        Kafka ConsumerCoordinator, onLeaderElected (skipAssignment; KIP-814).
        """
        group = self.cluster.coordinators.group(GROUP)
        if group is None:
            return False
        back = {number for number, generation in self._came_back.items() if generation == group.generation}
        owned = {partition for process in self.alive() for partition in self.ledger.owned(process)}
        lacking = set(self.cluster.logs.all_partitions(self._topics())) - owned
        overlooked: set[TopicPartition] = set()
        if any(p.plan.number in back and p.core.context.identity.member_id == group.leader for p in self.alive()):
            overlooked = {partition for partition in lacking if self._is_new(partition, group.generation)}
        unowned = {partition.topic for partition in lacking} - {partition.topic for partition in owned}
        if {p.plan.number for p in self.alive() if unowned & set(p.application.topics)} <= back:
            overlooked |= {partition for partition in lacking if partition.topic in unowned}
        if back and group.protocol_name == "cooperative-sticky":
            claimed = self._divisions.claimed(
                group.generation, {self._plans[number].config.group_instance_id for number in back}
            )
            overlooked |= lacking & claimed - self._divided[group.generation][1]
        return bool(lacking) and lacking == overlooked

    def _is_new(self, partition: TopicPartition, generation: int) -> bool:
        """Whether this generation's leader, as it divided the partitions, need not have heard of this one."""
        divided_ms, divided = self._divided[generation]
        age_ms = max(member.config.metadata_max_age_ms for member in self.plan.members)
        return partition not in divided and self.cluster.logs.added_ms.get(partition, -age_ms) >= divided_ms - age_ms

    def _expect_stable(self) -> None:
        """One generation, everybody in it, every partition owned by one of those who want its topic."""
        members = self.alive()
        if not members:
            return
        told = {process.name: process.core.describe() for process in members}
        group = self.cluster.coordinators.group(GROUP)
        coordinator = f"{group.state.value}, generation {group.generation}" if group is not None else "unknown"
        states = f"to its coordinator the group is {coordinator}; {'; '.join(map(_state, told, told.values()))}"
        expect(self.cluster.is_stable(), "stable", states)
        assert group is not None
        owned: list[TopicPartition] = []
        for process in members:
            described = told[process.name]
            is_in = described.rebalance == "STABLE" and described.generation == group.generation
            expect(is_in, "stable", states)
            by_callbacks = self.ledger.owned(process)
            expect(
                set(described.owned) == by_callbacks,
                "callbacks",
                f"{process.name} owns {names(described.owned)}; by its callbacks {names(by_callbacks)}",
            )
            owned += described.owned
        wanted = self.cluster.logs.all_partitions(self._topics())
        expect(sorted(owned) == sorted(wanted), "stable", f"owned are {names(owned)} of {names(wanted)}")

    def _expect_processed(self, there: dict[TopicPartition, int]) -> None:
        if not self.alive():
            return
        for partition, end in there.items():
            mark = self.ledger.marks.get(partition, 0)
            expect(
                mark >= end,
                "progress",
                f"{partition} had {end} records {self.plan.quiet_ms:,} ms ago, and is processed up to {mark}",
            )

    # Processes -------------------------------------------------------------------------------------------------------

    def alive(self) -> list[Process]:
        """Those that live, standing still or not."""
        return [process for process in self.processes if process.is_alive]

    def _start(self, number: int) -> None:
        self._incarnations[number] += 1
        process = self._process(self._plans[number], self._incarnations[number])
        self.processes.append(process)
        self.note(f"m{number}", "", "starts", process.name)
        process.start()

    def _process(self, plan: MemberPlan, incarnation: int) -> Process:
        if self._driver == "core":
            return CoreProcess(self, plan, incarnation)
        return ConsumerProcess(self, plan, incarnation, self._driver)

    def ended(self, process: Process) -> None:
        """It is no more; if it is to come again, it does."""
        number = process.plan.number
        self.note(f"m{number}", "", "has ended", process.name)
        if process.link.has_sent("JoinGroup"):
            self.ledger.may_be_fenced.add(number)  # it may reach the group yet, after the next process's
        is_needed = process.application.is_fenced and not self._of(number)
        if (after_ms := self._restarting.pop(number, FENCED_REST_MS if is_needed else None)) is not None:
            self.loop.after(after_ms, partial(self._start, number))

    def _of(self, number: int) -> list[Process]:
        return [process for process in self.alive() if process.plan.number == number]

    def _each(self, act: Callable[[Process, Fault], None]) -> Callable[[Fault], None]:
        def act_on_all(fault: Fault) -> None:
            for process in self._of(fault.member):
                act(process, fault)

        return act_on_all

    def _crash(self, fault: Fault) -> None:
        if processes := self._of(fault.member):
            self._restarting[fault.member] = min(fault.ms, self.plan.faults_end_ms - self.loop.now_ms)
            for process in processes:
                process.kill()

    def _close(self, fault: Fault, limit_ms: int | None = None) -> None:
        for process in self._of(fault.member):
            self._restarting[fault.member] = fault.ms
            process.happens(partial(process.application.close, limit_ms))

    def _second(self, fault: Fault) -> None:
        """Of a static member a second process is started while the first runs: it is fenced off. Otherwise nothing."""
        member = self._plans[fault.member]
        if member.config.is_static and len(self._of(fault.member)) == 1 and fault.member not in self._restarting:
            self.ledger.may_be_fenced.add(fault.member)
            self._start(fault.member)

    def _stand_still(self, process: Process, fault: Fault) -> None:
        process.stand_still()
        self.loop.after(fault.ms, process.go_on)

    def _rolling(self, fault: Fault, close: bool) -> None:
        """One member after the other; each comes again before the next one goes."""
        gap_ms = fault.ms // (len(self.plan.members) + 1)
        for place, member in enumerate(self.plan.members):
            one = Fault(fault.number, fault.at_ms, fault.kind, member.number, gap_ms // 2)
            self.loop.after(place * gap_ms, partial(self._close if close else self._crash, one))

    # Brokers ---------------------------------------------------------------------------------------------------------

    def _move(self, fault: Fault) -> None:
        node = int(fault.what)
        if node not in self.cluster.down:
            self._move_to(node, fault.ms)

    def _move_to(self, node: int, load_ms: int) -> None:
        self.cluster.move(node, load_ms)

    def _broker_down(self, fault: Fault) -> None:
        node = int(fault.what)
        if self.cluster.down or self.cluster.is_moving:
            return
        self.cluster.down.add(node)
        for process in self.alive():
            process.link.break_all(node)
        if self.cluster.coordinator == node:
            self._move_to(node % 3 + 1, min(fault.ms, 5_000))
        self.loop.after(fault.ms, lambda: self.cluster.down.discard(node))

    def _elect(self, fault: Fault) -> None:
        """Every partition gets a leader that was not in sync."""
        lost, forgets = fault.what.split()
        logs = self.cluster.logs
        for partition in logs.all_partitions(topic for topic in logs.partitions if topic not in logs.away):
            end = logs.elect(partition, int(lost), forgets == "forgets")
            self.ledger.cut(partition, 0 if forgets == "forgets" else end, end)

    def _make_anew(self, fault: Fault) -> None:
        """A topic is deleted, and after a while there is another one of its name."""
        topic, records, *behind_ms = fault.what.split()
        if topic in self.cluster.logs.away:
            return
        self.cluster.delete_topic(topic, [int(ms) for ms in behind_ms])
        self.ledger.made_anew(topic)
        self.loop.after(fault.ms, lambda: self.cluster.logs.make_anew(topic, int(records)))

    # Seen ------------------------------------------------------------------------------------------------------------

    def note(self, source: str, target: str, text: str, note: str = "") -> None:
        """One more step, if they are wanted."""
        if self.steps is not None:
            self.steps.append(Step(self.loop.now_ms, source, target, text, note))

    def told(self, process: Process, event: TraceEvent) -> None:
        """A core has told something."""
        self.watch.told(process, event)
        if event.event == "sync_answered" and event.error == "NONE":
            with self.ledger.kept:
                self.ledger.check_owners(process)
        elif event.event == "coordinator_lost":
            self.ledger.trouble(process, self.loop.now_ms)

    def sent(self, peer: Peer, request: SendRequest, node: int) -> None:
        """See Witness."""
        process = cast("Process", peer)
        self.watch.sent(process, request)
        if isinstance(request.request, messages.OffsetCommitRequest):
            self.ledger.commit_sent(process, request.request_id, request.request.offsets)
        window = (process.name, self.loop.now_ms // WINDOW_MS)
        self._requests[window] += 1
        if self._requests[window] > MOST_REQUESTS:
            with self.ledger.kept:
                text = f"{process.name} sends more than {MOST_REQUESTS} requests in {WINDOW_MS} ms (D3)"
                raise Broken("requests", text)
        if self.steps is not None:
            self.note(f"m{process.plan.number}", f"broker {node}", api_of(request.request), in_words(request.request))

    def served(self, peer: Peer, request: SendRequest, response: Response, is_stale: bool) -> None:
        """See Witness."""
        process = cast("Process", peer)
        asked = request.request
        if isinstance(asked, messages.OffsetCommitRequest) and isinstance(response, messages.OffsetCommitResponse):
            stored = {p: o for p, o in asked.offsets.items() if response.errors.get(p) is ErrorCode.NONE}
            self.watch.landed(self.ledger.commit_stored(process, stored, is_stale, request.request_id))
        if isinstance(asked, messages.JoinGroupRequest) and isinstance(response, messages.JoinGroupResponse):
            if is_stale:  # of a process that is no more, maybe
                self.ledger.may_be_fenced.add(process.plan.number)
            self._divisions.leads(response)
            if asked.group_instance_id and not asked.member_id and self.cluster.is_stable():  # no round for it
                self._came_back[process.plan.number] = response.generation
        if isinstance(asked, messages.SyncGroupRequest) and asked.assignments:
            parts = (decode_assignment(data).partitions for _, data in asked.assignments)
            if not is_stale:
                self._divisions.divides(asked, self.cluster.logs.deleted)
            self._divided[asked.generation] = self.loop.now_ms, frozenset(chain.from_iterable(parts))
        self.watch.served(request, is_stale)

    def held_back(self, peer: Peer) -> None:
        """See Witness."""
        process = cast("Process", peer)
        self.ledger.trouble(process, self.loop.now_ms)
        self.watch.held_back()

    def sent_when_closed(self, peer: Peer) -> None:
        """See Witness."""
        self.watch.sent_when_closed()

    def breaks(self, wrong: AssertionError) -> None:
        """See Witness."""
        with self.ledger.kept:
            raise Broken("network", str(wrong))

    def taken(self, process: Process, response: Response) -> None:
        """See World."""
        for topic in response.topics if isinstance(response, messages.MetadataResponse) else ():
            if topic.error is ErrorCode.NONE:
                self.watch.told_topic(self.ledger.told_topic(process, topic.topic, topic.topic_id))

    def received(self, peer: Peer, request: SendRequest, response: Response) -> None:
        """See Witness."""
        process = cast("Process", peer)
        error = error_of(response)
        is_news = isinstance(request.request, messages.HeartbeatRequest) and error is ErrorCode.REBALANCE_IN_PROGRESS
        if request.node == COORDINATOR and error not in FAIR and not is_news:
            self.ledger.trouble(process, self.loop.now_ms)
        if isinstance(request.request, messages.JoinGroupRequest) and isinstance(response, messages.NoAnswer):
            self.ledger.may_be_fenced.add(process.plan.number)  # it may reach the group yet, after the next one
        self.watch.received(process, request, response, error)
        if self.steps is not None:
            text = f"{api_of(request.request)} {error.name if error else 'ok'}"
            self.note("brokers", f"m{process.plan.number}", text, in_words(response))


def _promise(wrong: Exception | None) -> tuple[str, str]:
    """Which one is broken, and how."""
    match wrong:
        case None:
            return "", ""
        case Broken(promise=promise):
            return promise, str(wrong)
        case Livelock():
            return "livelock", str(wrong)
    return f"{type(wrong).__name__} raised", "".join(traceback.format_exception(wrong))


def _state(name: str, described: Description) -> str:
    return (
        f"{name} is {described.rebalance} (generation {described.generation}, coordinator {described.connection}, "
        f"heartbeats {described.heartbeat}, owns {names(described.owned)})"
    )


def _until(name: str, process: Process, fault: Fault) -> None:
    setattr(process.link, name, process.loop.now_ms + fault.ms)


def _loses(process: Process, fault: Fault) -> None:
    process.link.losses.append((fault.what, fault.kind))


def _throttle(process: Process, fault: Fault) -> None:
    process.link.throttles.append((fault.what, fault.ms))


def _error(process: Process, fault: Fault) -> None:
    api, error = fault.what.split()
    process.link.errors.append((api, ErrorCode[error], process.loop.now_ms + fault.ms))


def _slow_callback(process: Process, fault: Fault) -> None:
    process.application.slow_callback_ms = fault.ms


def _slow_work(process: Process, fault: Fault) -> None:
    process.application.slow_work_ms = fault.ms


def _want(process: Process, fault: Fault) -> None:
    process.happens(partial(process.application.want, fault.kind))


def _raises(process: Process, _: Fault) -> None:
    process.application.raises_next = True


def _pause(process: Process, fault: Fault) -> None:
    _want(process, fault)
    process.loop.after(fault.ms, lambda: process.happens(partial(process.application.want, "resume")))
