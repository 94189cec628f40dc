"""The reference group coordinator: classic groups of any number of members, without threads, sockets or a clock.

    coordinator.py   one broker's coordinator: requests and times in, answers and log records out
    joining.py, syncing.py, heartbeats.py, leaving.py, offsets.py    one request each
    rebalancing.py   the join phase and the sync phase: how they begin and end, and who is removed
    group.py         what is known about one group, and what follows from it
    log.py           what a coordinator writes, so that the next one can go on
    context.py, timers.py, settings.py    what all of them share

The behaviour is that of Apache Kafka 4's GroupMetadataManager and ClassicGroup; where 3.9's GroupCoordinator answers
otherwise, the text says so.
"""
