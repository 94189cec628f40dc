"""What exploration says about the proposal: violations, dead ends, ambiguities, each with its shortest run.

`entries.FINDINGS` are the findings, `counterexamples()` what the book shows of them. `vectors.vector_text(trace)`
writes any run of a model as a vector file; the tests play it to the reference's core (`tests/replaying.py`).
"""

from groupspec.conformance.findings.entries import FINDINGS, Counterexample, Finding, counterexamples
from groupspec.conformance.findings.vectors import vector_text

__all__ = ["FINDINGS", "Counterexample", "Finding", "counterexamples", "vector_text"]
