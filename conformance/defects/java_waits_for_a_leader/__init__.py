"""Kafka's Java client reads on at its old offset in a topic that was made anew under its name."""
