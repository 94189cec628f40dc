"""What happens to one member in one run: errors of the group, faults of the network, calls and callbacks.

A scenario is drawn from a seed, so its number is enough to replay it; the order of the threads is drawn beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

TOPICS: Final = ("orders", "payments")
PARTITIONS: Final = 4
"""Of each topic, as long as none is added."""

CUT: Final = "CUT"
"""The connection breaks before the answer."""

NEVER: Final = "NEVER"
"""No answer comes; the request times out."""

SLOW: Final = "SLOW"
"""The answer comes, but late: another member is busy, or the broker is."""

LEFT_OUT: Final = "LEFT OUT"
"""The answer says nothing of the first partition that was asked for."""

NO_FAULTS: Final = frozenset({"", SLOW, "REBALANCE_IN_PROGRESS", "MEMBER_ID_REQUIRED"})
"""Answers that keep nothing from its outcome."""

REFUSALS: Final = ("GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED")
"""Errors that are for the application to know."""

_NETWORK: Final = ("NOT_COORDINATOR", SLOW, CUT, NEVER)
_GROUP: Final = ("COORDINATOR_LOAD_IN_PROGRESS", *_NETWORK)
_MEMBER: Final = ("REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", *_NETWORK)
ANSWERS: Final = {
    "FindCoordinator": ("COORDINATOR_NOT_AVAILABLE", CUT, NEVER),
    "JoinGroup": ("MEMBER_ID_REQUIRED", "UNKNOWN_MEMBER_ID", *_GROUP),
    "SyncGroup": _MEMBER,
    "Heartbeat": _MEMBER,
    "OffsetCommit": ("COORDINATOR_LOAD_IN_PROGRESS", *_MEMBER),
    "OffsetFetch": ("UNSTABLE_OFFSET_COMMIT", LEFT_OUT, *_GROUP),
    "LeaveGroup": ("UNKNOWN_MEMBER_ID", CUT, NEVER),
    "Fetch": ("NOT_LEADER_OR_FOLLOWER", SLOW, CUT),
    "ListOffsets": ("NOT_LEADER_OR_FOLLOWER", SLOW, CUT),
    "Metadata": (CUT,),
}
"""The errors that a broker can answer each request with, besides none."""

REFUSED_BY: Final = {
    REFUSALS[0]: ("FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch"),
    REFUSALS[1]: ("OffsetCommit", "OffsetFetch", "Fetch", "ListOffsets", "Metadata"),
}
"""Which requests are refused with each of them."""

FENCES: Final = ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit")
"""Requests by which a static member learns that another process has its instance id."""

WITHOUT_COMMITS: Final = frozenset({"Fetch", "ListOffsets", "Metadata", "OffsetFetch", "LeaveGroup"})
"""Requests that a commit does not wait for, and whose errors change neither membership nor coordinator."""

SHARES: Final = ((0, 1), (0,), (1, 2), (0, 1, 2), ())
COOPERATIVE: Final = ("cooperative-sticky",)
ASSIGNORS: Final = (COOPERATIVE, COOPERATIVE, COOPERATIVE, ("range",), ("range", "roundrobin"), ("sticky", "range"))
FRESH: Final = ((), (), (), (0, 1, 2), (0, 1, 2), (1,))
"""Partitions without a committed offset."""

CALLS: Final = (
    *(
        "poll for nothing",
        "poll for long",
        "work too long",
        "work for a while",
        "commit",
        "commit one",
        "commit_async",
        "commit_async that raises",
        "committed",
        "position",
        "seek",
        "pause",
        "pause one",
        "resume one",
    ),
    *("resume", "subscribe again", "unsubscribe", "group_metadata", "enforce_rebalance"),
)
"""What the application does besides poll() and work."""

MORE_IN_CALLBACKS: Final = ("other topics", "committed", "group_metadata")
Environment = tuple[dict[str, tuple[str, ...]], tuple[str, ...]]
ENVIRONMENTS: Final[tuple[Environment, ...]] = (
    ({"Heartbeat": (NEVER, NEVER)}, ("work too long",)),
    ({"Heartbeat": ("REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID")}, ("work for a while",)),
    ({"Heartbeat": ("ILLEGAL_GENERATION",)}, ("work for a while", "unsubscribe")),
    ({"Heartbeat": ("NOT_COORDINATOR",), "FindCoordinator": ("", NEVER, NEVER, NEVER)}, ("work too long",)),
    ({"JoinGroup": ("MEMBER_ID_REQUIRED", SLOW)}, ("unsubscribe",)),
    ({"OffsetCommit": ("UNKNOWN_MEMBER_ID",), "OffsetFetch": (SLOW, "NOT_COORDINATOR")}, ("commit_async",)),
    ({"Heartbeat": ("REBALANCE_IN_PROGRESS",), "JoinGroup": ("", "REBALANCE_IN_PROGRESS")}, ("poll", "poll")),
    ({}, ("work for a while", "commit", "work for a while", "committed", "work for a while")),
)
"""What goes wrong together, and what the application does then: independent draws seldom meet so.

