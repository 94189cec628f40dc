"""Judging by some of the rules only: which these are, and which cases give an occasion for them.

A case that is run is told and judged whole, whatever is asked for: which rule an event is demanded by must not depend
on the rules that somebody wants to hear of. What is left out are verdicts, and cases that could give none of these.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from groupspec.conformance.checks.verdicts import rule_named
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.scenarios import FULL, all_cases
from groupspec.spec.rules import RULES

EVERY_RULE: Final = frozenset(RULES)


def chosen_rules(names: Collection[str] = (), *, must_only: bool = False) -> frozenset[str]:
    """The ids of these rules, given by id or name; without any, of all. `must_only`: without those of level should.

    Raises:
        UsageProblem: there is no such rule, or none is left.
    """
    chosen = frozenset(map(rule_named, names)) or EVERY_RULE
    left = frozenset(rule for rule in chosen if not must_only or RULES[rule].level == "must")
    if not left:
        raise UsageProblem(
            f"--must-only leaves out every rule that --rule names: {_titles(chosen)}",
            allowed="a rule of level must beside them",
            next_step="leave one of the two options out",
        )
    return left


def with_occasion(cases: Sequence[Case], rules: frozenset[str]) -> list[Case]:
    """Those of the cases that are judged by one of these rules.

    Raises:
        UsageProblem: there is none.
    """
    found = [case for case in cases if rules.intersection(case.rules)]
    if found:
        return found
    elsewhere = dict.fromkeys(case.scenario.id for case in all_cases(FULL) if rules.intersection(case.rules))
    if elsewhere:
        raise UsageProblem(
            f"none of these cases gives an occasion to judge {_titles(rules)}",
            allowed=elsewhere,
            next_step="name one of these with --scenario, or take --profile full",
        )
    raise UsageProblem(
        f"no run on the wire can judge {_titles(rules)}",
        allowed="the rules that `groupspec conform --list` shows",
        next_step=f"`groupspec explain {min(rules)}` says what checks it instead",
    )


def _titles(rules: Collection[str]) -> str:
    return ", ".join(RULES[rule].title for rule in RULES if rule in rules)
