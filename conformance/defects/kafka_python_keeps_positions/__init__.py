"""kafka-python: a partition that comes back is read from where it was left."""
