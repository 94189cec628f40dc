"""What exploration says about the proposal."""
