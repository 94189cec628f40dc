"""Defects of released clients that the kit has found and no tracker has: a folder each, with a page and a reproduction.

`README.md` of a folder is a report that can be sent to the client's authors as it is; `reproduce.py`, or
`Reproduce.java`, shows the defect at a real broker with nothing but the client's own package, and ends with exit code 1
while it is there. `defects.toml` says what can be checked of each: the version, the rule, which of the kit's findings
it is, and how the trackers were searched.
"""

from groupspec.conformance.defects.entries import DEFECTS, Defect

__all__ = ["DEFECTS", "Defect"]
