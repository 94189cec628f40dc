"""What happens to one member in one run: errors of the group, faults of the network, calls and callbacks.

A scenario is drawn from a seed, so its number is enough to replay it; the order of the threads is drawn beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from groupspec.conformance.schedules.answers import (
    ANSWERS,
    ENVIRONMENTS,
    FENCES,
    MOVED,
    NO_FAULTS,
    REFUSALS,
    REFUSED_BY,
    SLOW,
    WITHOUT_COMMITS,
)
from groupspec.impl.core.messages import TopicPartition

TOPICS: Final = ("orders", "payments")
PARTITIONS: Final = 4
"""Of each topic, as long as none is added."""

UNREADABLE: Final = b"unreadable"
"""The value of a record that the application cannot read."""

SHARES: Final = ((0, 1), (0,), (1, 2), (0, 1, 2), ())
COOPERATIVE: Final = ("cooperative-sticky",)
ASSIGNORS: Final = (
    *(COOPERATIVE, COOPERATIVE, COOPERATIVE, COOPERATIVE, ("range",), ("range",)),
    *(("range", "roundrobin"), ("sticky", "range"), (*COOPERATIVE, "range")),
)
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
        "commit nothing",
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

ASKS_LOG: Final = ("beginning_offsets", "end_offsets", "offsets_for_times")
ASKS_TOPICS: Final = ("topics", "partitions_for_topic")
SEEKS: Final = ("seek_to_beginning", "seek_to_end")
LOOKS: Final = ("look", *ASKS_LOG, *ASKS_TOPICS, *SEEKS)
"""Calls about the log, the topics and itself. `look`: at what the consumer tells without asking anybody."""

MORE_IN_CALLBACKS: Final = ("other topics", "committed", "group_metadata")
ASYNC: Final = ("commit_async", "commit_async that raises")

THEMES: Final = (
    ("pause", "pause one", "resume one", "resume"),
    ("seek", "pause one", "position", "poll for nothing"),
    ("commit", "commit one", "commit nothing", "commit_async", "seek"),
    ("unsubscribe", "subscribe again", "enforce_rebalance", "group_metadata"),
)
"""Calls that have to do with each other."""

REFUSED: Final = ("poll inside", "unsubscribe inside", "close inside")
"""Calls that would wait for the very callback that makes them."""

IN_CALLBACKS: Final = ("", "", "", "raise", "raise", "work", "commit", "commit_async", "seek", "position", *REFUSED)
ENDINGS: Final = ("close", "close", "close at once", "block", "block that raises")
"""`block`: it leaves the `with` block of its consumer."""

AT_MOST: Final = (1, 3, 500)
"""Where a Fetch brings two records: some stay behind, all of one partition come, all of everything."""

LATENCY_MS: Final = 300
LATENCIES_MS: Final = (LATENCY_MS, 2 * LATENCY_MS, 3 * LATENCY_MS)
"""When answers come, and other threads act at the very same moment."""

NEVER_MS: Final = 1_000_000_000
"""When nothing comes that does not come."""

OTHER_THREADS: Final = ("wakeup", "close", "close at once")
OTHERS_AT: Final = (*("",) * 6, "JoinGroup", "SyncGroup", "SyncGroup", "OffsetFetch", "Fetch", "OffsetCommit")


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
        reset: That policy; "none": the application has to choose.
        auto_commit: Whether the consumer commits by itself.
        answers: API -> errors of its first answers, in order; all later ones succeed. An empty text: this one does.
        breaks: (API, number): this request of this API, the first being number 1, can't even be sent.
        latency_ms: How long each answer takes at least.
        poll_ms: How long a poll() waits, so that it may end before the answer comes; 0: it never waits.
        at_most: How many records one poll() returns.
        shares: Which partitions each SyncGroup brings; the last one stays.
        calls: What the application does, in order.
        callbacks: What the application does in its callbacks, in order.
        others: What other threads do, and as of which of the application's calls they race with it.
        ending: How the application closes the consumer; see `ENDINGS`.
        others_wait_ms: How long each of these threads waits before it does so: then a call may be waiting as well.
        timers_race: Whether time may pass while threads could go on, as on a machine that is overloaded.
        another_ms: When the other member of a group that it leads comes.
        another_claims: What that one claims to have when it comes back from a long sleep: "stale" all that this member
            has, of an earlier generation; "the same" a partition of this member's, of the same one. "": it is awake.
        another_wants: Which topics.
        manual: Whether it chooses its partitions by hand, instead of a subscription.
        elects_ms: When all partitions get other leaders; 0: never, and nobody speaks of leader epochs.
        loses: How many of the records that were fetched last they lack.
        remakes: Whether then the first topic is deleted and created anew instead, and its leader epochs begin anew.
        unreadable: Whether the application cannot read some of the records.
        deserializing_ms: How long it takes over each record.
        last_calls: What it does just before it closes the consumer.
        returns: Whether it has led the group before, by this instance id, and what was divided stands (KIP-814).
        holes: Whether there are batches without a record: of transactions, or what a compaction has left.
        ends_early: Whether it closes the consumer whatever is under way, instead of reading on until all is well.
        others_at: With the first good answer to which request the other threads begin instead; "": they do not.
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
    another_ms: int = 0
    another_claims: str = ""
    another_wants: tuple[str, ...] = TOPICS
    manual: bool = False
    elects_ms: int = 0
    loses: int = 0
    remakes: bool = False
    unreadable: bool = False
    deserializing_ms: int = 0
    last_calls: tuple[str, ...] = ()
    others_at: str = ""
    ends_early: bool = False
    returns: bool = False
    holes: bool = False

    @property
    def cooperative(self) -> bool:
        """The rebalance protocol; eager otherwise."""
        return self.assignors == COOPERATIVE

    @property
    def instance_id(self) -> str | None:
        """The name of a static member."""
        return "billing-1" if self.static else None

    @property
    def by_hand(self) -> list[TopicPartition]:
        """What it chooses, if it does."""
        return [TopicPartition(topic, number) for topic in self.topics for number in self.shares[0] or (0,)]

    @property
    def deserializes(self) -> bool:
        """Whether the application's own code reads the records."""
        return self.unreadable or bool(self.deserializing_ms)

    @property
    def all_calls(self) -> set[str]:
        """Of the application, be it in callbacks."""
        return {*self.calls, *self.last_calls, *self.callbacks}

    @property
    def commits_only_by_itself(self) -> bool:
        """Whether every commit is an automatic one."""
        return not {"commit", "commit one", *ASYNC} & self.all_calls

    @property
    def commits_async(self) -> bool:
        """Whether a commit may be under way for which nobody waits."""
        return bool({*ASYNC} & self.all_calls)

    @property
    def seeks(self) -> bool:
        """Whether the application may go back."""
        return bool({"seek", *SEEKS} & self.all_calls)

    @property
    def commits_only_async(self) -> bool:
        """Whether every commit is one that nobody waits for, so that none is given up."""
        given_up = self.ending == "close at once"  # and a callback then may ask for another one
        others = {"commit", "commit one", "commit nothing"} & self.all_calls
        return not (self.auto_commit or self.timers_race or others or given_up)

    @property
    def commits_as_nobody(self) -> bool:
        """Whether the application may commit while it does not subscribe."""
        return self.manual or ("unsubscribe" in self.all_calls and not self.commits_only_by_itself)

    @property
    def works_long(self) -> bool:
        """Whether the application may forget to poll() for longer than the poll interval."""
        return bool({"work too long", "work for a while"} & self.all_calls)

    @property
    def logs_change(self) -> bool:
        """Whether records that were read may be gone, or others stand in their places."""
        return self.elects_ms > 0 and (self.remakes or self.loses > 0)

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
    def brokers_are_well(self) -> bool:
        """Whether nothing keeps records from coming, rebalances apart."""
        reading = ("Fetch", "ListOffsets", "Metadata", "OffsetCommit")  # which a revocation waits for
        slow = any(SLOW in self.answers.get(api, ()) for api in reading)
        moves = self.elects_ms > 0
        return not (self.has_faults or slow or moves or self.timers_race or self.is_closed_by_others)

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
        member = "no" if self.manual else "static" if self.static else "dynamic"
        wants = f"{', '.join(self.another_wants)}, {self.another_claims or 'true'} claims"
        another = f"another member comes at {self.another_ms} ms ({wants})"
        another = "it has led before" if self.returns else another
        leads = f"leads; {another}; a partition more at {self.grows_ms} ms" if self.leads else "somebody else leads"
        start = f"nothing committed of {list(self.fresh)}, reset {self.reset}"
        change = f"{TOPICS[0]} made anew" if self.remakes else f"new leaders, without {self.loses} records,"
        elects = f"; {change} at {self.elects_ms} ms" if self.elects_ms else ""
        kinds = f"{', some cannot be read' * self.unreadable}{', and batches without one' * self.holes}"
        records = f"{self.deserializing_ms} ms for each{kinds}"
        callbacks = ", ".join(one or "nothing" for one in self.callbacks)
        answers = "; ".join(f"{api}: {', '.join(one or 'ok' for one in some)}" for api, some in self.answers.items())
        began = f"{self.others_at} is answered" if self.others_at else "call"
        others = ", ".join(f"{what} {self.others_wait_ms} ms after {began} {number}" for what, number in self.others)
        return "\n".join(
            [
                f"{member} member, {', '.join(self.assignors)}, auto-commit {'on' if self.auto_commit else 'off'}",
                f"topics {', '.join(self.topics)}; {leads}",
                f"{start}, shares {list(self.shares)}, at most {self.at_most} records a poll, {records}{elects}",
                f"answers take {self.latency_ms} ms, polls {self.poll_ms} ms",
                f"answers: {answers or 'no errors'}; not to be sent: {dict(self.breaks) or 'none'}",
                f"calls: {', '.join(self.calls)}; in callbacks: {callbacks}",
                f"other threads: {others or 'none'}; timers {'race' if self.timers_race else 'wait'}",
                f"at the end{', which is early' * self.ends_early}: {', '.join((*self.last_calls, self.ending))}",
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
        poll_ms=random.choice((2_000, 2_000, 2_000, 200, 200, 0)),
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
    if random.random() < 0.2:
        answers, then = random.choice(ENVIRONMENTS)
        calls = (*calls[:1], *then, *calls[1:])
    manual, elects_ms = random.random() < 0.08, random.choice((0,) * 30 + (1_200, 3_000, 9_000))
    unreadable = random.random() < 0.1 and not elects_ms
    drawn = replace(
        scenario,
        manual=manual,
        timers_race=scenario.timers_race and not manual,
        reset="none" if random.random() < 0.1 and not elects_ms else scenario.reset,
        elects_ms=elects_ms,
        loses=random.choice((0, 2, 3, 5)),
        unreadable=unreadable,
        holes=random.random() < 0.1 and not (elects_ms or unreadable),
        deserializing_ms=random.choice((0,) * 7 + (LATENCY_MS,)),
        last_calls=tuple(random.sample(CALLS, 1)) if random.random() < 0.3 else (),
        others_at=random.choice(OTHERS_AT),
        ends_early=random.random() < 0.1,
        topics=topics,
        leads=leads and not manual,
        another_ms=random.choice((0, 0, 1_000, 6_000)),
        another_claims=random.choice(("", "", "stale", "the same")),
        grows_ms=random.choice((0, 1_200, 2_500, 4_000, 12_000)) if leads and not manual else 0,
        calls=calls,
        callbacks=callbacks,
        answers={"Heartbeat": (), "JoinGroup": (), **(_of_nobody(answers, random) if manual else answers)},
    )
    if drawn.static and drawn.leads and random.random() < 0.4:
        return replace(drawn, returns=True, another_ms=NEVER_MS, grows_ms=random.choice((0, 4_000, 9_000, 12_000)))
    return drawn


def _of_nobody(answers: dict[str, tuple[str, ...]], random: Random) -> dict[str, tuple[str, ...]]:
    """The same for who is no member: nobody else has its name, and only commits tell it that the coordinator moves."""
    moved = (MOVED,) if random.random() < 0.5 else ()
    wanted = answers | {"OffsetCommit": (*moved, *answers.get("OffsetCommit", ()))}
    return {api: tuple(e for e in errors if e != "FENCED_INSTANCE_ID") for api, errors in wanted.items()}
