"""What must hold: rules, machines, and the compiler that turns them into tables.

    >>> from groupspec.spec import RULES, load_machine
    >>> RULES["H2"].level
    'must'
    >>> load_machine("timeouts", "eager").states
    ('STOPPED', 'DISABLED', 'IDLE', 'IN_FLIGHT')

What is named here is for users; the modules below it may change.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupspec.spec.api import Machine, MachineState, MachineStep, UnknownName, load_machine
    from groupspec.spec.compiler.table import Row
    from groupspec.spec.rules import RULES, Rule

    __version__: str

__all__ = ["RULES", "Machine", "MachineState", "MachineStep", "Row", "Rule", "UnknownName", "load_machine"]

_MODULES = {"RULES": "rules", "Rule": "rules", "Row": "compiler.table"}


def __getattr__(name: str) -> object:
    """Imported when it is first asked for: the compiler takes a moment, and most modules need none of it."""
    if name == "__version__":
        from importlib.metadata import version  # only here: harnesses are to start quickly

        return version("groupspec")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'api')}"), name)
