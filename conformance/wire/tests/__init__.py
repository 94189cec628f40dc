"""The tests of the wire kit."""
