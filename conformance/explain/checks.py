"""What judges a client, and the words that it prints: scenarios, trace rules, verdicts, features, causes, clients."""

from __future__ import annotations

from dataclasses import asdict

from groupspec.conformance.explain import addresses
from groupspec.conformance.explain.explanation import Explanation, Kind, Section, themselves
from groupspec.conformance.traces import trace_rules
from groupspec.conformance.traces.causes import TOLD
from groupspec.conformance.traces.quarantine import REASONS
from groupspec.conformance.wire import scenarios  # noqa: F401 - registers the scenarios
from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.clients import BUILT_IN, IN_PYTHON
from groupspec.conformance.wire.protocol import FEATURES
from groupspec.conformance.wire.scenario import SCENARIOS, all_cases
from groupspec.conformance.wire.verdicts import VERDICTS
from groupspec.spec.known_bugs import KNOWN_BUGS


def _case_names() -> dict[str, str]:
    return themselves((*SCENARIOS, *(case.selector for case in all_cases())))


def _scenario(name: str) -> Explanation:
    """A scenario with its cases, or one case of it."""
    identifier, _, variant = name.partition("/")
    scenario = SCENARIOS[identifier]
    case = next((case for case in all_cases() if case.selector == name), None)
    is_case = bool(variant) and case is not None
    sections = [
        Section("what happens", tuple(line.strip() for line in scenario.doc.strip().split("\n") if line.strip()))
    ]
    if is_case and case is not None:
        plain = asdict(Variant())
        differs = {key: value for key, value in asdict(case.variant).items() if value != plain[key] and key != "name"}
        sections.append(Section("this case", tuple(f"{key} = {value!r}" for key, value in differs.items())))
    else:
        cases = tuple(each.selector for each in all_cases() if each.scenario is scenario)
        sections.append(Section(f"cases ({len(cases)})", cases))
    needs = tuple(f"{feature}: {FEATURES[feature]}" for feature in sorted(scenario.needs))
    return Explanation(
        "case of a scenario" if is_case else "scenario",
        name,
        scenario.title,
        addresses.check(identifier),
        sources=(scenario.source, f"conformance/wire/scenarios/{identifier.replace('-', '_')}.py"),
        rules=case.rules if case is not None else scenario.rules,
        sections=(
            *sections,
            Section("what the client must offer", needs),
            Section("run it", (f"groupspec conform CLIENT --scenario {name}",)),
        ),
    )


def _trace_rule(name: str) -> Explanation:
    rule = next(rule for rule in trace_rules.RULES if rule.id == name)
    means = {
        "violation": "a rule of the specification was broken",
        "recording": "a fault of the recording: it says nothing of the client",
        "notice": "worth a look; no rule forbids it",
    }
    return Explanation(
        f"trace rule ({rule.kind})",
        name,
        rule.statement,
        addresses.check(name),
        sources=("conformance/traces/trace_rules.toml",),
        rules=rule.spec_rules,
        sections=(Section("what a finding of it is", (means[rule.kind],)), Section("as it is told", (rule.text,))),
    )


def _verdict(name: str) -> Explanation:
    return Explanation("verdict", name, VERDICTS[name], sources=("conformance/wire/verdicts.py",))


def _feature(name: str) -> Explanation:
    needing = tuple(scenario.id for scenario in SCENARIOS.values() if name in scenario.needs)
    return Explanation(
        "feature of clients",
        name,
        f"{FEATURES[name]}; a harness says in its first line whether its client offers it",
        sources=("conformance/wire/PROTOCOL.md",),
        sections=(Section("scenarios that need it", needing),) if needing else (),
    )


def _cause(name: str) -> Explanation:
    told = TOLD[name]
    return Explanation(
        "cause of a rebalance",
        name,
        told.meaning,
        sources=("groupspec trace why", "conformance/traces/causes.toml"),
        sections=(Section("what to change", (told.advice,)),),
    )


def _quarantine(name: str) -> Explanation:
    means = next(text for reason, text in REASONS.items() if reason == name)
    return Explanation(
        "reason why a trace line is quarantined", name, means, sources=("groupspec trace ingest, trace check",)
    )


def _client(name: str) -> Explanation:
    bugs = tuple(bug.id for bug in KNOWN_BUGS.values() if name in bug.client.lower())
    return Explanation(
        "client",
        name,
        f"a client with a harness of its own{' in Python' if name in IN_PYTHON else ', built once'}",
        sources=("conformance/wire/clients.toml",),
        known_bugs=bugs,
        sections=(Section("judge it", (f"groupspec conform {name}",)),),
    )


KINDS = (
    Kind("scenario", _case_names, _scenario),
    Kind("trace rule", lambda: themselves(rule.id for rule in trace_rules.RULES), _trace_rule),
    Kind("verdict", lambda: themselves(VERDICTS), _verdict),
    Kind("feature of clients", lambda: themselves(FEATURES), _feature),
    Kind("cause of a rebalance", lambda: themselves(TOLD), _cause),
    Kind("reason why a trace line is quarantined", lambda: themselves(REASONS), _quarantine),
    Kind("client", lambda: themselves(BUILT_IN), _client),
)
