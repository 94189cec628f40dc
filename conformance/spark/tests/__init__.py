"""Tests that start a Spark session."""
