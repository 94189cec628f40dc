"""What every harness in Python shares: the loop over commands, and the events.

A harness derives from `Harness` and says how its client is made, polled and closed; `main` runs it as a program. The
application's thread is the main thread: it polls and carries out commands, one at a time; a second thread reads stdin.
What the client's libraries print goes to stderr, because stdout belongs to the protocol. When stdin ends the kit is
gone, and so is the harness.
"""

from __future__ import annotations

import math
import os
import queue
import sys
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol

import msgspec

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.harness_protocol import CallbackName, ConsumedRange, Event, Partition


class AnyPartition(Protocol):
    """A partition as any client has it."""

    @property
    def topic(self) -> str: ...  # noqa: D102
    @property
    def partition(self) -> int: ...  # noqa: D102


SOUGHT_IN_CALLBACK: Final = 1
"""Where a partition is read from of which the kit has a callback set the position."""
PAUSE_AFTER_ERROR_S: Final = 0.05
"""After a poll that raised: one that always raises at once would flood the kit."""


class Unsupported(Exception):
    """The client does not offer what a command asks for: the process ends with exit code 127."""


class ListenerFailure(Exception):
    """What a callback raises because the kit wants it to."""


class ToFillIn(Exception):
    """What a method of a skeleton raises until it is filled in: the kit says what it is to do, and where it stands."""


class Sink(Protocol):
    """Where events go."""

    def say(self, event: Event) -> None:
        """An event, which happens now; from any thread."""


class Output:
    """The only writer to the protocol's stdout; any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._descriptor = os.dup(1)
        os.dup2(2, 1)

    def say(self, event: Event) -> None:
        """One line, stamped now."""
        with self._lock:
            line = protocol.encode(stamped(event)) + b"\n"
            while line:
                line = line[os.write(self._descriptor, line) :]


def stamped(event: Event) -> Event:
    """The event with the time of now."""
    return msgspec.structs.replace(event, at_us=time.monotonic_ns() // 1000)


def kafka_settings(command: protocol.Configure) -> dict[str, Any]:
    """Kafka's settings in a command, as keyword arguments; not the assignor, which each client has its own of."""
    settings = msgspec.structs.asdict(command)
    del settings["rebalance"], settings["callback_ms"], settings["in_callback"]
    settings["bootstrap_servers"] = settings.pop("bootstrap")
    settings["enable_auto_commit"] = settings.pop("auto_commit")
    for name, value in settings.pop("more").items():
        settings[name.replace(".", "_")] = int(value) if value.isdecimal() else value
    return settings


