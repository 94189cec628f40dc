"""What a script may make the broker do with a request, instead of answering it as it would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from groupspec.impl.broker.log import WireEvent
from groupspec.impl.core.messages import ErrorCode
from groupspec.impl.network.answers import error_code
from groupspec.impl.network.codec import Answer
from groupspec.impl.network.versions import API_VERSIONS
from groupspec.impl.runtime import Lock


class Action:
    """Any of the actions below."""


@dataclass(frozen=True)
class Default(Action):
    """Answer as if there were no script."""


DEFAULT: Final = Default()


@dataclass(frozen=True)
class Reply(Action):
    """Answer at once: with this answer, or with nothing but this error (a name, or a number, known or not).

    The group's state follows what is said. A member that is told UNKNOWN_MEMBER_ID is dropped; after ILLEGAL_GENERATION
    the group is a generation further, after FENCED_INSTANCE_ID another process has the instance id: no request of that
    identity is accepted any more. After REBALANCE_IN_PROGRESS the group waits for its JoinGroup.
    """

    error: ErrorCode | str | int = ErrorCode.NONE
    response: Answer | None = None

    def __post_init__(self) -> None:
        if self.response is None and self.code is ErrorCode.NONE:
            raise ValueError("Reply() needs an error or a response; for the ordinary answer there is DEFAULT")

    @property
    def code(self) -> ErrorCode:
        """The error."""
        return error_code(self.error)


@dataclass(frozen=True)
class ReplyAfter(Action):
    """Let the request wait for so long, then do `then`; what its connection sends meanwhile waits behind it."""

    delay_ms: int
    then: Action = DEFAULT


@dataclass(frozen=True)
class NeverReply(Action):
    """No answer, and so no answer either to whatever comes later on this connection: answers keep their order.

    For as long as the connection stays, the request counts as a sign of life of its member.
    """


@dataclass(frozen=True)
class Throttle(Action):
    """Say in the answer that the client is over its quota, for so long.

    `then` comes at once, and what the connection sends before the time is over waits. A broker that speaks no version
    since KIP-219 (`THROTTLED_FROM`) holds its answer back for as long instead.
    """

    duration_ms: int
    then: Action = DEFAULT


@dataclass(frozen=True)
class CloseConnection(Action):
    """Close the connection without an answer.

    `applied`: when the request has had its effect, so that its answer is what is lost. `reset`: as a machine does that
    goes down with what it had not read; else the stream just ends.
    """

    applied: bool = False
    reset: bool = False


@dataclass(frozen=True)
class RawBytes(Action):
    """Write exactly these bytes, length prefix and all; then close the connection or leave it open."""

    data: bytes
    close: bool = False


@dataclass(eq=False)
class Hold(Action):
    """Let the request wait until `release()`, then do the other thing. One Hold is good for any number of requests."""

    then: Action = DEFAULT
    _released: bool = False
    _wakers: list[Callable[[], None]] = field(default_factory=list)

    def release(self) -> None:
        """Go on; may be called from any thread, and before anything is held."""
        self._released = True
        for waker in list(self._wakers):
            waker()

    def on_release(self, waker: Callable[[], None]) -> None:
        """For the broker: call this when released, at once if that has happened already."""
        self._wakers.append(waker)
        if self._released:
            waker()


Match = Callable[[WireEvent], bool]


@dataclass(eq=False)
class _Entry:
    action: Action
    match: Match | None
    left: int = 1


class Script:
    """What to do with which requests: one-shot entries first, in their order, then permanent ones, the latest first.

    All methods may be called from any thread.
    """

    def __init__(self, lock: Lock) -> None:
        self._lock = lock
        self._once: dict[str, list[_Entry]] = {api: [] for api in API_VERSIONS}
        self._always: dict[str, list[_Entry]] = {api: [] for api in API_VERSIONS}

    def on_next(self, api: str, action: Action, times: int = 1, match: Match | None = None) -> None:
        """Do this with the next `times` requests of this API that `match` (given the request's event) accepts."""
        with self._lock:
            self._of(self._once, api).append(_Entry(action, match, times))

    def always(self, api: str, action: Action, match: Match | None = None) -> None:
        """Do this with every request of this API that `match` accepts, until `clear_script`."""
        with self._lock:
            self._of(self._always, api).insert(0, _Entry(action, match))

    def clear_script(self, api: str | None = None) -> None:
        """Forget what was scripted for this API, or for all."""
        with self._lock:
            for entries in (self._once, self._always):
                for name in entries if api is None else (api,):
                    self._of(entries, name).clear()

    def unused_script(self) -> list[str]:
        """What was scripted once and no request has met yet."""
        with self._lock:
            return [f"{api}: {entry.action}" for api, entries in self._once.items() for entry in entries]

    def action_for(self, request: WireEvent) -> Action:
        """What to do with this request."""
        with self._lock:
            once = self._once[request.api]
            for entry in (*once, *self._always[request.api]):
                if entry.match is None or entry.match(request):
                    entry.left -= 1
                    if entry in once and entry.left <= 0:
                        once.remove(entry)
                    return entry.action
            return DEFAULT

    @staticmethod
    def _of(entries: dict[str, list[_Entry]], api: str) -> list[_Entry]:
        if api not in entries:
            raise ValueError(f"{api!r} is no API of this broker; they are {', '.join(API_VERSIONS)}")
        return entries[api]
