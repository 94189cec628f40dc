"""What verifies the specification and the kit: properties, models, findings, theorems, mutants. A wheel has none of it.

Only the model that is asked for is made: that takes up to a second. Its name, scope and properties are known before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from groupspec.conformance.checks import CHECKERS
from groupspec.conformance.checks.lives import UNREAD
from groupspec.conformance.explain.addresses import address
from groupspec.conformance.explain.explanation import Explanation, Kind, sections, themselves
from groupspec.conformance.findings import FINDINGS
from groupspec.conformance.kills import kills
from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.scores.files import committed
from groupspec.conformance.scores.subjects import NOTICES_NOTHING
from groupspec.spec.compiler.model import Model, ModelMaker, ModelProperty
from groupspec.spec.composition import expected_violations, features, models
from groupspec.spec.differences import DIFFERENCES
from groupspec.spec.expiry.theorems import THEOREMS
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.properties import places

PROPERTY_KINDS: Final = {
    "invariant": ("Invariants", "hold in every state"),
    "reachable": ("Reachability", "holds in some state"),
    "recoverable": ("Recoverability", "from every state, a state can be reached in which it holds"),
    "leads_to": (
        "Liveness",
        "under the stated fairness, what is on the left is always followed by what is on the right, at least once; "
        "that it stays so is not claimed",
    ),
}
"""Kind of property to (heading, what it means)."""
_HOLDS: Final = {
    "invariant": "holds in every state",
    "reachable": "holds in some state",
    "recoverable": "from every state, a state can be reached in which this holds",
    "leads_to": "then in the end, under the fairness of the model's actions, this holds at least once",
}


@dataclass(frozen=True)
class Claim:
    """A property, as it is stated first.

    Attributes:
        stated: The property.
        claimed_of: The models of which it is claimed, by name.
        rules: Those that it is about; where models state it otherwise, those of all statements.
    """

    stated: ModelProperty
    claimed_of: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()

    @property
    def broken(self) -> tuple[str, ...]:
        """Those that are known to break it, and must."""
        return tuple(name for name in self.claimed_of if self.stated.id in expected_violations(name))

    @property
    def models(self) -> tuple[str, ...]:
        """Those that keep it."""
        return tuple(name for name in self.claimed_of if name not in self.broken)

    @property
    def is_assertion(self) -> bool:
        """Whether its expression says no more than that its own assertion has not failed."""
        return self.stated.holds == f"fault != '{self.stated.id}'"


def claims(catalogue: Mapping[str, Model | ModelMaker]) -> dict[str, Claim]:
    """Every property of these models by its id, in the order in which they are met."""
    found: dict[str, Claim] = {}
    for name, model in catalogue.items():
        for each in model.properties:
            known = found.get(each.id, Claim(each))
            rules = tuple(dict.fromkeys((*known.rules, *each.rules)))
            found[each.id] = Claim(known.stated, (*known.claimed_of, name), rules)
    return found


@cache
def claimed() -> Mapping[str, Claim]:
    """The properties of this repository's models."""
    return claims(models())


def _property(name: str) -> Explanation:
    claim = claimed()[name]
    found = [finding for finding in FINDINGS.values() if any(run.property_id == name for run in finding.runs)]
    alone = _noticed_alone(name)
    told = {
        "which changed rows of the tables it notices (`conformance/generated/scores.md`)": notices(name),
        f"changed rows that nothing else notices ({len(alone)}), and the model that shows it": alone,
        f"claimed of {len(claim.claimed_of)} {'model' if len(claim.claimed_of) == 1 else 'models'}": claim.claimed_of,
        "known to be broken by": claim.broken,
        "findings": [f"{finding.id}: {finding.title}" for finding in found],
        "explore it": f"groupspec verify --model {(claim.broken or claim.claimed_of)[0]}",
    }
    return Explanation(
        f"property ({claim.stated.kind.replace('_', ' ')})",
        name,
        claim.stated.statement,
        address("claim", name),
        formula=tuple(_formula(claim)),
        sources=claim.stated.sources,
        rules=claim.rules,
        sections=sections(told),
    )


def _formula(claim: Claim) -> Iterator[str]:
    """What is claimed, as an expression over the model's variables, and where that stands."""
    stated = claim.stated
    made = (each for name in claim.claimed_of for each in models()[name].properties if each.id == stated.id)
    differs = len({(each.holds, each.when) for each in made}) > 1
    if stated.when:
        yield f"when: {stated.when}"
    yield f"{_HOLDS[stated.kind]}: {stated.holds}"
    if differs:
        yield f"({claim.claimed_of[0]} states it so; with their features other models add to it)"
    if claim.is_assertion:
        yield "an assertion: checked where something happens; `fault` keeps the first one that fails"
    if not claim.is_assertion and "fault" in re.findall(r"\w+", stated.holds):
        yield "(`fault` is no fault of the network: it names the first assertion that failed, and then nothing happens)"
    if "[1]" in stated.when and models()[claim.claimed_of[0]].scope.family == "base":
        yield "(stated of member 1; the models are symmetric, renaming members changes nothing: so it holds of each)"
    yield f"stated in {', '.join(places(stated.id))}"


@cache
def _scores() -> Mapping[str, Any] | None:
    return committed()


