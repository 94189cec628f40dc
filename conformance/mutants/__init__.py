"""Known bugs, put into the reference from outside: each has to be noticed by a test, or that test proves nothing."""

from groupspec.conformance.mutants.catalogue import MUTANTS, Mutant, applied, apply

__all__ = ["MUTANTS", "Mutant", "applied", "apply"]
