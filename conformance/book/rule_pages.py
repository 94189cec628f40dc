"""The list of rules, and a page for each: everything the project knows about it (see `groupspec explain`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from markupsafe import Markup

from groupspec.conformance.book.page import Page, page
from groupspec.conformance.book.rows import ShownRow, together
from groupspec.conformance.book.text import link, prose
from groupspec.conformance.explain.addresses import address
from groupspec.conformance.explain.explanation import Explanation
from groupspec.conformance.explain.lab import claimed
from groupspec.conformance.explain.rules import explain_rule, in_a_consumer_group
from groupspec.conformance.kills import totals
from groupspec.conformance.reports.consequences import consequences
from groupspec.conformance.traces import trace_rules
from groupspec.conformance.wire.scenarios import SCENARIOS
from groupspec.spec import rules as rules_module
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.rules import CHAPTERS, RULES

BINDS: Final = {
    "any": "any client",
    "java_style": "Java-style clients",
    "internal": "the reference's parts",
    "broker": "the coordinator",
}


@cache
def explained(rule: str) -> Explanation:
    """What is known about a rule."""
    return explain_rule(rule)


def pages() -> Iterator[Page]:
    """The list, and a page for each rule."""
    intro = (rules_module.__doc__ or "").partition("\n\n")[2].partition("The rules themselves")[0]
    chapters = [
        (letter, title, [(rule, explained(rule.id)) for rule in RULES.values() if rule.id[0] == letter])
        for letter, title in CHAPTERS.items()
    ]
    yield page(
        "rules",
        "Rules",
        intro=prose(intro.replace("`applies_to` is", "Whom it binds:").replace("`level` is", "How strictly:")),
        rule_chapters=chapters,
        totals=totals(),
        parts=[(f"#chapter-{letter}", f"{letter} {title}") for letter, title, _ in chapters],
    )
    around = ("", *RULES, "")
    for before, rule, after in zip(around, RULES, around[2:], strict=False):
        yield _rule(rule, before, after)


def _rule(identifier: str, before: str, after: str) -> Page:
    known = explained(identifier)
    rows: dict[str, list[ShownRow]] = {}
    for shown in together(known.rows):
        rows.setdefault(shown.machine, []).append(shown)
    return page(
        "rule",
        f"Rule {identifier}",
        address("rule", identifier),
        rule=RULES[identifier],
        known=known,
        in_a_consumer_group=in_a_consumer_group(identifier),
        consequence=consequences().get(identifier),
        checked=list(_checked(known)),
        rows=rows,
        some_in_few=any(shown.variants for each in rows.values() for shown in each),
        bugs=[KNOWN_BUGS[bug] for bug in known.known_bugs],
        before=before,
        after=after,
    )


def _named(address: str, name: str, says: str) -> Markup:
    return link(address, name) + Markup(" {}").format(says)


def _checked(known: Explanation) -> Iterator[tuple[str, list[Markup]]]:
    """What looks whether the rule is kept: (heading, links); headings without any are left out."""
    checks = {check.id: check.statement for check in trace_rules.RULES}
    scenarios = [_named(address("check", name), name, SCENARIOS[name].title) for name in known.scenarios]
    traces = [_named(address("check", name), name, checks[name]) for name in known.trace_checks]
    stated = [claimed()[name].stated for name in known.properties]
    properties = [_named(address("claim", each.id), each.id, each.statement) for each in stated]
    for heading, items in (("Properties", properties), ("On the wire", scenarios), ("In traces", traces)):
        if items:
            yield heading, items
