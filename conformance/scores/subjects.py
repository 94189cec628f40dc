"""Where mutants are tried: models, and how a changed row gets into one of them.

A model is made once. A mutant changes what one machine does on an event or two, so only those procedures are made anew:
that is much quicker than a new model, and a hundred mutants can share one compilation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property

from groupspec.conformance.scores.mutants import SpecMutant, mutants
from groupspec.spec import composition, member
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.specialise import REBALANCES
from groupspec.spec.compiler.table import Table
from groupspec.spec.compiler.tables import tables
from groupspec.spec.composition.machines import MachineCode, name_of
from groupspec.spec.composition.open_commit import MACHINE as COMMIT
from groupspec.spec.composition.open_commit import commit_code
from groupspec.spec.composition.open_group import MACHINE as GROUP
from groupspec.spec.composition.open_group import group_code, open_group_model
from groupspec.spec.composition.open_member import machine_code, open_member_model
from groupspec.spec.composition.open_partition import MACHINE as PARTITION
from groupspec.spec.composition.open_partition import partition_code
from groupspec.spec.composition.partial_evaluation import pruned

PROFILE = "deployed"

NOTICES_NOTHING = {
    "one-heartbeat": "a second heartbeat is one that is not due, and heartbeat-when-due says so first",
    "forget-with-reason": "to forget without a reason takes an effect more: no operator adds one",
    "sync-after-join": "the published profile breaks it, where a whole state is missing and not part of a row",
    "answered-once": "to answer twice takes an effect more: no operator adds one",
    "told-closed": "to call it closed takes another effect: no operator puts one in the place of another",
}
"""Invariants of these models that no change of a single row breaks, and why."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A model in which mutants of some machines are tried.

    Attributes:
        name: The model's, as in the catalogue.
        rebalance: `eager` or `cooperative`; empty where there is no difference.
        make: Makes the model; True: with what is needed to compare two.
        code: A machine's changed table, and True as for `make`, as procedures of the model.
    """

    name: str
    rebalance: str
    machines: tuple[str, ...]
    make: Callable[[bool], Model]
    code: Callable[[Table, bool], MachineCode]

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The tables of its machines."""
        return tuple(tables()[name, self.rebalance or REBALANCES[0], PROFILE] for name in self.machines)

    @cached_property
    def mutants(self) -> tuple[SpecMutant, ...]:
        """All mutants of its machines, in the order of the tables."""
        return tuple(mutant for table in self.tables for mutant in mutants(table))

    @cached_property
    def hash(self) -> str:
        """Of all that decides what becomes of the mutants, but for the operators and the explorer."""
        digest = hashlib.sha256((self.model.hash + self.observed.hash).encode())
        for name in (*(table.hash for table in self.tables), *(mutant.id for mutant in self.mutants)):
            digest.update(f"{name}\n".encode())
        return digest.hexdigest()

    @cached_property
    def model(self) -> Model:
        """The model."""
        return self.make(False)

    @cached_property
    def observed(self) -> Model:
        """The model in which everything that can be seen is a variable."""
        return self.make(True)

    def visible(self) -> tuple[str, ...]:
        """The variables of `observed` that are no machine's own."""
        own = {
            name
            for machine in (*member.MACHINES, "broker_group", "subscription", "commit")
            for table in [tables()[machine, self.rebalance or REBALANCES[0], PROFILE]]
            for name in (table.name, *(variable.name for variable in table.own))
        }
        return tuple(variable.name for variable in self.observed.variables if variable.name not in own)

    def variant(self, mutant: SpecMutant, observed: bool = False) -> Model | None:
        """The model with the mutant in it; None if it is the same model."""
        base = self.observed if observed else self.model
        changed = {name_of(mutant.machine, event) for event in mutant.events}
        known = frozenset(procedure.name for procedure in base.procedures)
        made = {p.name: p.body for p in self.code(mutant.table, observed).procedures()}
        procedures = tuple(
            replace(p, body=pruned(made.get(p.name, ()), known)) if p.name in changed else p for p in base.procedures
        )
        return None if procedures == base.procedures else replace(base, procedures=procedures)


@cache
def subjects() -> tuple[Subject, ...]:
    """Every model in which mutants are tried, the quickest first."""
    made = composition.models()
    return (
        Subject(
            "open-partition",
            "",
            (PARTITION,),
            lambda _: made["open-partition"](),
            lambda table, _: partition_code(table),
        ),
        Subject("open-commit", "", (COMMIT,), lambda _: made["open-commit"](), lambda table, _: commit_code(table)),
        *map(_open_member, REBALANCES),
        Subject("open-group", "", (GROUP,), lambda observed: open_group_model(observed=observed), group_code),
    )


def _open_member(rebalance: str) -> Subject:
    used = {name: tables()[name, rebalance, PROFILE] for name in member.MACHINES}
    return Subject(
        f"open-member-{rebalance}-{PROFILE}",
        rebalance,
        member.MACHINES,
        lambda observed: open_member_model(rebalance, PROFILE, observed),
        lambda table, observed: machine_code(table, used, observed),
    )
