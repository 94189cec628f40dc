"""One core whose brokers and application answer at once, unless a test holds an answer back.

What is held back stays open until a test answers it, well or badly. Everything that the core says is written down in
order, so that a test can ask what followed from what. The core is driven by its front door alone: `handle`, `advance`,
its timers by name, `describe()`.
"""

from __future__ import annotations

import textwrap

from groupspec.conformance.stateful.correspondence import PARTITIONS, TOPIC
from groupspec.conformance.stateful.lockstep import Divergence
from groupspec.impl.core import events as impl
from groupspec.impl.core.config import Config
from groupspec.impl.core.events import SendRequest
from groupspec.impl.core.messages import ErrorCode
from groupspec.impl.scripted import ScriptedCoordinator, ScriptedCore, api_of

OWNED = PARTITIONS[:2]
COMMITTED = 5
LISTED = 3
NONE_COMMITTED = -1
CALLBACK = "callback"
MANY = 500


class AnsweredCore(ScriptedCore):
    """One core and its surroundings.

    Attributes:
        held: APIs whose requests stay unanswered; and `CALLBACK`, if the listener does not return.
        said: What the core has said since the last answer: APIs, consumer events, how futures ended.
        story: What has happened, to be read in a failure.
    """

    def __init__(self, cooperative: bool = False, auto_commit: bool = False, reset: str = "earliest") -> None:
        config = Config(
            group_id="group",
            client_id="member",
            enable_auto_commit=auto_commit,
            auto_offset_reset=reset,
            partition_assignment_strategy=("cooperative-sticky",) if cooperative else ("range",),
        )
        super().__init__(config, ScriptedCoordinator())
        self.coordinator.committed, self.coordinator.listed = COMMITTED, LISTED
        self.held: set[str] = set()
        self.said: list[str] = []
        self.story: list[str] = []

    # What happens -----------------------------------------------------------------------------------------------------

    def do(self, event: impl.InputEvent) -> list[impl.Output]:
        """One event, and everything that brokers and the application do at once because of it."""
        self.story.append(textwrap.shorten(f"at {self.now_ms} ms: {event}", 200, placeholder=" …"))
        return super().do(event)

    def _follow(self, outputs: list[impl.Output]) -> list[impl.Output]:
        self._left = MANY
        return super()._follow(outputs)

    def heard(self, output: impl.Output) -> None:
        """Write it down."""
        if isinstance(output, SendRequest):
            self.said.append(api_of(output.request))
        elif isinstance(output, impl.CompleteFuture):
            failed = type(output.error).__name__ if output.error else ""
            self.said.append(f"failed: {failed}" if failed else "answered")
        elif isinstance(output, impl.Error | impl.RevokePartitions | impl.AssignPartitions):
            self.said.append(output.type)
        elif not isinstance(output, impl.ConnectCoordinator):
            self.said.append(type(output).__name__)
        self._left -= 1
        if self._left < 0:
            raise self.divergence(
                "how much is sent at once", f"no more than {MANY} outputs", f"ever more {self.said[-1]}"
            )

    def reactions(self, output: impl.Output) -> list[impl.InputEvent]:
        """Answers, and the listener's return, but for those that are held back."""
        if isinstance(output, SendRequest):
            return [] if api_of(output.request) in self.held else [self.answered(output, assigned=OWNED)]
        if isinstance(output, impl.RevokePartitions) and CALLBACK not in self.held:
            return [impl.CallbackStarted(), impl.PartitionsRevoked()]
        return [impl.PartitionsAssigned()] if isinstance(output, impl.AssignPartitions) else []

    def poll(self) -> list[impl.Output]:
        """The application polls, and wants records."""
        return [*super().poll(), *self.do(impl.Fetch())]

    def subscribe(self) -> None:
        """The background thread runs, the application subscribes and polls."""
        self.do(impl.Start())
        self.do(impl.Subscribe((TOPIC,)))
        super().poll()

    def pass_ms(self, duration_ms: int) -> list[impl.Output]:
        """Time passes; every timer fires when it is due."""
        self.story.append(f"{duration_ms} ms pass")
        return super().pass_ms(duration_ms)

    def timers_fire(self) -> list[impl.Output]:
        """Those that are due, which then are due no more."""
        before = self.core.describe().timers_ms
        outputs = super().timers_fire()
        if self.core.describe().timers_ms == before:
            raise self.divergence("timers that were due", "stopped or moved", f"still {dict(before)}")
        return outputs

    def expire(self, timer: str) -> list[impl.Output]:
        """This timer runs out now."""
        if timer not in self.core.describe().timers_ms:
            raise self.divergence("timers that run", timer, f"only {list(self.core.describe().timers_ms)}")
        self.story.append(f"at {self.now_ms} ms: {timer} expires")
        return super().expire(timer)

    def answer(self, api: str, error: ErrorCode = ErrorCode.NONE) -> None:
        """The newest open request of this API is answered, and what was heard before is done with."""
        sent = self.take(api)
        self.said.clear()
        self.do(impl.ResponseReceived(sent.request_id, self.coordinator.answer(sent.request, error, OWNED)))

    def take(self, api: str) -> SendRequest:
        """The newest open request of this API, which waits no more."""
        sent = self.newest(api)
        if sent is None:
            raise self.divergence("what waits for an answer", api, [api_of(one.request) for one in self.unanswered])
        self.unanswered.remove(sent)
        return sent

    # What was seen ----------------------------------------------------------------------------------------------------

    def require(self, what: str, expected: object, observed: object) -> None:
        """Divergence: they differ."""
        if expected != observed:
            raise self.divergence(what, expected, observed)

    def divergence(self, what: str, expected: object, observed: object) -> Divergence:
        """A failure, with the whole story."""
        story = "\n  ".join(self.story)
        return Divergence(
            f"{what}\n the specification says: {expected}\n the implementation says: {observed}\nafter\n  {story}"
        )

    def positions(self) -> list[int | None]:
        """Where the partitions that should be owned are to be read next."""
        described = self.core.describe().partitions
        return [described[p].position if p in described else None for p in OWNED]

    def count(self, word: str) -> int:
        """How often this was heard since the last answer."""
        return self.said.count(word)
