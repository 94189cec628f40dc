"""Which parts of the core act, and which timers fire, depends on who drives it (KIP-62's two threads)."""

from __future__ import annotations

import pytest

from groupspec.impl.core.config import Config
from groupspec.impl.core.events import Fetch, InputEvent, Output, Poll, SendRequest, Start, Subscribe
from groupspec.impl.core.scope import Scope
from groupspec.impl.core.timers import HEARTBEAT_TIMERS, ORDER
from groupspec.impl.scripted import ScriptedCoordinator, ScriptedCore, api_of


class QuietCore(ScriptedCore):
    """A core with nobody who answers by himself."""

    def reactions(self, output: Output) -> list[InputEvent]:
        """None."""
        return []


def sent(outputs: list[Output]) -> set[str]:
    return {api_of(output.request) for output in outputs if isinstance(output, SendRequest)}


def joining() -> QuietCore:
    """The coordinator is about to be found; a join and metadata wait for whoever may send them."""
    core = QuietCore(Config(group_id="billing", client_id="member"), ScriptedCoordinator())
    core.do(Start())
    core.do(Subscribe(("orders",)))
    core.core.scope = Scope.HEARTBEAT
    core.do(Poll())
    return core


def found(core: QuietCore) -> list[Output]:
    lookup = core.newest("FindCoordinator")
    assert lookup is not None
    return core.do(core.answered(lookup))


@pytest.mark.parametrize(
    ("scope", "apis"),
    [
        (Scope.ALL, {"JoinGroup", "Metadata"}),
        (Scope.POLL, {"JoinGroup", "Metadata"}),
        (Scope.CALL, {"Metadata"}),
        (Scope.HEARTBEAT, set()),
    ],
)
def test_J7_only_a_poll_joins_and_the_heartbeat_thread_sends_nothing_of_the_callers(
    scope: Scope, apis: set[str]
) -> None:
    core = joining()
    core.core.scope = scope
    assert sent(found(core)) == apis


def test_what_one_scope_may_not_do_waits_for_the_next_that_may() -> None:
    core = joining()
    assert sent(found(core)) == set()
    core.core.scope = Scope.POLL
    assert sent(core.do(Fetch())) == {"JoinGroup", "Metadata"}


def test_the_timers_of_the_two_threads_are_all_timers_and_only_a_lookup_is_tried_again_by_both() -> None:
    assert set(Scope.HEARTBEAT.timers) | set(Scope.POLL.timers) == set(ORDER) == set(Scope.ALL.timers)
    assert set(Scope.HEARTBEAT.timers) & set(Scope.POLL.timers) == {"lookup_backoff"}
    assert Scope.CALL.timers == Scope.POLL.timers


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize("timer", ORDER)
def test_a_timer_fires_in_its_scopes_only(scope: Scope, timer: str) -> None:
    core = QuietCore(Config(group_id="billing", client_id="member"), ScriptedCoordinator())
    core.do(Start())
    core.core.timers.arm(timer, core.now_ms)
    core.core.scope = scope
    assert core.core.next_deadline_ms() == (core.now_ms if timer in scope.timers else None)
    core.timers_fire()
    fired = not core.core.timers.is_armed(timer) or (core.core.timers.deadline_ms(timer) or 0) > core.now_ms
    assert fired == (timer in scope.timers)


def test_the_timers_of_Heartbeat_are_those_of_kafka() -> None:
    assert set(HEARTBEAT_TIMERS) == {"heartbeat", "session", "poll_interval"}
