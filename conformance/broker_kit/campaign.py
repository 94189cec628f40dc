"""A broker judged by the group's table: groups are driven, breaches shown again and made short, cells told."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from groupspec.conformance.broker_kit.cells import CellVerdict, Shown, by_cell
from groupspec.conformance.broker_kit.driving import CALM, SLACK_MS, Target, drawn, hurried
from groupspec.conformance.broker_kit.judging import Cell, judge_group
from groupspec.conformance.broker_kit.shortest import shortest
from groupspec.conformance.broker_kit.target import look_at, names_of_groups, remove
from groupspec.conformance.checks.verdicts import Verdict, exit_code
from groupspec.conformance.differential.brokers import BROKERS
from groupspec.conformance.differential.drawing import Pace
from groupspec.conformance.differential.history import History
from groupspec.conformance.errors import InconclusiveProblem, Problem
from groupspec.conformance.wire.live.admin import PREFIX, Admin
from groupspec.conformance.wire.live.tap import told
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.network.addresses import Address
from groupspec.impl.network.errors import CodecError

SHORTENED: Final = 12
"""So many breaches at most are made short."""


@dataclass(frozen=True)
class Asked:
    """What a campaign was asked for.

    Attributes:
        topic: One that is there; "": one of the kit's own.
        settings: Of the broker, by Kafka's names, where it does not say them itself.
        kafka: Whose known differences count.
    """

    addresses: Sequence[Address]
    seed: int = 0
    steps: int = 24
    groups: int = 120
    topic: str = ""
    settings: Mapping[str, int] | None = None
    kafka: str = next(iter(BROKERS))


@dataclass(frozen=True)
class Judged:
    """What was found.

    Attributes:
        requests: How many were sent and compared, or could have been.
        unconfirmed: How many differences in time did not show again.
        left_behind: What could not be removed.
    """

    address: Address
    settings: Settings
    cells: Sequence[CellVerdict]
    requests: int
    unconfirmed: int
    seconds: float
    left_behind: Sequence[str]

    def count(self, verdict: Verdict) -> int:
        """How many cells have it."""
        return sum(each.verdict is verdict for each in self.cells)

    def exit_code(self) -> int:
        """As `conform` ends."""
        return exit_code([[each.verdict for each in self.cells]])


def judge_broker(asked: Asked, tell: Callable[[str], None] = lambda _: None) -> Judged:
    """Drives groups at the coordinator that these addresses lead to, and judges each answer.

    Args:
        asked: By what.
        tell: Is called with what goes on.

    Raises:
        UsageProblem: no broker answers there, or not to the requests of groups, or the topic is not there.
        InconclusiveProblem: the broker was lost while it was driven.
    """
    begun = time.monotonic()
    with Admin(asked.addresses) as admin:
        topic = admin.find_topic(asked.topic) if asked.topic else admin.create_topic(("CreateTopics",))
        driven = None
        try:
            target = look_at(admin, topic, asked.settings or {})
            driven = _Campaign(admin, target, asked, tell)
            cells = driven.cells()
        except (ConnectionError, TimeoutError) as problem:
            raise InconclusiveProblem(
                f"the broker was lost while its groups were driven: {problem}", where=told(asked.addresses[0])
            ) from problem
        finally:
            left = driven.remove() if driven is not None else []
            left += admin.delete_topic(topic)
    requests = sum(len(each.sent) for each in driven.histories.values())
    seconds = time.monotonic() - begun
    return Judged(target.address, target.settings, cells, requests, driven.unconfirmed, seconds, left)


class _Campaign:
    def __init__(self, admin: Admin, target: Target, asked: Asked, tell: Callable[[str], None]) -> None:
        self.histories: dict[str, History] = {}
        self._admin = admin
        self._target = target
        self._asked = asked
        self._tell = tell
        self.unconfirmed = 0
        self._run = secrets.token_hex(3)
        self._kafka = BROKERS[asked.kafka]

    def cells(self) -> list[CellVerdict]:
        """With all timers far away, if that is possible, and with short timeouts."""
        passed: Counter[Cell] = Counter()
        shown: list[Shown] = []
        if not self._target.settings.initial_rebalance_delay_ms:
            shown += self._drive("calm", CALM, 0, passed)
        shown += self._drive("hurried", hurried(self._target.settings), SLACK_MS, passed)
        return by_cell(passed, self._shortened(shown))

    def _drive(self, name: str, pace: Pace, slack_ms: int, passed: Counter[Cell]) -> list[Shown]:
        """Groups of so many seeds; those that found something unknown once more.

        A broker that stands still for a moment runs its timers late, and nobody can see by how much: where time counts,
        what does not show again counts for nothing.
        """
        seeds = range(self._asked.seed * self._asked.groups, (self._asked.seed + 1) * self._asked.groups)
        shown, doubtful = self._judge(name, pace, slack_ms, seeds, passed)
        if doubtful:
            _, still = self._judge(f"{name}-again", pace, slack_ms, sorted(doubtful), Counter())
            kinds = {seed: each.breach.kind for seed, each in still.items()}
            for seed, each in doubtful.items():
                again = kinds.get(seed) == each.breach.kind
                if again or not slack_ms:
                    shown.append(Shown(each.breach, seed, each.history, again))
                else:
                    self.unconfirmed += 1
        return shown

    def _judge(
        self, name: str, pace: Pace, slack_ms: int, seeds: Sequence[int], passed: Counter[Cell]
    ) -> tuple[list[Shown], dict[int, Shown]]:
        """What is known, and by seed what is not."""
        self._tell(f"{len(seeds)} groups are driven ({name})")
        names = names_of_groups(self._admin, self._target, f"{self._run}-{name}", seeds)
        histories = drawn(self._target, pace, self._asked.steps, names, lambda: None)
        self.histories |= {names[seed]: history for seed, history in histories.items()}
        known: list[Shown] = []
        unknown = {}
        for seed, history in histories.items():
            verdict = judge_group(names[seed], history, self._target.settings, slack_ms, self._kafka)
            passed += verdict.passed
            known += [Shown(each, seed, history, again=True) for each in verdict.breaches if each.known]
            if verdict.unknown is not None:
                unknown[seed] = Shown(verdict.unknown, seed, history, again=False)
        return known, unknown

    def _shortened(self, shown: list[Shown]) -> list[Shown]:
        """The first of each kind of unknown breach, that needs no timer, made as short as may be."""
        names = self._names()
        kinds: set[tuple[object, ...]] = set()
        found = []
        for each in sorted(shown, key=lambda one: one.breach.requests):
            known = each.breach.known or not each.again or each.breach.kind in kinds or len(kinds) >= SHORTENED
            if known or self._target.settings.initial_rebalance_delay_ms:
                found.append(each)
                continue
            kinds.add(each.breach.kind)
            self._tell(f"the shortest way to a breach is looked for ({' '.join(each.breach.cell)})")
            found.append(shortest(self._target, each, names, self._kafka, self.histories.__setitem__))
        return found

    def _names(self) -> Iterator[str]:
        for number in count():
            name = f"{PREFIX}{self._run}-short-{number}"
            if self._admin.coordinator(name) == self._target.address:
                yield name

    def remove(self) -> list[str]:
        """All groups; returns what is left behind."""
        self._tell("the groups are deleted")
        named = f"groups named {PREFIX}{self._run}-..."
        try:
            left = remove(self._admin, self._target, self.histories)
        except (OSError, CodecError, Problem) as problem:
            return [f"{named} ({problem})"]
        return [f"{left} {named}"] if left else []
