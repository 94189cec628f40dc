"""The harness of @platformatic/kafka does with its streams what an application has to do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from groupspec.conformance.wire.client_builds import SOURCES

NODE: Final = SOURCES / "node"
SETTINGS: Final = {"bootstrap": "127.0.0.1:9092", "more": {}, "auto_commit": True, "auto_commit_interval_ms": 60_000}
CONFIGURE: Final = {"command": "configure", **SETTINGS}
SUBSCRIBE: Final = {"command": "subscribe", "topics": ["orders"]}
POLL: Final = {"command": "poll"}
CLOSE: Final = {"command": "close"}
FAKE: Final = """
import { EventEmitter } from "node:events";
const { JOINS, STREAM_FAILS } = process.env;
export const MessagesStreamModes = {};
export const MessagesStreamFallbackModes = {};
class Stream extends EventEmitter {
  constructor(topics) {
    super();
    this.topics = topics;
  }
  async close() {
    console.error(`stream of ${this.topics}: close`);
    if (STREAM_FAILS) throw new Error("the last commit was refused");
  }
}
export class Consumer extends EventEmitter {
  consume({ topics }) {
    console.error(`consume ${topics}`);
    return new Promise((resolve) => {
      this.joined = () => resolve(new Stream(topics));
      if (JOINS) this.joined();
    });
  }
  async leaveGroup() {
    console.error("leave");
    this.joined();
    await new Promise(setImmediate);
  }
  async close() {
    console.error("leave and close");
  }
}
"""


def asked_of_the_client(folder: Path, commands: Sequence[Mapping[str, object]], **environment: str) -> list[str]:
    """What the harness asks of a client that tells it, in order, by these commands."""
    package = folder / "node_modules" / "@platformatic" / "kafka"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "1.0", "type": "module", "main": "fake.js"}')
    (package / "fake.js").write_text(FAKE)
    (folder / "package.json").write_text('{"type": "module"}')
    for name in ("platformatic.js", "protocol.js"):
        shutil.copy(NODE / name, folder)
    lines = "".join(f"{json.dumps(command)}\n" for command in commands)
    run = subprocess.run(
        ["node", "platformatic.js"],
        cwd=folder,
        input=lines,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "shutdown_complete" in run.stdout, run.stderr
    return [line for line in run.stderr.splitlines() if line.startswith(("consume", "stream", "leave"))]


@pytest.mark.tools
def test_a_stream_that_comes_when_its_topics_are_given_up_is_closed_and_the_new_ones_are_read(tmp_path: Path) -> None:
    more = {"command": "subscribe", "topics": ["orders", "one"]}
    asked = asked_of_the_client(tmp_path, [CONFIGURE, SUBSCRIBE, POLL, more, CLOSE])
    assert asked == [
        "consume orders",
        "leave",
        "stream of orders: close",
        "consume orders,one",
        "leave and close",
    ]


@pytest.mark.tools
def test_a_stream_that_is_read_is_closed_once_before_the_member_leaves(tmp_path: Path) -> None:
    asked = asked_of_the_client(tmp_path, [CONFIGURE, SUBSCRIBE, POLL, CLOSE], JOINS="yes")
    assert asked == ["consume orders", "stream of orders: close", "leave and close"]


@pytest.mark.tools
def test_the_member_leaves_also_when_its_stream_fails_to_close(tmp_path: Path) -> None:
    asked = asked_of_the_client(tmp_path, [CONFIGURE, SUBSCRIBE, POLL, CLOSE], JOINS="yes", STREAM_FAILS="yes")
    assert asked == ["consume orders", "stream of orders: close", "leave and close"]
