"""Tests of what lies in the folder above."""
