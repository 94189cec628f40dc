"""The guides and the API page: what they show is so, and every public name is on the page."""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from groupspec import conformance, impl
from groupspec.conformance import cli
from groupspec.conformance.book import api_pages, guides
from groupspec.conformance.book.guides import FILES
from groupspec.conformance.book.tests.pages import ReadPage
from groupspec.conformance.tests.repository import ROOT
from groupspec.conformance.wire.live.tests.cluster import cluster
from groupspec.impl.broker.server import ScriptedBroker

MY_CLIENT = """
from groupspec.impl import Consumer as Reference, TopicPartition

class Consumer(Reference):
    def poll(self, timeout_ms):
        batches = {}
        for record in super().poll(timeout_ms):
            batches.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
        return batches
"""
"""What the guide's harness drives: any client with kafka-python's methods."""

MAY_FAIL = {
    "groupspec conform aiokafka --scenario member-unknown/slow-callback --report out": 1,
    "groupspec harness check 'cmd:python harness/harness.py'": 4,
    "groupspec conform --record localhost:9092 --listen 9192 --seconds 120": 4,  # nobody connects here
}
NOT_TRIED = re.compile(r"\.\[|/var/log|conform 'cmd:.*' --record localhost:9092|^(?:python3|\. |make |kafka-)")
"""Installing, which tests of the wheel and CI do, and what needs a cluster of the reader's: its logs, Kafka's own
tools, and a broker that makes topics, at which `real_broker/tests/test_recording.py` tries the same.
"""


def commands(file: Path) -> list[str]:
    """The command lines of a guide, in order."""
    blocks = re.findall(r"(?m)^    (?!>>>)([a-z./][^\n]+)", re.sub(r"(?s)```.*?```", "", file.read_text("utf-8")))
    return [line for line in blocks if re.match(r"groupspec |python3|\. |make |kafka-", line)]


def code(file: Path, name: str) -> str:
    """The block of Python that begins with the name of its file."""
    found = re.search(rf"(?s)```python\n# {name}\n(.*?)```", file.read_text("utf-8"))
    assert found
    return found[1]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_the_examples_of_the_guides_are_so(file: Path) -> None:
    assert doctest.testfile(str(file), module_relative=False, encoding="utf-8").failed == 0
    assert commands(file)


def test_the_causes_of_rebalances_are_no_links_to_effects_of_machines() -> None:
    operator = next(page for page in guides.pages() if page.path == "use-operator.html")
    for cause in ("join", "rejoin", "leave", "session_timeout"):
        assert f"<code>{cause}</code>" in str(operator.context["text"])
        assert f"#{cause}" not in str(operator.context["text"])


def test_the_api_page_has_every_public_name_with_its_sections() -> None:
    [page] = api_pages.pages()
    assert isinstance(page.context["packages"], list)
    named = {
        f"{package}.{name}"
        for package, _, things, errors in page.context["packages"]
        for name in [*(thing.name for thing in things), *(name for name, _ in errors)]
    }
    assert named == {f"{package.__name__}.{name}" for package in api_pages.PACKAGES for name in package.__all__}


def test_a_docstring_is_split_into_prose_and_sections_and_a_long_signature_is_folded() -> None:
    judge = api_pages.documented("judge", conformance.judge)
    assert [section.title for section in judge.sections] == ["Args", "Returns", "Raises"]
    assert [name for name, _ in judge.sections[2].entries] == ["UsageProblem", "InconclusiveProblem"]
    assert judge.signature.startswith("(\n    clients: str | Iterable[str],\n")
    assert "    *,\n    profile: str = 'quick',\n    jobs: int | None = None,\n" in judge.signature
    consumer = api_pages.documented("Consumer", impl.Consumer)
    assert ReadPage(f"<!doctype html><body>{consumer.text}</body>").problems == []
    assert '<pre tabindex="0"><code>with Consumer(' in consumer.text
    assert "driver: Design | DriverFactory = 'background'" in consumer.signature


@pytest.mark.exhaustive
@pytest.mark.realtime
@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_every_command_of_the_guides_does_what_it_says(file: Path, tmp_path: Path) -> None:
    (tmp_path / "conformance").symlink_to(ROOT / "conformance")
    shutil.copytree(ROOT / "spec", tmp_path / "spec", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "my_client.py").write_text(MY_CLIENT, encoding="utf-8")
    if file.stem == "client-author":
        text = code(file, "my_harness.py").replace("my-client", "groupspec")
        (tmp_path / "my_harness.py").write_text(text, encoding="utf-8")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for line in commands(file):
        if NOT_TRIED.search(line):
            continue
        with cluster(nodes=1) as broker:
            here = line.replace("localhost:9092", broker.bootstrap).replace("9192 --seconds 120", "0 --seconds 1")
            run = subprocess.run(
                ["bash", "-c", here], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, check=False
            )
        assert run.returncode == MAY_FAIL.get(line, 0), f"{line}\n{run.stdout.decode()}\n{run.stderr.decode()}"


def test_what_needs_a_cluster_is_all_that_is_not_tried() -> None:
    lines = [line for file in FILES for line in commands(file) if "localhost:9092" in line]
    assert [line for line in lines if NOT_TRIED.search(line)] == [
        "groupspec conform 'cmd:python my_harness.py' --record localhost:9092 --report real"
    ]
    assert set(MAY_FAIL) <= {line for file in FILES for line in commands(file)}


@pytest.mark.exhaustive
def test_the_listener_of_the_guide_writes_a_trace_and_a_callback_that_is_left_out_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    operator = next(file for file in FILES if file.stem == "operator")
    (settings,) = re.findall(r"is `({.*?})`", operator.read_text("utf-8"))
    scope: dict[str, Any] = {}
    exec(code(operator, "traced.py"), scope)
    whole, spoilt = tmp_path / "whole.ndjson", tmp_path / "spoilt.ndjson"
    for file, callbacks in ((whole, "ara"), (spoilt, "aa")):
        with file.open("w") as lines:
            traced = scope["Traced"](lines, "today", "billing", "billing-1", json.loads(settings))
            for callback in callbacks:
                traced.write("poll")
                told = traced.on_partitions_assigned if callback == "a" else traced.on_partitions_revoked
                told([impl.TopicPartition("orders", 0)])
            traced.write("closed")
    assert cli.main(["trace", "check", str(whole)]) == 0
    assert cli.main(["trace", "check", str(spoilt)]) == 1
    assert "T-ASSIGNED-OWNED" in capsys.readouterr().out


@pytest.mark.realtime
def test_the_reference_records_itself_as_the_guide_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = next(file for file in FILES if file.stem == "operator")
    monkeypatch.chdir(tmp_path)
    with ScriptedBroker(topics={"orders": 1}) as broker:
        exec(code(operator, "reference_service.py").replace("localhost:9092", broker.bootstrap), {})
    checked = conformance.check_traces("reference.ndjson")
    assert checked.events > 10
    assert not checked.violations
