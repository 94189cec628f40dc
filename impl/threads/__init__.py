"""Threading designs around the core."""
