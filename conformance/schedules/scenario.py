"""What happens to one member in one run: errors of the group, faults of the network, calls and callbacks.

A scenario is drawn from a seed, so its number is enough to replay it; the order of the threads is drawn beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

CUT: Final = "CUT"
"""The connection breaks before the answer."""

NEVER: Final = "NEVER"
"""No answer comes; the request times out."""

_GROUP: Final = ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", CUT, NEVER)
_MEMBER: Final = ("REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "NOT_COORDINATOR", CUT, NEVER)
ANSWERS: Final = {
    "FindCoordinator": ("COORDINATOR_NOT_AVAILABLE", CUT, NEVER),
    "JoinGroup": ("MEMBER_ID_REQUIRED", "UNKNOWN_MEMBER_ID", *_GROUP),
    "SyncGroup": _MEMBER,
    "Heartbeat": _MEMBER,
    "OffsetCommit": _MEMBER,
    "OffsetFetch": ("UNSTABLE_OFFSET_COMMIT", *_GROUP),
    "LeaveGroup": ("UNKNOWN_MEMBER_ID", CUT, NEVER),
    "Fetch": ("NOT_LEADER_OR_FOLLOWER", CUT),
    "Metadata": (CUT,),
}
"""The errors that a broker can answer each request with, besides none."""

SHARES: Final = ((0, 1), (0,), (1, 2), (0, 1, 2), ())
CALLS: Final = (
    *(
        "poll",
        "poll",
        "poll",
        "poll for nothing",
        "work",
        "work",
        "commit",
        "commit_async",
        "committed",
        "position",
        "seek",
    ),
    *("pause", "resume", "subscribe again", "unsubscribe"),
)
IN_CALLBACKS: Final = ("", "", "", "raise", "commit", "commit_async", "seek", "position")
OTHER_THREADS: Final = ("wakeup", "wakeup", "close", "close at once")


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run's events.

    Attributes:
        cooperative: The rebalance protocol; eager otherwise.
        auto_commit: Whether the consumer commits by itself.
        answers: API -> errors of its first answers, in order; all later ones succeed. An empty text: this one does.
        shares: Which partitions each SyncGroup brings; the last one stays.
        calls: What the application does, in order.
        callbacks: What the application does in its callbacks, in order.
        others: What other threads do.
        timers_race: Whether time may pass while threads could go on, as on a machine that is overloaded.
    """

    cooperative: bool
    auto_commit: bool
    answers: dict[str, tuple[str, ...]]
    shares: tuple[tuple[int, ...], ...]
    calls: tuple[str, ...]
    callbacks: tuple[str, ...]
    others: tuple[str, ...]
    timers_race: bool

    @property
    def has_faults(self) -> bool:
        """Whether anything happens but rebalances."""
        return any(set(errors) - {"", "REBALANCE_IN_PROGRESS"} for errors in self.answers.values())

    @property
    def is_closed_by_others(self) -> bool:
        """Whether another thread closes the consumer."""
        return any(what.startswith("close") for what in self.others)

    def __str__(self) -> str:
        """The scenario in a few lines."""
        protocol = "cooperative" if self.cooperative else "eager"
        callbacks = ", ".join(one or "nothing" for one in self.callbacks)
        answers = "; ".join(f"{api}: {', '.join(one or 'ok' for one in some)}" for api, some in self.answers.items())
        return "\n".join(
            [
                f"{protocol}, auto-commit {'on' if self.auto_commit else 'off'}, shares {list(self.shares)}",
                f"answers: {answers or 'no errors'}",
                f"calls: {', '.join(self.calls)}; in callbacks: {callbacks}",
                f"other threads: {', '.join(self.others) or 'none'}; timers {'race' if self.timers_race else 'wait'}",
            ]
        )


def draw(seed: int) -> Scenario:
    """The scenario of this number.

    Few errors, since a run with many never gets anywhere; and few kinds of calls, often, so that each meets each at
    every moment (Groce et al., Swarm Testing, ISSTA 2012).
    """
    random = Random(seed)
    calls = ("poll", *random.sample(CALLS, random.randint(1, 4)))

    def some(choices: tuple[str, ...], most: int) -> tuple[str, ...]:
        return tuple(random.choice(choices) for _ in range(random.randint(0, most)))

    troubled = random.sample(sorted(ANSWERS), random.randint(0, 3))
    answers = {"Heartbeat": some(("", "", "REBALANCE_IN_PROGRESS"), 6)}
    answers |= {api: some(("", "", *ANSWERS[api]), 4) for api in troubled}
    return Scenario(
        cooperative=random.random() < 0.5,
        auto_commit=random.random() < 0.5,
        answers=answers,
        shares=tuple(random.choice(SHARES) for _ in range(random.randint(1, 4))),
        calls=some(calls, 12),
        callbacks=some(IN_CALLBACKS, 4),
        others=some(OTHER_THREADS, 2) if random.random() < 0.4 else (),
        timers_race=random.random() < 0.5,
    )
