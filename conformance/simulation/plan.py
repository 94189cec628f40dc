"""What happens in one run, drawn from a seed: who the members are, what the application does, and every fault.

A run follows its plan and the seed alone. Faults and members can be left out of a plan, and the rest stays the same:
that is how a failure is made small.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from groupspec.conformance.encoded_connections import Brokers
from groupspec.conformance.simulation.aims import AIMS, Aim
from groupspec.conformance.simulation.brokers import (
    BEHIND_MS,
    THROTTLED,
    THROTTLES_MS,
    WITH_BROKERS_OF_THEIR_OWN,
    brokers,
)
from groupspec.impl.core.config import Config
from groupspec.impl.core.metadata import BEHIND_AT_MOST_MS

GROUP: Final = "billing"
TOPICS: Final = ("orders", "payments")
MOST_MEMBERS: Final = 8
NODES: Final = 3
COMMITS: Final = ("auto", "auto", "sync", "async")
_OF_COORDINATORS: Final = ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE")
ERRORS_OF: Final = {
    "JoinGroup": (*_OF_COORDINATORS, "REBALANCE_IN_PROGRESS"),
    "SyncGroup": (*_OF_COORDINATORS, "REBALANCE_IN_PROGRESS"),
    "Heartbeat": ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"),
    "OffsetCommit": ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "UNKNOWN_TOPIC_OR_PARTITION"),
    "OffsetFetch": ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "UNSTABLE_OFFSET_COMMIT"),
    "FindCoordinator": ("COORDINATOR_NOT_AVAILABLE",),
}  # fmt: skip
"""What brokers answer in passing, whatever the group's state; REBALANCE_IN_PROGRESS: it could not write its log."""

AIMED_EVERY: Final = 2
"""Every second run has an aim."""

ANY_WAY: Final = Aim()
"""That of the others."""

ELECTION: Final = "leader elected"
WITH_ELECTIONS: Final = (6, 7)
"""The last digits of the seeds whose runs have elections, beside their other faults."""

RECREATION: Final = "topic made anew"
WITH_RECREATIONS: Final = (20, 22, 24, 28)
"""Of each forty seeds those in whose runs a topic is deleted and made anew, beside other faults: none has an aim."""

WITH_BROKERS_BEHIND: Final = (24, 28)
"""Those of them whose brokers hear of a deletion late, and take commits by name.

In none of them leaders change: with the committed offset of the old topic its leader epoch may come to the new one,
which is behind that; then the reference waits for such a leader for ever (seed 3024, when 24 had elections, too). So
does Kafka's client (Metadata.updateLastSeenEpochIfNewer; 3.9.1 and 4.3.1 at their brokers, where leader epoch 7 was
committed and the only leader was 0: 40 s of polls without a record, position() times out; both group protocols).
"""

QUOTA: Final = "over its quota"

WITH_SETTINGS_OF_THEIR_OWN: Final = (10, 12)
"""Of each twenty seeds those in whose groups each member has settings of its own: none of them has an aim."""

SESSIONS_MS: Final = (10_000, 15_000, 30_000, 45_000)
POLL_INTERVALS_MS: Final = (20_000, 60_000, 120_000)
REQUESTS_MS: Final = (5_000, 15_000, 30_000)

