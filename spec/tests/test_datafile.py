"""Data files are read as their schema says, and who breaks it is told file, line, entry and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupspec.spec.datafile import read_entries
from groupspec.spec.differences import Difference
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.problems import DataError
from groupspec.spec.rules import RULES, Rule

GOOD = """\
[J3]
name = "member-id-required"
applies_to = "any"
level = "should"
statement = \"\"\"
It joins again
at once.
\"\"\"
sources = ["KIP-394"]
"""


def read(tmp_path: Path, text: str) -> Rule:
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    (rule,) = read_entries(path, Rule).values()
    return rule


def test_an_entry_gets_its_tables_name_as_id_and_its_text_without_line_breaks(tmp_path: Path) -> None:
    rule = read(tmp_path, GOOD)

    assert rule == Rule("J3", "member-id-required", "any", "should", "It joins again at once.", ("KIP-394",))


@pytest.mark.parametrize(
    ("good", "wrong", "says"),
    [
        ('level = "should"', 'level = "maybe"', "Invalid enum value 'maybe' - at `$.level`"),
        ('level = "should"', 'levle = "should"', "unknown field `levle`"),
        ('level = "should"', "", "missing required field `level`"),
        ('["KIP-394"]', '"KIP-394"', "Expected `array`, got `str` - at `$.sources`"),
    ],
)
def test_who_breaks_the_schema_is_told_where_and_what_is_allowed(
    tmp_path: Path, good: str, wrong: str, says: str
) -> None:
    with pytest.raises(DataError) as told:
        read(tmp_path, "# J3 is a comment\n\n" + GOOD.replace(good, wrong))

    message = str(told.value)
    assert "rules.toml:3: [J3]: " in message
    assert says in message
    assert "level (must | should)" in message
    assert "sources (list of texts)" in message


def test_a_table_within_an_entry_is_checked_as_well(tmp_path: Path) -> None:
    path = tmp_path / "differences.toml"
    path.write_text('[a]\n[[a.statements]]\nvoice = "nobody"\n', encoding="utf-8")

    with pytest.raises(DataError, match=r"'nobody' - at `\$.statements\[0\].voice`"):
        read_entries(path, Difference)


@pytest.mark.parametrize(("text", "says"), [("J3 =", "this is not TOML: "), ("J3 = 1", r":1: \[J3\]: Expected")])
def test_what_is_no_table_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read(tmp_path, text)


def test_a_rules_known_bugs_are_those_that_name_it() -> None:
    assert RULES["D2"].known_bugs == ("BUG-01", "BUG-02", "BUG-83")
    assert all(bug.rules for bug in KNOWN_BUGS.values())
