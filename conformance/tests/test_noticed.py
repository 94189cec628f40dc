"""Mutants against the general checks: the first that notices is told, a broken mutant is no success, all is counted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from groupspec.conformance import cli, general_checks, noticed
from groupspec.conformance.commands import _test_mutants
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK, EXIT_USAGE
from groupspec.conformance.general_checks import SIMULATED, Check, Step, Volume
from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.mutation.catalogue.unnoticed import UNNOTICED
from groupspec.conformance.mutation.guards import Crashed
from groupspec.conformance.mutation.mutant import Method, instead
from groupspec.conformance.schedules.outcomes import Outcomes
from groupspec.impl.core.commits import Commits

TEN = partial(general_checks._schedules, Volume(schedules=10), "background")
QUIET: dict[str, Check] = {"nothing": lambda _: ""}
SCHEDULES: dict[str, Check] = {"schedules": TEN}
ANSWERS: dict[str, str] = {}


@pytest.fixture
def broken() -> Iterator[str]:
    """A mutant whose own code goes wrong."""

    def wrong(_: Method, *__: object) -> object:
        raise TypeError("too many arguments")

    instead("X-broken", "M4", Commits.progress, wrong, "It does nothing but fail.")
    yield "X-broken"
    del MUTANTS["X-broken"]


def test_the_first_check_that_notices_is_told_and_nothing_is_left_of_the_mutant() -> None:
    found = list(noticed.tried(["BUG-38", "BUG-38"], QUIET | SCHEDULES))
    assert [(trial.noticed_by, trial.is_noticed) for trial in found] == [("schedules", True)] * 2
    assert re.match(r"schedule \d+: AssertionError: closed, and .* were never revoked", found[0].how)
    assert TEN(lambda: None) == ""


def test_what_no_check_notices_is_noticed_by_the_wire_kit_or_not_at_all() -> None:
    unnoticed, on_the_wire = noticed.tried(["BUG-39", "BUG-38"], QUIET)
    assert (unnoticed.noticed_by, unnoticed.is_noticed) == ("", False)
    assert (on_the_wire.noticed_by, on_the_wire.wire) == ("", ("close-while-stable",))
    assert on_the_wire.is_noticed


def test_a_mutant_that_is_broken_itself_is_told_so(broken: str) -> None:
    (trial,) = noticed.tried([broken], SCHEDULES)
    assert not trial.is_noticed
    assert "the mutant itself is broken: TypeError" in trial.how


def _goes_wrong(_: Step) -> str:
    """As a check does that was given what it does not expect."""
    return ANSWERS["no such answer"]


def _never_ends(_: Step) -> str:
    while True:
        pass


def _is_blocked(_: Step) -> str:
    Event().wait()
    return ""


def test_a_check_that_goes_wrong_itself_has_noticed_nothing_and_the_next_one_may() -> None:
    wrong: dict[str, Check] = {"wrong": _goes_wrong}
    alone, with_another = (next(noticed.tried(["BUG-38"], chosen)) for chosen in (wrong, wrong | SCHEDULES))
    assert (alone.noticed_by, alone.ending) == ("", "crashed")
    assert alone.how == "wrong: the check itself goes wrong: KeyError: 'no such answer'"
    assert (with_another.noticed_by, with_another.ending) == ("schedules", "noticed")


def test_a_schedule_in_which_the_check_goes_wrong_is_none_that_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next ones are run."""

    def wrong(_: object) -> object:
        return ANSWERS["no such answer"]

    with monkeypatch.context() as changed:
        changed.setattr(Outcomes, "is_woken", wrong)
        with pytest.raises(Crashed, match=r"schedule \d: KeyError"):
            general_checks._schedules(Volume(schedules=3), "background", lambda: None)