A coordinator that is silent; that puts a member out whose callback waits; whose generation ends before it unsubscribes;
that cannot be found while the poll interval runs out; a member that leaves as it joins; that is put out while positions
are looked up; whose next round is cut short; that does all but poll.
"""

ASYNC: Final = ("commit_async", "commit_async that raises")

THEMES: Final = (
    ("pause", "pause one", "resume one", "resume"),
    ("seek", "pause one", "position", "poll for nothing"),
    ("commit", "commit one", "commit_async", "seek"),
    ("unsubscribe", "subscribe again", "enforce_rebalance", "group_metadata"),
)
"""Calls that have to do with each other."""

REFUSED: Final = ("poll inside", "unsubscribe inside", "close inside")
"""Calls that would wait for the very callback that makes them."""

IN_CALLBACKS: Final = ("", "", "", "raise", "raise", "commit", "commit_async", "seek", "position", *REFUSED)
ENDINGS: Final = ("close", "close", "close at once", "block", "block that raises")
"""`block`: it leaves the `with` block of its consumer."""

AT_MOST: Final = (1, 3, 500)
"""Where a Fetch brings two records: some stay behind, all of one partition come, all of everything."""

LATENCY_MS: Final = 300
LATENCIES_MS: Final = (LATENCY_MS, 2 * LATENCY_MS, 3 * LATENCY_MS)
"""When answers come, and other threads act at the very same moment."""

OTHER_THREADS: Final = ("wakeup", "close", "close at once")


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run's events.

    Attributes:
        assignors: Those that the consumer offers, in its order of preference.
        static: Whether the member has an instance id.
        topics: What it subscribes to at first.
        leads: Whether it leads the group, and so divides the partitions of all topics between itself and another one.
        grows_ms: When the first topic gets another partition; 0: never.
        fresh: Partitions of which nothing is committed yet, so that reading begins where the reset policy says.
        reset: That policy.
        auto_commit: Whether the consumer commits by itself.
        answers: API -> errors of its first answers, in order; all later ones succeed. An empty text: this one does.
        breaks: (API, number): this request of this API, the first being number 1, can't even be sent.
        latency_ms: How long each answer takes at least.
        poll_ms: How long a poll() waits, so that it may end before the answer comes.
        at_most: How many records one poll() returns.
        shares: Which partitions each SyncGroup brings; the last one stays.
        calls: What the application does, in order.
        callbacks: What the application does in its callbacks, in order.
        others: What other threads do, and as of which of the application's calls they race with it.
        ending: How the application closes the consumer; see `ENDINGS`.
        others_wait_ms: How long each of these threads waits before it does so: then a call may be waiting as well.
        timers_race: Whether time may pass while threads could go on, as on a machine that is overloaded.
    """

    assignors: tuple[str, ...]
    static: bool
    topics: tuple[str, ...]
    leads: bool
    grows_ms: int
    fresh: tuple[int, ...]
    reset: str
    auto_commit: bool
    answers: dict[str, tuple[str, ...]]
    breaks: tuple[tuple[str, int], ...]
    latency_ms: int
    poll_ms: int
    at_most: int
    shares: tuple[tuple[int, ...], ...]
    calls: tuple[str, ...]
    callbacks: tuple[str, ...]
    others: tuple[tuple[str, int], ...]
    others_wait_ms: int
    timers_race: bool
    ending: str

    @property
    def cooperative(self) -> bool:
        """The rebalance protocol; eager otherwise."""
        return self.assignors == COOPERATIVE

    @property
    def instance_id(self) -> str | None:
        """The name of a static member."""
        return "billing-1" if self.static else None

    @property
    def commits_only_by_itself(self) -> bool:
        """Whether every commit is an automatic one."""
        return not {"commit", "commit one", *ASYNC} & {*self.calls, *self.callbacks}

    @property
    def commits_async(self) -> bool:
        """Whether a commit may be under way for which nobody waits."""
        return bool({*ASYNC} & {*self.calls, *self.callbacks})

    @property
    def works_long(self) -> bool:
        """Whether the application may forget to poll() for longer than the poll interval."""
        return bool({"work too long", "work for a while"} & {*self.calls})

    @property
    def has_faults(self) -> bool:
        """Whether anything fails, rebalances apart."""
        return bool(self.breaks) or any(set(errors) - NO_FAULTS for errors in self.answers.values())

    @property
    def is_calm(self) -> bool:
        """Whether nothing but the latency keeps a call from its outcome."""
        slow = any(SLOW in errors for errors in self.answers.values())
        return not (self.has_faults or slow or self.timers_race or self.is_closed_by_others)

    @property
    def commits_fail(self) -> bool:
        """Whether anything may keep a commit from its outcome."""
        refused = set(self.answers.get("OffsetCommit", ())) - {"", SLOW}
        others = (errors for api, errors in self.answers.items() if api not in WITHOUT_COMMITS)
        return bool(refused or self.breaks) or any(set(errors) - NO_FAULTS for errors in others)

    @property
    def is_closed_by_others(self) -> bool:
        """Whether another thread closes the consumer."""
        return any(what.startswith("close") for what, _ in self.others)

    def __str__(self) -> str:
        """The scenario in a few lines."""
        member = "static" if self.static else "dynamic"
        leads = f"leads; a partition more at {self.grows_ms} ms" if self.leads else "somebody else leads"
        start = f"nothing committed of {list(self.fresh)}, reset to the {self.reset}"
        callbacks = ", ".join(one or "nothing" for one in self.callbacks)
        answers = "; ".join(f"{api}: {', '.join(one or 'ok' for one in some)}" for api, some in self.answers.items())
        others = ", ".join(f"{what} {self.others_wait_ms} ms after call {number}" for what, number in self.others)
        return "\n".join(
            [
                f"{member} member, {', '.join(self.assignors)}, auto-commit {'on' if self.auto_commit else 'off'}",
                f"topics {', '.join(self.topics)}; {leads}",
                f"{start}, shares {list(self.shares)}, at most {self.at_most} records a poll",
                f"answers take {self.latency_ms} ms, polls {self.poll_ms} ms",
                f"answers: {answers or 'no errors'}; not to be sent: {dict(self.breaks) or 'none'}",
                f"calls: {', '.join(self.calls)}; in callbacks: {callbacks}",
                f"other threads: {others or 'none'}; timers {'race' if self.timers_race else 'wait'}",
                f"at the end: {self.ending}",
            ]
        )


