"""The tests of the mutants."""
