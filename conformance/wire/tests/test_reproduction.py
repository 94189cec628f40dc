"""A reproduction: data and a player that need nothing of ours, and show what the kit has seen."""

from __future__ import annotations

import ast
import base64
import json
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from groupspec.conformance.checks.verdicts import Judgement, Verdict
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.history.history import History
from groupspec.conformance.wire import play
from groupspec.conformance.wire.artefacts import write_artefacts
from groupspec.conformance.wire.case_run import CaseResult, run_case
from groupspec.conformance.wire.clients import IN_PYTHON, mutated
from groupspec.conformance.wire.recording import load
from groupspec.conformance.wire.reproduction import write_reproduction
from groupspec.conformance.wire.scenarios import find_cases
from groupspec.conformance.wire.stalls import StallClock
from groupspec.conformance.wire.tests import stories
from groupspec.conformance.wire.tests.test_judging import result_of
from groupspec.impl.core.messages import FetchRequest, FetchResponse, TopicPartition
from groupspec.impl.network.codec import decode_response, encode_request

AT_MOST_S = 120
JOIN, HEARTBEAT, FETCH = 11, 12, 1
ORDERS_1 = TopicPartition("orders", 1)


def frame(key: int, correlation_id: int, body: bytes, version: int = 4, client_id: bytes = b"me") -> bytes:
    return struct.pack(">hhih", key, version, correlation_id, len(client_id)) + client_id + body


def recorded(**changes: Any) -> dict[str, Any]:
    """Two heartbeats of the same content, the second refused; a fetch with records and one without."""
    entries: list[Entry] = []
    answers = [
        (HEARTBEAT, "Heartbeat", b"g1", b"fine", "NONE"),
        (HEARTBEAT, "Heartbeat", b"g1", b"gone", "UNKNOWN_MEMBER_ID"),
        (HEARTBEAT, "Heartbeat", b"g1", b"gone", "UNKNOWN_MEMBER_ID"),
        (FETCH, "Fetch", b"offset 3", b"many records", "NONE"),
        (FETCH, "Fetch", b"offset 9", b"none", "NONE"),
    ]
    command = json.dumps({"command": "configure", "bootstrap": "127.0.0.1:1001,127.0.0.1:1002"})
    entries.append(Entry(500, "kit", "command", command))
    for number, (key, api, body, answer, error) in enumerate(answers, 1):
        where: dict[str, Any] = {"node": 1, "connection": 1, "correlation_id": number, "version": 4, "api": api}
        entries.append(Entry(1000 * number, "wire", "request", raw=frame(key, number, body), **where))
        raw = struct.pack(">i", number) + answer
        entries.append(Entry(1000 * number + 200, "wire", "response", raw=raw, error=error, **where))
    run = result_of(stories.eager_rebalance())
    judged = {"H3": Judgement(Verdict.FAIL, "a heartbeat after UNKNOWN_MEMBER_ID", at_us=3000)}
    history = History(entries, run.history.settings)
    return {"result": run, "history": history, "judgements": judged} | changes


def written(folder: Path, **changes: Any) -> dict[str, Any] | None:
    given = recorded(**changes)
    result: CaseResult = replace(given["result"], history=given["history"], judgements=given["judgements"])
    write_reproduction(result, folder)
    file = folder / "repro" / "run.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None


def test_only_a_broken_must_is_written_and_a_run_without_its_bytes_is_not(tmp_path: Path) -> None:
    assert written(tmp_path, judgements={"H3": Judgement(Verdict.DEVIATION, "late")}) is None
    story = stories.eager_rebalance()
    assert written(tmp_path, history=story.history()) is None
    run = written(tmp_path)
    assert run is not None
    [broken] = run["broken"]
    assert (broken["api"], broken["place"]) == ("Heartbeat", [0, 1, 0])  # nothing joined; one was refused; none waits
    assert (run["ports"], run["failed"]) == ([1001, 1002], {"H3": "a heartbeat after UNKNOWN_MEMBER_ID"})


