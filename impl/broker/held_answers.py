"""Group requests whose answers come when the coordinator has them: the asyncio side of `coordinators`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from itertools import count

from groupspec.impl.broker.coordinators import Answers, Coordinators
from groupspec.impl.coordinator.context import Caller, GroupRequest, GroupResponse, Handle
from groupspec.impl.runtime import Lock


class HeldAnswers:
    """Lives in one loop. The lock is held while a coordinator works, since scenarios move groups from other threads."""

    def __init__(self, coordinators: Coordinators, lock: Lock, now_ms: Callable[[], int]) -> None:
        self._coordinators = coordinators
        self._lock = lock
        self._now_ms = now_ms
        self._waiting: dict[Handle, asyncio.Future[GroupResponse]] = {}
        self._handles = count(1)
        self._changed = asyncio.Event()

    async def ask(self, request: GroupRequest, node: int, caller: Caller) -> GroupResponse:
        """The answer, however late; a connection that ends takes its waiting request along, and the group stays."""
        handle = next(self._handles)
        answered: asyncio.Future[GroupResponse] = asyncio.get_running_loop().create_future()
        self._waiting[handle] = answered
        try:
            with self._lock:
                answers = self._coordinators.ask(handle, request, node, caller, self._now_ms())
            self.deliver(answers)
            return await answered
        finally:
            del self._waiting[handle]

    def deliver(self, answers: Answers) -> None:
        """These answers are there; timers may have changed."""
        for handle, response in answers.items():
            future = self._waiting.get(handle)
            if future is not None and not future.done():
                future.set_result(response)
        self._changed.set()

    async def run_timers(self) -> None:
        """Let the coordinator's timers run when they are due, for ever."""
        while True:
            self._changed.clear()
            with self._lock:
                answers = self._coordinators.advance(self._now_ms())
                deadline_ms = self._coordinators.next_deadline_ms()
            if answers:
                self.deliver(answers)
            wait_s = None if deadline_ms is None else max(deadline_ms - self._now_ms(), 0) / 1_000
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), wait_s)
