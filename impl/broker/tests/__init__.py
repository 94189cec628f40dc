"""Tests of the scripted broker."""
