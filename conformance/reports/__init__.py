"""What a run is told as: JSON with a schema for each command, and the HTML report."""
