"""Simulated groups keep every promise, meet what is rare, replay to the byte; and the simulation can fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from groupspec.conformance import cli
from groupspec.conformance.commands import simulate
from groupspec.conformance.mutation.catalogue import find
from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.simulation import campaign
from groupspec.conformance.simulation.application import MOST_SOUGHT
from groupspec.conformance.simulation.brokers import WITH_BROKERS_OF_THEIR_OWN
from groupspec.conformance.simulation.cluster import Cluster
from groupspec.conformance.simulation.judging import execute
from groupspec.conformance.simulation.ledger import Broken, Ledger
from groupspec.conformance.simulation.loop import Livelock, Loop
from groupspec.conformance.simulation.network import Link
from groupspec.conformance.simulation.picture import sequence
from groupspec.conformance.simulation.plan import (
    KINDS,
    QUOTA,
    RECREATION,
    WITH_BROKERS_BEHIND,
    WITH_RECREATIONS,
    Fault,
    Plan,
    draw,
)
from groupspec.conformance.simulation.run import Run
from groupspec.conformance.simulation.shrinking import failure
from groupspec.conformance.simulation.situations import _ENDED, _FAILED, _TOLD, SITUATIONS
from groupspec.impl.callbacks import Callbacks
from groupspec.impl.core.context import Identity
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetAndMetadata,
    Request,
    Response,
    SyncGroupRequest,
    TopicPartition,
)
from groupspec.impl.core.positions import Positions
from groupspec.impl.core.protocol import Subscription, encode_subscription
from groupspec.impl.core.validation import Validation
from groupspec.impl.network.connection import Connection, Phase
from groupspec.impl.records import ConsumerRecord
from groupspec.impl.threads.designs import Design
from groupspec.spec.known_bugs import KNOWN_BUGS

NOTICED = {
    "BUG-09": 0,
    "BUG-24": 1,
    "BUG-27": 3,
    "J4-unknown-keeps-id": 3,
    "J7-joins-before-callback": 1,
    "K2-keeps-what-moves": 0,
    "O7-any-topic": 20,
    "O7-late-commits": 62,
    "O7-name-is-all": 62,
}
"""Mutants of the reference, and the seed of a run that breaks a promise with each of them."""

YEARS = 0.05
MET = 100
"""How often each situation has to be met in that time; `make check` takes a third of the time, and asks for a quarter:
of what is met 100 times, chance leaves about 25 to 40 in a third."""

SELDOM = {
    "commit-rebalance-in-progress": "0: the reference sends no commit between JoinGroup and SyncGroup",
    "conflicting-claims": "0: a static member misses a generation, and joins the next before a heartbeat tells it",
    "commit-illegal-generation": "30: who is left behind by a round has lost its member id, too, unless it is static",
    "poll-interval-over-in-round": "64: nobody polls, and the answer to SyncGroup takes longer than a poll interval",
    "commit-lands-on-new-topic": "25: in one group of twenty, if a member's commit is under way when it is told",
    "metadata-behind": "in one group of twenty, as long as a broker is behind; often where its members ask again",
    "sent-when-closed": "in one group of seven, where heartbeats are further apart than brokers wait",
    "close-heartbeat-under-way": "98: close() is called in the time of one heartbeat",
}
"""Situations that the whole campaign meets less often than that: how often, and why they are rare."""

SEEDS = (1, 2, 4, 5, 8, 20)
MENDED = (26, 3836, 4094, 5018, 5534, 50000074, 50000078)
"""Seeds of long campaigns that have broken a promise, with an earlier reference or earlier rules."""

MENDED_OF_CONSUMERS: dict[int, tuple[Design, str]] = {
    1035: ("heartbeat", "close() is called in the millisecond of a JoinGroup, and after it"),
    1056: ("background", "who is fenced learns it in unsubscribe()"),
    1091: ("background", "a SyncGroup has failed, and close() raises it"),
    1234: ("background", "the application has paused what it was never told of, and what goes untold"),
}
DRIVERS: tuple[Design, ...] = ("background", "heartbeat")
SEEDS_OF_CONSUMERS: dict[Design, int] = {"background": 8, "heartbeat": 5}
"""How many groups of whole consumers `make check` runs: about ten seconds for each design."""


def quick(seed: int) -> Plan:
    """The plan of this seed, without the hours at its end in which nothing happens."""
    return replace(draw(seed), quiet_ms=60_000)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_promise_is_broken(seed: int) -> None:
    outcome = execute(quick(seed))
    assert outcome.error == ""
    assert outcome.records > 50


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", MENDED)
def test_what_a_long_campaign_has_found_stays_mended(seed: int) -> None:
    assert execute(quick(seed)).error == ""


@pytest.mark.parametrize("driver", DRIVERS)
def test_whole_consumers_keep_the_promises_too(driver: Design) -> None:
    outcome = execute(campaign.planned(8, driver=driver), driver)
    assert outcome.error == ""
    assert outcome.records > 50


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", MENDED_OF_CONSUMERS)
def test_what_was_found_with_whole_consumers_stays_mended(seed: int) -> None:
    driver, _ = MENDED_OF_CONSUMERS[seed]
    assert execute(campaign.planned(seed, driver=driver), driver).error == ""


@pytest.mark.exhaustive
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_campaign_of_whole_consumers_breaks_no_promise(driver: Design) -> None:
    found = campaign.Campaign(0, driver=driver)
    for result in campaign.results(0, SEEDS_OF_CONSUMERS[driver], None, 2, driver):
        found.add(result)
    assert found.failed == {}


@pytest.mark.exhaustive
@pytest.mark.parametrize(("years", "met"), [(YEARS / 3, MET // 4), pytest.param(YEARS, MET, marks=pytest.mark.nightly)])
def test_a_campaign_breaks_no_promise_and_meets_what_is_rare(years: float, met: int) -> None:
    found = campaign.Campaign(0)
    for result in campaign.results(0, 2_000, None, 2):
        found.add(result)
        if found.years >= years:
            break
    assert found.failed == {}
    assert found.years >= years
    assert {name for name in SITUATIONS if found.seen[name] < met} <= SELDOM.keys(), found.seen


@pytest.mark.parametrize("identifier", NOTICED)
def test_a_mutant_of_the_reference_is_noticed(identifier: str) -> None:
    plan = quick(NOTICED[identifier])
    with Seam() as seam:
        find(identifier).change(seam)
        assert execute(plan).promise


def test_a_failure_is_made_small_and_its_command_shows_it_again(capsys: pytest.CaptureFixture[str]) -> None:
    with Seam() as seam:
        find("J7-joins-before-callback").change(seam)
        found = failure(NOTICED["J7-joins-before-callback"])
        assert found is not None
        assert len(found.plan.faults) <= 5
        picture = sequence(found.outcome, "it")
        assert cli.main(found.replay.split()[1:]) == 1
    shown = capsys.readouterr().out
    assert found.outcome.error in shown
    assert found.outcome.promise in picture


@pytest.mark.exhaustive
def test_a_replay_is_the_same_to_the_byte_in_another_process() -> None:
    program = (
        "import hashlib;from groupspec.conformance.simulation.plan import draw;"
        "from groupspec.conformance.simulation.run import Run;"
        "print(hashlib.sha256(Run(draw(2), True).execute().trace_text().encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1")
    }
    assert len(digests) == 1


def test_a_plan_is_drawn_from_its_number_alone() -> None:
    assert [draw(seed) for seed in range(30)] == [draw(seed) for seed in range(30)]
    assert len({str(draw(seed)) for seed in range(30)}) == 30
    assert all(len(draw(seed, members=5).members) == 5 for seed in range(5))


def written(*faults: tuple[int, str, int], **config: object) -> Plan:
    """A plan for one member, with these faults of its: when, what, and for how long."""
    drawn = draw(0, 1)
    member = replace(drawn.members[0], config=replace(drawn.members[0].config, **config), starts_ms=0)  # type: ignore[arg-type]
    numbered = tuple(Fault(number, at_ms, kind, 1, ms) for number, (at_ms, kind, ms) in enumerate(faults))
    return replace(drawn, members=(member,), faults=numbered, faults_end_ms=120_000, quiet_ms=60_000)


def test_in_some_groups_each_member_has_times_of_its_own() -> None:
    """A coordinator has to go by the longest rebalance timeout, and by each member's own session."""

    def times(seed: int) -> set[tuple[int, int, int]]:
        configs = [member.config for member in draw(seed, members=4).members]
        return {(c.session_timeout_ms, c.max_poll_interval_ms, c.request_timeout_ms) for c in configs}

    own, alike = {10, 12, 30, 32}, {0, 2, 11, 13, 28, 31}
    assert {seed for seed in own | alike if len(times(seed)) > 1} == own


