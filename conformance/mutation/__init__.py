"""Which check notices that a rule is broken: the kill matrix, its breakers, and what is still held by nothing."""
