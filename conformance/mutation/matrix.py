"""The kill matrix: which test notices which mutant of which rule. Committed as `generated/mutation.json` and `.md`.

A rule is covered by a test that carries it in its name, passes on the reference, and fails when a mutant of that rule
is applied. A test that only carries the rule's id proves nothing, and a mutant that no such test notices shows that the
rule is not tested, whatever the tests' names say.

The matrix takes minutes to compute, so freshness is judged by two hashes: of the specification (every table and every
rule, but not its wording, which decides no test), and of the catalogue (every mutant's source and every test's name).
What the hashes don't see, a change of the implementation or inside a test, the long tests see: they compute the matrix
anew and compare.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from groupspec.conformance.kills import FORMAT_VERSION, totals
from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.mutation.trials import UNCHANGED, checks, rules_of, tried
from groupspec.spec.compiler.tables import each_table
from groupspec.spec.rules import RULES

NOT_TRIED: Final[Mapping[str, str]] = dict.fromkeys(
    ("J10", "W1"),
    "Covered by the wire kit's tests (conformance/wire/tests/test_rules.py): the matrix tries the tests of the "
    "implementation and of the machines, which cut off neither frames nor blobs.",
)
"""Rules without a mutant, and why. An entry that is no longer true is an error, as a missing one is."""

MAX_NOT_TRIED: Final = 12

HERE: Final = Path(__file__).resolve().parent


def spec_hash() -> str:
    """Of every table, and of every rule without its statement."""
    digest = hashlib.sha256()
    for table in sorted(each_table(), key=lambda table: table.label):
        digest.update(f"{table.label} {table.hash}\n".encode())
    for rule in RULES.values():
        digest.update(f"{rule.id} {rule.applies_to} {rule.level}\n".encode())
    return digest.hexdigest()


def catalogue_hash() -> str:
    """Of every mutant's source, of the rules without one, and of every test's name."""
    digest = hashlib.sha256()
    for source in (HERE / "mutant.py", *sorted((HERE / "catalogue").glob("*.py"))):
        digest.update(source.name.encode() + b"\n" + source.read_bytes())
    for line in (*sorted(NOT_TRIED), *(f"{file}::{name}" for file, name in checks())):
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()


def kill_matrix(
    told: Callable[[], None] = lambda: None, jobs: int = 2, of_its_rules: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """Computes it: every mutant against every test.

    Args:
        told: Called for every mutant that is done.
        jobs: Processes side by side.
        of_its_rules: Each mutant only against tests of the rules that it breaks, which takes a tenth of the time; then
            `failed` and `idle` are of these only.

    Returns:
        What is committed, and what makes it worthless: a test that fails without a mutant, a mutant that can't be
        applied or that no test of its rule notices.

    Raises:
        UsageProblem: there are no tests here, or they can't be run.
    """
    tests, found = tried([UNCHANGED, *MUTANTS], told, jobs, of_its_rules)
    failed = {one: found[one]["failed"] for one in MUTANTS}
    problems = [f"{test} fails although no mutant is applied" for test in found[UNCHANGED]["failed"]]
    problems += [f"mutant {one}: {result['defect']}" for one, result in found.items() if result["defect"]]
    rules: dict[str, dict[str, Any]] = {rule: {"kills": [], "why_none": NOT_TRIED.get(rule, "")} for rule in RULES}
    for one in MUTANTS.values():
        for rule in one.rules:
            noticed = [test for test in failed[one.id] if rule in rules_of(test)]
            if noticed:
                rules[rule]["kills"].append({"mutant": one.id, "what": one.what, "tests": noticed})
            else:
                problems.append(f"mutant {one.id} says that it breaks {rule}, and no test of {rule} fails")
    data = {
        "format": FORMAT_VERSION,
        "spec": spec_hash(),
        "catalogue": catalogue_hash(),
        "rules": rules,
        "failed": {mutant: len(tests) for mutant, tests in failed.items()},
        "idle": sorted(set(tests).difference(*failed.values())),
    }
    return data, sorted(problems)


def matrix_text(data: Mapping[str, object]) -> str:
    """As it is committed."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def problems(text: str) -> list[str]:
    """Why a committed matrix is not what it should be; nothing if it is."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as problem:
        return [f"mutation.json can't be read: {problem}"]
    if not isinstance(data, dict) or data.get("format") != FORMAT_VERSION:
        return ["mutation.json has another format"]
    found = []
    if data.get("spec") != spec_hash():
        found.append("the tables or the list of rules have changed since the kill matrix was computed")
    if data.get("catalogue") != catalogue_hash():
        found.append("the mutants or the tests have changed since the kill matrix was computed")
    return found + gaps(data)


def gaps(data: Mapping[str, Any]) -> list[str]:
    """Rules without a mutant that is noticed, reasons that no longer hold, and tests that notice nothing."""
    noticed = {rule for rule, entry in data.get("rules", {}).items() if entry["kills"]}
    excused = set(NOT_TRIED)
    found = [
        f"no mutant of rule {rule} is noticed, and nothing says why" for rule in RULES if rule not in noticed | excused
    ]
    found += [f"rule {rule} stands on the list of those without a mutant, and has one" for rule in excused & noticed]
    found += [f"the list of rules without a mutant names {rule}, which is no rule" for rule in excused - set(RULES)]
    found += [f"no mutant makes {test} fail: it proves nothing" for test in data.get("idle", ())]
    if len(NOT_TRIED) > MAX_NOT_TRIED:
        found.append(f"{len(NOT_TRIED)} rules have no mutant; at most {MAX_NOT_TRIED} may have none")
    return found


# To be read ----------------------------------------------------------------------------------------------------------


def matrix_markdown(data: Mapping[str, Any]) -> str:
    """The matrix as a page: a rule's mutants, and what notices each."""
    rules = data["rules"]
    covered, mutants, tests = totals(data)
    lines = [
        "# Which tests notice that a rule is broken",
        "",
        "A rule is covered by a test that carries its id, passes on the reference, and fails with a mutant of it.",
        "Computed by `groupspec verify --mutation`; not to be edited.",
        "",
        f"{covered} of {len(rules)} rules, {mutants} mutants, {tests} tests.",
        f"Specification {data['spec'][:12]}, catalogue {data['catalogue'][:12]}.",
    ]
    for rule, entry in rules.items():
        lines += ["", f"## {rule}", "", RULES[rule].statement if rule in RULES else "", "", *_entry(entry)]
    lines += ["", "## Tests that no mutant makes fail", "", *([f"- `{test}`" for test in data["idle"]] or ["None."])]
    return "\n".join(lines) + "\n"


def _entry(entry: Mapping[str, Any]) -> Iterator[str]:
    if entry["why_none"]:
        yield entry["why_none"]
    if entry["kills"]:
        yield "| mutant | what is done then | noticed by |"
        yield "|---|---|---|"
    for one in entry["kills"]:
        tests = "<br>".join(f"`{test.rpartition('/')[2]}`" for test in one["tests"])
        yield f"| {one['mutant']} | {one['what']} | {tests} |"