def test_in_some_groups_a_topic_is_made_anew_and_nothing_else_is_drawn_anew() -> None:
    """What had been found with the other seeds is found still."""
    assert {seed for seed in range(40) if draw(seed).has_recreations} == set(WITH_RECREATIONS)
    of_any = [fault for seed in WITH_RECREATIONS for fault in draw(seed).faults if fault.kind == RECREATION]
    assert {fault.ms > 0 for fault in of_any} == {False, True}


def test_a_record_of_a_topic_that_the_process_was_told_is_no_more_is_returned_by_no_later_poll() -> None:
    run = Run(draw(20))
    run._start(run.plan.members[0].number)
    (process,), ledger, partition = run.processes, run.ledger, TopicPartition("orders", 0)
    ledger.assign(process, partition)
    old, new = (ConsumerRecord("orders", 0, at, made, None, None) for at, made in ((7, 0), (0, 1)))
    ledger.told_topic(process, "orders", run.cluster.logs.topic_id("orders"))
    ledger.returned(process, [old])
    run.cluster.delete_topic("orders")
    ledger.made_anew("orders")
    run.cluster.logs.make_anew("orders", 9)
    ledger.told_topic(process, "orders", run.cluster.logs.topic_id("orders"))
    ledger.returned(process, [structs.replace(old, offset=8)])  # by a poll that had begun
    process.application.poll_began_ms = run.loop.now_ms + 1
    with pytest.raises(Broken, match="O7"):
        ledger.returned(process, [structs.replace(old, offset=9)])
    ledger.returned(process, [new])
    ledger.processed(process, [new])
    with pytest.raises(Broken, match="lost records"):
        ledger.processed(process, [structs.replace(new, offset=7)])


