"""From a machine class to a table, and from the table to everything else.

The way of a row, module by module. Its guard is parsed once (`guards`), and the text keeps its tree (`formula`):

    rebalance.py, introspect                    a row of the table that has all protocols and profiles
    specialise                                  a row of one protocol and one profile
      step, member                              a branch of a Python function: stateful tests and vectors run it
      composition/machines.py                   a branch of a procedure of a model
        tla, tla_body, tla_text                 lines of TLA+
        promela, promela_text                   lines of Promela
        resolved, explorer/c_source.py          lines of C; explorer/native.py runs them
"""

from groupspec.spec.compiler.check import check
from groupspec.spec.compiler.introspect import introspect
from groupspec.spec.compiler.specialise import PROFILES, REBALANCES, specialise
from groupspec.spec.compiler.table import TABLE_SCHEMA, Row, Table, table_data, table_json
from groupspec.spec.compiler.words import Words
from groupspec.spec.problems import SpecError, SpecProblem

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
