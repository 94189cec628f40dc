"""A harness may do what it likes: the kit notices, says what it was, and nothing is left running."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.wire.harness_process import HarnessProcess
from groupspec.conformance.wire.log import Log, now_us
from groupspec.conformance.wire.tests import fake_harnesses as fake
from groupspec.conformance.wire.tests.processes import is_gone

pytestmark = pytest.mark.realtime
WITHIN_S = 20.0


def run_until_ended(command: Sequence[str]) -> tuple[str, Log]:
    """Starts a harness and waits until it has ended; how it ended, and the log."""
    log = Log()
    with HarnessProcess(command, log) as process:
        log.wait(lambda entry: entry.kind == "client_ended", WITHIN_S)
        pid = process.pid
        assert log.ended is not None, "the harness went on"
    assert is_gone(pid)
    return log.ended, log


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (fake.CRASHES_AT_ONCE, "ended with exit code 3"),
        (fake.FLOODS, "not an event"),
        (fake.FLOODS_WITH_EVENTS, "flooded"),
        (fake.ENDLESS_LINE, "a line of more than"),
        (fake.BROKEN_JSON, "not an event"),
        (fake.UNKNOWN_EVENT, "partitions_stolen"),
        (fake.NOT_UTF8, "not an event"),
        (fake.SAYS_IT_IS_UNSUPPORTED, "ended with exit code 127"),
    ],
    ids=["crash", "flood", "events", "endless-line", "broken-json", "unknown-event", "not-utf8", "exit-127"],
)
def test_a_harness_that_misbehaves_is_ended_with_a_reason(command: Sequence[str], reason: str) -> None:
    ended, _ = run_until_ended(command)
    assert reason in ended


def test_the_end_of_stderr_is_kept() -> None:
    log = Log()
    with HarnessProcess(fake.CRASHES_AT_ONCE, log) as process:
        log.wait(lambda entry: entry.kind == "client_ended", WITHIN_S)
        assert "no such module" in process.stderr_tail()


def test_a_harness_that_hangs_is_killed_with_everything_it_started() -> None:
    log = Log()
    with HarnessProcess(fake.LEAVES_A_CHILD, log) as process:
        hello = log.wait(lambda entry: entry.kind == "startup_complete", WITHIN_S)
        assert hello is not None
        assert isinstance(hello.event, protocol.StartupComplete)
        child = int(hello.event.version)
        assert not log.ended
    assert is_gone(process.pid)
    assert is_gone(child)


def test_commands_go_in_and_events_come_out_in_order() -> None:
    log = Log()
    with HarnessProcess(fake.DOES_NOTHING, log) as process:
        for command in (protocol.Subscribe(topics=["orders"]), protocol.StopPolling(), protocol.Commit()):
            process.send(command)
        assert log.wait(lambda e: getattr(e.event, "command", "") == "commit", WITHIN_S) is not None
    said = [getattr(entry.event, "command", "") for entry in log.in_order() if entry.source == "client"]
    assert said == ["", "subscribe", "stop_polling", "commit"]


def test_waiting_ends_when_the_client_does() -> None:
    log = Log()
    begun = time.monotonic()
    with HarnessProcess(fake.DIES_WHEN_POLLED, log) as process:
        process.send(protocol.Poll(poll_ms=5))
        assert log.wait(lambda entry: entry.kind == "partitions_assigned", 60.0) is None
    assert time.monotonic() - begun < WITHIN_S
    assert log.ended == "the client's process ended with exit code 9"


def test_a_stamp_from_the_future_or_from_before_the_start_is_not_believed() -> None:
    for stamp in (1, now_us() + 10**12):
        source = fake.HELLO + f'say(name="startup_complete", client="fake", version="1", at_us={stamp})'
        log = Log()
        before = now_us()
        with HarnessProcess(fake.python(source), log):
            hello = log.wait(lambda entry: entry.kind == "startup_complete", WITHIN_S)
            assert hello is not None
        assert before <= hello.at_us <= now_us()


def test_entries_are_put_in_order_by_when_they_happened() -> None:
    log = Log()
    log.append(Entry(2, "wire", "request"))
    log.append(Entry(1, "client", "partitions_revoked"))
    assert [entry.kind for entry in log.in_order()] == ["partitions_revoked", "request"]
