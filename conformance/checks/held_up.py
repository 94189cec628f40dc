"""What a JoinGroup that is due may have to wait for."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.checks.discovery import coordinators
from groupspec.conformance.checks.silence import gives_up_waiting
from groupspec.conformance.history.history import History

REJOIN_WITHIN_MS: Final = 1_000


def held_up_until(history: History, since_us: int, join_us: int) -> int:
    """Until when the JoinGroup may wait: for the callbacks that follow, and for the commit that goes before it.

    And for the coordinator, which may be lost and found again (rule D4).

    Kafka ConsumerCoordinator.onJoinPrepare waits for that commit, and repeats it, for a rebalance timeout at most; a
    coordinator that does not answer it has to be given up and found again first (rule D6).
    """
    until_us = max([since_us, *(at_us for at_us, _ in coordinators(history) if at_us < join_us)])
    for callback in history.callbacks:
        if until_us - history.slack_us <= callback.started_us < join_us and callback.ended_us is not None:
            until_us = max(until_us, callback.ended_us)
    for commit in history.between(until_us, join_us, "OffsetCommit"):
        if history.took_ms(until_us, commit.sent_us) > REJOIN_WITHIN_MS:
            break
        given_up_us = gives_up_waiting(history, commit) or commit.sent_us
        found = (at_us for at_us, _ in coordinators(history) if at_us > given_up_us)
        until_us = commit.told_us or next(found, commit.sent_us)
        if commit.error == "NONE":
            break
    return until_us
