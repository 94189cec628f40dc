"""What people read about one consumer.

Lines for Python's `logging`, by loggers named as the modules, `groupspec.impl...`.

Every line begins with the client and its group, as those of Java's clients do. What repeats itself (a broker that can't
be reached is tried again and again) is said once, and then at most once in a while, with how often it was not said. As
with other libraries nothing is shown before the application has asked for it: `logging.basicConfig()` is enough.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Mapping
from typing import Final

AGAIN_MS: Final = 30_000
"""How long the same thing is not said again."""

REMEMBERED: Final = 200
"""How many different things are known to have been said; the oldest is forgotten first."""

EVENTS: Final[Mapping[str, tuple[int, str]]] = {
    "coordinator_lost": (logging.INFO, "The coordinator is unknown: {cause}"),
    "join_sent": (logging.INFO, "Joining the group; owned: {partitions}"),
    "assigned_started": (logging.INFO, "Assigned {partitions}"),
    "revoked": (logging.INFO, "Revoked {partitions}"),
    "lost": (logging.WARNING, "Lost {partitions}: the group went on without this member"),
    "session_expired": (logging.WARNING, "The coordinator has not answered a heartbeat for session_timeout_ms"),
    "poll_expired": (
        logging.WARNING,
        "poll() was not called for max_poll_interval_ms: leaving the group until it is. Raise that, or "
        "process less at a "
        "time (max_poll_records)",
    ),
    "leave_sent": (logging.INFO, "Leaving the group: {reason}"),
    "closed": (logging.INFO, "Closed"),
}
"""What is worth a line when it happens (`groupspec.impl.trace.EVENTS`)."""

ANSWERS: Final[Mapping[str, tuple[int, str]]] = {
    "lookup_answered": (logging.WARNING, "No coordinator found: {error}"),
    "join_answered": (logging.INFO, "JoinGroup was answered {error}"),
    "sync_answered": (logging.INFO, "SyncGroup was answered {error}"),
    "heartbeat_answered": (logging.INFO, "A heartbeat was answered {error}"),
    "commit_answered": (logging.WARNING, "A commit was answered {error}"),
}
"""The same, for answers with an error."""


class Journal:
    """One consumer's. From any thread: what it remembers is only about what not to say.

    `module` is who speaks (`__name__`), and names the logger: who says something needs nothing of `logging`.
    """

    def __init__(self, client_id: str, group_id: str | None = None) -> None:
        self._who = f"[{client_id}, group {group_id}]" if group_id is not None else f"[{client_id}]"
        self._said: dict[Hashable, tuple[int, int]] = {}  # when, and how often it was not said since

    def say(self, module: str, text: str, level: int = logging.INFO) -> None:
        """A line, whatever is said in it by others: what has no picture is shown as Python writes it."""
        logging.getLogger(module).log(level, "%s", _shown(f"{self._who} {text}"))

    def seldom(self, module: str, text: str, now_ms: int, about: Hashable = None, level: int = logging.WARNING) -> None:
        """A line, unless one about the same (by default: the same text) was written not long ago."""
        about = (module, text if about is None else about)
        said_ms, silences = self._said.get(about, (None, 0))
        if said_ms is not None and now_ms - said_ms < AGAIN_MS:
            self._said[about] = (said_ms, silences + 1)
            return
        self._said.pop(about, None)
        self._said[about] = (now_ms, 0)
        if len(self._said) > REMEMBERED:
            del self._said[next(iter(self._said))]
        self.say(module, f"{text} ({silences} times more since the last line)" if silences else text, level)

    def over(self, module: str, text: str, about: Hashable) -> None:
        """What was said about this is over: a line, and the next time is said at once."""
        if self._said.pop((module, about), None) is not None:
            self.say(module, text)

    def event(
        self,
        module: str,
        now_ms: int,
        event: str,
        error: str | None,
        place: tuple[str, int, str],
        partitions: Iterable[object],
        detail: Mapping[str, object],
    ) -> None:
        """Log what has happened in the protocol, if it is worth a line.

        `error`: the name of the error answered; `place`: member, generation and state.
        """
        failed = error is not None
        if (known := (ANSWERS if failed else EVENTS).get(event)) is None or not logging.getLogger(module).isEnabledFor(
            known[0]
        ):
            return
        names = ", ".join(map(str, partitions)) or "nothing"
        member_id, generation, state = place
        what = known[1].format(error=error, partitions=names, **detail)
        text = f"{what} (member {member_id or 'none'}, generation {generation}, {state})"
        if failed or known[0] >= logging.WARNING:
            self.seldom(module, text, now_ms, about=what, level=known[0])
        else:
            self.say(module, text, known[0])


def _shown(text: str) -> str:
    """Without ends of lines, and without what moves a cursor."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
