"""What Kafka says: its errors and APIs, the exceptions that clients make of the errors, settings, KIPs and issues."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Final

from groupspec.conformance.explain import code
from groupspec.conformance.explain.addresses import address
from groupspec.conformance.explain.explanation import Explanation, Kind, sections, themselves
from groupspec.conformance.explain.machines import rows_where
from groupspec.conformance.explain.sources import KIPS
from groupspec.conformance.glossary import TERMS
from groupspec.impl.core import messages
from groupspec.impl.core.config import Config
from groupspec.impl.core.messages import ErrorCode
from groupspec.spec.datafile import Record, read_entries
from groupspec.spec.differences import DIFFERENCES
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.request_handling import HANDLINGS, POSTCONDITIONS, PRECONDITIONS
from groupspec.spec.rules import RULES
from groupspec.spec.vocabulary import EVENTS, RESPONSES

_BY_US: Final = "given by the transport, never on the wire"
_OTHER_NAMES: Final = {
    "GROUP_LOAD_IN_PROGRESS": "COORDINATOR_LOAD_IN_PROGRESS",
    "GROUP_COORDINATOR_NOT_AVAILABLE": "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR_FOR_GROUP": "NOT_COORDINATOR",
    "NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER",
    "GroupAuthorizationException": "GROUP_AUTHORIZATION_FAILED",
    "TopicAuthorizationException": "TOPIC_AUTHORIZATION_FAILED",
    "DisconnectException": "DISCONNECTED",
}
"""Names of errors before Kafka 1.0 and 2.6, which some clients still have, and exceptions that are called otherwise."""


def _mentioning(word: str) -> tuple[str, ...]:
    """The rules that name it, in their statement or sources."""
    whole = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
    return tuple(rule.id for rule in RULES.values() if whole.search(" ".join((rule.statement, *rule.sources))))


def _bugs_naming(word: str) -> tuple[str, ...]:
    told = {bug.id: f"{bug.symptom} {bug.trigger} {bug.mutation} {bug.source}" for bug in KNOWN_BUGS.values()}
    return tuple(bug for bug, text in told.items() if word in text)


# Errors ---------------------------------------------------------------------------------------------------------------


@cache
def _error_names() -> Mapping[str, str]:
    """Every error that the specification or the reference knows, by its name, its number, and both."""
    known = {error for _, error in RESPONSES if error.isupper()} - {"NONE"}
    known |= {code.name for code in ErrorCode if code is not ErrorCode.NONE}
    names = themselves(sorted(known))
    for error in ErrorCode:
        if error.value > 0:
            names |= {str(error.value): error.name, f"error {error.value}": error.name}
    return names | _OTHER_NAMES


def _error(name: str) -> Explanation:
    number = next((error.value for error in ErrorCode if error.name == name), None)
    is_ours = number is not None and number < -1
    events = {api: event for (api, error), event in RESPONSES.items() if error == name}
    handled = [case for case in HANDLINGS if case.error == name]
    follows = [f"{api}: {event} ({EVENTS[event].doc})" for api, event in events.items()]
    follows += [f"{case.request}, when {PRECONDITIONS[case.when]}: {POSTCONDITIONS[case.then]}" for case in handled]
    rules = dict.fromkeys((*_mentioning(name), *(rule for case in handled for rule in case.rules.split())))
    apis = dict.fromkeys((*events, *(case.request for case in handled)))
    where = f"no answer at all: {_BY_US}" if is_ours else "an error of Kafka's protocol"
    camel = "".join(part.capitalize() for part in name.split("_"))
    told = {
        "number on the wire": "" if number is None or is_ours else str(number),
        "what follows from it": follows,
        "in clients": f"Java: {camel}Exception; kafka-python, aiokafka: {camel}Error; librdkafka: {name}; "
        f"franz-go: {camel}",
    }
    return Explanation(
        "Kafka error",
        name,
        f"{where}; clients meet it in the answer to {', '.join(apis) or 'no request of the specification'}",
        sources=() if is_ours else ("org.apache.kafka.common.protocol.Errors",),
        rows=rows_where(lambda _, row: row.event in events.values() and row.kind == "transition"),
        code=tuple(dict.fromkeys(place for api in apis for place in code.handling(api, name))),
        rules=tuple(rules),
        known_bugs=_bugs_naming(name),
        sections=sections(told),
    )


# APIs -----------------------------------------------------------------------------------------------------------------


@cache
def _apis() -> Mapping[str, str]:
    requests = [name for name in vars(messages) if name.endswith("Request") and name != "Request"]
    names = themselves(name.removesuffix("Request") for name in requests)
    for api in tuple(names):
        names |= {f"{api}Request": api, f"{api}Response": api}
    return names


def _api(name: str) -> Explanation:
    answers = [f"{error}: {event} ({EVENTS[event].doc})" for (api, error), event in RESPONSES.items() if api == name]
    answers += [f"{case.error}: {POSTCONDITIONS[case.then]}" for case in HANDLINGS if case.request == name]
    documented = (getattr(messages, f"{name}Request").__doc__ or "").strip()
    term = TERMS.get(name)
    return Explanation(
        "API",
        name,
        term.means if term else documented,
        address("word", term.anchor) if term else "",
        sources=("Apache Kafka, protocol guide (kafka.apache.org/protocol)",),
        rows=rows_where(lambda table, row: name in table.emitted(row)),
        code=(*code.constructing(f"{name}Request"), *code.handling(name, "NONE")),
        rules=_mentioning(name),
        sections=sections({"its answers, and what each means": dict.fromkeys(answers)}),
    )


# Exceptions -----------------------------------------------------------------------------------------------------------


class ClientException(Record, frozen=True):
    """An exception of a client that is more than the name of an error on the wire.

    Attributes:
        name: As the Java client has it, or who else has it.
        means: What has happened, and what the application does.
        also: Other names, and what logs say.
        rules: Rules of what led to it.
        reference: The class of the reference.
    """

    name: str
    means: str
    rules: tuple[str, ...]
    also: tuple[str, ...] = ()
    reference: str = ""


class Setting(Record, frozen=True):
    """A setting of consumers, or of brokers: its name, what it decides, and the rules about it."""

    name: str
    means: str
    rules: tuple[str, ...] = ()


EXCEPTIONS: Final = read_entries(Path(__file__).with_name("exceptions.toml"), ClientException)
SETTINGS: Final = read_entries(Path(__file__).with_name("settings.toml"), Setting)


def _exception_names() -> dict[str, str]:
    return {name: each.name for each in EXCEPTIONS.values() for name in (each.name, *each.also)}


def _exception(name: str) -> Explanation:
    found = EXCEPTIONS[name]
    cls = found.reference
    return Explanation(
        "exception of clients",
        name,
        found.means,
        address("answer", name),
        code=(*code.defining(cls), *code.constructing(cls)) if cls else (),
        rules=found.rules,
        known_bugs=tuple(dict.fromkeys(bug for rule in found.rules for bug in RULES[rule].known_bugs)),
        sections=sections({"also called": found.also}),
    )


# Settings -------------------------------------------------------------------------------------------------------------


def _setting_names() -> dict[str, str]:
    """By its name, with or without its unit."""
    return {each: name for name in SETTINGS for each in (name, name.removesuffix(".ms"))}


def _setting(name: str) -> Explanation:
    setting = SETTINGS[name]
    default = {field.name: field.default for field in fields(Config)}.get(name.replace(".", "_"), MISSING)
    said = {entry.id: " ".join(statement.says for statement in entry.statements) for entry in DIFFERENCES.values()}
    return Explanation(
        "setting",
        name,
        setting.means,
        address("word", name),
        rules=tuple(dict.fromkeys((*setting.rules, *_mentioning(name)))),
        known_bugs=_bugs_naming(name),
        differences=tuple(DIFFERENCES[entry] for entry, text in said.items() if name in text),
        code=code.defining("Config") if default is not MISSING else (),
        sections=sections({"default of the reference": "" if default is MISSING else str(default)}),
    )


# KIPs and issues ------------------------------------------------------------------------------------------------------


@cache
def _citations() -> Mapping[str, str]:
    """Every KIP and issue that a rule, a bug, a difference or a term cites, and the KIPs whose title is known."""
    texts = [source for rule in RULES.values() for source in rule.sources]
    texts += [bug.source for bug in KNOWN_BUGS.values()] + [term.means for term in TERMS.values()]
    texts += [said.source for entry in DIFFERENCES.values() for said in entry.statements]
    return themselves((*KIPS, *sorted(set(re.findall(r"\b(?:KIP|KAFKA)-\d+", " ".join(texts))))))


def _citation(cited: str) -> Explanation:
    whole = re.compile(rf"{cited}(?!\d)")
    title = KIPS.get(cited, "")
    is_kip = cited.startswith("KIP")
    what = "a Kafka Improvement Proposal" if is_kip else "an issue of Apache Kafka"
    return Explanation(
        "KIP" if is_kip else "issue",
        cited,
        f"{title + ': ' if title else ''}{what}",
        sources=(
            "https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Improvement+Proposals"
            if is_kip
            else f"https://issues.apache.org/jira/browse/{cited}",
        ),
        rules=tuple(rule.id for rule in RULES.values() if whole.search(" ".join((rule.statement, *rule.sources)))),
        known_bugs=tuple(bug.id for bug in KNOWN_BUGS.values() if whole.search(bug.source)),
        differences=tuple(
            entry
            for entry in DIFFERENCES.values()
            if any(whole.search(f"{said.says} {said.source}") for said in entry.statements)
        ),
        code=tuple(code.citing(cited)),
        sections=sections(
            {"terms": [f"{name}: {term.means}" for name, term in TERMS.items() if whole.search(term.means)]}
        ),
    )


_IN_KAFKA: Final = re.compile(r"\b(?:[A-Z][a-z]+\w*(?:\.\w+)+|(?:[A-Z][a-z]+){2,}\b)")
"""A class of Apache Kafka, with or without one of its methods."""


@cache
def _classes() -> Mapping[str, tuple[str, ...]]:
    """Every class and method of Apache Kafka that a rule cites: the rules."""
    found: dict[str, tuple[str, ...]] = {}
    for rule in RULES.values():
        for cited in _IN_KAFKA.findall(" ".join(source for source in rule.sources if source.startswith("Kafka "))):
            for name in accumulate(cited.split("."), "{}.{}".format):
                if "." in name or _IN_KAFKA.fullmatch(name):
                    found[name] = tuple(dict.fromkeys((*found.get(name, ()), rule.id)))
    return found


def _class(name: str) -> Explanation:
    return Explanation(
        "class or method of Apache Kafka",
        name,
        "cited as a source: what Kafka's own code does there",
        sources=(f"https://github.com/search?q=repo%3Aapache%2Fkafka+{name.rpartition('.')[2]}&type=code",),
        rules=_classes()[name],
    )


KINDS = (
    Kind("Kafka error", _error_names, _error),
    Kind("API", _apis, _api),
    Kind("exception of clients", _exception_names, _exception),
    Kind("setting", _setting_names, _setting),
    Kind("class or method of Apache Kafka", lambda: themselves(_classes()), _class),
    Kind("KIP or issue", _citations, _citation),
)