class Harness(ABC):
    """One client behind the protocol.

    Attributes:
        client: The name of its distribution.
        features: What it offers, of `protocol.FEATURES`.
        not_driven: What it offers besides, and this harness does not drive.
        fixed: Settings of `configure` that the client has for good: see `protocol.FIXABLE`.
        consumer: The client's consumer; `configure` makes it.
        woken_by: What a wakeup ends a call with.
    """

    client: str
    features: tuple[str, ...]
    not_driven: tuple[str, ...] = ()
    fixed: Mapping[str, protocol.Setting] = {}
    consumer: Any
    woken_by: tuple[type[BaseException], ...] = ()

    def __init__(self, output: Sink | None = None) -> None:
        self.output = output or Output()
        self.callback_s = 0.0
        self.in_callback: Mapping[str, str] = {}
        self._application_thread = threading.get_ident()
        self._call = ""
        self._poll_ms = 0
        self._polls_left: float = 0
        self._last_error: protocol.ErrorRaised | None = None

    # What each client does its own way -------------------------------------------------------------------------------

    def version(self) -> str:
        """The client's version; "unknown" of what is not installed as a distribution."""
        from importlib.metadata import PackageNotFoundError, version  # only here: it takes as long as some clients

        try:
            return version(self.client)
        except PackageNotFoundError:
            return "unknown"

    def engine(self) -> str:
        """Name and version of what the client wraps, such as librdkafka 2.16.0; "" if it is its own."""
        return ""

    @abstractmethod
    def configure(self, command: protocol.Configure) -> None:
        """Make the consumer. Raises Unsupported."""

    @abstractmethod
    def subscribe(self, topics: list[str]) -> None:
        """Subscribe, with a listener that calls `assigned`, `revoked` and `lost`."""

    def subscribe_to_pattern(self, pattern: str) -> None:
        """The same to all topics that match a regular expression."""
        raise Unsupported("the command subscribe with a pattern")

    def assign(self, partitions: Sequence[Partition]) -> None:
        """Read these, without a subscription."""
        raise Unsupported("the command assign")

    @abstractmethod
    def poll(self, poll_ms: int) -> Mapping[AnyPartition, Sequence[int]]:
        """One poll; the offsets of the records that it returned."""

    def commit(self) -> Mapping[AnyPartition, int]:
        """Commit the positions and wait for it; what was committed."""
        positions = {partition: self.consumer.position(partition) for partition in self.consumer.assignment()}
        self.consumer.commit()
        return {partition: offset for partition, offset in positions.items() if offset is not None}

    def seek(self, partition: Partition, offset: int) -> None:
        """Read a partition from this offset on."""
        raise Unsupported("the command seek")

    def pause(self, partitions: Sequence[Partition]) -> None:
        """Return no records of these."""
        raise Unsupported("the command pause")

    def resume(self, partitions: Sequence[Partition]) -> None:
        """Return records of these again."""
        raise Unsupported("the command resume")

    def wakeup(self) -> None:
        """End the call in progress, or the next one; called by another thread."""
        raise Unsupported("the command wakeup")

    def assignment(self) -> Iterable[AnyPartition] | None:
        """What the client says that it owns; None where that cannot be asked inside a callback."""
        owned: Iterable[AnyPartition] = self.consumer.assignment()
        return owned

    def unsubscribe(self) -> None:
        """Give up the subscription."""
        self.consumer.unsubscribe()

    def close(self) -> None:
        """Close the client."""
        self.consumer.close()

    def close_within(self, timeout_ms: int) -> None:
        """The same, within this time."""
        raise Unsupported("the command close with a time limit")

    # Callbacks -------------------------------------------------------------------------------------------------------

    def assigned(self, partitions: Iterable[AnyPartition]) -> None:
        """To be called by a blocking listener; takes as long as the kit wants a callback to take."""
        self._whole_callback("partitions_assigned", partitions)

    def revoked(self, partitions: Iterable[AnyPartition]) -> None:
        """The same."""
        self._whole_callback("partitions_revoked", partitions)

    def lost(self, partitions: Iterable[AnyPartition]) -> None:
        """The same."""
        self._whole_callback("partitions_lost", partitions)

    def _whole_callback(self, name: CallbackName, partitions: Iterable[AnyPartition]) -> None:
        self.callback_begins(name, partitions)
        time.sleep(self.callback_s)
        if self.does_in(name, partitions, "commit"):
            self.tell_commit()
        if self.does_in(name, partitions, "seek"):
            for partition in _plain(partitions):
                self.seek(partition, SOUGHT_IN_CALLBACK)
        if self.does_in(name, partitions, "pause"):
            self.pause(_plain(partitions))
        self.callback_ends(name, raises=self.does_in(name, partitions, "raise"))

    def does_in(self, name: CallbackName, partitions: Iterable[AnyPartition], what: str) -> bool:
        """Whether this callback is to do that before it returns."""
        return bool(list(partitions)) and self.in_callback.get(name) == what

    def callback_begins(self, name: CallbackName, partitions: Iterable[AnyPartition]) -> None:
        """The listener has been called."""
        here = threading.get_ident() == self._application_thread and self._call in ("poll", "unsubscribe", "close")
        promised = "listener_in_poll" in self.features
        owned = self.assignment()
        self.output.say(
            protocol.CALLBACKS[name](
                partitions=_plain(partitions),
                application_thread=here if promised else None,
                owned=None if owned is None else _plain(owned),
            )
        )

    def callback_ends(self, name: CallbackName, *, raises: bool = False) -> None:
        """The listener returns, or raises, the first time that it is to. Raises ListenerFailure."""
        self.output.say(protocol.CallbackReturned(callback=name, raised=raises))
        if raises:
            self.in_callback = {}
            raise ListenerFailure(f"{name} raises this, as the kit asked")

    def error(self, error: BaseException, call: str | None = None) -> None:
        """Something was raised, or reported by the client."""
        where = self._call if call is None else call
        name, message = type(error).__name__, str(error)[:500]
        woken = isinstance(error, self.woken_by)
        line = self._own_line(error)
        told = protocol.ErrorRaised(error=name, message=message, call=where, harness_line=line, woken=woken)
        if told != self._last_error and not isinstance(error, ToFillIn):  # stderr keeps its last lines only
            traceback.print_exception(error)
        self._last_error = told
        self.output.say(told)

    def note(self, text: str) -> None:
        """What is no error, and worth reading where a run is looked into: to stderr, where the client's log is."""
        print(text, file=sys.stderr)

    def _own_line(self, error: BaseException) -> str:
        """The line of the harness that raised it, as FILE:LINE; "" if the client did.

        An error of Python's own, raised last in a module of the harness: what the client calls an error has a class of
        the client's, also where the harness raises it; and what the system refuses is nobody's mistake.
        """
        frames = list(traceback.walk_tb(error.__traceback__))
        pythons = type(error).__module__ == "builtins" and not isinstance(error, OSError)
        if not frames or not (pythons or isinstance(error, ToFillIn)):
            return ""
        frame, line = frames[-1]
        own = {each.__module__ for each in type(self).__mro__} - {"builtins", "abc"}
        return f"{Path(frame.f_code.co_filename).name}:{line}" if frame.f_globals.get("__name__") in own else ""

    # The loop --------------------------------------------------------------------------------------------------------

    def commands(self) -> Iterator[protocol.AnyCommand]:
        """Those of stdin, to its end. A line that is no command is the kit's mistake: say it and stop."""
        for line in sys.stdin.buffer:
            try:
                yield protocol.decode_command(line)
            except protocol.BrokenLine as problem:
                print(f"harness: not a command: {problem}", file=sys.stderr)
                return

    def _read_commands(self, commands: queue.Queue[protocol.AnyCommand | None]) -> None:
        for command in self.commands():
            if isinstance(command, protocol.Wakeup):
                self._wake()
            else:
                commands.put(command)
        commands.put(None)
        # The application's thread may be blocked in a call for ever; the process must not outlive the kit.
        time.sleep(5.0)
        os._exit(1)

    def _wake(self) -> None:
        try:
            self.wakeup()
        except Unsupported as reason:
            end_unsupported(reason)
        self.output.say(protocol.CommandDone(command="wakeup"))

    def run(self) -> int:
        """Carries out commands until close or the end of stdin; returns the exit code."""
        commands: queue.Queue[protocol.AnyCommand | None] = queue.Queue()
        threading.Thread(target=self._read_commands, args=(commands,), daemon=True, name="commands").start()
        self.output.say(
            protocol.StartupComplete(
                client=self.client,
                version=self.version(),
                engine=self.engine(),
                features=list(self.features),
                not_driven=list(self.not_driven),
                fixed=dict(self.fixed),
            )
        )
        while True:
            if self._polls_left and commands.empty():
                self._poll_once()
                continue
            command = commands.get()
            if command is None:
                return 1
            if self._carry_out(command):
                return 0

    def _carry_out(self, command: protocol.AnyCommand) -> bool:
        """One command; True when it was the last."""
        name = protocol.name_of(type(command))
        self._call = name
        try:
            match command:
                case protocol.Close():
                    self._close(command.timeout_ms)
                    return True
                case protocol.Configure():
                    self.callback_s, self.in_callback = command.callback_ms / 1000, command.in_callback
                    self.configure(command)
                case protocol.Subscribe() if command.pattern:
                    self.subscribe_to_pattern(command.pattern)
                case protocol.Subscribe():
                    self.subscribe(command.topics)
                case protocol.Assign():
                    self.assign(command.partitions)
                case protocol.Poll():
                    self._poll_ms, self._polls_left = command.poll_ms, command.times or math.inf
                case protocol.Commit():
                    self.tell_commit()
                case protocol.Seek():
                    self.seek(Partition(command.topic, command.partition), command.offset)
                case protocol.Pause():
                    self.pause(command.partitions)
                case protocol.Resume():
                    self.resume(command.partitions)
                case protocol.StopPolling():
                    self._stop_polling()
                case protocol.Unsubscribe():
                    self._stop_polling()
                    self.unsubscribe()
        except Unsupported:
            raise
        except Exception as problem:
            self.error(problem, name)
        finally:
            self._call = ""
        self.output.say(protocol.CommandDone(command=name))
        return False

    def _stop_polling(self) -> None:
        self._polls_left = 0

    def _poll_once(self) -> None:
        self._call = "poll"
        self.output.say(protocol.PollStarted(poll_ms=self._poll_ms))
        begun = time.monotonic()
        consumed: list[ConsumedRange] = []
        pause_s = 0.0
        try:
            records = self.poll(self._poll_ms)
            _require_mapping(records, "poll")
            consumed = _ranges(records)
        except Exception as problem:
            self.error(problem, "poll")
            pause_s = PAUSE_AFTER_ERROR_S
        elapsed_ms = _ms_since(begun)
        self._call = ""
        count = sum(each.count for each in consumed)
        if count:
            self.output.say(protocol.RecordsConsumed(count=count, partitions=consumed))
        self.output.say(protocol.PollReturned(elapsed_ms=elapsed_ms, count=count))
        self._polls_left -= 1
        time.sleep(pause_s)

    def tell_commit(self) -> None:
        """Commit the positions, and tell the outcome."""
        try:
            offsets = self.commit()
        except ToFillIn:
            raise
        except Exception as problem:
            self.commit_failed(problem)
            return
        self.committed(offsets)

    def commit_failed(self, problem: Exception) -> None:
        """The outcome of a commit that raised."""
        if isinstance(problem, self.woken_by):
            self.error(problem)
        reason = f"{type(problem).__name__}: {problem}"[:500]
        self.output.say(protocol.OffsetsCommitted(success=False, error=reason))

    def committed(self, offsets: Mapping[AnyPartition, int]) -> None:
        """The outcome of one that succeeded."""
        _require_mapping(offsets, "commit")
        committed = [
            protocol.CommittedOffset(partition.topic, partition.partition, offset)
            for partition, offset in sorted(offsets.items(), key=_by_name)
        ]
        self.output.say(protocol.OffsetsCommitted(success=True, offsets=committed))

    def _close(self, timeout_ms: int | None) -> None:
        self.output.say(protocol.ShutdownRequested())
        begun = time.monotonic()
        try:
            if timeout_ms is None:
                self.close()
            else:
                self.close_within(timeout_ms)
        except Unsupported:
            raise
        except Exception as problem:
            self.error(problem, "close")
        self.output.say(protocol.ShutdownComplete(elapsed_ms=_ms_since(begun)))


