"""Lines as coordinators write them, for tests.

A small book of the 4.x messages, and a clock that counts the milliseconds.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

UUID = "034e81a7-ef81-4d6b-b2c3-5e141a4108a1"
BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
GROUP = "orders-service"


def member_id(client: str, life: int = 0) -> str:
    """The id that the coordinator makes up for a client; another one for each life."""
    return f"{client}-{life:08x}{UUID[8:]}"


class BrokerLog:
    """Collects lines; `after_ms` moves the log's clock on before the line is written."""

    def __init__(self, broker: int = 1) -> None:
        self.lines: list[str] = []
        self._broker = broker
        self._now = BEGAN

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def say(self, message: str, after_ms: int = 1, whole_broker: bool = False) -> None:
        self._now += timedelta(milliseconds=after_ms)
        stamp = self._now.strftime("%Y-%m-%d %H:%M:%S,") + f"{self._now.microsecond // 1000:03d}"
        place = "" if whole_broker else " topic=__consumer_offsets partition=7"
        logger = "org.apache.kafka.coordinator.group.GroupMetadataManager"
        self.lines.append(f"[{stamp}] INFO [GroupCoordinator id={self._broker}{place}] {message} ({logger})")

    def prepare(self, old_generation: int, reason: str, after_ms: int = 1) -> None:
        state = "in state PreparingRebalance with old generation"
        self.say(f"Preparing to rebalance group {GROUP} {state} {old_generation} (reason: {reason}).", after_ms)

    def form(self, generation: int, members: int, after_ms: int = 700) -> None:
        """The join barrier is passed and the leader's assignment arrives."""
        self.say(f"Stabilized group {GROUP} generation {generation} with {members} members.", after_ms)
        self.say(
            f"Assignment received from leader {member_id('a')} for group {GROUP} for generation {generation}. "
            f"The group has {members} members, 0 of which are static."
        )

    def join(self, client: str, old_generation: int, members: int, life: int = 0, after_ms: int = 60_000) -> None:
        """A dynamic member joins a stable (or empty) group, and a generation is formed."""
        self.arrive(client, life, after_ms)
        reason = f"Adding new member {member_id(client, life)} with group instance id null; client reason: not provided"
        self.prepare(old_generation, reason)
        self.form(old_generation + 1, members)

    def arrive(self, client: str, life: int = 0, after_ms: int = 1, state: str = "Stable") -> None:
        self.say(
            f"Dynamic member with unknown member id joins group {GROUP} in {state} state. Created a new member id "
            f"{member_id(client, life)} and requesting the member to rejoin with this id.",
            after_ms,
        )
        self.say(
            f"Pending dynamic member with id {member_id(client, life)} joins group {GROUP} in {state} state. "
            "Adding to the group now."
        )

    def leave(self, client: str, reason: str = "not provided", life: int = 0, after_ms: int = 60_000) -> None:
        """The line about the member only; `prepare_leave` writes the other one."""
        self.say(
            f"[Group {GROUP}] Member {member_id(client, life)} has left group through explicit `LeaveGroup` request; "
            f"client reason: {reason}",
            after_ms,
        )

    def prepare_leave(self, old_generation: int, *clients: str) -> None:
        listed = ", ".join(member_id(client) for client in clients)
        self.prepare(old_generation, f"explicit `LeaveGroup` request for ({listed}) members.")

    def rejoin(self, who: str, client: str, old_generation: int, said: str, after_ms: int) -> None:
        """`who`: "Leader" or "Updating metadata for member", as the coordinator begins its reason."""
        verb = "re-joining group " if who == "Leader" else ""
        reason = f"{who} {member_id(client)} {verb}during Stable; client reason: {said}"
        self.prepare(old_generation, reason, after_ms)
