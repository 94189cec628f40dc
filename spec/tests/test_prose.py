"""What the machines' prose says about who hears what, against the tables.

Prose goes stale where it repeats what the rows say. So each word by which machines are coupled stands in the text of
the machine that says it, or reads it; and no text names a word that there is not.
"""

from __future__ import annotations

import re
import sys
from types import ModuleType

import pytest

from groupspec.spec import member, vocabulary
from groupspec.spec.compiler.tables import MACHINES, whole_tables
from groupspec.spec.terms import CONSTANTS

each_machine = pytest.mark.parametrize("name", [machine.machine_name for machine in MACHINES])


def module_of(name: str) -> ModuleType:
    (machine,) = (machine for machine in MACHINES if machine.machine_name == name)
    return sys.modules[machine.__module__]


def named(module: ModuleType) -> set[str]:
    """The words in backticks that could be words of the vocabulary."""
    return set(re.findall(r"`([a-z]+(?:_[a-z]+)*)`", module.__doc__ or ""))


def emitted(name: str) -> set[str]:
    table = whole_tables()[name]
    return {word for row in table.rows for word in table.emitted(row)}


@each_machine
def test_what_a_machine_says_to_others_stands_in_its_text(name: str) -> None:
    others = {event.name for other, table in whole_tables().items() if other != name for event in table.events}

    assert emitted(name) & others <= named(module_of(name))


@each_machine
def test_what_a_machine_reads_of_others_stands_in_its_text(name: str) -> None:
    assert {variable.name for variable in whole_tables()[name].foreign} <= named(module_of(name))


@each_machine
def test_an_internal_event_that_no_machine_says_is_explained(name: str) -> None:
    said = set().union(*map(emitted, whole_tables()))
    unsaid = {e.name for e in whole_tables()[name].events if e.kind == "internal"} - said

    assert unsaid <= named(module_of(name)) | named(member)


@each_machine
def test_a_text_names_only_words_that_exist(name: str) -> None:
    values = {
        value for variable in vocabulary.VARIABLES.values() for value in variable.domain if isinstance(value, str)
    }
    words = {*vocabulary.VARIABLES, *vocabulary.EVENTS, *vocabulary.EFFECTS, *vocabulary.IGNORED_REASONS, *CONSTANTS}

    assert named(module_of(name)) <= words | values


def test_the_text_on_the_member_counts_its_machines() -> None:
    numbers = ("no", "one", "two", "three", "four", "five")

    assert f"{numbers[len(member.MACHINES)]} machines" in (member.__doc__ or "")