def test_in_some_groups_brokers_have_releases_quotas_and_idle_connections_of_their_own() -> None:
    drawn = {seed: draw(seed) for seed in range(200)}
    own = {seed for seed, plan in drawn.items() if plan.brokers is not None}
    assert own == {seed for seed in drawn if seed % 20 in WITH_BROKERS_OF_THEIR_OWN or seed % 40 in WITH_BROKERS_BEHIND}
    assert own == {seed for seed, plan in drawn.items() if any(fault.kind == QUOTA for fault in plan.faults)}
    releases = {release for plan in drawn.values() if plan.brokers is not None for release in plan.brokers.releases}
    assert {"2.0", "3.9", "newest"} <= releases
    assert {plan.brokers.closes_ms > 0 for plan in drawn.values() if plan.brokers is not None} == {False, True}


def test_a_broker_that_is_behind_tells_the_old_id_and_serves_the_old_log() -> None:
    cluster = Cluster(loop := Loop(), draw(24))
    logs, orders = cluster.logs, TopicPartition("orders", 0)
    loop.run_until(200_000)
    old, end = logs.topic_id("orders"), logs.end(orders)
    assert end > 5
    answers: list[Response] = []

    def ask(request: Request, node: int) -> Response:
        cluster.receive(request, node, "m1", answers.append)
        return answers[-1]

    cluster.delete_topic("orders", [0, 1_000, 0])
    logs.make_anew("orders", 3)
    fetch = FetchRequest({orders: end - 2}, 500, 1, 1, 1, topic_ids={"orders": old})
    for node, is_behind in ((1, False), (2, True)):
        metadata = ask(MetadataRequest(("orders",)), node)
        fetched = ask(fetch, node)
        assert isinstance(metadata, MetadataResponse) and isinstance(fetched, FetchResponse)
        assert (metadata.topics[0].topic_id == old) == is_behind
        assert (fetched.partitions[orders].error is ErrorCode.UNKNOWN_TOPIC_ID) != is_behind
        assert fetched.partitions[orders].high_watermark == (end if is_behind else -1)
    loop.run_until(loop.now_ms + 1_000)
    assert logs.seen_by(2, "orders") is logs


