"""From a machine class to a table, and from the table to everything else."""
