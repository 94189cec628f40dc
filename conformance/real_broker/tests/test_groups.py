"""Groups on Apache Kafka: members come, are killed, close; every record is read, and twice only where that is allowed.

The story is the same for every mix of clients. A member reads alone; a second one joins and takes half; it is killed in
the middle of its reading, and after its session timeout the first one has everything again; another one joins, reads,
closes; the first reads to the end and closes. More than 100,000 records go through. A record may be read twice only if
the killed member read it and had not committed it: that is what at-least-once means. Handing over in good order repeats
nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from groupspec.conformance.real_broker.tests.fixture import RealBroker
from groupspec.conformance.real_broker.tests.member_process import Ledger, MemberProcess
from groupspec.conformance.real_broker.tests.member_protocol import MemberSettings
from groupspec.conformance.real_broker.tests.paths import Round, read_trace, rounds
from groupspec.conformance.traces import engine
from groupspec.conformance.traces.dialects import Clock
from groupspec.conformance.traces.why import Question, explain_logs

pytestmark = pytest.mark.real_broker

PARTITIONS = 4
EVERYTHING = set(range(PARTITIONS))
LIMIT_S = 60


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealBroker]:
    with RealBroker(tmp_path_factory.mktemp("broker"), lifetime_s=900) as running:
        yield running


@dataclass
class GroupCase:
    """One group and its topic; it gives its name to both."""

    broker: RealBroker
    name: str
    assignor: str
    traces: Path
    ledger: Ledger = field(default_factory=Ledger)
    produced: int = 0

    def member(self, client: str, client_id: str, instance_id: str = "") -> MemberProcess:
        settings = MemberSettings(
            client=client,  # type: ignore[arg-type]
            bootstrap=self.broker.bootstrap,
            group=self.name,
            client_id=client_id,
            topic=self.name,
            partitions=PARTITIONS,
            assignor=self.assignor,  # type: ignore[arg-type]
            instance_id=instance_id,
            trace=str(self.traces / f"{client_id}.ndjson") if client == "reference" else "",
        )
        return MemberProcess(settings, self.ledger)

    def produce(self, count: int) -> None:
        first = self.produced
        self.broker.produce(self.name, count, PARTITIONS, value=lambda number: str(first + number).encode())
        self.produced += count

    @contextmanager
    def producing(self, count: int) -> Iterator[None]:
        """Records come in while the block runs; at its end they are all there."""
        producer = threading.Thread(target=self.produce, args=(count,))
        producer.start()
        yield
        producer.join(LIMIT_S)
        assert not producer.is_alive()

    def share(self, one: MemberProcess, other: MemberProcess) -> None:
        """Wait until two members have half of the partitions each."""
        for member in (one, other):
            member.wait_until(lambda it: len(it.owned()) == PARTITIONS // 2, LIMIT_S, "half of the partitions")
        assert one.owned() | other.owned() == EVERYTHING

    def takes_all(self, member: MemberProcess) -> None:
        member.wait_until(lambda it: it.owned() == EVERYTHING, LIMIT_S, "all partitions")


def reads(member: MemberProcess, goal: int) -> None:
    """Wait until a member has read so many records in all."""
    member.wait_until(lambda it: it.consumed() >= goal, LIMIT_S, f"{goal} records")


def tell(story: GroupCase, clients: tuple[str, str]) -> None:
    """The story of the module's docstring; `clients` are the one that stays and the one that comes and goes."""
    story.broker.create_topic(story.name, PARTITIONS)
    story.produce(30_000)
    stays, comes = clients
    with story.member(stays, "stays") as first:
        story.takes_all(first)
        reads(first, 10_000)
        with story.member(comes, "killed") as killed:
            story.share(first, killed)
            before = killed.consumed()
            with story.producing(40_000):
                reads(killed, before + 1)
                killed.kill()
            uncommitted_from = story.broker.committed(story.name, story.name, PARTITIONS)
            was_owned = killed.owned()
            story.takes_all(first)
        story.produce(20_000)
        with story.member(comes, "closed") as closed:
            story.share(first, closed)
            before = closed.consumed()
            with story.producing(20_000):
                reads(closed, before + 1)
                closed.close()
            assert not closed.said("wrong_record")
            story.takes_all(first)
        story.produce(2_000)
        first.wait_until(lambda _: story.ledger.distinct == story.produced, LIMIT_S, "every record")
        ends = story.broker.end_offsets(story.name, PARTITIONS)
        assert sum(ends) == story.produced >= 100_000
        assert first.positions() == dict(enumerate(ends)), "positions are where the reading ended"
        first.close()
        assert not first.said("wrong_record")
    assert not killed.said("wrong_record")
    assert story.ledger.lost(ends) == []
    assert story.broker.committed(story.name, story.name, PARTITIONS) == ends
    not_allowed = [
        (partition, offset, readers)
        for partition, offset, readers in story.ledger.repeated()
        if readers[0] != "killed"
        or len(readers) > 2
        or partition not in was_owned
        or offset < uncommitted_from[partition]
    ]
    assert not_allowed == []


def causes(story: GroupCase) -> list[tuple[str, str]]:
    """What the coordinator's own log says about the group, without the second rounds of cooperative rebalances."""
    answer = explain_logs(Question(story.name), [story.broker.coordinator_log], Clock())
    return [(one.cause, one.member) for one in answer.explanation.rebalances if not one.follow_up]


THE_STORY = [
    ("join", "stays"),
    ("join", "killed"),
    ("session_timeout", "killed"),
    ("join", "closed"),
    ("leave", "closed"),
    ("leave", "stays"),
]


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_two_confluent_members(broker: RealBroker, tmp_path: Path, assignor: str) -> None:
    """The control: the same story without the reference."""
    story = GroupCase(broker, f"control-{assignor}", assignor, tmp_path)
    tell(story, ("confluent", "confluent"))
    assert causes(story) == THE_STORY


