"""Hostile bytes at every door, from seeds: frames both ways, records, recordings, traces, logs, harness lines."""
