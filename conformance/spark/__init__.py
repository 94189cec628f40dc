"""The Spark pipeline: traces of a whole fleet, sorted by group and checked with `groupspec.conformance.traces.columnar`."""
