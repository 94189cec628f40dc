"""Does X follow the specification? Generated tests, the wire kit, traces.

    >>> from groupspec.conformance import judge
    >>> [client] = judge("reference", ["close-while-stable"]).clients
    >>> {row.judgement.verdict.value for row in client.rows}
    {'PASS'}

What is named here is for users; the modules below it may change.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupspec.conformance.api import check_traces, explain_rebalances, judge
    from groupspec.conformance.checks.verdicts import Verdict
    from groupspec.conformance.errors import Problem, UsageProblem
    from groupspec.conformance.traces.recorder import FileRecorder
    from groupspec.conformance.traces.why import Answer
    from groupspec.conformance.vectors.reading import VectorFile, read_vectors, vector_files
    from groupspec.conformance.wire.results import Campaign

    __version__: str

__all__ = [
    "Answer",
    "Campaign",
    "FileRecorder",
    "Problem",
    "UsageProblem",
    "VectorFile",
    "Verdict",
    "check_traces",
    "explain_rebalances",
    "judge",
    "read_vectors",
    "vector_files",
]

_MODULES = {
    "Answer": "traces.why",
    "Campaign": "wire.results",
    "FileRecorder": "traces.recorder",
    "Problem": "errors",
    "UsageProblem": "errors",
    "VectorFile": "vectors.reading",
    "Verdict": "checks.verdicts",
    "read_vectors": "vectors.reading",
    "vector_files": "vectors.reading",
}


def __getattr__(name: str) -> object:
    """Imported when it is first asked for: a harness needs the protocol, and none of the kit."""
    if name == "__version__":
        from importlib.metadata import version  # only here: harnesses are to start quickly

        return version("groupspec")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'api')}"), name)
