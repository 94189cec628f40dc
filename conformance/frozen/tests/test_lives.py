"""A world runs the same whether it is noted or not; what is noted is what its members sent, were told and called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.frozen import scheduled, simulated
from groupspec.conformance.history.life import Life, load, save
from groupspec.conformance.schedules.campaign import play, strategy
from groupspec.conformance.schedules.further import draw
from groupspec.conformance.simulation.run import Driver, Outcome, Run
from groupspec.impl.core.messages import JoinGroupRequest
from groupspec.impl.scheduling import ScheduledRuntime, run
from groupspec.impl.scheduling import exploring as schedule
from groupspec.impl.scheduling.strategies import Strategy
from groupspec.impl.threads.designs import Design

pytestmark = pytest.mark.exhaustive

DESIGNS: tuple[Design, ...] = ("background", "heartbeat")
DRIVERS: tuple[Driver, ...] = ("core", *DESIGNS)


def said(life: Life, kind: str) -> list[str]:
    return [event.name for event in life.events if event.kind == kind]


@pytest.mark.parametrize("seed", [2, 7, 15])  # in the last one timers race
@pytest.mark.parametrize("design", DESIGNS)
def test_a_schedule_is_the_same_when_it_is_noted(design: Design, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run(play(draw(seed), design), strategy(seed))
    noted: list[schedule.Outcome] = []

    def keep(work: Callable[[ScheduledRuntime], None], way: Strategy) -> schedule.Outcome:
        noted.append(run(work, way))
        return noted[0]

    monkeypatch.setattr(scheduled, "run", keep)
    scheduled.life(seed, design)
    assert (noted[0].made, noted[0].trace) == (plain.made, plain.trace)


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_group_lives_the_same_life_when_it_is_noted(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Run(simulated.plan_of(4, driver), driver=driver).execute()
    noted: list[Outcome] = []
    execute = Run.execute

    def keep(self: Run) -> Outcome:
        noted.append(execute(self))
        return noted[0]

    monkeypatch.setattr(Run, "execute", keep)
    simulated.life(4, driver)
    assert noted[0].trace_text() == plain.trace_text()


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_life_has_all_that_happens_to_a_request(driver: Driver) -> None:
    life = simulated.life(4, driver)
    by_kind = {
        kind: {(event.member, event.number) for event in life.events if event.kind == kind}
        for kind in ("request", "answered", "response", "taken")
    }
    assert len(by_kind["request"]) > 100
    assert by_kind["taken"] <= by_kind["response"] <= by_kind["request"]
    assert by_kind["answered"] <= by_kind["request"]
    assert len(by_kind["answered"]) > 100
    assert {event.connection for event in life.events if event.kind == "request"} > {0, 1, 2}


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_life_has_what_the_application_does_and_is_told(driver: Driver) -> None:
    life = simulated.life(2, driver)
    callbacks = said(life, "callback")
    assert {"on_partitions_assigned", "on_partitions_revoked"} <= {*callbacks}
    assert len(said(life, "callback_ended")) in (len(callbacks), len(callbacks) - 1)
    assert {"poll", "resume"} <= {*said(life, "called")}
    assert [event.kind for event in life.events].count("records") >= 10
    assert life.events[-1].kind == "over"


def test_a_life_with_a_mutant_ends_with_what_its_world_says_of_it() -> None:
    assert scheduled.life(2, "background").header.judged == ("", "")
    error, told = scheduled.life(11, "background", "H3-not-fenced-off").header.judged
    assert (error, told) == ("AssertionError", "Heartbeat while JoinGroup is unanswered (rule H3)")


def test_a_life_is_kept_without_loss(tmp_path: Path) -> None:
    lives = [scheduled.life(2, "background"), scheduled.life(3, "heartbeat")]
    save(lives, tmp_path / "lives.ndjson.gz")
    assert load(tmp_path / "lives.ndjson.gz") == lives
    assert any(isinstance(event.message, JoinGroupRequest) for event in lives[0].events)


@pytest.mark.parametrize(
    "text", ['{"life":2,"world":"w","design":"core","seed":1}\n', '{"at_us":1,"kind":"over"}\n', "{}\n", "\xff"]
)
def test_what_is_no_life_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "lives.ndjson"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(UsageProblem, match="no recorded lives"):
        load(file)
