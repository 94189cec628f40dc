"""A reference implementation of a consumer, written independently of the specification."""

import logging

logging.getLogger(__name__).addHandler(logging.NullHandler())  # as libraries do: the application chooses what it sees
