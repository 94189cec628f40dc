"""The shortest sequence of requests that shows a breach: requests are left out as long as it still shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from groupspec.conformance.broker_kit.cells import Shown
from groupspec.conformance.broker_kit.driving import Target, sent_again
from groupspec.conformance.broker_kit.judging import judge_group
from groupspec.conformance.differential.brokers import Broker
from groupspec.conformance.differential.history import History

LIMIT_S: Final = 30.0
"""For one breach; what has been found by then is told."""


def shortest(
    target: Target, shown: Shown, names: Iterator[str], kafka: Broker, sent: Callable[[str, History], None]
) -> Shown:
    """The same breach with fewer requests, if there are any that it does not need.

    In each turn every request but the last is left out once, each time in a group of its own, under one of `names`;
    `sent` is told of each such group.
    """
    until = time.monotonic() + LIMIT_S
    kept = list(range(shown.breach.requests))
    least = shown
    while len(kept) > 1 and time.monotonic() < until:
        choices = {next(names): [each for each in kept if each != left_out] for left_out in kept[:-1]}
        histories = sent_again(target, shown.history, choices)
        found = None
        for name, history in histories.items():
            sent(name, history)
            breach = judge_group(name, history, target.settings, 0, kafka).unknown
            if found is None and breach is not None and breach.kind == shown.breach.kind:
                found, kept = Shown(breach, shown.seed, history, again=True), choices[name][: breach.requests]
        if found is None:
            return least
        least = found
    return least
