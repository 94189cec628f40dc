"""poll(), wakeup() and the calls around them: order, bounds, and who may call what."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from groupspec.impl.consumer import QUIET_MS, ConcurrentUseError, Consumer, WakeupError
from groupspec.impl.core.errors import (
    ConfigError,
    IllegalStateError,
    KafkaTimeoutError,
    NoOffsetForPartitionError,
    RetriableCommitFailedError,
)
from groupspec.impl.core.events import Poll, SendRequest
from groupspec.impl.core.messages import (
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetFetchRequest,
    TopicPartition,
)
from groupspec.impl.records import Decoded
from groupspec.impl.run_to_idle import RunToIdleRuntime
from groupspec.impl.testing import PLAIN_DECODER, CallThread, PlainDecoder
from groupspec.impl.threads.memory_transport import MemoryTransport
from groupspec.impl.threads.tests.scripted_consumer import TOPIC, ScriptedConsumer, partitions

FIRST = TopicPartition(TOPIC, 0)


# Bounds and order
# ------------------------------------------------------------------------------------------------------


def test_P4_poll_returns_when_its_time_is_over_whatever_is_pending() -> None:
    with ScriptedConsumer() as driven:
        driven.subscribe()
        poll = driven.begin_poll(500)
        driven.advance(499)
        assert not poll.done
        driven.advance(1)
        assert poll.outcome() == []


def test_P2_every_poll_reaches_the_core_even_one_that_raises() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.consumer.wakeup()
        before = driven.driver.submitted.count(Poll())
        with pytest.raises(WakeupError):
            driven.poll()
        assert driven.driver.submitted.count(Poll()) == before + 1


def test_Q6_callbacks_then_the_fetch_then_records() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.fetched(10)
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        assert driven.poll() == []  # O3: the callback came first, and took the partition with its records away
        assert driven.callbacks() == [("revoked", partitions(0))]
        kinds = [type(event).__name__ for event in driven.driver.submitted]
        assert kinds[-4:] == ["Poll", "CallbackStarted", "PartitionsRevoked", "Fetch"]


def test_poll_needs_something_to_poll_for() -> None:
    with ScriptedConsumer() as driven, pytest.raises(IllegalStateError, match=r"subscribe\(\) or assign\(\) first"):
        driven.poll()


def test_poll_takes_no_negative_time() -> None:
    with ScriptedConsumer() as driven, pytest.raises(ValueError, match="timeout_ms=-1: must be from 0"):
        driven.poll(-1)


# Records
# ---------------------------------------------------------------------------------------------------------------


class _EndsOfTransactions(PlainDecoder):
    """Reads "offset" alone as the batch that ends a transaction, which has no record."""

    def decode(self, partition: TopicPartition, data: bytes, from_offset: int, aborted: object = ()) -> Decoded:
        return super().decode(partition, data, from_offset) if b":" in data else Decoded((), int(data) + 1)


def test_P4_a_poll_that_waits_goes_on_behind_a_batch_without_a_record() -> None:
    with ScriptedConsumer() as driven:
        driven.consumer._records._decoder = _EndsOfTransactions()
        driven.stable(0)
        poll = driven.begin_poll(5_000)
        driven.respond("Fetch", FetchResponse({FIRST: FetchedPartition(b"10", 100)}))
        asked = driven.waiting("Fetch").request
        assert isinstance(asked, FetchRequest)
        assert asked.offsets == {FIRST: 11}
        driven.fetched(11)
        assert [record.offset for record in poll.outcome()] == [11]


def test_M4_the_commit_before_a_rebalance_waits_for_no_poll_behind_a_batch_without_a_record() -> None:
    """Schedule 47583: nothing was returned, so the poll() that waits need not end before the revocation goes on."""
    with ScriptedConsumer(enable_auto_commit=True) as driven:
        driven.consumer._records._decoder = _EndsOfTransactions()
        driven.stable(0)
        poll = driven.begin_poll(60_000)
        driven.respond("Fetch", FetchResponse({FIRST: FetchedPartition(b"10", 100)}))
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        driven.error("OffsetCommit", "NONE")
        assert driven.is_waiting("JoinGroup")
        assert not poll.done


def test_O5_positions_move_when_records_are_returned_not_when_they_arrive() -> None:
    with ScriptedConsumer(max_poll_records=2) as driven:
        driven.stable(0)
        driven.fetched(10, 12, 13, 20)
        assert driven.describe().partitions[FIRST].position == 10
        assert [record.offset for record in driven.poll()] == [10, 12]
        assert driven.describe().partitions[FIRST].position == 13
        assert [record.offset for record in driven.poll()] == [13, 20]
        assert driven.describe().partitions[FIRST].position == 21


def test_records_of_several_partitions_come_in_one_poll() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0, 1)
        records = {0: b"10:a\n", 1: b"10:b\n11:c\n"}
        answers = {partitions(number)[0]: FetchedPartition(data, 100) for number, data in records.items()}
        driven.respond("Fetch", FetchResponse(answers))
        assert [(record.partition, record.offset) for record in driven.poll()] == [(0, 10), (1, 10), (1, 11)]


def test_P5_a_poll_returns_no_more_than_its_limit_of_however_many_partitions() -> None:
    with ScriptedConsumer(max_poll_records=2) as driven:
        driven.stable(0, 1)
        answers = {partitions(number)[0]: FetchedPartition(b"10:a\n11:b\n12:c\n", 100) for number in (0, 1)}
        driven.respond("Fetch", FetchResponse(answers))
        polls = [[(record.partition, record.offset) for record in driven.poll()] for _ in range(3)]
        assert polls == [[(0, 10), (0, 11)], [(0, 12), (1, 10)], [(1, 11), (1, 12)]]


def test_O3_records_fetched_before_a_seek_are_not_returned() -> None:
    with ScriptedConsumer(max_poll_records=1) as driven:
        driven.stable(0)
        driven.fetched(10, 11)
        assert [record.offset for record in driven.poll()] == [10]
        driven.call(lambda consumer: consumer.seek(FIRST, 50))
        assert driven.poll() == []
        driven.fetched(50)
        assert [record.offset for record in driven.poll()] == [50]


def test_O2_paused_partitions_keep_their_records_for_later() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.fetched(10)
        driven.call(lambda consumer: consumer.pause([FIRST]))
        assert driven.poll() == []
        driven.call(lambda consumer: consumer.resume([FIRST]))
        assert [record.offset for record in driven.poll()] == [10]


def test_a_broker_that_sends_no_whole_batch_is_reported_and_not_asked_for_ever() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.fetched(9)  # only what comes before the position
        with pytest.raises(Exception, match="no complete batch of records"):
            driven.poll()


# Wakeup
# ----------------------------------------------------------------------------------------------------------------


def test_T4_wakeup_interrupts_the_poll_that_waits_once() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        poll = driven.begin_poll(60_000)
        driven.consumer.wakeup()
        driven.settle()
        with pytest.raises(WakeupError):
            poll.outcome()
        assert driven.poll() == []


def test_T4_wakeup_interrupts_the_next_poll_even_if_records_are_there_and_loses_none() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.fetched(10)
        driven.consumer.wakeup()
        driven.consumer.wakeup()
        with pytest.raises(WakeupError):
            driven.poll()
        assert [record.offset for record in driven.poll()] == [10]


@pytest.mark.parametrize(
    "call",
    [
        lambda consumer: consumer.commit({FIRST: 5}),
        lambda consumer: consumer.committed([FIRST]),
        lambda consumer: consumer.position(TopicPartition(TOPIC, 3)),
    ],
)
def test_T4_wakeup_interrupts_other_calls_that_wait(call: Callable[[Consumer], object]) -> None:
    with ScriptedConsumer() as driven:
        driven.transport.answer_always(OffsetFetchRequest, lambda _: None)
        driven.stable(0, 3)
        under_way = driven.begin(call)
        assert not under_way.done
        driven.consumer.wakeup()
        driven.settle()
        with pytest.raises(WakeupError):
            under_way.outcome()


def test_T4_no_wakeup_in_a_commit_made_by_a_callback_but_in_the_poll_around_it() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        committed: list[str] = []

        def commit(_: object) -> None:
            driven.consumer.wakeup()
            driven.consumer.commit({FIRST: 11})
            committed.append("done")

        driven.listener.during = commit
        poll = driven.begin_poll(60_000)
        driven.error("OffsetCommit", "NONE")
        assert committed == ["done"]
        with pytest.raises(WakeupError):
            poll.outcome()


def test_T4_asynchronous_commits_are_not_woken_up() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.consumer.wakeup()
        driven.call(lambda consumer: consumer.commit_async({FIRST: 5}))
        assert driven.is_waiting("OffsetCommit")


# One thread at a time
# ----------------------------------------------------------------------------------------------------


def test_a_second_thread_is_refused() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        poll = driven.begin_poll(60_000)
        second = CallThread(driven.runtime, "second")
        call = second.begin(lambda: driven.consumer.poll(0))
        driven.settle()
        with pytest.raises(ConcurrentUseError, match="another thread is using this consumer"):
            call.outcome()
        assert not poll.done


# Commits
# ---------------------------------------------------------------------------------------------------------------


def test_commit_without_offsets_means_what_was_returned() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.fetched(10, 11)
        driven.poll()
        commit = driven.begin(lambda consumer: consumer.commit())
        request = driven.waiting("OffsetCommit").request
        assert isinstance(request, OffsetCommitRequest)
        assert request.offsets == {FIRST: OffsetAndMetadata(12)}
        driven.error("OffsetCommit", "NONE")
        assert commit.done
        commit.outcome()


def test_commit_ends_with_its_deadline() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        commit = driven.begin(lambda consumer: consumer.commit({FIRST: 5}, timeout_ms=2_000))
        driven.advance(2_000)
        with pytest.raises(KafkaTimeoutError):
            commit.outcome()


def test_M6_callbacks_of_earlier_commits_run_before_a_later_commit_returns_and_in_order() -> None:
    told: list[tuple[int, str]] = []
    with ScriptedConsumer() as driven:
        driven.stable(0)

        def tell(number: int) -> Callable[[object, Exception | None], None]:
            return lambda _, error: told.append((number, type(error).__name__))

        driven.call(lambda consumer: consumer.commit_async({FIRST: 1}, tell(1)))
        driven.call(lambda consumer: consumer.commit_async({FIRST: 2}, tell(2)))
        commit = driven.begin(lambda consumer: consumer.commit({FIRST: 3}))
        driven.error("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS")
        assert told == []  # callbacks run on the application's thread, which waits
        driven.advance(100)
        driven.error("OffsetCommit", "NONE")
        driven.error("OffsetCommit", "NONE")
        commit.outcome()
        assert told == [(1, RetriableCommitFailedError.__name__), (2, "NoneType")]


def test_what_a_commit_callback_raises_comes_out_of_the_poll() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)

        def fail(_: object, __: Exception | None) -> None:
            raise ZeroDivisionError("in the commit callback")

        driven.call(lambda consumer: consumer.commit_async({FIRST: 1}, fail))
        driven.error("OffsetCommit", "NONE")
        with pytest.raises(ZeroDivisionError) as caught:
            driven.poll()
        assert caught.value.__notes__ == ["raised by the callback of commit_async()"]


def test_M4_auto_commit_covers_what_was_returned_once_the_application_polls_again() -> None:
    with ScriptedConsumer(enable_auto_commit=True) as driven:
        driven.stable(0)
        driven.fetched(10, 11)
        assert len(driven.poll()) == 2
        driven.advance(5_000)
        assert "OffsetCommit" not in driven.sent()
        driven.poll()
        driven.advance(5_000)
        request = driven.waiting("OffsetCommit").request
        assert isinstance(request, OffsetCommitRequest)
        assert request.offsets == {FIRST: OffsetAndMetadata(12)}


def test_M4_a_commit_covers_nothing_that_was_fetched_and_not_returned() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.fetched(10, 11)
        commit = driven.begin(lambda consumer: consumer.commit())
        request = driven.waiting("OffsetCommit").request
        assert isinstance(request, OffsetCommitRequest)
        assert request.offsets == {FIRST: OffsetAndMetadata(10)}
        driven.error("OffsetCommit", "NONE")
        commit.outcome()


def test_M5_records_do_not_put_the_commit_off() -> None:
    with ScriptedConsumer(enable_auto_commit=True, auto_commit_interval_ms=1_000) as driven:
        driven.stable(0)
        for offset in range(10, 16):
            driven.fetched(offset)
            assert len(driven.poll()) == 1
            driven.advance(300)
        assert "OffsetCommit" in driven.sent()


def test_O4_what_was_fetched_before_a_pause_is_returned_after_it() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.fetched(10, 11)
        driven.call(lambda consumer: consumer.pause([FIRST]))
        assert not driven.poll()
        driven.call(lambda consumer: consumer.resume([FIRST]))
        assert [record.offset for record in driven.poll()] == [10, 11]


def test_M4_a_commit_during_the_commit_before_a_rebalance_does_not_wait_for_a_poll_that_cannot_come() -> None:
    with ScriptedConsumer(enable_auto_commit=True) as driven:
        driven.stable(0)
        driven.fetched(10, 11)
        driven.poll()  # two records are with the application
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        commit = driven.begin(lambda consumer: consumer.commit())
        driven.error("OffsetCommit", "NONE")
        commit.outcome()


def test_committed_says_what_the_group_has() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        assert driven.ask(lambda consumer: consumer.committed(partitions(0, 3))) == {
            FIRST: OffsetAndMetadata(10),
            partitions(3)[0]: OffsetAndMetadata(10),
        }


def test_M7_a_commit_for_what_is_not_owned_is_sent() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        commit = driven.begin(lambda consumer: consumer.commit({partitions(3)[0]: 5}))
        driven.error("OffsetCommit", "NONE")
        commit.outcome()


# Choosing what to read
# ---------------------------------------------------------------------------------------------------


def test_D8_assigned_by_hand_there_is_no_group() -> None:
    with ScriptedConsumer() as driven:
        driven.call(lambda consumer: consumer.assign(partitions(0, 1)))
        assert driven.ask(lambda consumer: consumer.assignment()) == set(partitions(0, 1))
        driven.call(lambda consumer: consumer.seek(FIRST, 3))
        driven.poll()
        driven.found()
        driven.fetched(3, partition=0)
        assert [record.offset for record in driven.poll()] == [3]
        driven.advance(10_000)
        assert driven.sent() == ["FindCoordinator"]
        with pytest.raises(IllegalStateError, match=r"unsubscribe\(\) before choosing topics"):
            driven.subscribe()
        driven.call(lambda consumer: consumer.unsubscribe())
        driven.subscribe()


def test_what_was_assigned_is_there_when_assign_returns() -> None:
    with ScriptedConsumer() as driven:

        def assign_and_look(consumer: Consumer) -> set[TopicPartition]:
            consumer.assign(partitions(0, 1))
            consumer.seek(FIRST, 7)
            return consumer.assignment()

        assert driven.call(assign_and_look) == set(partitions(0, 1))


def test_what_was_subscribed_to_is_said_at_once() -> None:
    def subscribe_and_look(consumer: Consumer) -> set[str]:
        consumer.subscribe([TOPIC, "others"])
        return consumer.subscription()

    with ScriptedConsumer() as driven:
        assert driven.call(subscribe_and_look) == {TOPIC, "others"}


@pytest.mark.parametrize("group", [None, "billing"])
def test_O6_a_position_that_was_set_needs_no_reset_policy(group: str | None) -> None:
    def assign_and_seek(consumer: Consumer) -> None:
        consumer.assign([FIRST])
        consumer.seek(FIRST, 3)

    with ScriptedConsumer(group_id=group, auto_offset_reset="none") as driven:
        driven.call(assign_and_seek)
        driven.poll()
        driven.fetched(3)
        assert [record.offset for record in driven.poll()] == [3]


def test_O6_without_a_position_the_application_is_told_when_it_asks_for_records_or_for_the_position() -> None:
    with ScriptedConsumer(group_id=None, auto_offset_reset="none") as driven:
        driven.call(lambda consumer: consumer.assign([FIRST]))
        driven.settle()
        for _ in range(2):
            poll = driven.begin_poll(1_000)
            with pytest.raises(NoOffsetForPartitionError, match=r"orders-0.*seek\(\)"):
                poll.outcome()
        with pytest.raises(NoOffsetForPartitionError):
            driven.call(lambda consumer: consumer.position(FIRST))


def test_without_a_group_nothing_can_be_subscribed() -> None:
    with ScriptedConsumer(group_id=None) as driven, pytest.raises(ConfigError, match="needs a group_id"):
        driven.subscribe()


def test_one_topic_is_a_list_too() -> None:
    with ScriptedConsumer() as driven, pytest.raises(TypeError, match=r"\['orders'\]"):
        driven.call(lambda consumer: consumer.subscribe("orders"))


def test_unsubscribe_tells_the_listener_leaves_and_forgets() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.call(lambda consumer: consumer.unsubscribe())
        assert driven.callbacks() == [("revoked", partitions(0))]
        assert driven.sent() == ["LeaveGroup"]
        assert driven.ask(lambda consumer: consumer.assignment()) == set()
        assert driven.ask(lambda consumer: consumer.subscription()) == set()


def test_position_of_a_partition_that_is_not_assigned() -> None:
    with ScriptedConsumer() as driven, pytest.raises(IllegalStateError, match="not assigned"):
        driven.call(lambda consumer: consumer.position(FIRST))


def test_position_ends_with_its_time() -> None:
    with ScriptedConsumer() as driven:
        driven.transport.answer_always(OffsetFetchRequest, lambda _: None)
        driven.stable(0)
        position = driven.begin(lambda consumer: consumer.position(FIRST, timeout_ms=700))
        driven.advance(700)
        with pytest.raises(KafkaTimeoutError, match="not known after 700 ms"):
            position.outcome()


def test_settings_that_do_not_exist_are_named() -> None:
    with RunToIdleRuntime() as runtime, pytest.raises(ConfigError, match="did you mean session_timeout_ms"):
        Consumer(
            runtime=runtime,
            transport=MemoryTransport(runtime),
            decoder=PLAIN_DECODER,
            sesion_timeout_ms=1,  # type: ignore[call-arg]
        )


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("enable_auto_commit", "no"),
        ("group_id", 5),
        ("client_id", None),
        ("group_instance_id", 5),
        ("session_timeout_ms", 5.5),
        ("partition_assignment_strategy", (["range"],)),
    ],
)
def test_settings_of_the_wrong_kind_are_named(setting: str, value: object) -> None:
    with RunToIdleRuntime() as runtime, pytest.raises(ConfigError, match=f"^{setting}.*: "):
        Consumer(
            runtime=runtime,
            transport=MemoryTransport(runtime),
            decoder=PLAIN_DECODER,
            **{setting: value},  # type: ignore[arg-type]
        )


def test_settings_that_are_hardly_meant_are_doubted(caplog: pytest.LogCaptureFixture) -> None:
    with ScriptedConsumer(max_poll_interval_ms=10_000, session_timeout_ms=45_000, fetch_max_wait_ms=40_000):
        pass
    said = [record.getMessage() for record in caplog.records]
    assert [text[:45] for text in said] == [
        "[groupspec, group billing] max_poll_interval_"[:45],
        "[groupspec, group billing] fetch_max_wait_ms=40000"[:45],
    ]
    assert "is below session_timeout_ms=45000" in said[0]


@pytest.mark.parametrize("servers", ["", "nowhere", ["localhost:port"], 12])
def test_bootstrap_servers_that_are_none(servers: str) -> None:
    with pytest.raises(ConfigError, match="bootstrap_servers"):
        Consumer(bootstrap_servers=servers, group_id="billing")


def test_a_member_that_keeps_its_partitions_joins_anew_though_there_are_always_records_at_hand() -> None:
    with ScriptedConsumer(cooperative=True, enable_auto_commit=True, max_poll_records=1) as driven:
        driven.stable(0)
        driven.fetched(*range(10, 20))
        assert driven.poll()
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        driven.advance(QUIET_MS)
        assert driven.poll()
        driven.error("OffsetCommit", "NONE")
        driven.advance(QUIET_MS)
        assert driven.poll()
        assert driven.is_waiting("JoinGroup")


def test_records_are_not_lost_when_the_fetch_of_the_next_ones_cannot_be_sent() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.fetched(10)
        send = driven.transport.send

        def broken(request: SendRequest, now_ms: int) -> None:
            driven.transport.send = send  # type: ignore[method-assign]
            raise OSError("the network is gone")

        driven.transport.send = broken  # type: ignore[method-assign]
        assert [record.offset for record in driven.poll()] == [10]
        with pytest.raises(OSError, match="the network is gone"):
            driven.poll()