@pytest.mark.parametrize(
    ("check", "ending", "told"),
    [
        (_never_ends, "hangs", "NEVER ENDS"),
        (_is_blocked, "hangs", "NEVER ENDS"),
        (lambda step: "".join(iter(lambda: step() or "", None)), "cut off", "CUT OFF"),
    ],
    ids=["a loop", "blocked", "too much"],
)
def test_a_check_that_does_not_end_is_told_as_such(
    monkeypatch: pytest.MonkeyPatch, check: Check, ending: str, told: str
) -> None:
    monkeypatch.setattr(noticed, "STEP_S", 0.5)
    monkeypatch.setattr(noticed, "BLOCKED_S", 2.0)
    monkeypatch.setattr(noticed, "CHECK_S", 1)
    monkeypatch.setattr(noticed, "UNNOTICED", {"BUG-39": "Nobody looks."})
    (trial,) = noticed.tried(["BUG-39"], {"it": check} | QUIET)
    assert (trial.noticed_by, trial.ending, trial.reason) == ("", ending, "")
    assert trial.how.startswith(f"it: {told}")
    assert _test_mutants._line(trial).split()[1:3] == ["NOT", "KNOWN:"]


def test_several_at_a_time_say_the_same_in_the_same_order() -> None:
    identifiers = ["BUG-38", "BUG-39", "BUG-37", "BUG-40"]

    def told(jobs: int) -> list[tuple[str, str, str]]:
        return [(one.mutant, one.noticed_by, one.how) for one in noticed.tried(identifiers, SCHEDULES, jobs)]

    assert told(1) == told(3)
    assert [mutant for mutant, *_ in told(3)] == identifiers


def test_the_seed_is_the_first_number_and_the_volume_that_of_make_check() -> None:
    """Of both designs 1,000 schedules was less than what the reference itself is held against."""
    assert Volume().of("background") == general_checks.SCHEDULES["background"] == 4_000
    assert (Volume(7).of("heartbeat"), Volume().simulated) == (7, SIMULATED)
    (found,) = noticed.tried(["BUG-37"], {"it": partial(general_checks._schedules, Volume(10, seed=500), "background")})
    assert re.match(r"schedule 50\d: ", found.how)


def test_mutants_of_the_specification_and_of_the_kits_broker_are_no_mutants_of_the_reference() -> None:
    of_the_reference = noticed.of_the_reference()
    assert not any(one.of_spec for one in of_the_reference.values())
    assert "BUG-38" in of_the_reference
    assert "G5-immortal" not in of_the_reference


def test_the_command_counts_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(_test_mutants, "checks", lambda _: SCHEDULES)
    file = tmp_path / "mutants.json"
    assert cli.main(["test", "--mutants", "BUG-38", "--json", str(file)]) == EXIT_OK
    told = "1 of 1 mutants of the reference are noticed by a general check (100.0%), 0 with a reason are not"
    assert told in capsys.readouterr().out
    (trial,) = json.loads(file.read_text())["mutants"]
    assert (trial["mutant"], trial["noticed_by"], trial["is_noticed"]) == ("BUG-38", "schedules", True)
    monkeypatch.setattr(_test_mutants, "checks", lambda _: QUIET)
    assert cli.main(["test", "--mutants", "BUG-39"]) == EXIT_CONFORMANCE_FAILURE
    assert "NOT NOTICED" in capsys.readouterr().out
    assert cli.main(["test", "--mutants", "G5*"]) == EXIT_USAGE


def test_what_cannot_be_noticed_is_a_mutant_of_the_reference_and_has_a_reason() -> None:
    assert not UNNOTICED.keys() - noticed.of_the_reference().keys()
    assert all(reason.endswith(".") and len(reason.split()) > 5 for reason in UNNOTICED.values())


def test_a_reason_is_shown_where_nothing_notices_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_test_mutants, "checks", lambda _: QUIET)
    monkeypatch.setattr(noticed, "UNNOTICED", {"BUG-39": "Nobody looks.", "BUG-38": "The wire kit does."})
    assert cli.main(["test", "--mutants", "BUG-39"]) == EXIT_OK
    told = capsys.readouterr().out
    assert "not noticed, for a reason: Nobody looks." in told
    assert "NOT NOTICED" not in told
    assert "0 of 1 mutants of the reference are noticed by a general check (0.0%), 1 with a reason are not" in told
    assert cli.main(["test", "--mutants", "BUG-38"]) == EXIT_OK
    assert "reason: " not in capsys.readouterr().out
