"""Harnesses that misbehave, as command lines: each is a few lines of Python that run in a process of their own."""

from __future__ import annotations

import math
import sys
from typing import Final

import pytest

from groupspec.conformance.wire import judging, scenario_context

HELLO: Final = """
import json, sys, time
def say(**event):
    sys.stdout.write(json.dumps(event) + "\\n")
    sys.stdout.flush()
"""
GREETING: Final = HELLO + 'say(name="startup_complete", client="fake", version="1", features=["eager"])\n'
OBEDIENT: Final = (
    GREETING
    + """
for line in sys.stdin:
    command = json.loads(line)["command"]
    say(name="command_done", command=command)
"""
)


def python(source: str) -> tuple[str, ...]:
    """The command line that runs it."""
    return (sys.executable, "-u", "-c", source)


def wait_in_vain(monkeypatch: pytest.MonkeyPatch, within_ms: int) -> None:
    """Makes the kit wait that long for what never comes.

    The machine may stand still meanwhile, since it changes nothing.
    """
    monkeypatch.setattr(scenario_context, "WITHIN_MS", within_ms)
    monkeypatch.setattr(judging, "DISTURBED_MS", math.inf)


CRASHES_AT_ONCE: Final = python("import sys; print('no such module', file=sys.stderr); sys.exit(3)")
NEVER_SPEAKS: Final = python("import time; time.sleep(600)")
FLOODS: Final = python("import sys\nwhile True: sys.stdout.write('x' * 65536 + chr(10))")
FLOODS_WITH_EVENTS: Final = python(GREETING + "while True: say(name='poll_started', poll_ms=1)")
ENDLESS_LINE: Final = python("import sys\nwhile True: sys.stdout.write('x' * 65536)")
BROKEN_JSON: Final = python(GREETING + "print('{\"name\": ')\ntime.sleep(600)")
UNKNOWN_EVENT: Final = python(GREETING + "say(name='partitions_stolen')\ntime.sleep(600)")
NOT_UTF8: Final = python(
    GREETING + "sys.stdout.buffer.write(bytes([255, 254, 10])); sys.stdout.flush()\ntime.sleep(600)"
)
SAYS_IT_IS_UNSUPPORTED: Final = python(
    GREETING + "print('harness: unsupported: no groups', file=sys.stderr); sys.exit(127)"
)
DIES_WHEN_POLLED: Final = python(
    GREETING
    + """
for line in sys.stdin:
    command = json.loads(line)["command"]
    if command == "poll":
        sys.exit(9)
    say(name="command_done", command=command)
"""
)
LEAVES_A_CHILD: Final = python(
    HELLO
    + """
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
say(name="startup_complete", client="fake", version=str(child.pid), features=["eager"])
time.sleep(600)
"""
)
ANOTHER_VERSION: Final = python(
    HELLO + "say(name='startup_complete', client='f', version='1', protocol=7)\ntime.sleep(600)"
)
DOES_NOTHING: Final = python(OBEDIENT)
KIP_848_ONLY: Final = python(
    GREETING.replace('"eager"', '"consumer_protocol"')
    + """
for line in sys.stdin:
    command = json.loads(line)["command"]
    if command == "close":
        say(name="shutdown_requested")
        say(name="shutdown_complete")
        sys.exit(0)
    say(name="command_done", command=command)
"""
)
