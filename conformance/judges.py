"""Who can judge a rule: computed from what each judge registers, so that no list of it has to be kept.

A rule of the specification may be judged by the generated suite (rows of the tables carry it, and the suite compares
every row with the reference), on the wire (a checker reads a run's log), or from a recorded trace (a trace rule names
it). A trace shows less than the wire log it was made from: a rule that a trace can show broken in one way may be broken
in another that it does not show. A broker's log judges no rule: `groupspec trace why` explains from it why a group
rebalanced.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection
from typing import Final

from groupspec.conformance.checks import CHECKERS
from groupspec.conformance.checks.unjudged import UNJUDGED
from groupspec.conformance.traces.trace_rules import RULES as TRACE_RULES
from groupspec.spec.compiler.member import Member
from groupspec.spec.compiler.tables import whole_tables
from groupspec.spec.consumer_protocol import BINDINGS, BINDS, CONSUMER_PROTOCOL
from groupspec.spec.rules import APPLIES_TO, LEVELS, RULES

WIDTH: Final = 120
"""Columns of prose in committed files."""
STATELESS: Final = ("T-ILLEGAL-TRANSITION",)
"""Trace rules that need a source whose traces the projected table explains: the reference and the wire kit."""
OF_STATES: Final = ("reference", "wire")


def judged_by(sources: Collection[str]) -> tuple[list[str], list[str]]:
    """The rules that traces of these sources can show broken, and those that only the wire kit judges."""
    stateful = any(source in OF_STATES for source in sources)
    usable = [one for one in TRACE_RULES if stateful or one.id not in STATELESS] if sources else []
    named = {rule for one in usable for rule in one.spec_rules}
    judged = [rule for rule in RULES if rule in named]
    return judged, [rule for rule in RULES if rule in CHECKERS and rule not in named]


def judges_markdown() -> str:
    """The table that is committed: the rules in their order, and who can judge each."""
    lines = [
        "# Who can judge each rule",
        "",
        "Computed by `groupspec generate` from what each judge registers. *suite*: the tables whose rows "
        "carry the rule, which",
        "`groupspec test` drives the reference through; *wire*: the checkers of `groupspec conform`; "
        "*trace*: the rules of",
        "`groupspec trace check` for a member's trace and a group's. A broker's log judges no rule "
        "(`groupspec trace why`).",
        "",
        *textwrap.wrap(
            "*level*: how strictly a rule binds; "
            + "; ".join(f"*{name}* ({means})" for name, means in LEVELS.items())
            + ". *binds*: whom; "
            + "; ".join(f"*{name}* ({means})" for name, means in APPLIES_TO.items())
            + ". *KIP-848*: whether it binds a member of a consumer group; "
            + "; ".join(f"*{name}* ({means})" for name, means in BINDS.items())
            + ".",
            WIDTH,
        ),
        "",
        "| rule | level | binds | KIP-848 | suite | wire | trace |",
        "|---|---|---|---|---|---|---|",
    ]
    driven = {*Member("eager", "deployed").machines, "subscription", "commit"}
    tables = {name: {rule for row in table.rows for rule in row.rules} for name, table in whole_tables().items()}
    for rule in RULES.values():
        suite = sorted(name for name in driven if rule.id in tables[name])
        wire = [checker.check.__name__ for checker in CHECKERS.get(rule.id, ())]
        traces = [one.id for one in TRACE_RULES if rule.id in one.spec_rules]
        cells = (", ".join(each) or "-" for each in (suite, wire, traces))
        said = rule.title, rule.level, rule.applies_to, CONSUMER_PROTOCOL[rule.id].binds
        lines.append(f"| {' | '.join((*said, *cells))} |")
    lines += ["", "## What binds clients, and is not judged on the wire", ""]
    for identifier, why in UNJUDGED.items():
        lines += textwrap.wrap(f"* {RULES[identifier].title}: {why}", WIDTH, subsequent_indent="  ")
    lines += ["", "## What binds a member of a consumer group (KIP-848)", ""]
    for entry in BINDINGS.values():
        told = f"* {', '.join(entry.rules)}: {entry.binds}. {entry.why} ({'; '.join(entry.sources)})"
        lines += textwrap.wrap(told, WIDTH, subsequent_indent="  ")
    return "\n".join(lines) + "\n"
