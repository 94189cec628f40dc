"""The guides and the API page: what they show is so, and every public name is on the page."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from groupspec import conformance, impl
from groupspec.conformance.book import api_pages, guides
from groupspec.conformance.book.guides import FILES
from groupspec.conformance.book.tests.pages import ReadPage
from groupspec.conformance.tests.repository import ROOT

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

MAY_FAIL = {"groupspec conform aiokafka --scenario member-unknown/slow-callback --report out": 1}
NOT_TRIED = re.compile(r"\.\[|/var/log|^(?:python3|v/bin/pip|\. |make |kafka-)")
"""Installing, which tests of the wheel and CI do, and what needs a cluster of the reader's."""


def commands(file: Path) -> list[str]:
    """The command lines of a guide, in order."""
    blocks = re.findall(r"(?m)^    (?!>>>)([a-z./][^\n]+)", re.sub(r"(?s)```.*?```", "", file.read_text("utf-8")))
    return [line for line in blocks if re.match(r"groupspec |python3|v/bin/|\. |make |kafka-", line)]


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
    assert "    *,\n    jobs: int | None = None,\n" in judge.signature
    consumer = api_pages.documented("Consumer", impl.Consumer)
    assert ReadPage(f"<!doctype html><body>{consumer.text}</body>").problems == []
    assert '<pre tabindex="0"><code>with Consumer(' in consumer.text
    assert "driver: DriverFactory = BackgroundDriver" in consumer.signature


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
        run = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, check=False
        )
        assert run.returncode == MAY_FAIL.get(line, 0), f"{line}\n{run.stdout.decode()}\n{run.stderr.decode()}"
