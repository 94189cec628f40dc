"""A member's process, seen from the test: what it said so far, waiting for something to be said, and ending it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Final

from groupspec.conformance.real_broker.tests.member_protocol import MemberSettings

END_LIMIT_S: Final = 30
Said = dict[str, object]


@dataclass(slots=True)
class Ledger:
    """Who read what, in the order in which the test heard of it; shared by all members of a test.

    readers   for each partition and offset, the members that read it, in that order
    distinct  how many records were read at least once
    """

    readers: dict[int, list[list[str]]] = field(default_factory=dict)
    distinct: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, member: str, said: Said) -> None:
        """Note one records_consumed."""
        ranges = said["partitions"]
        assert isinstance(ranges, list)
        with self._lock:
            for one in ranges:
                offsets = self.readers.setdefault(one["partition"], [])
                offsets.extend([] for _ in range(one["maxOffset"] + 1 - len(offsets)))
                for offset in range(one["minOffset"], one["maxOffset"] + 1):
                    self.distinct += not offsets[offset]
                    offsets[offset].append(member)

    def lost(self, ends: list[int]) -> list[tuple[int, int]]:
        """(partition, offset) of each record that nobody read; `ends` are the end offsets."""
        return [
            (partition, offset)
            for partition, end in enumerate(ends)
            for offset, readers in enumerate(self._padded(partition, end))
            if not readers
        ]

    def repeated(self) -> list[tuple[int, int, list[str]]]:
        """(partition, offset, readers) of each record that was read more than once."""
        return [
            (partition, offset, readers)
            for partition, offsets in self.readers.items()
            for offset, readers in enumerate(offsets)
            if len(readers) > 1
        ]

    def _padded(self, partition: int, end: int) -> list[list[str]]:
        known = self.readers.get(partition, [])
        return known + [[] for _ in range(end - len(known))]


class MemberProcess:
    """Starts the member; as a context manager it also sees to its end."""

    def __init__(self, settings: MemberSettings, ledger: Ledger) -> None:
        self.name = settings.client_id
        self._ledger = ledger
        self._said: list[Said] = []
        self._changed = threading.Condition()
        self._ended = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "groupspec.conformance.real_broker.tests.member", json.dumps(asdict(settings))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._errors: list[str] = []
        self._readers = [
            threading.Thread(target=self._read_events, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> MemberProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def said(self, name: str) -> list[Said]:
        """Every event of that name, so far."""
        with self._changed:
            return [one for one in self._said if one["name"] == name]

    def callbacks(self) -> list[tuple[str, list[int]]]:
        """The rebalance callbacks in their order: (assigned, revoked or lost; partitions)."""
        with self._changed:
            made = [one for one in self._said if str(one["name"]).startswith("partitions_")]
        return [(str(one["name"]).removeprefix("partitions_"), _numbers(one["partitions"])) for one in made]

    def consumed(self) -> int:
        """How many records it has read so far."""
        return sum(int(str(said["count"])) for said in self.said("records_consumed"))

    def owned(self) -> set[int]:
        """What its callbacks so far leave it with."""
        owned: set[int] = set()
        for kind, partitions in self.callbacks():
            owned = owned | set(partitions) if kind == "assigned" else owned - set(partitions)
        return owned

    def wait_until(self, condition: Callable[[MemberProcess], bool], limit_s: float, what: str) -> None:
        """Wait until what the member has said makes the condition true.

        Raises:
            AssertionError: the time is up, or the member has ended; with everything it said last.
        """
        with self._changed:
            reached = self._changed.wait_for(lambda: condition(self) or self._ended, limit_s)
        # A member that has ended may have said it with its last words.
        if not condition(self):
            why = "it has ended" if reached else f"not within {limit_s} s"
            raise AssertionError(f"{self.name}: {what}: {why}\n{self._last_words()}")

    def ask(self, command: str, answer: str, limit_s: float = END_LIMIT_S) -> Said:
        """Give a command and wait for the event that answers it."""
        before = len(self.said(answer))
        self._tell(command)
        self.wait_until(lambda member: len(member.said(answer)) > before, limit_s, f"answer {answer}")
        return self.said(answer)[-1]

    def positions(self) -> dict[int, int]:
        """Where its partitions stand."""
        positions = self.ask("positions", "positions")["positions"]
        assert isinstance(positions, dict)
        return {int(partition): offset for partition, offset in positions.items()}

    def close(self) -> None:
        """Let it close its consumer and end.

        Raises:
            AssertionError: it does not end well within the time.
        """
        self.ask("close", "shutdown_complete")
        code = self._process.wait(END_LIMIT_S)
        assert code == 0, f"{self.name} ended with {code}\n{self._last_words()}"
        self._join()

    def ends_by_itself(self, limit_s: float = END_LIMIT_S) -> str:
        """Wait until it has ended although nobody asked it to; what it wrote on stderr."""
        self._process.wait(limit_s)
        self._join()
        return "".join(self._errors)

    def kill(self) -> None:
        """SIGKILL: no commit, no LeaveGroup."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(END_LIMIT_S)
        self._join()

    def _tell(self, command: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"do": command}) + "\n")
            self._process.stdin.flush()

    def _read_events(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with contextlib.suppress(ValueError):  # a member that is killed may leave half a line
                said: Said = json.loads(line)
                if said["name"] == "records_consumed":
                    self._ledger.add(self.name, said)
                with self._changed:
                    self._said.append(said)
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors.append(line)

    def _join(self) -> None:
        for reader in self._readers:
            reader.join(END_LIMIT_S)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _last_words(self) -> str:
        with self._changed:
            events = "\n".join(json.dumps(one) for one in self._said[-8:])
        return f"last events:\n{events}\nstderr:\n{''.join(self._errors[-20:])}"


def _numbers(partitions: object) -> list[int]:
    assert isinstance(partitions, list)
    return [int(one) for one in partitions]
