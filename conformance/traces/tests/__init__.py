"""Tests of the trace schema, the readers, the layout, and the columnar checker."""
