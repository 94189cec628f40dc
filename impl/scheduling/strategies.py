"""Who goes on at each choice: strategies that search for the order in which threads go wrong.

    Listed        The choices of a list, then the plain order. Replays a failure; Hypothesis draws and shrinks the list.
    RandomWalk    Every thread is as likely as any other, but the one that runs is likelier to go on.
    Tear          Holds up a thread between two of its critical sections until another one has been in one of the same
                  lock, or between its access of a shared field and what it does next until another one has written it:
                  what is checked and acted upon in two steps is torn apart (Sen, PLDI 2008). Which sections tear which
                  is drawn for the run, so that a rare one is waited for.
    Pct           Random priorities, lowered at a few random moments: finds a bug of depth d with a probability of at
                  least 1 / (threads * steps ** (d - 1)) in each run (Burckhardt et al., ASPLOS 2010).
    Stall         The plain order, in which now and then a thread stands still while all others do what they can.
    Pos           A random priority for each step: each partial order of steps is about as likely as any other (Yuan,
                  Yang and Gu, CAV 2018).
    depth_first   Every order with at most so many preemptions (Musuvathi and Qadeer, PLDI 2007), the fewest first.

At a choice a strategy sees the names of those that could go on, the plain order's first. The clock, by name `CLOCK`,
stands for the next deadline of a waiting thread: timers race everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from random import Random
from typing import Final, NamedTuple, Protocol

CLOCK: Final = "the clock"
SLOW_CLOCK: Final = 0.9
"""How much less likely it is that a timer runs out than that a thread goes on."""


class Choice(NamedTuple):
    """One choice that was made: how many could go on, whether the running thread was the first, and which it was."""

    options: int
    running: bool
    chosen: int

    @property
    def preempts(self) -> bool:
        """Whether a thread that could have gone on was stopped, or a timer ran out before its turn."""
        return self.running and self.chosen > 0


class Strategy(Protocol):
    """Makes the choices of one run."""

    def choose(self, options: Sequence[str], running: bool, step: str) -> int:
        """The index of who goes on.

        Args:
            options: The names of those that can.
            running: Whether the first one is the thread that runs, which is at a yield point.
            step: That point: `acquire subscription in seek`, `write Future.done`; empty if it waits.
        """


class Listed:
    """The choices of a list; when it is used up, the plain order."""

    def __init__(self, schedule: Sequence[int]) -> None:
        self._left = iter(schedule)

    def choose(self, options: Sequence[str], running: bool, step: str) -> int:
        """See Strategy."""
        return next(self._left, 0) % len(options)


class RandomWalk:
    """Any thread; the one that runs goes on with the probability `stay`."""

    def __init__(self, seed: int, stay: float = 0.75) -> None:
        self._random = Random(seed)
        self._stay = stay

    def choose(self, options: Sequence[str], running: bool, step: str) -> int:
        """See Strategy."""
        if running and self._random.random() < self._stay:
            return 0
        chosen = running + int(self._random.random() * (len(options) - running))
        if options[chosen] == CLOCK and chosen and self._random.random() < SLOW_CLOCK:
            return 0  # else hardly anything is done before time is over
        return chosen


class Tear:
    """See above. Which places are torn, and by which sections of others, is drawn for the run.

    Apart from that threads have priorities, by which the woken one goes on at once or never, or walk at random.
    """

    def __init__(self, seed: int, often: float = 0.15) -> None:
        self._random = Random(seed)
        self._walk: Strategy = Pct(seed, depth=2) if self._random.random() < 0.5 else RandomWalk(seed, stay=0.9)
        self._often = often
        self._let_go = self._random.choice((0.03, 0.3))  # how many conflicting sections end a hold: some take long
        self._torn: dict[tuple[str, str], bool] = {}  # (thread, what it has done), (what it has done, what another has)
        self._before: dict[str, str] = {}  # thread -> its latest step, or the section that it is in
        self._held, self._place = "", ""

    def choose(self, options: Sequence[str], running: bool, step: str) -> int:
        """See Strategy."""
        if running:
            name = options[0]
            if name == self._held:  # nobody else could go on, so nobody was asked
                self._held = ""
            done = self._before.get(name, "")
            if not step.startswith("notify "):  # it is in a section, which has its name already
                self._before[name] = step
            if not self._held:
                self._maybe_hold(name, done)
            elif self._held in options and self._ends_hold(done):
                held, self._held = self._held, ""
                return options.index(held)
        if not self._held:
            return self._walk.choose(options, running, step)
        left = [index for index, name in enumerate(options) if name not in (self._held, CLOCK)]
        if self._held in options and left:
            return 0 if left[0] == 0 and running else self._random.choice(left)
        if not left:
            self._held = ""
        return self._walk.choose(options, running, step)

    def _maybe_hold(self, name: str, done: str) -> None:
        if _shared(done) and self._draws(name, done, self._often) and self._random.random() < 0.5:
            self._held, self._place = name, done

    def _ends_hold(self, done: str) -> bool:
        return _conflict(self._place, done) and self._draws(self._place, done, self._let_go)

    def _draws(self, one: str, other: str, probability: float) -> bool:
        """Once for the run."""
        drawn = self._torn.get((one, other))
        if drawn is None:
            drawn = self._torn[one, other] = self._random.random() < probability
        return drawn


@cache
def _shared(step: str) -> tuple[str, ...]:
    """What a step is about, if another thread can tear it from the next one: `acquire`, `read` or `write`, and what."""
    kind, _, what = step.partition(" ")
    return (kind, what.partition(" in ")[0]) if kind in ("acquire", "read", "write") else ()


@cache
def _conflict(place: str, other: str) -> bool:
    """Whether what one thread knows by its step may no longer be true after that step of another one."""
    one, another = _shared(place), _shared(other)
    return bool(one) and _is_change(other) and one[1] == another[1]


@cache
def _is_change(step: str) -> bool:
    """Whether what others know may no longer be true after it."""
    return _shared(step)[:1] in (("acquire",), ("write",))


class Pct:
    """The thread with the highest priority; at `depth - 1` of the first `steps` choices the chosen one's is lowered.

    The clock falls to the lowest priority whenever it was chosen: else no thread would ever run.
    """

    def __init__(self, seed: int, depth: int = 3, steps: int = 300) -> None:
        self._random = Random(seed)
        self._lowered_at = {self._random.randrange(steps) for _ in range(depth - 1)}
        self._priorities: dict[str, float] = {}
        self._lowest = 0.0
        self._step = 0

    def choose(self, options: Sequence[str], running: bool, step: str) -> int:
        """See Strategy."""
        priorities = self._priorities
        for name in options:
            priorities.setdefault(name, self._random.random())
        chosen = max(options, key=priorities.__getitem__)
        if self._step in self._lowered_at or chosen == CLOCK:
            self._lowest -= 1
            priorities[chosen] = self._lowest
        self._step += 1
        return options.index(chosen)


class Stall:
    """The plain order, but now and then a thread is set aside until all others wait; the latest comes back first.

    So one thread's few steps last as long as another one's whole call.
    """

    def __init__(self, seed: int, often: float = 0.05) -> None:
        self._random = Random(seed)
        self._often = often
        self._aside: list[str] = []

    def choose(self, options: Sequence[str], running: bool, step: str) -> int:
        """See Strategy."""
        if options[-1] == CLOCK and self._random.random() < self._often:
            return len(options) - 1
        if running:
            if options[0] in self._aside:  # nobody else could go on, so nobody was asked
                self._aside.remove(options[0])
            if self._random.random() < self._often:
                self._aside.append(options[0])
        for index, name in enumerate(options):
            if name not in self._aside and name != CLOCK:
                return index
        latest = next(name for name in reversed(self._aside) if name in options)
        self._aside.remove(latest)
        return options.index(latest)


class Pos:
    """The step with the highest priority, which is drawn for each step anew, and again after another one in conflict.

    A thread that has drawn a low one stands still while others make many steps; so each order of two steps that
    conflict is about as likely as the other, however many steps are between them.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._priorities: dict[str, float] = {}
        self._pending: dict[str, tuple[str, ...]] = {}  # what the next step of each thread is about (`_shared`)

    def choose(self, options: Sequence[str], running: bool, step: str) -> int:
        """See Strategy."""
        priorities, pending = self._priorities, self._pending
        if running:
            priorities.pop(options[0], None)
            pending[options[0]] = _shared(step)
        chosen, highest = "", -1.0
        for name in options:
            priority = priorities.get(name)
            if priority is None:
                priority = self._random.random() * (1 - SLOW_CLOCK if name == CLOCK else 1)
                priorities[name] = priority
            if priority > highest:
                chosen, highest = name, priority
        del priorities[chosen]
        done = pending.pop(chosen, ())
        if done and done[0] != "read":
            for name in options:
                if (other := pending.get(name)) and other[1] == done[1]:
                    priorities.pop(name, None)
        return options.index(chosen)


def depth_first(
    run: Callable[[Sequence[int]], Sequence[Choice]], preemptions: int
) -> Iterator[tuple[tuple[int, ...], Sequence[Choice]]]:
    """Run every schedule with at most so many preemptions, those with fewer first.

    Args:
        run: Runs a schedule and returns the choices that were made.
        preemptions: The bound.

    Yields: each schedule that was run, and its choices.
    """
    pending: list[list[tuple[int, ...]]] = [[()], *([] for _ in range(preemptions))]
    for spent, prefixes in enumerate(pending):
        while prefixes:
            prefix = prefixes.pop()
            choices = run(prefix)
            yield prefix, choices
            made = tuple(choice.chosen for choice in choices)
            for at in range(len(prefix), len(choices)):
                cost = spent + choices[at].running
                if cost <= preemptions:
                    pending[cost] += [(*made[:at], other) for other in range(1, choices[at].options)]
