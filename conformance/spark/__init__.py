"""The Spark pipeline: traces of a whole fleet, sorted by group and checked with the kernel of `groupspec.conformance.traces`."""
