"""Clients at a broker that nobody scripts: a plain life, a broker that dies, and who only passes by."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from groupspec.conformance.checks.verdicts import BROKEN, CERTAIN_RUNS, Judgement, Verdict
from groupspec.conformance.cli import main
from groupspec.conformance.commands import _conform_record
from groupspec.conformance.errors import EXIT_INCONCLUSIVE, EXIT_USAGE
from groupspec.conformance.history.harness_protocol import Setting, fixed_otherwise
from groupspec.conformance.history.history import History
from groupspec.conformance.real_broker.probe import free_ports
from groupspec.conformance.wire.case_run import CaseResult, settings_of
from groupspec.conformance.wire.clients import IN_PYTHON, Client
from groupspec.conformance.wire.gathering import judged_again
from groupspec.conformance.wire.judging import Outcome
from groupspec.conformance.wire.live import life
from groupspec.conformance.wire.live.life import Member
from groupspec.conformance.wire.live.recorder import Recorded, live
from groupspec.conformance.wire.live.tests.cluster import TOPIC, addresses, cluster
from groupspec.conformance.wire.live.watching import watch
from groupspec.conformance.wire.live_cases import LIVE_CASES, Rebalance, lived
from groupspec.conformance.wire.log import Log
from groupspec.conformance.wire.recording import judge_recording, load
from groupspec.conformance.wire.scenario_context import Surroundings
from groupspec.impl.broker.server import ScriptedBroker
from groupspec.impl.consumer import Consumer

pytestmark = pytest.mark.realtime
INTERVAL_MS = 100
REFERENCE = IN_PYTHON["reference"]


def broken(result: CaseResult) -> dict[str, str]:
    return {rule: each.reason for rule, each in result.judgements.items() if each.verdict in BROKEN}


def verdicts(result: CaseResult, verdict: Verdict) -> set[str]:
    return {rule for rule, each in result.judgements.items() if each.verdict is verdict}


def test_the_reference_lives_and_keeps_the_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life, "STABLE_MS", 300)
    monkeypatch.setattr(life, "RECORDS_MS", 200)
    with cluster() as broker:
        recorded = live(REFERENCE, "cooperative", addresses(broker), TOPIC, "again")
    assert [broken(result) for result in recorded.results] == [{}, {}]
    first, second = (verdicts(result, Verdict.PASS) for result in recorded.results)
    assert {"D4", "J2", "S2", "S3", "H4", "C3", "C7", "M1", "O1", "L1", "K1", "K2", "K4", "O2", "W1"} <= first
    assert {"D4", "J2", "S3", "C7", "M1", "L1", "K1", "W1"} <= second
    [left] = recorded.left_behind
    assert left.startswith("the group "), "this broker deletes no groups, and the kit has made no topic"
    kept = judged_again(recorded.results, tmp_path)
    assert {row.replay for client in kept.clients for row in client.rows} == {"again"}
    for result in recorded.results:
        folder = tmp_path / "reference" / result.case.id.replace("/", "--")
        again = judge_recording(load(folder / "log.ndjson"))
        assert again.judgements.keys() == result.judgements.keys()
        assert {rule: each.verdict for rule, each in again.judgements.items()} == {
            rule: each.verdict for rule, each in result.judgements.items()
        }


@pytest.mark.exhaustive
def test_a_broker_that_dies_ends_a_life_at_once_and_makes_it_inconclusive() -> None:
    with cluster(nodes=1) as broker, ThreadPoolExecutor(1) as pool:
        lived = pool.submit(live, REFERENCE, "eager", addresses(broker), TOPIC, "again")
        broker.log.wait_for(lambda event: event.api == "SyncGroup" and event.kind == "response", 20.0, "a round")
        broker.close()
        results = lived.result(30).results
    assert [verdicts(result, Verdict.INCONCLUSIVE) for result in results] == [set(each.case.rules) for each in results]
    assert all("cannot be reached any more" in result.outcome.inconclusive for result in results)


def watched(broker: ScriptedBroker, seconds: float, meanwhile: Callable[[str], None]) -> list[CaseResult]:
    """What is said of who passes by."""
    with ThreadPoolExecutor(1) as pool:

        def began(bootstrap: str) -> None:
            pool.submit(meanwhile, bootstrap)

        return watch(addresses(broker), 0, seconds, INTERVAL_MS, "again", began).results


def consume(bootstrap: str) -> None:
    with Consumer(
        TOPIC, bootstrap_servers=bootstrap, group_id="g", client_id="passer-by", heartbeat_interval_ms=INTERVAL_MS
    ) as consumer:
        consumer.poll(timeout_ms=600)


def test_who_passes_by_is_judged_by_what_is_on_the_wire() -> None:
    with cluster() as broker:
        [result] = watched(broker, 1.5, consume)
    assert result.client.name == "passer-by"
    assert broken(result) == {}
    assert {"D4", "J2", "J10", "M1", "W1"} <= verdicts(result, Verdict.PASS)
    assert "its harness would tell it" in result.judgements["S3"].reason
    assert verdicts(result, Verdict.UNSUPPORTED) == set()


@pytest.mark.parametrize("is_seen_when", [asyncio.FIRST_COMPLETED, asyncio.ALL_COMPLETED])
def test_a_broker_that_dies_makes_it_inconclusive(is_seen_when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its client has closed the connection, too, before the proxy looks at it: on a busy machine."""
    wait = asyncio.wait
    monkeypatch.setattr(asyncio, "wait", lambda tasks, **_: wait(tasks, return_when=is_seen_when))
    with cluster(nodes=1) as broker:

        def lose(bootstrap: str) -> None:
            consumer = Consumer(TOPIC, bootstrap_servers=bootstrap, group_id="g", client_id="passer-by")
            for _ in range(100):
                consumer.poll(timeout_ms=200)  # a busy machine needs more than one
                if consumer.assignment():
                    break
            broker.close()
            consumer.close(timeout_ms=0)

        [result] = watched(broker, 60, lose)
    assert verdicts(result, Verdict.INCONCLUSIVE) == set(result.case.rules)
    assert "cannot be reached any more" in result.outcome.inconclusive


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reference", "--record", "nowhere"], "'nowhere' is no broker's address"),
        (["reference", "--record", f"127.0.0.1:{free_ports(1)[0]}"], "no Kafka broker answers there"),
        (["--record", "127.0.0.1:9"], "no client to record"),
        (["reference", "--record", "127.0.0.1:9", "--listen", "0"], "starts no client"),
        (["reference", "--record", "127.0.0.1:9", "--scenario", "first-join"], "--record scripts nothing"),
        (["reference", "--record", "127.0.0.1:9", "--seconds", "3"], "no harness runs"),
        (["--record", "127.0.0.1:9", "--listen", "0", "--confirm"], "what it saw pass by is gone"),
        (["reference", "--topic", "orders"], "--topic is about a broker that is recorded"),
    ],
)
def test_what_cannot_be_recorded_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conform", *arguments]) == EXIT_USAGE
    assert message in capsys.readouterr().err


