"""What stands beside a player: three sentences for each broken rule, the settings, and what to do in which order."""

from __future__ import annotations

import json
from pathlib import Path

from groupspec.conformance.reports.consequences import consequences
from groupspec.conformance.reports.reproduction_page import write_readmes
from groupspec.conformance.wire.tests.test_reproduction import written


def test_a_readme_tells_what_happened_and_how_to_run_it_again(tmp_path: Path) -> None:
    folder = tmp_path / "acme" / "rebalance-eager"
    folder.mkdir(parents=True)
    run = written(folder)
    assert run is not None
    settings, *_ = run["commands"]
    run["commands"] = [
        settings | {"session_timeout_ms": 1000, "more": {"group.instance.id": "one"}},
        {"command": "subscribe", "topics": ["orders"], "after_ms": 4.2},
    ]
    run["harness"] = ["python", "my harness.py"]
    (folder / "repro" / "run.json").write_text(json.dumps(run), encoding="utf-8")
    write_readmes(tmp_path)
    told = (folder / "repro" / "README.md").read_text(encoding="utf-8")
    assert told.startswith("# fake 1 in rebalance-eager: H3 no-heartbeat-across-join\n")
    for part in (
        f"- Expected (H3): {consequences()['H3'].expected}\n",
        "- Happened: a heartbeat after UNKNOWN_MEMBER_ID.\n",
        f"- Why it matters: {consequences()['H3'].why}\n",
        "| session_timeout_ms | 1000 |\n",
        "| group.instance.id | one |\n",
        '1. subscribe topics=["orders"], 4 ms after the step before\n',
        "    python play.py 19092 python 'my harness.py'\n",
    ):
        told = told[told.index(part) :]
