"""The committed kill matrix: `generated/mutation.json`, and the same to be read, `mutation.md`.

The matrix takes a minute to compute, so freshness is judged by two hashes: of the specification (every table and every
rule), and of the catalogue (every breaker's source and every check's name). What the hashes don't see, a change of the
implementation or inside a check, the long tests see: they compute the matrix anew and compare.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from groupspec.conformance.mutation.lists import HELD_LATER, HYGIENE, MAX_LATER
from groupspec.conformance.mutation.packages import NAME, PACKAGES
from groupspec.spec.compiler.tables import each_table
from groupspec.spec.rules import RULES

FORMAT_VERSION: Final = 1
HERE: Final = Path(__file__).resolve().parent
COMMITTED: Final = HERE.parent / "generated" / "mutation.json"
SOURCES: Final = (HERE / "mutant.py", HERE / "rows.py", HERE / "lists.py")


def spec_hash() -> str:
    """Of every table and every rule."""
    digest = hashlib.sha256()
    for table in sorted(each_table(), key=lambda table: table.label):
        digest.update(f"{table.label} {table.hash}\n".encode())
    for rule in RULES.values():
        digest.update(f"{rule.id} {rule.applies_to} {rule.level} {rule.statement}\n".encode())
    return digest.hexdigest()


def catalogue_hash() -> str:
    """Of every breaker's source, of the lists, and of every check's name."""
    digest = hashlib.sha256()
    for source in (*SOURCES, *sorted((HERE / "catalogue").glob("*.py"))):
        digest.update(source.name.encode() + b"\n" + source.read_bytes())
    for check in _checks_by_name():
        digest.update(f"{check}\n".encode())
    return digest.hexdigest()


def _checks_by_name() -> Iterator[str]:
    """Every test whose name carries a rule, without importing it."""
    for package in PACKAGES:
        found = importlib.util.find_spec(package)
        assert found is not None
        assert found.submodule_search_locations
        for folder in found.submodule_search_locations:
            for file in sorted(Path(folder).glob("test_*.py")):
                for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE):
                    if NAME.match(name):
                        yield f"{package}.{file.stem}.{name}"


def held_data(matrix: Any) -> dict[str, object]:
    """The committed form of a `KillMatrix`."""
    from groupspec.conformance.mutation.catalogue import BREAKERS

    rules = {
        rule: {
            "held": [
                {"breaker": identifier, "what": BREAKERS[identifier].what, "checks": list(checks)}
                for identifier, checks in matrix.kills[rule].items()
                if checks
            ],
            "later": {"by": HELD_LATER[rule].by, "why": HELD_LATER[rule].why} if rule in HELD_LATER else None,
            "hygiene": HYGIENE.get(rule, ""),
        }
        for rule in RULES
    }
    return {
        "format": FORMAT_VERSION,
        "spec": spec_hash(),
        "catalogue": catalogue_hash(),
        "rules": rules,
        "red": {identifier: len(checks) for identifier, checks in matrix.red.items()},
        "idle_checks": matrix.idle_checks(),
    }


def held_text(data: Mapping[str, object]) -> str:
    """As it is committed."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def committed() -> dict[str, Any]:
    """The committed matrix; without any rule if there is none, or none that can be read."""
    try:
        found: dict[str, Any] = json.loads(COMMITTED.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError):
        return {"rules": {}}
    return found if found.get("format") == FORMAT_VERSION else {"rules": {}}


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
        found.append("the tables or the rules have changed since the kill matrix was computed")
    if data.get("catalogue") != catalogue_hash():
        found.append("the breakers or the checks have changed since the kill matrix was computed")
    return found + gaps(data)


def gaps(data: Mapping[str, Any]) -> list[str]:
    """Rules held by nothing without a reason, reasons that no longer hold, and checks that notice nothing."""
    rules = data.get("rules", {})
    held = {rule for rule, entry in rules.items() if entry["held"]}
    excused = {*HELD_LATER, *HYGIENE}
    found = [f"rule {rule} is held by nothing, and no list says why" for rule in RULES if rule not in held | excused]
    found += [f"rule {rule} stands on a list of those that nothing holds, and is held" for rule in excused & held]
    found += [f"the lists name {rule}, which is no rule" for rule in excused - set(RULES)]
    found += [f"no breaker turns {check} red: it holds nothing" for check in data.get("idle_checks", ())]
    if len(HELD_LATER) > MAX_LATER:
        found.append(f"{len(HELD_LATER)} rules are put off; at most {MAX_LATER} may be")
    return found


def is_current(text: str) -> bool:
    """Whether a committed matrix is what it should be, as far as hashes tell."""
    return not problems(text)


# To be read
# --------------------------------------------------------------------------------------------------------------


def held_markdown(data: Mapping[str, Any]) -> str:
    """The matrix as a page: a rule's breakers, and what notices each."""
    rules = data["rules"]
    held = sum(1 for entry in rules.values() if entry["held"])
    breakers = {one["breaker"] for entry in rules.values() for one in entry["held"]}
    checks = {check for entry in rules.values() for one in entry["held"] for check in one["checks"]}
    lines = [
        "# What holds each rule",
        "",
        "A rule is held by a check that carries its id, is green on the reference, and goes red when a "
        "breaker of the rule",
        "is put in.",
        "Computed by `groupspec verify --held`; not to be edited.",
        "",
        f"{held} of {len(rules)} rules, {len(breakers)} breakers, {len(checks)} checks.",
        f"Specification {data['spec'][:12]}, catalogue {data['catalogue'][:12]}.",
    ]
    for rule, entry in rules.items():
        lines += ["", f"## {rule}", "", RULES[rule].statement if rule in RULES else "", ""]
        lines += list(_entry(entry))
    lines += ["", "## Checks that no breaker turns red", ""]
    lines += [f"- `{check}`" for check in data["idle_checks"]] or ["None."]
    return "\n".join(lines) + "\n"


def _entry(entry: Mapping[str, Any]) -> Iterator[str]:
    if entry["later"]:
        yield f"Held later, by {entry['later']['by']}: {entry['later']['why']}"
    if entry["hygiene"]:
        yield f"Not to be held: {entry['hygiene']}"
    if entry["held"]:
        yield "| breaker | what is done then | noticed by |"
        yield "|---|---|---|"
    for one in entry["held"]:
        checks = "<br>".join(f"`{check.rpartition('/')[2]}`" for check in one["checks"])
        yield f"| {one['breaker']} | {one['what']} | {checks} |"
