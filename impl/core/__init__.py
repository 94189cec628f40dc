"""The sans-IO core: events in, outputs out; no threads, no sockets, no clocks.

Read `core` (one event), `dispatch` (which handler takes it) and `parts` (what they are, and which calls which); then
`membership` with `joining` and `leading`, and any other part by itself. `events`, `messages` and `context` say what
passes between them.
"""
