"""kafka-python as the leader of static and dynamic members gives some of them nothing."""
