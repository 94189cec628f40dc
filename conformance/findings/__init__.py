"""What exploration says about the proposal: violations, dead ends, ambiguities, each with its shortest run.

`entries.FINDINGS` are the findings, `counterexamples()` what the book shows of them.
`replaying.replay_on_reference(trace)` plays any run of a model to the reference's core, and
`vectors.vector_text(trace)` writes it as a vector file.
"""

from groupspec.conformance.findings.entries import FINDINGS, Finding
from groupspec.conformance.findings.pages import Counterexample, counterexamples
from groupspec.conformance.findings.replaying import Replay, replay_on_reference
from groupspec.conformance.findings.vectors import vector_text

__all__ = [
    "FINDINGS",
    "Counterexample",
    "Finding",
    "Replay",
    "counterexamples",
    "replay_on_reference",
    "vector_text",
]
