"""Tests made from the tables: the specification drives an implementation, event by event, and compares."""
