"""The Spark pipeline.

Traces of a whole fleet, sorted by group and checked with `groupspec.conformance.traces.columnar`.
"""
