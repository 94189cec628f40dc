"""Vectors at work: on the reference core, and on a toy member in Go that shares nothing with this project."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from groupspec.conformance.generate import folder_path
from groupspec.conformance.vectors import read_vectors
from groupspec.conformance.vectors.examples.run_vectors import Run

VECTORS = folder_path("conformance") / "vectors"
PROTOCOLS = pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
MOST_OF_A_BUILD_S = 300
"""For a Go that builds its standard library first; a bound, not a wait."""


def run_of(rebalance: str) -> Run:
    """The reference core on one file."""
    return Run(read_vectors(VECTORS / "data" / f"member.{rebalance}.deployed.ndjson.gz"))


@PROTOCOLS
def test_the_reference_core_passes_every_pair_and_a_sample_of_the_states(rebalance: str) -> None:
    run = run_of(rebalance)
    run.all_pairs()
    run.all_states(every=1000)

    assert run.failures == []
    assert run.counts["pairs passed"] == len(run.file.pairs)


@pytest.mark.exhaustive
@PROTOCOLS
def test_the_reference_core_passes_every_vector_that_can_be_brought_about(rebalance: str) -> None:
    run = run_of(rebalance)
    run.all_states()

    assert run.failures == []
    assert run.counts["steps passed"] == run.file.counts["changes"]
    undriven = {name for name in run.counts if "not driven" in name}
    # Late answers need a request given up before; what only a wrong application does, the consumer above the core refuses.
    assert undriven <= {
        "quiet steps not driven, message",
        "quiet steps not driven, application",
        "illegal steps not driven, application",
    }


def toy(tmp_path: Path) -> Path:
    """The toy member, built; a Go that is missing fails here."""
    binary = tmp_path / "toymember"
    offline = {"GOTOOLCHAIN": "local", "GOPROXY": "off", "GOFLAGS": "-mod=mod"}
    try:
        build = subprocess.run(
            ["go", "build", "-o", str(binary), "."],
            cwd=VECTORS / "examples" / "toy_member",
            env={**os.environ, **offline},
            capture_output=True,
            text=True,
            timeout=MOST_OF_A_BUILD_S,
            check=False,
        )
    except FileNotFoundError:
        pytest.fail("go is missing: install Go 1.21 or later; nothing else is needed, and nothing is downloaded")
    assert build.returncode == 0, build.stderr
    return binary


@pytest.mark.exhaustive
def test_a_member_written_from_the_book_alone_passes_all_and_each_planted_bug_is_caught_on_the_wire(
    tmp_path: Path,
) -> None:
    files = [str(VECTORS / "data" / f"member.{name}.deployed.ndjson.gz") for name in ("eager", "cooperative")]
    said = subprocess.run(
        [toy(tmp_path), "-kills", "-wire", *files],
        capture_output=True,
        text=True,
        timeout=MOST_OF_A_BUILD_S,
        check=False,
    )
    rows = re.findall(r"^(eager|cooperative) +([a-z-]*) +(\d+) of (\d+) steps fail", said.stdout, re.MULTILINE)

    assert said.returncode == 0, said.stdout + said.stderr
    assert [int(failed) for _, bug, failed, _ in rows if not bug] == [0, 0]
    planted = {(rebalance, bug) for rebalance, bug, _, _ in rows if bug}
    assert len({bug for _, bug in planted}) >= 8
    assert all(int(failed) for _, bug, failed, _ in rows if bug)
