"""What happens to one member in one run: errors of the group, faults of the network, calls and callbacks.

`drawing` and `further` draw one from a seed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from groupspec.conformance.encoded_connections import Brokers
from groupspec.conformance.schedules.answers import NO_FAULTS, SLOW, WITHOUT_COMMITS
from groupspec.impl.core.messages import TopicPartition

GROUP: Final = "billing"
TOPICS: Final = ("orders", "payments")
LATER: Final = "orders-eu"
"""A topic that is not there at first."""

INTERNAL: Final = "__orders"
"""One of Kafka's own, which no pattern matches."""

PARTITIONS: Final = 4
"""Of each topic, as long as none is added."""

PATTERNS: Final = ("orders", "orders$", "pay", ".*", ".*eu")
"""Such that match a topic that is there, one that comes, both, and now and then none."""

UNREADABLE: Final = b"unreadable"
"""The value of a record that the application cannot read."""

COOPERATIVE: Final = ("cooperative-sticky",)
ASKS_LOG: Final = ("beginning_offsets", "end_offsets", "offsets_for_times")
ASKS_TOPICS: Final = ("topics", "partitions_for_topic")
SEEKS: Final = ("seek_to_beginning", "seek_to_end")
LOOKS: Final = ("look", *ASKS_LOG, *ASKS_TOPICS, *SEEKS)
"""Calls about the log, the topics and itself. `look`: at what the consumer tells without asking anybody."""

UNTIL: Final = "poll until "
"""Followed by the name of a request: it polls until one is under way, so that its next call comes before the answer."""

ASYNC: Final = ("commit_async", "commit_async that raises")

AFTER_WORK: Final = "work, then "
"""Followed by the name of a call that a callback makes when it has worked: other threads may have acted meanwhile."""

REFUSED: Final = ("poll inside", "unsubscribe inside", "close inside")
"""Calls that would wait for the very callback that makes them."""

LATENCY_MS: Final = 300

