"""kafka-python, cooperative: a commit in on_partitions_revoked leaves out what is being revoked."""
