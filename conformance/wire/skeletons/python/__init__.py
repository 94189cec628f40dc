"""The skeleton in Python."""