def draw(seed: int) -> Scenario:
    """The scenario of this number.

    Few errors, since a run with many never gets anywhere; and few kinds of calls, often, so that each meets each at
    every moment (Groce et al., Swarm Testing, ISSTA 2012).
    """
    random = Random(seed)
    calm = random.random() < 0.3  # nothing but one kind of call, whose effects nothing else covers up
    passing = ("poll", "work") if random.random() < 0.8 else ()
    drawn = random.sample(CALLS, 1 if calm else random.choice((1, 2, 4)))
    calls = ("poll", *passing, *(random.choice(THEMES) if random.random() < 0.3 and not calm else drawn))
    kinds = random.sample(OTHER_THREADS, random.choice((1, 1, 2))) if random.random() < 0.5 else ()

    def some(choices: Sequence[str], most: int) -> tuple[str, ...]:
        return tuple(random.choice(choices) for _ in range(random.randint(0, most)))

    def maybe(choices: Sequence[str], most: int) -> tuple[str, ...]:
        return some(choices, most) if random.random() < 0.5 and not calm else ()

    made = ("poll", *(random.choice(calls) for _ in range(random.randint(1, 12))))
    rare = [number for number, call in enumerate(made, 1) if call not in ("poll", "work")]
    moments = rare if rare and random.random() < 0.7 else range(len(made) + 2)  # 0: subscribe(), the last: close()
    troubled = random.sample(sorted(ANSWERS), 0 if calm else random.choice((0, 0, 1, 2, 3)))
    answers = {"Heartbeat": maybe(("", "REBALANCE_IN_PROGRESS"), 4), "JoinGroup": maybe(("", SLOW), 4)}
    answers |= {api: some(("", "", *ANSWERS[api]), 4) for api in troubled}
    static = random.random() < 0.2
    if static and random.random() < 0.3:
        fence = random.choice(FENCES)
        answers[fence] = (*answers.get(fence, ()), "FENCED_INSTANCE_ID")
    if not calm and random.random() < 0.15:
        refusal = random.choice(REFUSALS)
        refused = random.choice(REFUSED_BY[refusal])
        answers[refused] = (*answers.get(refused, ()), refusal)
    breaks = [(random.choice(sorted(ANSWERS)), random.randint(1, 3))] if not calm and random.random() < 0.1 else ()
    made_so_far = Scenario(
        assignors=random.choice(ASSIGNORS),
        static=static,
        topics=TOPICS[:1],
        leads=False,
        grows_ms=0,
        fresh=random.choice(FRESH),
        reset=random.choice(("earliest", "latest")),
        auto_commit=random.random() < 0.5,
        answers=answers,
        breaks=tuple(breaks),
        latency_ms=random.choice((0, 0, LATENCY_MS)),
        poll_ms=random.choice((2_000, 2_000, 200)),
        at_most=random.choice(AT_MOST),
        shares=tuple(random.choice(SHARES) for _ in range(random.randint(1, 4))),
        calls=made,
        callbacks=maybe(IN_CALLBACKS, 4),
        others=tuple((what, random.choice(moments)) for what in (some(kinds, 3) if kinds else ())),
        timers_race=random.random() < 0.4,
        ending=random.choice(ENDINGS),
        others_wait_ms=random.choice((0, 0, 100, *LATENCIES_MS)),
    )
    return _widened(made_so_far, random)


def _widened(scenario: Scenario, random: Random) -> Scenario:
    """With more topics, as a leader, or in an environment of its own, each seldom."""
    calls, callbacks, answers = scenario.calls, scenario.callbacks, scenario.answers
    topics = random.choice((TOPICS[:1], TOPICS[:1], TOPICS))
    leads = random.random() < 0.25
    if random.random() < 0.25:
        place = random.randint(1, len(calls))
        calls = (*calls[:place], "other topics", *calls[place:])
    if random.random() < 0.1:
        callbacks = (random.choice(MORE_IN_CALLBACKS), *callbacks)
    if random.random() < 0.15:
        answers, then = random.choice(ENVIRONMENTS)
        calls = (*calls[:1], *then, *calls[1:])
    return replace(
        scenario,
        topics=topics,
        leads=leads,
        grows_ms=random.choice((0, 1_000, 4_000, 12_000)) if leads else 0,
        calls=calls,
        callbacks=callbacks,
        answers={"Heartbeat": (), "JoinGroup": (), **answers},
    )