def test_what_was_late_or_did_not_come_names_no_request(tmp_path: Path) -> None:
    run = written(tmp_path, judgements={"H3": Judgement(Verdict.FAIL, "late", at_us=3000, timed=True)})
    assert run is not None
    assert (run["broken"], play.Run(run, 1).code) == ([], 4)


def test_an_answer_is_that_of_a_request_of_the_same_content_and_the_last_one_is_repeated(tmp_path: Path) -> None:
    run = written(tmp_path)
    assert run is not None
    player = play.Run(run, 1)
    taken = [player.take(1, frame(HEARTBEAT, 7, b"g1", client_id=b"another")) for _ in range(4)]
    assert [each and each["error"] for each in taken] == ["", *["UNKNOWN_MEMBER_ID"] * 3]
    fetched = player.take(1, frame(FETCH, 8, b"offset 9"))
    assert fetched is run["exchanges"][4]
    assert player.take(1, frame(JOIN, 10, b"")) is None


@pytest.mark.parametrize("version", [4, 7, 12, 16])
def test_a_fetch_that_no_recorded_one_equals_is_answered_without_partitions_when_its_wait_is_over(
    tmp_path: Path, version: int
) -> None:
    """The recorded answers may be of partitions that it does not ask for, at which librdkafka aborts."""
    run = written(tmp_path)
    assert run is not None
    for each in run["exchanges"][3:]:
        each["version"] = version
    asked = FetchRequest({ORDERS_1: 5}, 170, 1, 1_000, 1_000, topic_ids={"orders": b"an id of 16 byte"})
    exchange = play.Run(run, 1).take(2, encode_request(asked, version, 9, "me"))
    assert exchange is not None
    data = struct.pack(">i", 9) + base64.b64decode(exchange["answer"])
    assert decode_response("Fetch", version, data) == (9, FetchResponse({}))
    throttle_at = 5 if version >= 12 else 4
    assert struct.unpack_from(">i", data, throttle_at) == (1,)  # only who throttles may answer so (KIP-219)
    assert (exchange["then"], exchange["after_ms"]) == ("answer", 170)


@pytest.mark.parametrize(("body", "code"), [(b"g1", 1), (b"g2", 4)])
def test_the_request_that_broke_the_rule_is_known_by_its_place_and_content(
    tmp_path: Path, body: bytes, code: int
) -> None:
    run = written(tmp_path)
    assert run is not None
    player = play.Run(run, 1)
    for content in (b"g1", b"g1", body):
        assert player.code == 0
        exchange = player.take(1, frame(HEARTBEAT, 7, content))
        assert exchange is not None
        player.answered(1, exchange)
    assert (player.code, player.ended.is_set()) == (code, code == 1)


def test_a_client_that_numbers_its_requests_alike_is_played_alike(tmp_path: Path) -> None:
    given = recorded()
    alike = [replace(entry, correlation_id=7) if entry.api else entry for entry in given["history"].entries]
    again = written(tmp_path, history=replace(given["history"], entries=alike))
    assert again == written(tmp_path)


def test_addresses_in_an_answer_are_those_of_today(tmp_path: Path) -> None:
    run = written(tmp_path)
    assert run is not None
    answer = b"\x00\x09127.0.0.1" + struct.pack(">i", 1002) + b"rest"
    assert play.Run(run, 2001).with_ports(answer) == b"\x00\x09127.0.0.1" + struct.pack(">i", 2002) + b"rest"


def test_the_player_needs_the_standard_library_alone() -> None:
    tree = ast.parse(Path(play.__file__).read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module).partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= {*sys.stdlib_module_names}


@pytest.fixture
def two_ports() -> Iterator[int]:
    """Two free ports, one after the other."""
    for port in range(20_000, 60_000, 7):
        try:
            with socket.create_server(("127.0.0.1", port)), socket.create_server(("127.0.0.1", port + 1)):
                pass
        except OSError:
            continue
        yield port
        return