TO_LOSE: Final = ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch", "LeaveGroup", "Fetch")


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong, or an application's doing that makes trouble.

    Attributes:
        number: Its place in the plan as it was drawn.
        at_ms: When, on the run's clock.
        kind: A key of `KINDS`.
        member: Whose, by number; -1: nobody's in particular.
        ms: How long.
        what: An API, an error, a number: whatever the kind needs.
    """

    number: int
    at_ms: int
    kind: str
    member: int = -1
    ms: int = 0
    what: str = ""

    def __str__(self) -> str:
        """One line."""
        whose = f" of m{self.member}" if self.member >= 0 else ""
        length = f" for {self.ms:,} ms" if self.ms else ""
        return f"[{self.number}] {self.at_ms:,} ms: {self.kind}{whose}{length} {self.what}".rstrip()


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """One member: its settings, when it starts, how it commits ("auto", "sync", "async") and how long it works."""

    number: int
    config: Config
    starts_ms: int
    commits: str
    poll_ms: int
    work_ms: int

    def __str__(self) -> str:
        """One line."""
        config = self.config
        return (
            f"m{self.number}: from {self.starts_ms:,} ms, {', '.join(config.partition_assignment_strategy)}"
            f"{', static' if config.is_static else ''}, commits {self.commits}, poll({self.poll_ms})"
            f", work {self.work_ms} ms"
            f", session {config.session_timeout_ms:,}, heartbeat {config.heartbeat_interval_ms:,}"
            f", poll interval {config.max_poll_interval_ms:,}, request timeout {config.request_timeout_ms:,} ms"
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """One run.

    Attributes:
        partitions: Of each topic at the beginning.
        record_every_ms: How often a record comes, in each partition.
        delay_ms: The least and the most that a message takes.
        faults_end_ms: When the last fault is over; from then on the group has `settling_ms` to become stable.
        quiet_ms: How long the group is watched after that.
        brokers: Of which releases they are, and when they close connections; None: messages go as they are, to brokers
            that speak whatever a member does.
    """

    seed: int
    members: tuple[MemberPlan, ...]
    faults: tuple[Fault, ...]
    partitions: tuple[int, ...]
    record_every_ms: int
    delay_ms: tuple[int, int]
    initial_delay_ms: int
    faults_end_ms: int
    quiet_ms: int
    brokers: Brokers | None = None

    @property
    def settling_ms(self) -> int:
        """Everything that may have to run out, one after the other, before all is well.

        A session, a rebalance with a member that does not come (twice, since a cooperative rebalance has two rounds),
        the age of metadata, two requests that are never answered, what a broker has told late, and some backoffs.
        """
        configs = [member.config for member in self.members]
        return (
            max(c.session_timeout_ms for c in configs)
            + 2 * max(c.join_group_timeout_ms for c in configs)
            + max(c.metadata_max_age_ms for c in configs)
            + 2 * max(c.request_timeout_ms for c in configs)
            + (BEHIND_AT_MOST_MS if self.has_recreations and self.brokers is not None else 0)
            + 30_000
        )

    @property
    def has_recreations(self) -> bool:
        """Whether topics are made anew."""
        return any(fault.kind == RECREATION for fault in self.faults)

    @property
    def names_ids(self) -> bool:
        """Whether brokers name topics by ids, as far as they can: where topics are made anew, or releases differ."""
        return self.has_recreations or self.brokers is not None

    @property
    def has_elections(self) -> bool:
        """Whether brokers tell leader epochs: since leaders change."""
        return any(fault.kind == ELECTION for fault in self.faults)

    def only(self, members: Collection[int] | None, faults: Collection[int] | None) -> Plan:
        """With these members and faults, by their numbers; None: all."""
        kept = tuple(m for m in self.members if members is None or m.number in members)
        numbers = {m.number for m in kept} | {-1}
        left = tuple(f for f in self.faults if (faults is None or f.number in faults) and f.member in numbers)
        return replace(self, members=kept, faults=left)

    def __str__(self) -> str:
        """The plan in a few lines."""
        topics = ", ".join(f"{topic}: {count}" for topic, count in zip(TOPICS, self.partitions, strict=False))
        return "\n".join(
            [
                f"seed {self.seed}; partitions {topics}; a record every {self.record_every_ms:,} ms; messages take "
                f"{self.delay_ms[0]} to {self.delay_ms[1]} ms; the first rebalance waits {self.initial_delay_ms:,} ms",
                *([str(self.brokers)] if self.brokers is not None else []),
                *map(str, self.members),
                *map(str, self.faults),
                f"faults end at {self.faults_end_ms:,} ms",
            ]
        )


def aim_of(seed: int) -> Aim:
    """What the run of this seed is to lead to."""
    return AIMS[seed // AIMED_EVERY % len(AIMS)] if seed % AIMED_EVERY else ANY_WAY


class Draw:
    """What is drawn for one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(f"plan {seed}")
        self.aim = aim = aim_of(seed)
        cooperative = self.random.random() < 0.5
        self.cooperative = cooperative if aim.cooperative is None else aim.cooperative
        self.session_ms = aim.session_ms or self.random.choice(SESSIONS_MS)
        self.heartbeat_ms = self.session_ms // self.random.choice((3, 3, 5))
        self.poll_interval_ms = aim.poll_interval_ms or self.random.choice(POLL_INTERVALS_MS)
        self.request_ms = aim.request_ms or self.random.choice(REQUESTS_MS)

    def member(self, number: int, latest_start_ms: int) -> MemberPlan:
        """One of the group."""
        random, aim = self.random, self.aim
        commits = aim.commits or random.choice(COMMITS)
        static = random.random() < aim.static
        session_ms, heartbeat_ms, poll_interval_ms, request_ms = self._times_of(number)
        config = Config(
            group_id=GROUP,
            client_id=f"m{number}",
            group_instance_id=f"instance-{number}" if static else None,
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=heartbeat_ms,
            max_poll_interval_ms=poll_interval_ms,
            request_timeout_ms=request_ms,
            metadata_max_age_ms=random.choice((30_000, 120_000, 300_000)),
            enable_auto_commit=commits == "auto",
            auto_commit_interval_ms=aim.auto_commit_ms or random.choice((1_000, 5_000, 15_000, 60_000)),
            auto_offset_reset="earliest",
            partition_assignment_strategy=("cooperative-sticky",) if self.cooperative else (self.eager_assignor,),
            fetch_max_wait_ms=request_ms - 1_000,
        )
        poll_ms = random.choice((0, 500, 5_000, 30_000, 200_000))
        starts_ms = random.choice((0, 0, random.randrange(latest_start_ms)))
        return MemberPlan(number, config, starts_ms, commits, poll_ms, aim.work_ms or random.choice((1, 50, 700)))

    def _times_of(self, number: int) -> tuple[int, int, int, int]:
        """Session, heartbeat interval, poll interval, request timeout: the group's, or in some groups each has its own.

        As in a group that is being deployed anew. From numbers of their own: what else is drawn is the same.
        """
        if self.seed % 20 not in WITH_SETTINGS_OF_THEIR_OWN:
            return self.session_ms, self.heartbeat_ms, self.poll_interval_ms, self.request_ms
        random = Random(f"settings {self.seed} {number}")
        session_ms = random.choice(SESSIONS_MS)
        heartbeat_ms = session_ms // random.choice((3, 5))
        return session_ms, heartbeat_ms, random.choice(POLL_INTERVALS_MS), random.choice(REQUESTS_MS)

    @property
    def eager_assignor(self) -> str:
        """One for all, or the group could not agree."""
        return ("range", "roundrobin", "sticky")[self.session_ms // 1_000 % 3]

    # Faults: each gives length and object ---------------------------------------------------------------------------

    def nothing(self) -> tuple[int, str]:
        """It just happens."""
        return 0, ""

    def short(self) -> tuple[int, str]:
        """Some seconds."""
        return self.random.randint(100, 8_000), ""

    def long(self) -> tuple[int, str]:
        """Around the session timeout, on both sides of it."""
        times = [int(self.session_ms * by) for by in (0.3, 0.9, 1.1, 1.6, 3)]
        return self.random.choice(self.aim.lengths_ms or times), ""

    def longer_than_a_poll(self) -> tuple[int, str]:
        """Around the poll interval, on both sides of it."""
        times = [int(self.poll_interval_ms * by) for by in (0.5, 0.95, 1.1, 1.5, 2.5)]
        return self.random.choice(self.aim.lengths_ms or times), ""

    def callback(self) -> tuple[int, str]:
        """As long as a session, or as a poll interval."""
        return self.random.choice(
            (self.long,) if self.aim.lengths_ms else (self.short, self.long, self.longer_than_a_poll)
        )()

    def error(self) -> tuple[int, str]:
        """An API and what it is answered, for a while: (0 ms: once)."""
        if self.aim.errors:
            api, error = self.random.choice(self.aim.errors).split()
        else:
            api = self.random.choice(sorted(ERRORS_OF))
            error = self.random.choice(ERRORS_OF[api])
        lasting = 0 if error == "REBALANCE_IN_PROGRESS" else self.random.choice((0, 0, 0, 3_000))
        return lasting, f"{api} {error}"

    def api(self) -> tuple[int, str]:
        """An API whose request, or answer, is lost."""
        return 0, self.random.choice(self.aim.apis or TO_LOSE)

    def how_many(self) -> tuple[int, str]:
        """A small number."""
        return 0, str(self.random.randint(1, 3))

    def node(self) -> tuple[int, str]:
        """A broker, for a while."""
        return self.random.randint(2_000, 40_000), str(self.random.randint(1, NODES))

    def election(self) -> tuple[int, str]:
        """How many records the new leader lacks, and whether it has lost its list of epochs."""
        return 0, f"{self.random.randint(0, 12)} {self.random.choice(('keeps', 'keeps', 'forgets'))}"

    def recreation(self) -> tuple[int, str]:
        """How long a topic is away, which one, and how many records each partition of the new one has at once.

        And after how long each broker hears of the deletion.
        """
        away_ms = self.random.choice((0, 0, 0, 500, 20_000, 200_000))
        what = f"{self.random.choice(TOPICS)} {self.random.choice((0, 3, 40, 400))}"
        nodes = range(NODES if self.seed % 40 in WITH_BROKERS_BEHIND else 0)
        return away_ms, " ".join([what, *(str(self.random.choice(BEHIND_MS)) for _ in nodes)])

    def quota(self) -> tuple[int, str]:
        """For how long it is told to send nothing, and in the answer to what."""
        return self.random.choice(THROTTLES_MS), self.random.choice(THROTTLED)

    def move(self) -> tuple[int, str]:
        """Where the group goes, and how long it is read there; lookups name the old broker for as long."""
        return self.random.choice((0, 500, 5_000, 20_000)), str(self.random.randint(1, NODES))


KINDS: Final[dict[str, tuple[bool, Callable[[Draw], tuple[int, str]]]]] = {
    "connections break": (True, Draw.nothing),
    "network is slow": (True, Draw.long),
    "network is silent": (True, Draw.long),
    "coordinator out of reach": (True, Draw.long),
    "request lost": (True, Draw.api),
    "answer lost": (True, Draw.api),
    "answer late": (True, Draw.api),
    "error": (True, Draw.error),
    "crash and restart": (True, Draw.callback),
    "close and restart": (True, Draw.callback),
    "close at once": (True, Draw.short),
    "second process": (True, Draw.short),
    "process stands still": (True, Draw.callback),
    "slow callback": (True, Draw.callback),
    "slow processing": (True, Draw.longer_than_a_poll),
    "other topics": (True, Draw.nothing),
    "unsubscribe": (True, Draw.short),
    "rebalance wanted": (True, Draw.nothing),
    "callback raises": (True, Draw.nothing),
    "pause": (True, Draw.callback),
    "seek back": (True, Draw.nothing),
    "rolling restart": (False, Draw.short),
    "rolling kill": (False, Draw.short),
    "partitions added": (False, Draw.how_many),
    "coordinator moves": (False, Draw.move),
    "broker down": (False, Draw.node),
    ELECTION: (False, Draw.election),
    RECREATION: (False, Draw.recreation),
    QUOTA: (True, Draw.quota),
}
"""Every kind of fault: whether it is one member's, and what belongs to it."""


def draw(seed: int, members: int | None = None) -> Plan:
    """The plan of this seed. Few kinds of faults in one run, and often, so that each meets each (swarm testing)."""
    drawn = Draw(seed)
    random, aim = drawn.random, drawn.aim
    count = members or random.choice((2, 3, 4) if aim.kinds else (1, 2, 2, 3, 3, 3, 4, 5, 6, MOST_MEMBERS))
    length_ms = random.choice((300_000, 900_000, 1_800_000))
    people = tuple(drawn.member(number, length_ms) for number in range(1, count + 1))
    kinds = aim.kinds or random.sample(sorted(set(KINDS) - {ELECTION, RECREATION, QUOTA}), random.randint(2, 7))
    every_ms = aim.every_ms if aim.kinds else random.choice((6_000, 20_000, 60_000))
    faults: list[Fault] = []
    at_ms = 0
    while (at_ms := at_ms + random.randint(1, 2 * every_ms)) < length_ms:
        faults += _burst(drawn, random.choice(kinds), at_ms, count, len(faults))
    elects = seed % 10 in WITH_ELECTIONS
    recreates = seed % 40 in WITH_RECREATIONS
    if elects:
        faults += _others(seed, length_ms, ELECTION, "elections")
    if recreates:
        faults += _others(seed, length_ms, RECREATION, "recreations")
    of_their_own = None
    if seed % 20 in WITH_BROKERS_OF_THEIR_OWN or seed % 40 in WITH_BROKERS_BEHIND:
        faults += _others(seed, length_ms, QUOTA, "quotas", count)
        of_their_own = brokers(seed, any(one.config.is_static for one in people), elects, recreates)
    faults = [replace(fault, number=number) for number, fault in enumerate(faults)]
    ends_ms = max([length_ms, *(fault.at_ms + fault.ms for fault in faults)])
    low_ms = random.choice((1, 1, 20))
    return Plan(
        seed,
        people,
        tuple(faults),
        (random.randint(1, 9), random.randint(1, 4)),
        aim.record_every_ms or random.choice((3_000, 15_000, 60_000)),
        (low_ms, low_ms * random.choice((2, 10))),
        random.choice((0, 3_000)),
        ends_ms,
        random.choice((60_000, 3_600_000, 4 * 3_600_000)),
        of_their_own,
    )


def _others(seed: int, length_ms: int, kind: str, name: str, members: int = 0) -> list[Fault]:
    """Some of a kind, for each member if they are members'; from numbers of their own: all else is drawn as without."""
    drawn = Draw(seed)
    random = drawn.random = Random(f"{name} {seed}")
    whose = range(1, members + 1) or [-1]
    times = sorted((random.randrange(length_ms), one) for one in whose for _ in range(random.randint(1, 8)))
    return [Fault(0, at_ms, kind, one, *KINDS[kind][1](drawn)) for at_ms, one in times]


def _burst(drawn: Draw, kind: str, at_ms: int, members: int, number: int) -> list[Fault]:
    """A fault, or the same for several members at nearly the same time."""
    of_member, details = KINDS[kind]
    random = drawn.random
    if not of_member:
        return [Fault(number, at_ms, kind, -1, *details(drawn))]
    times = random.choice((1, 1, 2, 3))
    return [
        Fault(number, at_ms + random.randint(0, 400), kind, random.randint(1, members), *details(drawn))
        for _ in range(times)
    ]