def test_a_commit_of_the_old_topic_may_land_on_the_new_one_if_it_was_sent_before_its_member_was_told() -> None:
    """Who has read of the old topic may not begin there all the same, nor send one later."""
    run = Run(draw(24))
    run._start(run.plan.members[0].number)
    (process,), ledger, partition = run.processes, run.ledger, TopicPartition("orders", 0)
    old = ConsumerRecord("orders", 0, 0, 0, None, None)
    ledger.assign(process, partition)
    ledger.told_topic(process, "orders", run.cluster.logs.topic_id("orders"))
    run.loop.now_ms += 1
    ledger.returned(process, [old])
    ledger.commit_sent(process, 1, [partition])
    run.cluster.delete_topic("orders")
    ledger.made_anew("orders")
    run.cluster.logs.make_anew("orders", 9)
    assert ledger.commit_stored(process, {partition: OffsetAndMetadata(7)}, False, 1)
    assert not ledger.told_topic(process, "orders", run.cluster.logs.topic_id("orders"))
    run.loop.now_ms += 1
    ledger.commit_sent(process, 2, [partition])
    with pytest.raises(Broken, match="M4"):
        ledger.commit_stored(process, {partition: OffsetAndMetadata(8)}, False, 2)
    begins = structs.replace(old, offset=7, timestamp_ms=1)
    ledger.returned(process, [begins])
    with pytest.raises(Broken, match="lost records"):
        ledger.processed(process, [begins])
    ledger.made_anew("orders")  # and another member, which has read nothing of the old one
    ledger._landed[partition] = {7}
    ledger.release(process, [partition])
    ledger.assigned(process, [partition])
    ledger.returned(process, [begins])
    ledger.processed(process, [begins])


def test_what_was_read_above_a_commit_of_the_old_topic_is_uncommitted() -> None:
    """Such a commit may be beyond the end of the new topic: whoever is next begins anew (seed 1828)."""
    run = Run(draw(24))
    run._start(run.plan.members[0].number)
    (process,), ledger, partition = run.processes, run.ledger, TopicPartition("orders", 0)
    ledger.assign(process, partition)
    ledger.told_topic(process, "orders", run.cluster.logs.topic_id("orders"))
    ledger.commit_sent(process, 1, [partition])
    run.cluster.delete_topic("orders")
    ledger.made_anew("orders")
    run.cluster.logs.make_anew("orders", 9)
    ledger.commit_stored(process, {partition: OffsetAndMetadata(7)}, False, 1)
    position = OffsetAndMetadata(3)
    assert not ledger._is_uncommitted(process, partition, position), "nothing was read of the new one"
    run.loop.now_ms += 1
    ledger.told_topic(process, "orders", run.cluster.logs.topic_id("orders"))
    ledger.returned(process, [ConsumerRecord("orders", 0, 2, 1, None, None)])
    assert ledger._is_uncommitted(process, partition, position)
    run.loop.now_ms += 1
    ledger.commit_sent(process, 2, [partition])
    ledger.commit_stored(process, {partition: position}, True, 2)
    assert not ledger._is_uncommitted(process, partition, position)


def test_a_process_that_sends_while_it_is_to_hold_back_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = quick(13)
    assert execute(plan).seen["held-back"]
    monkeypatch.setattr(Connection, "is_ready", property(lambda self: self.phase is Phase.READY))
    outcome = execute(plan)
    assert outcome.promise == "network"
    assert "W2" in outcome.error


