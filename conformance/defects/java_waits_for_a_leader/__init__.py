"""Kafka's Java client waits for ever for a leader of the epoch that was committed."""
