"""What is wrong with a machine. It lies outside this package, where a machine file itself can raise it."""

from groupspec.spec.problems import SpecError, SpecProblem, shown_path

__all__ = ["SpecError", "SpecProblem", "shown_path"]