def test_a_static_member_that_comes_back_for_more_topics_waits_for_a_rebalance(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = written((60_000, "other topics", 0), (80_000, "crash and restart", 2_000), group_instance_id="one")
    assert execute(plan).error == ""
    monkeypatch.setattr(Run, "_waits_for_a_rebalance", lambda self: False)
    assert execute(plan).promise == "stable"


def test_so_does_a_group_whose_leader_withheld_what_a_static_member_that_came_back_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert execute(draw(9002)).error == ""
    monkeypatch.setattr(Run, "_waits_for_a_rebalance", lambda self: False)
    assert execute(draw(9002)).promise == "stable"


def test_who_joins_a_generation_again_does_not_know_when_it_began() -> None:
    """A Stable group answers a follower at once: T-STALE-ACCEPTED must not count from then."""
    plan = draw(10811).only([2, 3, 4], [135, 139, 143, 148, 150, 152, 154, 161])
    assert execute(plan, is_recording=True).error == ""


def test_the_join_of_a_process_that_was_killed_may_reach_the_group_after_its_successors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The instance id is that of the killed one then, and who lives is fenced."""
    plan = draw(21004).only(None, [90, 102, 105, 106, 107, 111, 112, 113, 114, 117, 119])
    assert execute(plan).error == ""
    monkeypatch.setattr(Link, "has_sent", lambda self, *apis: False)
    assert execute(plan).promise == "errors"


def test_an_application_pauses_goes_back_and_has_callbacks_that_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = written(
        (20_000, "callback raises", 0), (20_000, "other topics", 0), (60_000, "seek back", 0), (70_000, "pause", 30_000)
    )
    outcome = execute(plan)
    assert outcome.error == ""
    assert outcome.doubles == MOST_SOUGHT
    monkeypatch.setattr(Positions, "pause", lambda self, partitions: None)
    assert execute(plan).promise == "records of paused partitions"


def test_who_reads_on_at_its_old_position_in_a_log_that_was_cut_has_lost_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = quick(16)
    assert plan.has_elections
    assert execute(plan).error == ""
    monkeypatch.setattr(Validation, "right", lambda self, leader, wanted: wanted)
    assert execute(plan).promise == "lost records"


def test_a_coordinator_that_moves_in_a_round_may_fence_the_newer_process() -> None:
    cluster = Cluster(loop := Loop(), written())
    answers: list[Response] = []

    def ask(request: Request) -> None:
        cluster.receive(request, cluster.coordinator, "m1", answers.append)
        loop.run_until(loop.now_ms + 10)

    protocols = (("range", encode_subscription(Subscription(("orders",)))),)
    join = JoinGroupRequest("billing", 10_000, 60_000, "", "one", protocols)
    ask(join)
    loop.run_until(loop.now_ms + 10_000)
    (first,) = answers
    assert isinstance(first, JoinGroupResponse)
    assignment = ((first.member_id, b""),)
    ask(SyncGroupRequest("billing", first.generation, first.member_id, "one", "range", assignment))
    ask(structs.replace(join, member_id=first.member_id))  # the leader wants a round
    ask(join)  # and another process takes its instance id over
    newer = answers[-1]
    assert isinstance(newer, JoinGroupResponse) and newer.member_id != first.member_id
    cluster.move(2, 0)
    loop.run_until(loop.now_ms + 10)  # it reads the log
    ask(HeartbeatRequest("billing", newer.generation, newer.member_id, "one"))
    assert answers[-1] == HeartbeatResponse(ErrorCode.FENCED_INSTANCE_ID)
    assert cluster.has_forgotten("one")
    assert cluster.undone == {2, 3}  # no leader has brought an assignment for them: they are in no record


def test_a_commit_of_what_was_sought_may_arrive_when_all_is_given_up() -> None:
    run = Run(written())
    run._start(1)
    (process,), ledger, partition = run.processes, run.ledger, TopicPartition("orders", 0)
    ledger.marks[partition] = 5
    ledger.commit_stored(process, {partition: OffsetAndMetadata(5)}, is_stale=False)
    ledger.sought(process, partition, 2)
    ledger.release(process, [partition])
    ledger.commit_stored(process, {partition: OffsetAndMetadata(2)}, is_stale=False)
    with pytest.raises(Broken, match="commit goes back"):
        ledger.commit_stored(process, {partition: OffsetAndMetadata(1)}, is_stale=False)


def test_who_was_replaced_owns_for_a_moment_what_its_successor_has() -> None:
    run = Run(written(group_instance_id="one"))
    run._start(1)
    run._start(1)
    members, partition = set[str](), TopicPartition("orders", 0)
    ledger = Ledger(members.__contains__, lambda instance_id: False, run.cluster.logs)
    for process in run.processes:
        process.core.context.identity = Identity(process.name, 3, "range")
        process.core.membership.owned_generation = 3
        ledger.assign(process, partition)
    replaced, successor = run.processes
    members.add(successor.name)
    ledger.check_owners(replaced)
    ledger.check_owners(successor)
    members.add(replaced.name)
    for process in run.processes:
        with pytest.raises(Broken, match="K1"):
            ledger.check_owners(process)


def test_who_has_missed_a_generation_keeps_what_it_has_until_it_hears_of_the_next() -> None:
    run = Run(written(group_instance_id="one"))
    run._start(1)
    run._start(1)
    partition = TopicPartition("orders", 0)
    ledger = Ledger(lambda member_id: True, lambda instance_id: False, run.cluster.logs)
    left_behind, owner = run.processes
    for process, owned_generation in ((left_behind, 3), (owner, 4)):
        process.core.context.identity = Identity(process.name, 5, "cooperative-sticky")
        process.core.membership.owned_generation = owned_generation
        ledger.assign(process, partition)
    ledger.check_owners(owner)
    left_behind.core.membership.owned_generation = 4
    with pytest.raises(Broken, match="K1"):
        ledger.check_owners(owner)


def test_a_commit_before_a_revocation_may_be_given_up_before_its_request(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = written(
        (60_000, "request lost", 0),
        (60_001, "rebalance wanted", 0),
        partition_assignment_strategy=("range",),
        session_timeout_ms=45_000,
        max_poll_interval_ms=20_000,
        request_timeout_ms=30_000,
        enable_auto_commit=True,
        auto_commit_interval_ms=60_000,
    )
    plan = replace(
        plan,
        members=(replace(plan.members[0], commits="auto"),),
        faults=(replace(plan.faults[0], what="OffsetCommit"), plan.faults[1]),
        record_every_ms=3_000,
    )
    assert execute(plan).error == ""
    monkeypatch.setattr(Link, "has_lost", False)
    assert execute(plan).promise == "commit before revocation"


def test_every_kind_of_fault_is_carried_out() -> None:
    assert Run(draw(0))._acts.keys() == KINDS.keys()


def test_every_situation_is_looked_for_and_is_the_trigger_of_known_bugs() -> None:
    assert len(SITUATIONS) >= 30
    assert {bug for one in SITUATIONS.values() for bug in one.bugs} <= set(KNOWN_BUGS)
    source = Path(campaign.__file__).with_name("situations.py").read_text(encoding="utf-8")
    looked_for = {name for group in (_ENDED, _FAILED, _TOLD) for one in group.values() for name in one}
    looked_for |= set(re.findall(r'self\.seen\["([a-z-]+)"\]', source))
    assert looked_for == set(SITUATIONS)


def test_time_that_stands_still_is_a_failure() -> None:
    loop = Loop()

    def again() -> None:
        loop.at(loop.now_ms, again)

    again()
    with pytest.raises(Livelock, match="time does not go on"):
        loop.run_until(loop.now_ms + 1)


def test_a_campaign_goes_on_where_it_had_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "campaign.json"
    arguments = ["simulate", "--seeds", "1", "--members", "1", "--jobs", "1", "--resume", str(file)]
    assert cli.main([*arguments, "--seed", "4"]) == 0
    assert cli.main(arguments) == 0
    assert campaign.load(file).runs == 2
    assert campaign.load(file).next_seed == 6
    assert cli.main([*arguments, "--seed", "9"]) == 2
    assert "goes on with --seed 6" in capsys.readouterr().err
    file.write_text("{}")
    assert cli.main(arguments) == 2
    assert "no campaign to go on with" in capsys.readouterr().err


def test_a_campaign_tells_of_a_failure_as_soon_as_it_has_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(campaign, "run_seed", lambda seed, *_: campaign.Result(seed, "stable", 1, 0, 0, {}))
    told = []
    monkeypatch.setattr(simulate, "failure", lambda seed, *_, **__: told.append(capsys.readouterr().err))
    assert cli.main(["simulate", "--seeds", "1", "--seed", "4", "--jobs", "1"]) == 1
    assert told == ["BROKEN seed 4: stable\n"]


def test_what_a_consumer_keeps_to_itself_is_told_all_the_same() -> None:
    """A promise that is broken in a callback, and a consumer that raises nothing of what callbacks raise."""
    with Seam() as seam:
        seam.replace(Callbacks.add, lambda *_: None)
        seam.replace(Ledger.assigned, _finds_them_twice)
        outcome = execute(campaign.planned(8, driver="background"), "background")
    assert (outcome.promise, outcome.error) == ("callbacks", "callbacks: assigned twice (C1)")


def _finds_them_twice(*_: object) -> None:
    raise Broken("callbacks", "assigned twice (C1)")
