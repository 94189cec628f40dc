"""A reference implementation of a consumer, written independently of the specification."""
