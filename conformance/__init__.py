"""Does X follow the specification? Generated tests, the wire kit, traces."""
