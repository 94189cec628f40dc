"""What must happen next, as data: test vectors that need none of this project's code (see README.md).

`making` writes them from the compiled machines; `reading` is the small public reader:

    from groupspec.conformance.vectors import read_vectors
"""

from groupspec.conformance.vectors.reading import (
    Pair,
    VectorEvent,
    VectorFile,
    VectorState,
    VectorStep,
    read_vectors,
    vector_files,
)

__all__ = ["Pair", "VectorEvent", "VectorFile", "VectorState", "VectorStep", "read_vectors", "vector_files"]