class Listener:
    """A blocking listener with Kafka's methods, for clients in whose terms that is one."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness

    def on_partitions_assigned(self, partitions: Iterable[AnyPartition]) -> None:
        """These are new."""
        self._harness.assigned(partitions)

    def on_partitions_revoked(self, partitions: Iterable[AnyPartition]) -> None:
        """These will be taken away."""
        self._harness.revoked(partitions)

    def on_partitions_lost(self, partitions: Iterable[AnyPartition]) -> None:
        """These are gone."""
        self._harness.lost(partitions)


def _ms_since(begun: float) -> int:
    return round((time.monotonic() - begun) * 1000)


def _require_mapping(returned: object, call: str) -> None:
    if not isinstance(returned, Mapping):
        raise TypeError(f"{call}() of the harness returned {returned!r}, not offsets by partition")


def _plain(partitions: Iterable[AnyPartition]) -> list[Partition]:
    return sorted(Partition(each.topic, each.partition) for each in partitions)


def _by_name(item: tuple[AnyPartition, object]) -> tuple[str, int]:
    return item[0].topic, item[0].partition


def _ranges(records: Mapping[AnyPartition, Sequence[int]]) -> list[ConsumedRange]:
    return [
        ConsumedRange(each.topic, each.partition, len(offsets), min(offsets), max(offsets))
        for each, offsets in sorted(records.items(), key=_by_name)
        if offsets
    ]


def end_unsupported(reason: Unsupported) -> NoReturn:
    """End the process: the client does not offer what a command asks for."""
    print(f"harness: unsupported: {reason}", file=sys.stderr, flush=True)
    os._exit(protocol.EXIT_UNSUPPORTED)


def main(harness: type[Harness]) -> None:
    """Runs a harness as a program. What it raises ends the process: exit code 1, and the traceback on stderr."""
    try:
        code = harness().run()
    except Unsupported as reason:
        end_unsupported(reason)
    except Exception:
        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    # Clients leave threads behind that would hold the process; everything has been said.
    os._exit(code)
