"""confluent-kafka: a callback that raises loses the record that poll() had in hand."""
