"""Kafka's Java client: close() with a limit never returns once the consumer has been fenced twice."""
