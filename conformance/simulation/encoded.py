"""A link whose messages are bytes: to brokers of some releases, that throttle and close idle connections.

As `conformance.schedules.encoded_transport`, but here messages are under way for a while, and may be lost. The versions
of a connection are agreed on in no time.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from groupspec.conformance.encoded_connections import Brokers, EncodedConnection, spoken
from groupspec.conformance.simulation.cluster import Cluster
from groupspec.conformance.simulation.loop import Loop
from groupspec.conformance.simulation.network import REFUSED_AFTER_MS, Connection, Link, Peer, Witness
from groupspec.conformance.simulation.plan import Plan
from groupspec.impl.core.events import SendRequest
from groupspec.impl.core.messages import ErrorCode, NoAnswer, Request, Response
from groupspec.impl.scripted import api_of


class EncodedLink(Link):
    """Each of its connections is an `EncodedConnection`, to a broker of one release for the whole run."""

    def __init__(
        self, peer: Peer, loop: Loop, cluster: Cluster, witness: Witness, plan: Plan, brokers: Brokers
    ) -> None:
        super().__init__(peer, loop, cluster, witness, plan)
        self._brokers = brokers
        self._over: dict[Connection, EncodedConnection] = {}
        self._reads: dict[int, tuple[Request, int]] = {}  # what a broker is to read, by request id
        self._knows_of_end = True

    # The process's side ----------------------------------------------------------------------------------------------

    def _connection(self, key: str | int) -> Connection:
        """See Link. The broker may have closed it, and every other time the process does not know yet."""
        connection = super()._connection(key)
        over, now_ms = self._over.get(connection), self._loop.now_ms
        if over is not None and self._brokers.closes_ms and over.is_idle(self._brokers.closes_ms, now_ms):
            self._cut(connection)
            self._knows_of_end = not self._knows_of_end
            if not self._knows_of_end:
                self._witness.sent_when_closed(self._peer)
                return connection
            connection = super()._connection(connection.key)
        return connection

    def _any_of(self, nodes: list[int]) -> int:
        """See Link. One of the least loaded, as a transport does: behind a Fetch a lookup waits as long."""
        load = Counter(one.connection.node for one in self._pending.values())
        return super()._any_of([node for node in nodes if load[node] == min(load[n] for n in nodes)])

    def _goes_out(self, connection: Connection, request: SendRequest) -> None:
        now_ms = self._loop.now_ms
        if (over := self._over.get(connection)) is None:
            releases = self._brokers.releases
            over = EncodedConnection(spoken()[releases[connection.node % len(releases)]], now_ms)
            self._over[connection] = over
        try:
            self._leave(connection, over, over.send(request, now_ms + request.timeout_ms, now_ms))
        except AssertionError as wrong:
            self._witness.breaks(wrong)
            raise
        for refused in over.refused():
            answer = partial(self._receive, refused.request_id, refused.response)
            self._loop.after(REFUSED_AFTER_MS, partial(self._peer.happens, answer))

    def _leave(self, connection: Connection, over: EncodedConnection, written: list[SendRequest]) -> None:
        for request in written:
            self._reads[request.request_id] = over.as_read(request.request_id)
            super()._goes_out(connection, request)

    def _cut(self, connection: Connection) -> None:
        super()._cut(connection)
        if (over := self._over.pop(connection, None)) is not None:
            over.ends()

    def _timed_out(self, number: int) -> None:
        """See Link. What waits for the end of a throttle time leaves its connection as it is."""
        pending = self._pending.get(number)
        over = self._over.get(pending.connection) if pending is not None else None
        if over is not None and not over.expires(self._loop.now_ms):
            self._no_answer([number], ErrorCode.TIMED_OUT)
        else:
            super()._timed_out(number)

    def _receive(self, number: int, response: Response, throttle_ms: int = 0) -> None:
        pending = self._pending.get(number)
        over = self._over.get(pending.connection) if pending is not None else None
        if pending is None or over is None or isinstance(response, NoAnswer) or not over.has_written(number):
            super()._receive(number, response, throttle_ms)
            return
        throttle_ms = self._throttle_ms(pending.request.request)
        for answer in over.answer(number, response, throttle_ms, self._loop.now_ms):
            if answer.throttle_time_ms:
                self._witness.held_back(self._peer)
                ends = partial(self._throttle_over, pending.connection)
                self._loop.after(answer.throttle_time_ms, partial(self._peer.happens, ends))
            super()._receive(answer.request_id, answer.response, answer.throttle_time_ms)

    def _throttle_ms(self, request: Request) -> int:
        found = next((one for one in self.throttles if one[0] == api_of(request)), None)
        if found is None:
            return 0
        self.throttles.remove(found)
        return found[1]

    def _throttle_over(self, connection: Connection) -> None:
        if (over := self._over.get(connection)) is not None:
            self._leave(connection, over, over.throttle_over(self._loop.now_ms))

    # The broker's side -----------------------------------------------------------------------------------------------

    def _read(self, connection: Connection, request: SendRequest) -> tuple[Request, int]:
        return self._reads.pop(request.request_id)
