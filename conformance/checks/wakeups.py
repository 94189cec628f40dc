"""Rule T4: a wakeup ends one call of the application's, the one in progress or else the next, and nothing besides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupspec.conformance.checks.checker import Finding, broken, checks, held, in_vain, within
from groupspec.conformance.history.harness_protocol import CommandDone, Commit, ErrorRaised, Wakeup
from groupspec.conformance.history.history import History

WOKEN_WITHIN_MS: Final = 300
WAKEABLE: Final = (
    *("poll", "commit", "committed", "position", "beginning_offsets", "end_offsets", "offsets_for_times"),
    *("partitions_for_topic", "topics", "group_metadata"),
)
"""Calls that block, and that may be made again (KafkaConsumer, those that throw WakeupException): neither unsubscribe()
nor close()."""


TIMED: Final = ("poll", "commit")
"""Calls whose beginning is known."""
OF_THE_APPLICATION: Final = ("RecordDeserializationError", "NoOffsetForPartitionError")
"""What poll raises for its deserializer, and for what it has chosen: `none`, and no offset; by Java's names."""


@checks("T4", needs="wakeup pull")
def a_wakeup_ends_one_call(history: History) -> Iterator[Finding]:
    """The poll in progress at once, or the next one, also if it has records; the poll after it is an ordinary one."""
    woken = [(at_us, event.call) for at_us, event in history.events(ErrorRaised) if event.woken]
    asked = [at_us for at_us, _ in history.commands(Wakeup)]
    done = [at_us for at_us, event in history.events(CommandDone) if event.command == "wakeup"]
    for number, (asked_us, done_us) in enumerate(zip(asked, done, strict=False)):
        until_us = asked[number + 1] if number + 1 < len(asked) else history.ends_us
        polls = [each for each in history.polls if (each.ended_us or until_us) >= done_us]
        polls = [each for each in polls if each.started_us < until_us]
        if polls and polls[0].started_us < done_us <= (polls[0].ended_us or 0) < done_us + 1000 * WOKEN_WITHIN_MS:
            polls.pop(0)  # it was on its way back
        # the next wakeup, or close(), may come before any call could end by this one
        in_time = bool(polls) and (polls[0].ended_us or until_us) < min(until_us, history.until_close_us)
        errors = [at_us for at_us, call in woken if asked_us <= at_us <= until_us and call in WAKEABLE]
        so_far = [at_us for at_us, call in woken if at_us <= until_us and call in WAKEABLE]
        if len(errors) > 1 and len(so_far) > number + 1:
            yield broken("a second call was ended by one wakeup", errors[1])
        elif errors:
            calls = [*(poll.started_us for poll in history.polls), *(at_us for at_us, _ in history.commands(Commit))]
            began_us = max((at_us for at_us in calls if at_us <= errors[0]), default=0)
            callbacks_us = [c.ended_us for c in history.callbacks if c.ended_us is not None and c.ended_us <= errors[0]]
            since_us = max(asked_us, began_us, *callbacks_us)  # a callback is not interrupted
            reason = f"a wakeup ended one call after {history.took_ms(since_us, errors[0]):.0f} ms"
            if dict(woken)[errors[0]] in TIMED:
                yield within(history, since_us, errors[0], WOKEN_WITHIN_MS, reason)
            else:
                yield held("a wakeup ended one call", errors[0])
        elif in_time and polls[0].ended_us is not None:
            yield in_vain("a wakeup ended no call", done_us, polls[0].ended_us)


@checks("T4", needs="wakeup")
def a_wakeup_breaks_nothing(history: History) -> Iterator[Finding]:
    """What the woken call had begun goes on: when its answer comes no poll raises for it."""
    woken = [at_us for at_us, event in history.events(ErrorRaised) if event.woken and event.call == "commit"]
    for at_us, event in history.events(ErrorRaised) if woken else ():
        in_time = woken[0] < at_us < history.until_close_us
        if event.call == "poll" and not event.woken and in_time and not has_another_cause(history, event.error, at_us):
            yield broken(f"poll raised {event.said}, after a commit had been woken", at_us)


def has_another_cause(history: History, error: str, at_us: int) -> bool:
    """Whether what poll raised is of the application, or was the answer to another request than a commit."""
    name = error.removesuffix("Error").removesuffix("Exception")
    refused = (e.error for e in history.exchanges if e.api != "OffsetCommit" and e.told_us <= at_us)
    return error in OF_THE_APPLICATION or any(code.title().replace("_", "").startswith(name) for code in refused)


@checks("T4", needs="wakeup")
def closing_is_not_woken(history: History) -> Iterator[Finding]:
    """A wakeup that no call has taken comes out of neither unsubscribe() nor close()."""
    for at_us, event in history.events(ErrorRaised):
        if event.woken and event.call not in WAKEABLE:
            yield broken(f"a wakeup came out of {event.call or 'no call'}", at_us)
    if history.close_us is not None and any(at_us < history.close_us for at_us, _ in history.commands(Wakeup)):
        yield held("close() was not woken", history.close_us)
