"""What verifies the specification and the kit: properties, models, findings, theorems, mutants. A wheel has none of it.

Only the model that is asked for is made: that takes up to a second. Its name, scope and properties are known before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from groupspec.conformance.explain import addresses
from groupspec.conformance.explain.explanation import Explanation, Kind, Section, themselves
from groupspec.conformance.findings import FINDINGS
from groupspec.conformance.kills import kills
from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.spec.compiler.model import ModelProperty
from groupspec.spec.composition import expected_violations, features, models
from groupspec.spec.differences import DIFFERENCES
from groupspec.spec.expiry.theorems import THEOREMS
from groupspec.spec.known_bugs import KNOWN_BUGS


@cache
def _properties() -> Mapping[str, ModelProperty]:
    """Every property of a model by its id."""
    return {each.id: each for maker in models().values() for each in maker.properties}


def _property(name: str) -> Explanation:
    stated = _properties()[name]
    claimed = [model for model, maker in models().items() if any(each.id == name for each in maker.properties)]
    broken = [model for model in claimed if name in expected_violations(model)]
    found = [finding for finding in FINDINGS.values() if any(run.property_id == name for run in finding.runs)]
    sections = [Section(f"claimed of {len(claimed)} models", tuple(claimed))]
    if broken:
        sections.append(Section("known to be broken by", tuple(broken)))
    if found:
        sections.append(Section("findings", tuple(f"{finding.id}: {finding.title}" for finding in found)))
    return Explanation(
        f"property ({stated.kind.replace('_', ' ')})",
        name,
        stated.statement,
        addresses.claim(name),
        sources=stated.sources,
        rules=stated.rules,
        sections=(*sections, Section("explore it", (f"groupspec verify --model {(broken or claimed)[0]}",))),
    )


def _model(name: str) -> Explanation:
    model = models()[name]()
    broken = expected_violations(name)
    scope = model.scope
    said = [f"family {scope.family}", *(part for part in (scope.rebalance, scope.profile) if part)]
    return Explanation(
        "model",
        name,
        " ".join(model.doc.split()),
        addresses.model(name),
        properties=tuple(each.id for each in model.properties),
        sections=(
            Section("scope", (", ".join((*said, *sorted(scope.features))),)),
            Section("what can happen", (f"{len(model.variables)} variables, {len(model.actions)} actions",)),
            *([Section("properties that it breaks, as expected", tuple(sorted(broken)))] if broken else []),
            Section("explore it", (f"groupspec verify --model {name}",)),
        ),
    )


def _feature(name: str) -> Explanation:
    variables, means = features()[name]
    with_it = tuple(model for model, maker in models().items() if name in maker.scope.features)
    return Explanation(
        "feature of models", name, means, sections=(Section("variables", (variables,)), Section("models", with_it))
    )


def _finding(name: str) -> Explanation:
    finding = FINDINGS[name]
    return Explanation(
        f"finding ({finding.kind})",
        name,
        finding.shows,
        addresses.finding(name),
        title=f"{name}: {finding.title}",
        sources=(f"{finding.source}: {finding.sentence}",),
        properties=tuple(dict.fromkeys(run.property_id for run in finding.runs)),
        differences=(DIFFERENCES[finding.difference],) if finding.difference else (),
        sections=(
            Section("what deployed systems do", (finding.instead,)),
            Section("shown by", (finding.test,)),
            *([Section("runs of", tuple(run.model for run in finding.runs))] if finding.runs else []),
        ),
    )


def _theorem(name: str) -> Explanation:
    theorem = THEOREMS[name]
    cases = tuple(" and ".join(case) for case in theorem.cases) or ("never",)
    return Explanation(
        "theorem about time",
        name,
        f"{theorem.question} {theorem.meaning}",
        f"time.html#{name}",
        sources=(theorem.sources,),
        rules=theorem.rules,
        sections=(Section("that is so where", cases), Section("parameters", (", ".join(theorem.parameters),))),
    )


# Mutants --------------------------------------------------------------------------------------------------------------


def _mutant_names() -> dict[str, str]:
    """Mutants that are no known bug: a bug's mutant is explained with it."""
    return themselves(name for name in MUTANTS if name not in KNOWN_BUGS)


def _mutant(name: str) -> Explanation:
    mutant = MUTANTS[name]
    return Explanation(
        "mutant of a table" if mutant.of_spec else "mutant of the reference",
        name,
        mutant.what,
        addresses.check(f"{name}-mutant"),
        rules=mutant.rules,
        scenarios=mutant.scenarios,
        sections=tuple(noticed(name)),
    )


def noticed(name: str) -> Iterator[Section]:
    """What a mutant does, and the tests that notice it."""
    mutant = MUTANTS.get(name)
    if mutant is None:
        return
    yield Section("what its mutant does", (mutant.what,))
    noticing = [kill.tests for rule in mutant.rules for kill in kills(rule) if kill.mutant == name]
    if noticing:
        yield Section("tests that notice it", tuple(dict.fromkeys(test for tests in noticing for test in tests)))
    if mutant.scenarios:
        harness = f"cmd:python -m groupspec.conformance.wire.harnesses.reference_client --mutant {name}"
        yield Section("judge it on the wire", (f"groupspec conform '{harness}' --scenario {mutant.scenarios[0]}",))


def mutants_of(rule: str) -> Iterator[str]:
    """The mutants that break a rule and that scenarios must find; the kill matrix has the others."""
    return (mutant.id for mutant in MUTANTS.values() if mutant.scenarios and rule in mutant.rules)


def properties_of(rule: str) -> Iterator[str]:
    """The properties that are about a rule."""
    return (each.id for each in _properties().values() if rule in each.rules)


KINDS = (
    Kind("property", lambda: themselves(_properties()), _property),
    Kind("model", lambda: themselves(models()), _model),
    Kind("feature of models", lambda: themselves(features()), _feature),
    Kind("finding", lambda: themselves(FINDINGS), _finding),
    Kind("theorem about time", lambda: themselves(THEOREMS), _theorem),
    Kind("mutant", _mutant_names, _mutant),
)