@pytest.mark.realtime
def test_the_player_serves_over_tcp_and_ends_when_the_request_came_again(tmp_path: Path, two_ports: int) -> None:
    written(tmp_path)
    player = subprocess.Popen(
        [sys.executable, "-I", str(tmp_path / "repro" / "play.py"), str(two_ports)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert player.stdout is not None
        assert "nodes on" in player.stdout.readline()
        with socket.create_connection(("127.0.0.1", two_ports), AT_MOST_S) as connection:
            for correlation_id, answer in ((71, b"fine"), (72, b"gone")):
                request = frame(HEARTBEAT, correlation_id, b"g1")
                connection.sendall(struct.pack(">i", len(request)) + request)
                assert play.read(connection, 12) == struct.pack(">ii", 8, correlation_id) + answer
            connection.sendall(struct.pack(">i", len(request)) + request)
            assert player.wait(AT_MOST_S) == 1
        assert "Heartbeat again: then it broke H3" in player.stdout.read()
    finally:
        player.kill()
        player.communicate()


@pytest.mark.realtime
def test_a_harness_that_has_ended_is_told_nothing_more_and_ends_the_player(tmp_path: Path, two_ports: int) -> None:
    written(tmp_path)
    crashes = [sys.executable, "-c", "import os; os.close(0); print('\"startup_complete\"', flush=True)"]
    player = [sys.executable, "-I", str(tmp_path / "repro" / "play.py"), str(two_ports), *crashes]
    run = subprocess.run(player, capture_output=True, text=True, timeout=AT_MOST_S, check=False)
    assert (run.returncode, run.stderr) == (4, "")
    assert "cannot be told: the harness ended before it had been told everything" in run.stdout


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("os.abort()", "the harness was ended by signal 6"),
        ("sys.exit(3)", "the harness ended with exit code 3"),
        ("sys.exit()", "the run did not come so far as to where H3 was broken then"),
    ],
    ids=["abort", "exit code", "at once"],
)
def test_a_harness_that_dies_or_does_not_come_so_far_does_not_show_that_the_request_stays_away(
    tmp_path: Path, two_ports: int, end: str, told: str
) -> None:
    written(tmp_path)
    source = f"import os, sys; print('\"startup_complete\"', flush=True); input(); {end}"
    player = [sys.executable, "-I", str(tmp_path / "repro" / "play.py"), str(two_ports), sys.executable, "-c", source]
    run = subprocess.run(player, stdout=subprocess.PIPE, text=True, timeout=AT_MOST_S, check=False)
    assert (run.returncode, told in run.stdout) == (4, True), run.stdout


@pytest.mark.realtime
@pytest.mark.exhaustive
def test_a_mutant_that_fails_in_the_kit_sends_the_same_forbidden_request_to_the_player(
    tmp_path: Path, two_ports: int
) -> None:
    """And the reference without the bug does not send it."""
    [case] = find_cases(["member-unknown/slow-callback"])
    client = mutated("BUG-32")
    with StallClock() as clock:
        result = run_case(client, case, clock)
    assert result.judgements["H3"].verdict is Verdict.FAIL
    folder = write_artefacts(result, tmp_path, 0)
    assert all(not entry.raw for entry in load(folder / "log.ndjson").entries)  # a recording keeps no bytes
    for command, code in ((client.command, 1), (IN_PYTHON["reference"].command, 0)):
        player = [sys.executable, "-I", str(folder / "repro" / "play.py"), str(two_ports), *command]
        run = subprocess.run(player, stdout=subprocess.PIPE, text=True, timeout=AT_MOST_S, check=False)
        assert run.returncode == code, run.stdout
        assert ("Heartbeat again: then it broke H3" in run.stdout) == (code == 1)
