"""The list of rules, and a page for each: everything the project knows about it (see `groupspec explain`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from markupsafe import Markup

from groupspec.conformance.book.claims import claimed
from groupspec.conformance.book.page import Page
from groupspec.conformance.book.rows import ShownRow, together
from groupspec.conformance.book.text import link, prose
from groupspec.conformance.explain import addresses
from groupspec.conformance.explain.explanation import Explanation
from groupspec.conformance.explain.rules import explain_rule
from groupspec.conformance.kills import kills, totals, why_none
from groupspec.conformance.reports.consequences import consequences
from groupspec.conformance.traces import trace_rules
from groupspec.conformance.wire.scenario import SCENARIOS
from groupspec.spec import rules as rules_module
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.rules import CHAPTERS, RULES

BINDS: Final = {
    "any": "any client",
    "java_style": "Java-style clients",
    "internal": "the reference's parts",
    "broker": "the coordinator",
}
BINDS_LONG: Final = {
    "any": "any client: it follows from the protocol",
    "java_style": "clients with an API like Java's: a pull consumer with poll() and a rebalance listener",
    "internal": "parts that are visible only inside the reference",
    "broker": "the group coordinator, on the broker",
}


@cache
def explained(rule: str) -> Explanation:
    """What is known about a rule."""
    return explain_rule(rule)


def _intro() -> str:
    text = (rules_module.__doc__ or "").partition("\n\n")[2].partition("The rules themselves")[0]
    return text.replace("`applies_to` is", "Whom it binds:").replace("`level` is", "How strictly:")


def pages() -> Iterator[Page]:
    """The list, and a page for each rule."""
    chapters = [
        (letter, title, [(rule, explained(rule.id)) for rule in RULES.values() if rule.id[0] == letter])
        for letter, title in CHAPTERS.items()
    ]
    yield Page(
        "rules.html",
        "Rules",
        "rules",
        "rules",
        {
            "intro": prose(_intro()),
            "rule_chapters": chapters,
            "totals": totals(),
            "kills": kills,
            "parts": [(f"#chapter-{letter}", f"{letter} {title}") for letter, title, _ in chapters],
        },
    )
    for rule in RULES:
        yield _rule(rule)


def _rule(identifier: str) -> Page:
    order = list(RULES)
    place = order.index(identifier)
    known = explained(identifier)
    rows: dict[str, list[ShownRow]] = {}
    for shown in together(known.rows):
        rows.setdefault(shown.machine, []).append(shown)
    return Page(
        addresses.rule(identifier),
        f"Rule {identifier}",
        "rules",
        "rule",
        {
            "rule": RULES[identifier],
            "consequence": consequences().get(identifier),
            "checked": list(_checked(known)),
            "kills": kills(identifier),
            "why_none": why_none(identifier),
            "rows": rows,
            "count": len(known.rows),
            "some_in_few": any(shown.variants for each in rows.values() for shown in each),
            "differences": known.differences,
            "bugs": [KNOWN_BUGS[bug] for bug in known.known_bugs],
            "deviations": known.deviations,
            "before": order[place - 1] if place else "",
            "after": order[place + 1] if place + 1 < len(order) else "",
        },
    )


def _named(address: str, name: str, says: str) -> Markup:
    return link(address, name) + Markup(" {}").format(says)


def _checked(known: Explanation) -> Iterator[tuple[str, list[Markup]]]:
    """What looks whether the rule is kept: (heading, links); headings without any are left out."""
    checks = {check.id: check.statement for check in trace_rules.RULES}
    scenarios = [_named(addresses.check(name), name, SCENARIOS[name].title) for name in known.scenarios]
    traces = [_named(addresses.check(name), name, checks[name]) for name in known.trace_checks]
    properties = [
        _named(addresses.claim(claim.stated.id), claim.stated.id, claim.stated.statement)
        for claim in claimed()
        if known.name in claim.stated.rules
    ]
    for heading, items in (
        ("Properties", properties),
        ("On the wire", scenarios),
        ("In traces", traces),
    ):
        if items:
            yield heading, items
