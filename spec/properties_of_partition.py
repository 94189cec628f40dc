"""What is claimed of one partition.

What the machine believes, and what the monitor beside it has seen (`composition/open_partition.py`).
"""

from __future__ import annotations

from groupspec.spec.compiler.model import ModelProperty
from groupspec.spec.composition.machines import ILLEGAL
from groupspec.spec.composition.open_partition import FETCH_WHEN_FETCHABLE, FETCHABLE, HUNGRY
from groupspec.spec.properties import FAULT

_BOOK = "Learning Kafka with Python: a deep dive into consumers and rebalancing"
_JAVA = "Kafka SubscriptionState"

_OF_A_PARTITION = (
    ModelProperty(ILLEGAL, "invariant", f"{FAULT} != '{ILLEGAL}'", "",
                  "Nothing happens that a correct peer never does: no error row fires.",
                  ("the error rows of the tables",), ("Q5",)),
    ModelProperty(FETCH_WHEN_FETCHABLE, "invariant", f"{FAULT} != '{FETCH_WHEN_FETCHABLE}'", "",
                  "A fetch is sent only for a partition that is owned, enabled, not paused, with a position and "
                  "nothing buffered, and while no other fetch of it is in flight.",
                  (f"{_BOOK}, fetcher", "Kafka Fetcher"), ("O5", "Q5")),
    ModelProperty("hunger-is-stilled", "invariant", f"not ({HUNGRY})", "",
                  "A poll that wants records is not left waiting: as soon as a fetch may be sent, it is.",
                  (f"{_BOOK}, fetcher",), ("O5", "Q6")),
    ModelProperty("fetchable-is-fetchable", "invariant", f"(subscription == 'FETCHABLE') == ({FETCHABLE})", "",
                  "FETCHABLE says: enabled, with a position, and not paused.", (_JAVA,), ("O5", "C3")),
    ModelProperty("paused-is-paused", "invariant",
                  "(subscription == 'PAUSED') == (said_of_it == 'enabled' and position_known and wished_paused)", "",
                  "PAUSED says that the application has paused a partition with a position.", (_JAVA,), ("O2", "C5")),
    ModelProperty("awaits-a-position", "invariant",
                  "(subscription == 'AWAITING_POSITION') == (said_of_it == 'enabled' and not position_known)", "",
                  "A partition waits for its position exactly as long as it has none.", (_JAVA,), ("O1", "O6")),
    ModelProperty("pending-is-pending", "invariant",
                  "(subscription == 'PENDING_REVOCATION') == (said_of_it == 'pending')", "",
                  "What a rebalance will take away stays paused until it is removed.",
                  ("Threading refactor proposal (Apache Kafka wiki), 'Rebalance States'",), ("Q5", "O3")),
    ModelProperty("assigned-is-assigned", "invariant", "(subscription == 'ASSIGNED') == (said_of_it == 'added')", "",
                  "Before the listener has heard of it a partition is not enabled.", (_JAVA,), ("C3",)),
    ModelProperty("position-is-kept", "invariant", "position == position_known", "",
                  "A position is kept until it is out of range or the partition comes or goes, and never carried over "
                  "to another assignment.", (_JAVA,), ("O1", "O2", "O3")),
    ModelProperty("pause-is-kept", "invariant", "user_paused == wished_paused", "",
                  "A partition is paused if the application said so last, and a new assignment begins unpaused.",
                  (_JAVA,), ("O2", "C5")),
    ModelProperty("fetch-is-out", "invariant", "fetch_out == fetch_sent", "",
                  "A fetch is believed to be in flight when it is.", ("Kafka Fetcher",), ("O5",)),
    ModelProperty("old-fetch-is-out", "invariant", "old_fetch == old_sent", "",
                  "A fetch for an earlier position is remembered until it is answered.", ("Kafka Fetcher",),
                  ("O3", "O5")),
    ModelProperty("records-are-kept", "invariant", "buffered == records_wait", "",
                  "Records that have come wait until they are returned, and those of an earlier position are dropped.",
                  ("Kafka Fetcher",), ("O3", "O4")),
    ModelProperty("demand-is-kept", "invariant", "demanded == records_wanted", "",
                  "A poll's wish for records lasts until some have come.", (f"{_BOOK}, fetcher",), ("Q6", "O5")),
    ModelProperty("can-be-returned", "recoverable", f"subscription == 'FETCHABLE' and buffered or {FAULT} != 'none'",
                  "", "Whatever has happened, records can still be returned.", ("Kafka Fetcher",), ("O5",)),
    ModelProperty("can-be-given-up", "recoverable", f"subscription == 'UNASSIGNED' or {FAULT} != 'none'", "",
                  "Whatever has happened, the partition can still be given up.", (_JAVA,), ("O3",)),
    ModelProperty("reaches-paused-fetch", "reachable", "subscription == 'PAUSED' and fetch_sent", "",
                  "A partition is paused while a fetch is in flight.", (), ()),
    ModelProperty("reaches-old-fetch", "reachable", "subscription == 'FETCHABLE' and old_sent", "",
                  "A fetch for an earlier position is in flight when the partition is fetchable again.", (), ()),
    ModelProperty("reaches-pending-records", "reachable", "subscription == 'PENDING_REVOCATION' and records_wait", "",
                  "Records are buffered of a partition that will be taken away.", (), ()),
)  # fmt: skip


def of_a_partition() -> tuple[ModelProperty, ...]:
    """What is claimed of one partition in any environment."""
    return _OF_A_PARTITION