NEVER_MS: Final = 1_000_000_000
"""When nothing comes that does not come."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an application subscribes to.

    Attributes:
        topics: By name; none, if by pattern.
        pattern: What the beginning of a name must match; "": by name.
    """

    topics: tuple[str, ...] = ()
    pattern: str = ""

    def covers(self, topic: str) -> bool:
        """Whether it is one of these."""
        return bool(re.match(self.pattern, topic)) if self.pattern else topic in self.topics

    def __str__(self) -> str:
        return f"all that match {self.pattern!r}" if self.pattern else ", ".join(self.topics)


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
            With no record to be lost both of its incarnations have leader epoch 0: only their ids tell them apart.
        away_ms: How long that topic is away before, with all that is committed of it. Then its log is another one, too,
            from offset 0; `NEVER_MS`: it does not come back.
        overlooked: Whether somebody else, who leads, does not notice that a topic is away.
        unreadable: Whether the application cannot read some of the records.
        deserializing_ms: How long it takes over each record.
        last_calls: What it does just before it closes the consumer.
        returns: Whether it has led the group before, by this instance id, and what was divided stands (KIP-814).
        holes: Whether there are batches without a record: of transactions, or what a compaction has left.
        compacted: Whether a fetch from such a batch brings what stands behind it, too.
        leaders: How many brokers lead the partitions, by turns.
        ends_early: Whether it closes the consumer whatever is under way, instead of reading on until all is well.
        pattern: What a topic's name must match, if it subscribes so; "": by name.
        topic_changes: (When, topic, partitions): how many there are from then on; 0: there is no such topic any more.
        third_ms: When a third member comes to a group that it leads, and when that one leaves again.
        elects_again_ms: When all partitions get other leaders once more, that have all that those before had; 0: never.
        moves_ms: When all partitions get other leaders of the same epoch, or of none, with the same logs; 0: never.
        sets_limits: Whether the application limits the time of its calls; else the consumer's own limits hold.
        at_close: API -> errors of the next answers as of the moment when the consumer is being closed.
        from_start: Whether what is committed at first is offset 0, to which the application's seeks go back, too.
        swaps: Whether the application gives its only topic up for the other one, instead of wanting both.
        brokers: Of which releases they are, whom they throttle, and when they close connections; None: messages are
            handed over as they are, to brokers that speak whatever the member does.
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
    compacted: bool = False
    leaders: int = 1
    pattern: str = ""
    topic_changes: tuple[tuple[int, str, int], ...] = ()
    third_ms: tuple[int, int] = (NEVER_MS, NEVER_MS)
    at_close: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    elects_again_ms: int = 0
    moves_ms: int = 0
    sets_limits: bool = True
    away_ms: int = 0
    overlooked: bool = False
    from_start: bool = False
    swaps: bool = False
    brokers: Brokers | None = None

    @property
    def subscription(self) -> Wanted:
        """What it subscribes to at first."""
        return Wanted((), self.pattern) if self.pattern else Wanted(self.topics)

    @property
    def topics_vanish(self) -> frozenset[str]:
        """Topics that are not there any more at some time."""
        return frozenset(topic for _, topic, count in self.topic_changes if not count)

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
        return {*self.calls, *self.last_calls, *self.calls_in_callbacks}

    @property
    def calls_in_callbacks(self) -> set[str]:
        """Of the application, as far as its callbacks make them."""
        return {each.removeprefix(AFTER_WORK) for each in self.callbacks}

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
        """Whether the application may not poll() for longer than the poll interval, be it that a call waits so long."""
        return bool({"work too long", "work for a while"} & self.all_calls) or not self.sets_limits

    @property
    def same_epoch(self) -> bool:
        """Whether a topic is made anew that has had one leader only, like the new one."""
        return self.remakes and not self.loses

    @property
    def logs_change(self) -> bool:
        """Whether records that were read may be gone, or others stand in their places."""
        return self.elects_ms > 0 and (self.remakes or self.loses > 0)

    @property
    def has_faults(self) -> bool:
        """Whether anything fails, rebalances apart."""
        faults = any(set(errors) - NO_FAULTS for errors in self.answers.values())
        return bool(self.breaks or self.topics_vanish or self.connections_end) or faults

    @property
    def connections_end(self) -> bool:
        """Whether brokers close connections of which the member still sends something there."""
        return self.brokers is not None and (self.brokers.closes_ms > 0 or self.brokers.ends_held)

    @property
    def slow_answers(self) -> int:
        """How many answers take longer than the latency, or tell the member to hold back."""
        held = self.brokers.throttles if self.brokers is not None else {}
        slow = sum(error.startswith(SLOW) for errors in self.answers.values() for error in errors)
        return slow + sum(ms > 0 for some in held.values() for ms in some)

    @property
    def is_calm(self) -> bool:
        """Whether nothing but the latency keeps a call from its outcome."""
        slow = self.slow_answers or self.at_close
        return not (self.has_faults or slow or self.timers_race or self.is_closed_by_others)

    @property
    def brokers_are_well(self) -> bool:
        """Whether nothing keeps records from coming, rebalances apart."""
        reading = ("Fetch", "ListOffsets", "Metadata", "OffsetCommit")  # which a revocation waits for
        before_commits = ("Heartbeat", "OffsetFetch") if self.auto_commit else ()  # over the same connection
        slow = any(SLOW in self.answers.get(api, ()) for api in (*reading, *before_commits))
        slow |= self.brokers is not None and bool(self.brokers.throttles)
        moves = self.elects_ms > 0 or self.moves_ms > 0
        return not (self.has_faults or slow or moves or self.timers_race or self.is_closed_by_others)

    @property
    def commits_fail(self) -> bool:
        """Whether anything may keep a commit from its outcome."""
        refused = set(self.answers.get("OffsetCommit", ())) - {"", SLOW}
        others = (errors for api, errors in self.answers.items() if api not in WITHOUT_COMMITS)
        ends = self.breaks or self.connections_end
        return bool(refused or ends) or any(set(errors) - NO_FAULTS for errors in others)

    @property
    def is_closed_by_others(self) -> bool:
        """Whether another thread closes the consumer."""
        return any(what.startswith("close") for what, _ in self.others)

    def __str__(self) -> str:
        """The scenario in a few lines."""
        member = "no" if self.manual else "static" if self.static else "dynamic"
        wants = f"{', '.join(self.another_wants)}, {self.another_claims or 'true'} claims"
        another = f"another member comes at {self.another_ms} ms ({wants})"
        third = f", a third one at {self.third_ms[0]} ms, until {self.third_ms[1]} ms"
        another += third * (self.third_ms[0] < NEVER_MS)
        another = "it has led before" if self.returns else another
        leads = f"leads; {another}; a partition more at {self.grows_ms} ms" if self.leads else "somebody else leads"
        start = f"nothing committed of {list(self.fresh)}{', else 0' * self.from_start}, reset {self.reset}"
        wanted = f"{self.subscription}{', or the other one' * self.swaps}"
        away = f" after {self.away_ms} ms{', unnoticed by its leader' * self.overlooked}" if self.away_ms else ""
        anew = f"{TOPICS[0]} made anew{away}{', of the same leader epoch' * self.same_epoch}"
        change = anew if self.remakes else f"new leaders, without {self.loses} records,"
        elects = f"; {change} at {self.elects_ms} ms" if self.elects_ms else ""
        elects += f", and others at {self.elects_again_ms} ms" if self.elects_again_ms else ""
        elects += f"; leaders of no new epoch at {self.moves_ms} ms" if self.moves_ms else ""
        elects += f"; {self.leaders} brokers lead" if self.leaders > 1 else ""
        kinds = f"{', some cannot be read' * self.unreadable}{', and batches without one' * self.holes}"
        kinds += " before others" * self.compacted
        records = f"{self.deserializing_ms} ms for each{kinds}"
        changes = "".join(f"; {topic} with {n} partitions at {ms} ms" for ms, topic, n in self.topic_changes)
        callbacks = ", ".join(one or "nothing" for one in self.callbacks)
        began = f"{self.others_at} is answered" if self.others_at else "call"
        others = ", ".join(f"{what} {self.others_wait_ms} ms after {began} {number}" for what, number in self.others)
        return "\n".join(
            [
                f"{member} member, {', '.join(self.assignors)}, auto-commit {'on' if self.auto_commit else 'off'}",
                f"topics {wanted}; {leads}{changes}",
                f"{start}, shares {list(self.shares)}, at most {self.at_most} records a poll, {records}{elects}",
                f"answers take {self.latency_ms} ms, polls {self.poll_ms} ms",
                f"answers: {_told(self.answers) or 'no errors'}; not to be sent: {dict(self.breaks) or 'none'}",
                *([str(self.brokers)] if self.brokers is not None else ()),
                f"calls: {', '.join(self.calls)}; in callbacks: {callbacks}",
                f"other threads: {others or 'none'}; timers {'race' if self.timers_race else 'wait'}",
                f"at the end{', which is early' * self.ends_early}: {', '.join((*self.last_calls, self.ending))}"
                f"{f'; answers then: {_told(self.at_close)}' if self.at_close else ''}",
            ]
        )


def _told(answers: Mapping[str, tuple[str, ...]]) -> str:
    return "; ".join(f"{api}: {', '.join(one or 'ok' for one in some)}" for api, some in answers.items())