def notices(name: str) -> str:
    """How many changed rows of the tables a property notices, and why none, where that has a reason.

    Empty where no scores are committed.
    """
    if (scores := _scores()) is None:
        return ""
    count, alone = sum(name in row["by"] for row in scores["mutants"]), len(_noticed_alone(name))
    only = f", {alone} of which nothing else notices" if alone else ""
    why = ""
    if not set(claimed()[name].claimed_of) & set(scores["models"]):
        why = f": it is claimed of no model in which rows are changed ({', '.join(scores['models'])})"
    elif claimed()[name].stated.kind == "leads_to":
        why = ": liveness is not tried on changed rows"
    elif not count and name in NOTICES_NOTHING:
        why = f": {NOTICES_NOTHING[name]}"
    return f"Notices {count} changed {'row' if count == 1 else 'rows'}{only}{why}."


def _noticed_alone(name: str) -> list[str]:
    """The changed rows that it alone notices, each with the model in which it does."""
    rows = (_scores() or {"mutants": []})["mutants"]
    return [f"{row['id']} ({row['model']})" for row in rows if row["by"] == [name]]


def _model(name: str) -> Explanation:
    model = models()[name]()
    scope = model.scope
    said = [f"family {scope.family}", *filter(None, (scope.rebalance, scope.profile)), *sorted(scope.features)]
    told = {
        "scope": ", ".join(said),
        "what can happen": f"{len(model.variables)} variables, {len(model.actions)} actions",
        "properties that it breaks, as expected": sorted(expected_violations(name)),
        "explore it": f"groupspec verify --model {name}",
    }
    return Explanation(
        "model",
        name,
        " ".join(model.doc.split()),
        address("model", name),
        properties=tuple(each.id for each in model.properties),
        sections=sections(told),
    )


def _feature(name: str) -> Explanation:
    variables, means = features()[name]
    with_it = [model for model, maker in models().items() if name in maker.scope.features]
    told = sections({"variables": variables, "models": with_it})
    return Explanation("feature of models", name, means, sections=told)


def _finding(name: str) -> Explanation:
    finding = FINDINGS[name]
    told = {
        "what deployed systems do": finding.instead,
        "shown by": finding.test,
        "runs of": [f"{run.model}: violates {run.property_id}" for run in finding.runs],
    }
    return Explanation(
        f"finding ({finding.kind})",
        name,
        finding.shows,
        address("finding", name),
        title=f"{name}: {finding.title}",
        sources=(f"{finding.source}: {finding.sentence}",),
        properties=tuple(dict.fromkeys(run.property_id for run in finding.runs)),
        differences=(DIFFERENCES[finding.difference],) if finding.difference else (),
        sections=sections(told),
    )


def _theorem(name: str) -> Explanation:
    theorem = THEOREMS[name]
    told = {
        "that is so where": [" and ".join(case) for case in theorem.cases] or "never",
        "parameters": ", ".join(theorem.parameters),
    }
    return Explanation(
        "theorem about time",
        name,
        f"{theorem.question} {theorem.meaning}",
        address("theorem", name),
        sources=(theorem.sources,),
        rules=theorem.rules,
        sections=sections(told),
    )


def _mutant(name: str) -> Explanation:
    mutant = MUTANTS[name]
    return Explanation(
        "mutant of a table" if mutant.of_spec else "mutant of the reference",
        name,
        mutant.what,
        address("check", f"{name}-mutant"),
        rules=mutant.rules,
        scenarios=mutant.scenarios,
        sections=dict(noticed(name)),
    )


def noticed(name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What a mutant does, and the tests that notice it: (heading, lines)."""
    if mutant := MUTANTS.get(name):
        yield "what its mutant does", (mutant.what,)
        found = (kill.tests for rule in mutant.rules for kill in kills(rule) if kill.mutant == name)
        if tests := tuple(dict.fromkeys(test for each in found for test in each)):
            yield "tests that notice it", tests
        if mutant.scenarios:
            harness = f"cmd:python -m groupspec.conformance.wire.harnesses.reference_client --mutant {name}"
            yield "judge it on the wire", (f"groupspec conform '{harness}' --scenario {mutant.scenarios[0]}",)


def mutants_of(rule: str) -> Iterator[str]:
    """The mutants that break a rule and that scenarios must find; the kill matrix has the others."""
    return (mutant.id for mutant in MUTANTS.values() if mutant.scenarios and rule in mutant.rules)


def in_world(world: str, rule: str) -> tuple[str, ...]:
    """Whether what the reference does in a world is judged by a rule's checks."""
    if rule not in CHECKERS:
        return ()
    if (seed := UNREAD[world].get(rule)) is None:
        return ("each life",)
    return (f"not yet: what they say of one is to be read ({seed})",)


def properties_of(rule: str) -> Iterator[str]:
    """The properties that are about a rule."""
    return (name for name, claim in claimed().items() if rule in claim.rules)


KINDS = (
    Kind("property", lambda: themselves(claimed()), _property),
    Kind("model", lambda: themselves(models()), _model),
    Kind("feature of models", lambda: themselves(features()), _feature),
    Kind("finding", lambda: themselves(FINDINGS), _finding),
    Kind("theorem about time", lambda: themselves(THEOREMS), _theorem),
    # A known bug's mutant is explained with it.
    Kind("mutant", lambda: themselves(name for name in MUTANTS if name not in KNOWN_BUGS), _mutant),
)
