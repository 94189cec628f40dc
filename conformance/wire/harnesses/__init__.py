"""One program a client: it lets the wire kit drive that client over stdin and stdout (see PROTOCOL.md)."""
