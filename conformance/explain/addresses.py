"""Where everything stands: names of pages and anchors.

All pages lie in one folder, so an address is the same from everywhere.
"""

from __future__ import annotations


def rule(identifier: str) -> str:
    """The page of a rule."""
    return f"rule-{identifier}.html"


def bug(identifier: str) -> str:
    """A known bug."""
    return f"bugs.html#{identifier}"


def difference(identifier: str) -> str:
    """An entry of the book of differences."""
    return f"differences.html#{identifier}"


def word(name: str) -> str:
    """A variable, an event, an effect, a request or a reason: no two of them share a name."""
    return f"vocabulary.html#{name}"


def term(anchor: str) -> str:
    """A term of the field."""
    return f"vocabulary.html#{anchor}"


def machine(name: str) -> str:
    """What a machine is about."""
    return f"machine-{name}.html"


def state(machine_name: str, name: str) -> str:
    """A state of a machine."""
    return f"machine-{machine_name}.html#{name}"


def check(identifier: str) -> str:
    """A scenario of the wire kit, a trace check, or a mutant."""
    return f"checks.html#{identifier}"


def model(name: str) -> str:
    """The page of a model of the composition."""
    return f"model-{name}.html"


def claim(identifier: str) -> str:
    """A property of the composition."""
    return f"properties.html#{identifier}"


def finding(identifier: str) -> str:
    """The page of a counterexample."""
    return f"finding-{identifier}.html"
