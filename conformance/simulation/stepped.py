"""An application on a core alone, step by step, without threads: a generator that waits by `yield`.

Calls are made as `groupspec.impl.consumer` makes them: poll() settles what was returned before, runs callbacks, asks
for records, and waits for news.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from groupspec.conformance.simulation.application import BETWEEN_POLLS_MS, COMMIT_LIMIT_MS, Application
from groupspec.conformance.simulation.ledger import Ledger
from groupspec.conformance.simulation.loop import Event
from groupspec.conformance.simulation.member import CoreMember
from groupspec.conformance.simulation.situations import Watch
from groupspec.impl.core import events
from groupspec.impl.core.errors import KafkaError
from groupspec.impl.core.events import CallbackKind
from groupspec.impl.records import ConsumerRecord

Wait = tuple[int | None, Callable[[], bool] | None]
Steps = Generator[Wait, None, None]


class SteppedApplication(Application):
    """One loop around poll()."""

    def __init__(self, process: CoreMember, ledger: Ledger, watch: Watch) -> None:
        super().__init__(process, ledger, watch)
        self._process: CoreMember = process
        self._subscription = process.subscription
        self._positions = process.subscription.positions
        self._steps: Steps | None = None
        self._is_running = False
        self._until: Event | None = None
        self._condition: Callable[[], bool] | None = None
        self._batch: list[ConsumerRecord] = []
        self._has_raised = False

    # Steps -----------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """See Application."""
        self._steps = self._work()
        self._step()

    def stop(self) -> None:
        """See Application."""
        self._condition = self._steps = None
        if self._until is not None:
            self._until.cancel()

    def nudge(self) -> None:
        """Something has happened: maybe what it waits for."""
        if not self._is_running and self._condition is not None and self._condition():
            self._go_on()

    def hurry(self) -> None:
        """See Application."""
        self.slow_callback_ms = self.slow_work_ms = 0
        self.want("resume")
        if self._until is not None and self._condition is None and not self._is_running:
            self._process.happens(self._go_on)

    def want(self, what: str) -> None:
        """See Application."""
        self.wanted.append(what)
        self.nudge()

    def close(self, limit_ms: int | None = None) -> None:
        """See Application."""
        self.is_closing = True
        if limit_ms is not None:
            self.close_limit_ms = limit_ms
        self.nudge()

    def _go_on(self) -> None:
        if self._until is not None:
            self._until.cancel()
            self._until = None
        self._step()

    def _step(self) -> None:
        self._is_running = True
        try:
            while self._steps is not None:
                self._condition = None
                wait = next(self._steps, None)
                if wait is None:
                    self._steps = None
                    self._process.end()
                    return
                until_ms, condition = wait
                if (condition is not None and condition()) or (until_ms is not None and until_ms <= self._loop.now_ms):
                    continue
                self._condition = condition
                self._until = None
                if until_ms is not None:
                    self._until = self._loop.at(until_ms, lambda: self._process.happens(self._go_on))
                return
        finally:
            self._is_running = False

    def _sleep(self, duration_ms: int) -> Steps:
        if duration_ms:
            yield self._loop.now_ms + duration_ms, None

    # The loop --------------------------------------------------------------------------------------------------------

    def _work(self) -> Steps:
        process = self._process
        process.give(events.Start())
        process.give(events.Subscribe(self.topics))
        while True:
            yield from self._do_what_is_wanted()
            if self.is_closing:
                yield from self._close()
                return
            yield from self._poll(self.poll_ms)
            if self.is_fenced:
                self.is_closing = True
            elif self._batch:
                yield from self._use()
            elif self.rests():
                yield from self._sleep(BETWEEN_POLLS_MS)

    def _do_what_is_wanted(self) -> Steps:
        process = self._process
        while self.wanted:
            what = self.wanted.pop(0)
            if what == "other topics":
                self.change_topics()
                process.give(events.Subscribe(self.topics))
            elif what == "rebalance wanted":
                process.give(events.EnforceRebalance("the application wants it"))
            elif what == "pause":
                self.paused |= set(self._subscription.assignment())
                self._positions.pause(self.paused)
            elif what == "resume":
                self._positions.resume(self.paused)
                self.paused.clear()
            elif what == "seek back":
                self._seek_back()
            elif what == "unsubscribe":
                self.unsubscribe_begins()
                number = process.call(events.Unsubscribe)
                yield from self._serve_until(number)
                self.is_unsubscribing = False
                yield from self._sleep(BETWEEN_POLLS_MS)
                process.give(events.Subscribe(self.topics))

    def _seek_back(self) -> None:
        """Some records of the first partition that has a position are to be processed again."""
        if (goal := self.goes_back()) is not None:
            partition, place = goal
            self._positions.seek(partition, place.offset, place.leader_epoch)

    def _use(self) -> Steps:
        """Work on what poll() has returned; then it is processed, and may be committed."""
        extra_ms, self.slow_work_ms = self.slow_work_ms, 0
        yield from self._sleep(self._plan.work_ms + extra_ms)
        self._ledger.processed(self._process, self._batch)
        self._batch = []
        if self._plan.commits != "auto":
            self._watch.commits(self._process)
        if self._plan.commits == "sync":
            deadline_ms = self._loop.now_ms + COMMIT_LIMIT_MS
            offsets = self._positions.returned_positions()
            number = self._process.call(lambda future: events.Commit(offsets, future, deadline_ms))
            yield None, lambda: number in self._process.outcomes
            self._note_commit(number)
        elif self._plan.commits == "async":
            offsets = self._positions.returned_positions()
            self._process.call(lambda future: events.Commit(offsets, future))

    def _note_commit(self, number: int) -> None:
        error = self._process.outcomes.pop(number)
        assert error is None or isinstance(error, KafkaError), f"a commit ended with {error!r}"

    # poll() ----------------------------------------------------------------------------------------------------------

    def _poll(self, timeout_ms: int) -> Steps:
        process, self.is_polling, self.poll_began_ms = self._process, True, self._loop.now_ms
        self._positions.poll_started()
        process.give(events.Poll(raises=self._has_error()))
        if not self._raises():
            yield from self._poll_until(self._loop.now_ms + timeout_ms)
        self.is_polling = False

    def _poll_until(self, deadline_ms: int) -> Steps:
        process = self._process
        interval_ms = max(1, self._plan.config.max_poll_interval_ms // 3)
        while not self.is_closing and not self.wanted:
            yield from self._serve()
            if self._raises() or self._has_raised:
                self._has_raised = False
                return
            process.give(events.Fetch())
            self._batch = process.records.take(self._plan.config.max_poll_records)
            if self._batch and not self._positions.returnable():
                process.give(events.Fetch())
            if self._batch or self._loop.now_ms >= deadline_ms:
                self._ledger.returned(process, self._batch)
                return
            while not self._has_news():
                if self._loop.now_ms >= deadline_ms:
                    return
                again_ms = self._loop.now_ms + interval_ms
                yield min(deadline_ms, again_ms), self._has_news
                if self._loop.now_ms >= again_ms:
                    process.give(events.Poll())

    def _has_news(self) -> bool:
        return (
            self.is_closing
            or bool(self.wanted)
            or bool(self._process.consumer_events)
            or self._positions.next_buffered() is not None
        )

    def _has_error(self) -> bool:
        return any(isinstance(event, events.Error) for event in self._process.consumer_events)

    def _raises(self) -> bool:
        """Whether poll() raises an error: then it is the application's."""
        for event in self._process.consumer_events:
            if isinstance(event, events.Error):
                self._process.consumer_events.remove(event)
                assert isinstance(event.error, KafkaError)
                self.raised(event.error)
                return True
        return False

    # Callbacks -------------------------------------------------------------------------------------------------------

    def _serve(self) -> Steps:
        waiting = self._process.consumer_events
        while (event := next((one for one in waiting if not isinstance(one, events.Error)), None)) is not None:
            waiting.remove(event)
            if isinstance(event, events.RevokePartitions):
                yield from self._revoke()
            elif isinstance(event, events.AssignPartitions):
                self.assigned(event.partitions)
                yield from self._run_callback()
                self._process.give(events.PartitionsAssigned())

    def _revoke(self) -> Steps:
        callback = self._subscription.start_callback()
        if callback is None:
            return
        self._process.give(events.CallbackStarted())
        is_lost = callback.kind is CallbackKind.LOST
        self._ledger.release_begins(self._process, callback.partitions, is_lost)
        yield from self._run_callback()
        self.released(callback.partitions)
        self._process.give(events.PartitionsRevoked())

    def _run_callback(self) -> Steps:
        yield from self._sleep(self.callback_begins())
        self._has_raised = self.callback_ends() or self._has_raised

    # The end ---------------------------------------------------------------------------------------------------------

    def _serve_until(self, number: int) -> Steps:
        """Run callbacks until this call has its outcome; errors are for poll()."""
        process = self._process
        while number not in process.outcomes:
            yield from self._serve()
            yield (
                None,
                lambda: (
                    number in process.outcomes
                    or any(not isinstance(event, events.Error) for event in process.consumer_events)
                ),
            )

    def _close(self) -> Steps:
        """close(): nothing that the network does keeps it from its end."""
        deadline_ms = self.close_begins()
        number = self._process.call(lambda future: events.Close(future, deadline_ms))
        yield from self._serve_until(number)
        self.close_ends()
