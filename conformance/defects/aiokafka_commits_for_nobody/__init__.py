"""aiokafka: a member that was put out commits its old position as nobody's member, and puts the group's offset back."""
