"""Examples: vectors at work."""
