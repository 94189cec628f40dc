"""From a machine class to a table, and from the table to everything else."""

from groupspec.spec.compiler.check import check
from groupspec.spec.compiler.introspect import introspect
from groupspec.spec.compiler.problems import SpecError, SpecProblem
from groupspec.spec.compiler.specialise import PROFILES, REBALANCES, specialise
from groupspec.spec.compiler.table import TABLE_SCHEMA, Row, Table, table_data, table_json
from groupspec.spec.compiler.words import Words

__all__ = [
    "PROFILES",
    "REBALANCES",
    "TABLE_SCHEMA",
    "Row",
    "SpecError",
    "SpecProblem",
    "Table",
    "Words",
    "check",
    "introspect",
    "specialise",
    "table_data",
    "table_json",
]
