"""The sans-IO core: events in, outputs out; no threads, no sockets, no clocks."""
