"""What judges a client, and the words that it prints: scenarios, trace rules, verdicts, features, causes, clients."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import asdict
from typing import Final

from groupspec.conformance.checks import CHECKERS, Checker
from groupspec.conformance.checks.verdicts import VERDICTS
from groupspec.conformance.explain.addresses import address
from groupspec.conformance.explain.explanation import Explanation, Kind, sections, themselves
from groupspec.conformance.history.harness_protocol import FEATURES
from groupspec.conformance.traces import trace_rules
from groupspec.conformance.traces.causes import TOLD
from groupspec.conformance.traces.quarantine import REASONS
from groupspec.conformance.wire.answers.family import answer_ids
from groupspec.conformance.wire.case import PLAIN_NAME, Scenario, Variant
from groupspec.conformance.wire.clients import BUILT_IN, IN_PYTHON
from groupspec.conformance.wire.scenarios import FULL, SCENARIOS, find_cases, scenarios, written_cases
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.rules import RULES

_FINDINGS_ARE: Final = {
    "violation": "a rule of the specification was broken",
    "recording": "a fault of the recording: it says nothing of the client",
    "notice": "worth a look; no rule forbids it",
}


def _case_names() -> dict[str, str]:
    """Scenarios and cases; ID/plain is the only case of a scenario that has no other."""
    plain = {f"{scenario}/{PLAIN_NAME}": scenario for scenario in SCENARIOS}
    return plain | themselves((*SCENARIOS, *answer_ids(), *(case.selector for case in written_cases())))


def _scenario(name: str) -> Explanation:
    """A scenario with its cases, or one case of it."""
    identifier, _, variant = name.partition("/")
    scenario = SCENARIOS.get(identifier) or scenarios(FULL)[identifier]
    cases = {case.selector: case for case in find_cases([identifier])}
    case = cases.get(name)
    told: dict[str, str | Iterable[str]] = {"what happens": filter(None, map(str.strip, scenario.doc.split("\n")))}
    if variant and case is not None:
        usual = asdict(Variant())
        differs = {key: value for key, value in asdict(case.variant).items() if value != usual[key] and key != "name"}
        told["this case"] = [f"{key} = {value!r}" for key, value in differs.items()]
    else:
        told[f"cases ({len(cases)})"] = cases
    told["what the client must offer"] = [f"{feature}: {FEATURES[feature]}" for feature in sorted(scenario.needs)]
    told["run it"] = f"groupspec conform CLIENT --scenario {name}"
    return Explanation(
        "case of a scenario" if variant else "scenario",
        name,
        scenario.title,
        address("check", identifier) if identifier in SCENARIOS else "",
        sources=(scenario.source, _file_of(scenario)),
        rules=case.rules if case is not None else scenario.rules,
        sections=sections(told),
    )


def _file_of(scenario: Scenario) -> str:
    """Where it is told; the computed ones come out of a folder."""
    if scenario.id not in SCENARIOS:
        return "conformance/wire/answers"
    return f"{scenario.story.__module__.removeprefix('groupspec.').replace('.', '/')}.py"


def _trace_rule(name: str) -> Explanation:
    rule = next(rule for rule in trace_rules.RULES if rule.id == name)
    return Explanation(
        f"trace rule ({rule.kind})",
        name,
        rule.statement,
        address("check", name),
        sources=("conformance/traces/trace_rules.toml",),
        rules=rule.spec_rules,
        sections=sections({"what a finding of it is": _FINDINGS_ARE[rule.kind], "as it is told": rule.text}),
    )


def _verdict(name: str) -> Explanation:
    return Explanation("verdict", name, VERDICTS[name], sources=("conformance/checks/verdicts.py",))


def _feature(name: str) -> Explanation:
    needing = [scenario.id for scenario in SCENARIOS.values() if name in scenario.needs]
    says = f"{FEATURES[name]}; a harness says in its first line whether its client offers it"
    told = sections({"scenarios that need it": needing})
    return Explanation("feature of clients", name, says, sources=("conformance/wire/PROTOCOL.md",), sections=told)


def _checkers() -> dict[str, Checker]:
    return {each.check.__name__: each for checkers in CHECKERS.values() for each in checkers}


def _checker(name: str) -> Explanation:
    """A function that judges a rule by a run's log."""
    check = _checkers()[name].check
    return Explanation(
        "checker on the wire",
        name,
        inspect.cleandoc(check.__doc__ or ""),
        sources=(f"{check.__module__.removeprefix('groupspec.').replace('.', '/')}.py",),
        rules=tuple(rule for rule in RULES if any(each.check is check for each in CHECKERS.get(rule, ()))),
    )


def _cause(name: str) -> Explanation:
    sources = ("groupspec trace why", "conformance/traces/causes.toml")
    told = sections({"what to change": TOLD[name].advice})
    return Explanation("cause of a rebalance", name, TOLD[name].meaning, sources=sources, sections=told)


def _quarantine(name: str) -> Explanation:
    means = next(text for reason, text in REASONS.items() if reason == name)
    sources = ("groupspec trace ingest, trace check",)
    return Explanation("reason why a trace line is quarantined", name, means, sources=sources)


def _client(name: str) -> Explanation:
    return Explanation(
        "client",
        name,
        f"a client with a harness of its own{' in Python' if name in IN_PYTHON else ', built once'}",
        sources=("conformance/wire/clients.toml",),
        known_bugs=tuple(bug.id for bug in KNOWN_BUGS.values() if name in bug.client.lower()),
        sections=sections({"judge it": f"groupspec conform {name}"}),
    )


KINDS = (
    Kind("scenario", _case_names, _scenario),
    Kind("trace rule", lambda: themselves(rule.id for rule in trace_rules.RULES), _trace_rule),
    Kind("verdict", lambda: themselves(VERDICTS), _verdict),
    Kind("feature of clients", lambda: themselves(FEATURES), _feature),
    Kind("checker on the wire", lambda: themselves(_checkers()), _checker),
    Kind("cause of a rebalance", lambda: themselves(TOLD), _cause),
    Kind("reason why a trace line is quarantined", lambda: themselves(REASONS), _quarantine),
    Kind("client", lambda: themselves(BUILT_IN), _client),
)
