"""A connection is a stream: what is lost of it silences it, until the process gives it up and opens another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from groupspec.conformance.simulation.cluster import Cluster
from groupspec.conformance.simulation.loop import Loop
from groupspec.conformance.simulation.network import Link, Peer
from groupspec.conformance.simulation.plan import draw
from groupspec.impl.core.events import SendRequest
from groupspec.impl.core.messages import ErrorCode, MetadataRequest, NoAnswer, Response

TIMEOUT_MS = 1_000


class Wire:
    """One process, its link to broker 1, and what became of its requests."""

    name = "a.1"

    def __init__(self, seed: int = 0) -> None:
        self.loop = Loop()
        plan = replace(draw(seed), delay_ms=(1, 1))
        self.link = Link(self, self.loop, Cluster(self.loop, plan), self, plan)
        self.asked = 0
        self.at_broker: list[int] = []
        self.answers: dict[int, Response] = {}

    def ask(self, within_ms: int = TIMEOUT_MS) -> int:
        """Send a request; its number."""
        self.asked += 1
        self.link.send(SendRequest(self.asked, 1, MetadataRequest(("orders",)), within_ms))
        return self.asked

    def let_pass(self, ms: int) -> None:
        """Let time pass."""
        self.loop.run_until(self.loop.now_ms + ms)

    # As a peer, and as the witness ------------------------------------------------------------------------------------

    def answered(self, request_id: int, response: Response, throttle_ms: int = 0) -> None:
        self.answers[request_id] = response

    def happens(self, what: Callable[[], None]) -> None:
        what()

    def sent(self, peer: Peer, request: SendRequest, node: int) -> None: ...

    def served(self, peer: Peer, request: SendRequest, response: Response, is_stale: bool) -> None:
        self.at_broker.append(request.request_id)

    def received(self, peer: Peer, request: SendRequest, response: Response) -> None: ...

    def held_back(self, peer: Peer) -> None: ...

    def sent_when_closed(self, peer: Peer) -> None: ...

    def breaks(self, wrong: AssertionError) -> None: ...


@pytest.mark.parametrize("seed", range(4))  # whether the connection is reset, or the request times out
@pytest.mark.parametrize("what", ["request lost", "answer lost"])
def test_after_a_loss_nothing_arrives_until_there_is_another_connection(what: str, seed: int) -> None:
    wire = Wire(seed)
    wire.link.losses.append(("Metadata", what))
    lost, behind = wire.ask(), wire.ask(2 * TIMEOUT_MS)
    wire.let_pass(TIMEOUT_MS - 10)
    assert wire.at_broker == ([] if what == "request lost" else [lost, behind])
    wire.let_pass(20)  # reset at once, or the first one times out, and takes its connection with it
    assert wire.answers[behind] == NoAnswer(ErrorCode.DISCONNECTED)

    again = wire.ask()
    wire.let_pass(10)
    assert wire.at_broker[-1] == again
    assert not isinstance(wire.answers[again], NoAnswer)


def test_what_is_sent_is_answered_in_order() -> None:
    wire = Wire()
    numbers = [wire.ask(), wire.ask()]
    wire.let_pass(10)
    assert wire.at_broker == list(wire.answers) == numbers
