"""Pictures of the machines, drawn from their tables."""
