"""An application as people write it: a thread, a consumer, and a loop around poll()."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from groupspec.conformance.simulation.application import BETWEEN_POLLS_MS, COMMIT_LIMIT_MS, Application
from groupspec.conformance.simulation.ledger import Ledger
from groupspec.conformance.simulation.member import Member
from groupspec.conformance.simulation.situations import Watch
from groupspec.impl.consumer import Consumer, WakeupError
from groupspec.impl.core.errors import KafkaError
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.records import ConsumerRecord
from groupspec.impl.runtime import Runtime


class CallbackError(Exception):
    """What a callback raises that is to raise."""


class ThreadedApplication(Application):
    """One loop around Consumer.poll(), and its rebalance listener. `has_ended`: close() has returned."""

    def __init__(self, process: Member, ledger: Ledger, watch: Watch, consumer: Consumer, runtime: Runtime) -> None:
        super().__init__(process, ledger, watch)
        self._consumer = consumer
        self._runtime = runtime
        self._rest = runtime.condition("rest of the application", from_outside=True)
        self._hurries = 0
        self.has_ended = False

    # What a run has it do --------------------------------------------------------------------------------------------

    def start(self) -> None:
        """See Application."""
        self._runtime.thread(self._run, "application").start()

    def stop(self) -> None:
        """See Application: its thread is unwound with the others of its process."""

    def hurry(self) -> None:
        """See Application."""
        self.slow_callback_ms = self.slow_work_ms = 0
        self.want("resume")
        self._process.happens(self._end_rest)

    def want(self, what: str) -> None:
        """See Application."""
        self.wanted.append(what)
        self._process.happens(self._interrupt)

    def close(self, limit_ms: int | None = None) -> None:
        """See Application."""
        self.is_closing = True
        if limit_ms is not None:
            self.close_limit_ms = limit_ms
        self._process.happens(self._interrupt)

    def _interrupt(self) -> None:
        if self.is_polling:
            self._consumer.wakeup()

    def _end_rest(self) -> None:
        with self._rest:
            self._hurries += 1
            self._rest.notify_all()

    # The loop --------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        self._consumer.subscribe(self.topics, self)
        while True:
            self._do_what_is_wanted()
            if self.is_closing:
                break
            records = self._poll()
            if self.is_fenced:
                self.is_closing = True
            elif records:
                self._use(records)
            elif self.rests():
                self._sleep(BETWEEN_POLLS_MS)
        self._close()
        self.has_ended = True

    def _poll(self) -> list[ConsumerRecord]:
        self.is_polling, self.poll_began_ms = True, self._loop.now_ms
        records: list[ConsumerRecord] = []
        try:
            records = self._consumer.poll(self.poll_ms)
        except (WakeupError, CallbackError):
            pass
        except KafkaError as error:
            self.raised(error)
        finally:
            self.is_polling = False
        self._ledger.returned(self._process, records)
        return records

    def _do_what_is_wanted(self) -> None:
        while self.wanted:
            what = self.wanted.pop(0)
            if what == "other topics":
                self.change_topics()
                self._consumer.subscribe(self.topics, self)
            elif what == "rebalance wanted":
                self._consumer.enforce_rebalance("the application wants it")
            elif what == "pause":
                self.paused |= self._consumer.assignment() & self._ledger.owned(self._process)  # others may go untold
                self._consumer.pause(self.paused)
            elif what == "resume":
                self._consumer.resume(self.paused)
                self.paused.clear()
            elif what == "seek back":
                if (goal := self.goes_back()) is not None:
                    self._consumer.seek(*goal)
            elif what == "unsubscribe":
                self._unsubscribe()

    def _unsubscribe(self) -> None:
        self.unsubscribe_begins()
        with self._errors_that_wait():
            self._consumer.unsubscribe()
        self.is_unsubscribing = False
        self._sleep(BETWEEN_POLLS_MS)
        self._consumer.subscribe(self.topics, self)

    def _use(self, records: list[ConsumerRecord]) -> None:
        """Work on what poll() has returned; then it is processed, and may be committed."""
        extra_ms, self.slow_work_ms = self.slow_work_ms, 0
        self._sleep(self._plan.work_ms + extra_ms)
        self._ledger.processed(self._process, records)
        if self._plan.commits != "auto":
            self._watch.commits(self._process)
        try:
            if self._plan.commits == "sync":
                self._consumer.commit(timeout_ms=COMMIT_LIMIT_MS)
            elif self._plan.commits == "async":
                self._consumer.commit_async()
        except (KafkaError, CallbackError):
            pass  # another one follows the next records

    def _sleep(self, duration_ms: int) -> None:
        with self._rest:
            seen = self._hurries
            self._rest.wait_for(lambda: self._hurries != seen, duration_ms)

    @contextmanager
    def _errors_that_wait(self) -> Iterator[None]:
        """unsubscribe() and close() raise, when they are done, what a callback has raised or poll() would have."""
        try:
            yield
        except CallbackError:
            pass
        except KafkaError as error:
            self.raised(error)

    # Callbacks -------------------------------------------------------------------------------------------------------

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        """See RebalanceListener."""
        with self._ledger.kept:
            self.assigned(partitions)
        if self._callback():
            raise CallbackError("assigned")

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        """See RebalanceListener."""
        self._release(partitions, is_lost=False)

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        """See RebalanceListener."""
        self._release(partitions, is_lost=True)

    def _release(self, partitions: list[TopicPartition], is_lost: bool) -> None:
        with self._ledger.kept:
            self._ledger.release_begins(self._process, partitions, is_lost)
        raises = self._callback()
        self.released(partitions)
        if raises:
            raise CallbackError("lost" if is_lost else "revoked")

    def _callback(self) -> bool:
        self._sleep(self.callback_begins())
        return self.callback_ends()

    # The end ---------------------------------------------------------------------------------------------------------

    def _close(self) -> None:
        self.close_begins()
        with self._errors_that_wait():
            self._consumer.close(self.close_limit_ms)
        self.close_ends()
