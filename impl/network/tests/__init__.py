"""Tests of the network."""
