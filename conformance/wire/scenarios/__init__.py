"""The scenarios, a file each. Importing this package registers them, in the order in which they are listed here."""

from importlib import import_module

for _name in (
    "first_join",
    "rebalance_eager",
    "rebalance_cooperative",
    "member_unknown",
    "coordinator_moved",
    "poll_interval_exceeded",
    "close_while_stable",
):
    import_module(f"{__name__}.{_name}")
