"""Tests of the defects."""
