"""Consumers that read a topic to its end, each in a process of its own: `python -m groupspec.conformance...readers`."""
