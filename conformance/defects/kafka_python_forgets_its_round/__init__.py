"""kafka-python as leader forgets a round that new partitions began, and never joins again."""
