"""What rules need of the cases that judge them: computed from what the rules say, their settings and their mutants.

A need is met by a case in which it occurs, and which judges one of the need's rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Final

from groupspec.conformance.checks import CHECKERS
from groupspec.conformance.explain.protocol import SETTINGS
from groupspec.conformance.noticed import of_the_reference
from groupspec.conformance.wire_holes.occasions import APIS, BESIDE, CALLBACK, OF_A_MEMBER, PATH, UPSET
from groupspec.spec.compiler import REBALANCES
from groupspec.spec.rules import RULES

WAY: Final = (*PATH, *UPSET, *BESIDE)
CALLS: Final[Mapping[str, str]] = {
    "close": r"close\(",
    "close-at-once": r"close\(",
    "unsubscribe": r"unsubscribe\(",
    "subscribe": r"subscription change|changed subscription|subscribe\(\) alone",
    "commit": r"OffsetCommit|[Cc]ommit errors|No commit is sent|commit that",
    "wakeup": r"wakeup",
    "seek": r"seek|position moves|earlier assignment or position",
    "pause": r"paused",
}
"""The application's calls, and what a rule says that is at stake when it makes one."""
IN_CALLBACKS: Final[Mapping[str, tuple[str, ...]]] = {
    "commit": CALLBACK[:2],
    "seek": CALLBACK[:1],
    "pause": CALLBACK[:1],
    "raise": CALLBACK,
    "wakeup": CALLBACK,
}
"""What an application may do in its callbacks (ConsumerRebalanceListener; C5, C4), or another thread meanwhile (T4).

Of what is lost nothing is committed (C2); what goes is not sought, nor paused.
"""
TIMES: Final[Mapping[str, tuple[str, ...]]] = {
    "heartbeat.interval.ms": (*PATH, *UPSET, *CALLBACK, "committing"),
    "session.timeout.ms": (*PATH[2:], *CALLBACK),
    "max.poll.interval.ms": (*PATH, *UPSET, *CALLBACK),
    "auto.commit.interval.ms": (*PATH, "announced", *CALLBACK, "committing"),
    "metadata.max.age.ms": ("joining", "syncing", "stable", *CALLBACK[:2]),
}
"""Settings that are times, and what may be under way when they are over. Metadata matter to the leader of a round.

No session runs before JoinGroup is answered (H1), nor where no coordinator is known (H5)."""
ANSWERS: Final[Mapping[str, str]] = {
    "silent": r"deadline|unanswered|request timeout|timeout, disconnect",
    "late": r"unanswered|in flight|late",
    "failing": r"tried again|retry|retriable|Every heartbeat error|failed",
}
SENT_ONCE: Final = ("LeaveGroup",)
"""It is not tried again (L1)."""


@dataclass(frozen=True)
class Need:
    """Something that has to occur in a case.

    `occasion`: its name, as `occasions` tells it; `kind`: a key of KINDS; `rules`: one of these is judged there.
    """

    occasion: str
    kind: str
    rules: frozenset[str]


KINDS: Final[Mapping[str, str]] = {
    "call": "each call of the application's, in whatever the member is doing (of the rules that say what it does)",
    "callback": "what a callback does, or another thread meanwhile",
    "time": "each setting that is a time, over in whatever the member is doing (of the rules that the setting has)",
    "answer": "requests that are never answered, late, or answered with a failure twice in a row",
    "several": "two requests that a member has out, both unanswered",
    "protocol": "each rule, in each rebalance protocol whose members it is judged by: the reference keeps it there",
    "mutant": "each mutant of the reference that breaks such a rule: the case enters what it changes",
}


@cache
def needs() -> tuple[Need, ...]:
    """All of them."""
    return (*_calls(), *_callbacks(), *_times(), *_answers(), *_protocols(), *_mutants())


def rules_that_say(pattern: str) -> frozenset[str]:
    """The rules that are judged on the wire, and say this."""
    return frozenset(rule for rule in CHECKERS if re.search(pattern, RULES[rule].statement))


def _calls() -> Iterator[Need]:
    for call, says in CALLS.items():
        for state in WAY:
            yield Need(f"{call} in {state}", "call", rules_that_say(says))


def _callbacks() -> Iterator[Need]:
    rules = {"raise": frozenset({"C4"}), "wakeup": frozenset({"T4"})}
    for does, callbacks in IN_CALLBACKS.items():
        for callback in callbacks:
            yield Need(f"{does} in {callback}", "callback", rules.get(does, frozenset({"C5"})))


def _times() -> Iterator[Need]:
    for setting, states in TIMES.items():
        rules = frozenset(SETTINGS[setting].rules) & frozenset(CHECKERS)
        for state in states:
            yield Need(f"{setting} over in {state}", "time", rules)


def _answers() -> Iterator[Need]:
    for how, says in ANSWERS.items():
        for api in APIS:
            if how != "failing" or api not in SENT_ONCE:
                yield Need(f"{api} {how}", "answer", rules_that_say(says))
    for one, other in combinations(OF_A_MEMBER, 2):
        yield Need(f"{one} and {other} silent", "several", rules_that_say(ANSWERS["silent"]))


def _protocols() -> Iterator[Need]:
    for rule, checkers in CHECKERS.items():
        for rebalance in REBALANCES:
            if any(checker.rebalance in ("", rebalance) for checker in checkers):
                yield Need(f"{rule} kept, {rebalance}", "protocol", frozenset({rule}))


def _mutants() -> Iterator[Need]:
    for identifier, mutant in of_the_reference().items():
        if rules := frozenset(mutant.rules) & frozenset(CHECKERS):
            yield Need(f"mutant {identifier}", "mutant", rules)
