"""What the cases of the wire kit leave out: what the rules need, against what happens in the cases."""