# The paths of the deployed profile, as the specification's design states them.
JOIN = "UNJOINED > PREPARING_REBALANCE > COMPLETING_REBALANCE > ASSIGNING_PARTITIONS > STABLE"
EAGER = (
    "STABLE > PREPARE_REVOCATION > REVOKING_PARTITION > PARTITION_REVOKED > PREPARING_REBALANCE"
    " > COMPLETING_REBALANCE > ASSIGNING_PARTITIONS > STABLE"
)
COOPERATIVE = "STABLE > PREPARING_REBALANCE > COMPLETING_REBALANCE > ASSIGNING_PARTITIONS > STABLE"
COOPERATIVE_TAKEN = (
    "STABLE > PREPARING_REBALANCE > COMPLETING_REBALANCE > PREPARE_REVOCATION > REVOKING_PARTITION"
    " > PARTITION_REVOKED > ASSIGNING_PARTITIONS > STABLE"
)
# A newcomer whose SyncGroup comes when the old owner has let go already and joined again: it goes with the second
# round.
OVERTAKEN = (
    "UNJOINED > PREPARING_REBALANCE > COMPLETING_REBALANCE > PREPARING_REBALANCE"
    " > COMPLETING_REBALANCE > ASSIGNING_PARTITIONS > STABLE"
)
CLOSE = "STABLE > PREPARE_REVOCATION > REVOKING_PARTITION > PARTITION_REVOKED > UNJOINED"

# For the member that stays: it joins; another joins; that one is killed; another joins; that one closes; it closes.
EXPECTED_PATHS = {
    "range": {
        "stays": [[JOIN, EAGER, EAGER, EAGER, EAGER, CLOSE]],
        "killed": [[JOIN]],
        "closed": [[JOIN, CLOSE]],
    },
    # A newcomer gets its partitions in a second round, when the old owner has let go of them.
    "cooperative-sticky": {
        "stays": [
            [JOIN, COOPERATIVE_TAKEN, COOPERATIVE, COOPERATIVE, COOPERATIVE_TAKEN, COOPERATIVE, COOPERATIVE, CLOSE]
        ],
        "killed": [[JOIN, COOPERATIVE], [OVERTAKEN]],
        "closed": [[JOIN, COOPERATIVE, CLOSE], [OVERTAKEN, CLOSE]],
    },
}


def check_traces(story: GroupCase, members: set[str]) -> None:
    """The recorded traces show exactly the deployed paths, commits where they belong, and break no rule."""
    files = {file.stem: file for file in story.traces.glob("*.ndjson")}
    assert set(files) == members
    for member, file in files.items():
        file.write_bytes(file.read_bytes().rpartition(b"\n")[0] + b"\n")  # a kill may have cut off the last line
        found = rounds(read_trace(file))
        assert [one.path() for one in found] in EXPECTED_PATHS[story.assignor][member], member
        for one in found[1:]:
            check_commits(one)
    verdict = engine.check(sorted(files.values()))
    assert verdict.violations == []
    assert verdict.quarantined == {}


def check_commits(one: Round) -> None:
    """A commit belongs before the callback, and before the JoinGroup.

    None is made from JoinGroup to SyncGroup's answer.
    """
    names = one.names()
    if one.path() == EAGER:
        assert "commit_sent" not in names[names.index("revoked_started") : names.index("sync_answered")], names
    if one.path() == COOPERATIVE_TAKEN:
        assert "commit_sent" not in names[names.index("join_sent") : names.index("sync_answered")], names
        assert "commit_sent" not in names[names.index("revoked_started") : names.index("assigned")], names


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_two_reference_members(broker: RealBroker, tmp_path: Path, assignor: str) -> None:
    story = GroupCase(broker, f"reference-{assignor}", assignor, tmp_path)
    tell(story, ("reference", "reference"))
    check_traces(story, {"stays", "killed", "closed"})
    assert causes(story) == THE_STORY


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_the_reference_stays_and_confluent_comes_and_goes(broker: RealBroker, tmp_path: Path, assignor: str) -> None:
    story = GroupCase(broker, f"mixed-{assignor}", assignor, tmp_path)
    tell(story, ("reference", "confluent"))
    check_traces(story, {"stays"})
    assert causes(story) == THE_STORY


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_confluent_stays_and_the_reference_comes_and_goes(broker: RealBroker, tmp_path: Path, assignor: str) -> None:
    story = GroupCase(broker, f"mixed-back-{assignor}", assignor, tmp_path)
    tell(story, ("confluent", "reference"))
    check_traces(story, {"killed", "closed"})
    assert causes(story) == THE_STORY


@pytest.mark.parametrize("client", ["reference", "confluent"])
def test_X2_of_two_processes_with_one_instance_id_the_older_ends_and_the_newer_is_not_disturbed(
    broker: RealBroker, tmp_path: Path, client: str
) -> None:
    story = GroupCase(broker, f"fenced-{client}", "range", tmp_path)
    broker.create_topic(story.name, PARTITIONS)
    story.produce(1_000)
    with story.member(client, "older", instance_id="one") as older:
        reads(older, 1_000)
        with story.member(client, "newer", instance_id="one") as newer:
            assert "fenced" in older.ends_by_itself(LIMIT_S).lower()
            story.takes_all(newer)
            story.produce(1_000)
            newer.wait_until(lambda _: story.ledger.distinct == story.produced, LIMIT_S, "every record")
            newer.close()
    kinds = [kind for kind, _ in newer.callbacks()]
    assert kinds[0] == "assigned"
    assert kinds.count("assigned") == 1, "whoever is fenced does not come back"
