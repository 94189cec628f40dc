"""Three real races of the reference as they were before they were mended, to be put back in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from groupspec.conformance.mutation.mutant import Seam
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.events import CallbackKind, Unsubscribe
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.threads.futures import Future, Futures

Fetchable = dict[TopicPartition, tuple[int, int]]
Original = Callable[..., object]


def a_seek_between_two_sections(seam: Seam) -> None:
    """What may be fetched and that it is fetched are two sections; a seek between them is never fetched for."""

    @seam.replacing(SubscriptionState.begin_fetch)
    def begin_fetch(_: Original, self: SubscriptionState, fetchable: Mapping[TopicPartition, object]) -> object:
        with self._lock:
            for partition in fetchable:
                if partition in self._shared.partitions:
                    self._shared.partitions[partition].fetch_in_flight = True
        return dict(fetchable)


def unsubscribe_waits_after_the_end(seam: Seam) -> None:
    """unsubscribe() asks for its future when close() in another thread has failed all of them, and never looks up."""

    @seam.replacing(Futures.new)
    def new(original: Callable[[Futures], Future], self: Futures) -> Future:
        self._end = None
        return original(self)

    @seam.replacing(Consumer.unsubscribe)
    def unsubscribe(_: Original, self: Consumer) -> None:
        with self._call_guard.use("unsubscribe()"):
            self._call_guard.refuse_in_callback("unsubscribe()")
            self._need_background()
            future = self._driver.call(Unsubscribe)
            while not future.done:
                self._callbacks.serve()
                self._driver.wait_until(lambda: future.done or self._driver.has_consumer_events(), None)
            self._chosen = ""
            self._topics = frozenset()
            self._callbacks.raise_first()
            future.outcome()


def a_cooperative_revocation_without_commit(seam: Seam) -> None:
    """A cooperative member commits before JoinGroup, and not again for what it reads up to the revocation."""

    @seam.replacing(Membership._prepare_revocation)
    def prepare(original: Original, self: Membership, partitions: tuple[TopicPartition, ...]) -> None:
        if self._next_assignment is None:
            original(self, partitions)
        else:
            self.revoke(CallbackKind.REVOKED, partitions)