def lived_as(verdict: Verdict, client: Client, rebalance: Rebalance) -> Recorded:
    """A life whose second member got this verdict on L1, and kept every other rule, as the first did."""
    results = []
    for case in lived(rebalance):
        judgements = dict.fromkeys(case.rules, Judgement(Verdict.PASS, "kept"))
        if case.variant.name == "second":
            judgements["L1"] = Judgement(verdict, "as the test has it")
        history = History((), settings_of(case, None))
        results.append(CaseResult(client, case, "reference", "0.1.0", history, Outcome(), judgements, seconds=1.0))
    return Recorded(results, [])


@pytest.mark.parametrize(
    ("options", "later", "lives"),
    [
        ((), Verdict.FAIL, 1),
        (("--confirm",), Verdict.FAIL, CERTAIN_RUNS),
        (("--confirm",), Verdict.PASS, 2),
        (("--confirm", "--rule", "J2"), Verdict.FAIL, 1),
    ],
    ids=["not asked for", "certain", "flaps", "another rule"],
)
def test_a_client_that_broke_a_rule_lives_again_if_that_is_asked_for(
    options: tuple[str, ...], later: Verdict, lives: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eager; what lives by the cooperative protocol keeps every rule."""
    made: list[Rebalance] = []

    def live_(client: Client, rebalance: Rebalance, *_: object) -> Recorded:
        made.append(rebalance)
        broke = Verdict.FAIL if made.count("eager") == 1 else later
        return lived_as(broke if rebalance == "eager" else Verdict.PASS, client, rebalance)

    monkeypatch.setattr(_conform_record, "live", live_)
    file = tmp_path / "out.json"
    main(["conform", "reference", "--record", "127.0.0.1:9", *options, "--json", str(file)])
    assert made == ["eager"] * lives + ["cooperative"]
    rows = json.loads(file.read_text(encoding="utf-8"))["clients"][0]["results"]
    found = [
        each for each in rows if (each["rule"], each["scenario"], each["variant"]) == ("L1", "live-eager", "second")
    ]
    told = [(each["runs"], each["certain"], each["flaps"]) for each in found]
    assert told == ([] if "--rule" in options else [(lives, lives == CERTAIN_RUNS, later is Verdict.PASS)])


def test_a_broker_that_makes_no_topics_and_a_topic_that_is_not_there_are_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with cluster(nodes=1) as broker:
        assert main(["conform", "reference", "--record", broker.bootstrap]) == EXIT_USAGE
        assert "--topic TOPIC" in capsys.readouterr().err
        assert main(["conform", "reference", "--record", broker.bootstrap, "--topic", "nonesuch"]) == EXIT_USAGE
        assert "there is no topic 'nonesuch'" in capsys.readouterr().err
        nobody = ["conform", "--record", broker.bootstrap, "--listen", "0", "--seconds", "1"]
        assert main(nobody) == EXIT_INCONCLUSIVE
        assert "no member of a group was seen" in capsys.readouterr().err
        port = broker.bootstrap.rpartition(":")[2]
        assert main(["conform", "--record", broker.bootstrap, "--listen", port]) == EXIT_USAGE
        assert "nobody can listen there" in capsys.readouterr().err


@pytest.mark.parametrize(("fixed", "commits"), [({}, False), ({"auto_commit": True}, True)])
def test_a_client_that_always_commits_by_itself_does_so_as_the_second_member_too(
    fixed: dict[str, Setting], commits: bool
) -> None:
    case = LIVE_CASES["live-eager/second"]
    nothing: Any = None
    member = Member(case, Surroundings("127.0.0.1:9092", "orders"), nothing, nothing, Log())
    member.fixed = fixed
    assert (member.configuration.auto_commit, settings_of(case, member).auto_commit) == (commits, commits)
    assert fixed_otherwise(fixed, member.configuration) == ""
