"""What the eager sticky assignor writes into its subscription: the member's previous assignment and its generation.

Version 1 of StickyAssignor's user data: previous_assignment [topic string, partitions [int32]], generation int32. An
eager member owns nothing when it joins, so this is the only way for the leader to know what it had.
"""

from __future__ import annotations

import struct

from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.protocol import (
    MalformedProtocolData,
    Subscription,
    decode_subscription,
    encode_subscription,
)

_OWNED_AT = 2 + 4 + 4
"""Version, no topics, no user data: in front of the owned partitions of an otherwise empty Subscription version 1."""


def encode_sticky_user_data(previous: tuple[TopicPartition, ...], generation: int) -> bytes:
    """The user data of one member. The partitions are laid out exactly as a Subscription's owned ones."""
    owned = encode_subscription(Subscription((), None, previous), version=1)[_OWNED_AT:]
    return owned + struct.pack(">i", generation)


def decode_sticky_user_data(data: bytes | None) -> tuple[tuple[TopicPartition, ...], int]:
    """Previous assignment and generation; nothing and -1 if there is none. Raises MalformedProtocolData."""
    if data is None:
        return (), -1
    empty = encode_subscription(Subscription(()), version=2)
    prefix = empty[:_OWNED_AT]
    try:
        subscription = decode_subscription(prefix + data)
    except MalformedProtocolData:
        # Version 0 of the user data ends before the generation.
        subscription = decode_subscription(prefix + data + struct.pack(">i", -1))
    return subscription.owned, subscription.generation
