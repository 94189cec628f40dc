"""Traces: what a member did, as a list of events, and the rules that such a list must keep."""
