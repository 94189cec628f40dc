"""Harnesses that get one thing wrong: the reference's, spoiled, as command lines.

Each with what `harness check` must say.
"""

from __future__ import annotations

import sys
from textwrap import indent
from typing import Final, NamedTuple

from groupspec.conformance.wire.clients import Client

FRAME: Final = """
import os, time
import msgspec
from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.wire.harnesses import base
from groupspec.conformance.wire.harnesses.reference_client import Reference

class Broken(Reference):
{body}

base.main(Broken)
"""


class Broken(NamedTuple):
    """What is wrong, how it is made so (the body of a class), the check that finds it, and what it says."""

    name: str
    body: str
    check: str
    says: str


def harness(broken: Broken) -> Client:
    """The command that starts it."""
    source = FRAME.format(body=indent(broken.body.strip(), "    "))
    return Client(f"cmd:{broken.name}", (sys.executable, "-c", source))


def says(change: str) -> str:
    """A class body whose every event goes through `change`, an expression over `event`; None: it is not said."""
    return f"""
def __init__(self):
    super().__init__()
    say = self.output.say
    def changed(event):
        event = {change}
        if event is not None:
            say(event)
    self.output.say = changed
"""


BROKEN: Final = (
    Broken(
        "misspelt feature",
        'features = ("eager", "listner", "pull", "auto_commit")',
        "features",
        "there is no feature 'listner'; did you mean 'listener'?",
    ),
    Broken(
        "a feature that is driven and not driven",
        'not_driven = ("pause",)',
        "features",
        "pause is among the features, and among those that are not driven",
    ),
    Broken(
        "no command_done",
        says("None if isinstance(event, protocol.CommandDone) and event.command == 'subscribe' else event"),
        "command_done",
        "command_done came for ['configure', 'poll'",
    ),
    Broken(
        "wall clock",
        "def configure(self, settings):\n"
        "    base.stamped = lambda event: msgspec.structs.replace(event, at_us=time.time_ns() // 1000)\n"
        "    super().configure(settings)",
        "clock",
        "or in the future",
    ),
    Broken(
        "junk on stdout",
        "def subscribe(self, topics):\n    os.write(self.output._descriptor, b'connected!\\n')\n    "
        "super().subscribe(topics)",
        "stdout",
        "connected!",
    ),
    Broken(
        "callback_ms ignored",
        "def configure(self, settings):\n    super().configure(settings)\n    self.callback_s = 0.0",
        "callback_ms",
        "callback_ms is 150",
    ),
    Broken(
        "fetch wait ignored",
        "def configure(self, settings):\n    super().configure(msgspec.structs.replace(settings, "
        "fetch_max_wait_ms=500))",
        "settings",
        "fetch_max_wait_ms is 130, and Fetch asks for [500]",
    ),
    Broken(
        "fetch wait never what it should be",
        "def configure(self, settings):\n    super().configure(msgspec.structs.replace(settings, "
        "fetch_max_wait_ms=50))",
        "settings",
        "fetch_max_wait_ms is 130, and Fetch asks for [50]",
    ),
    Broken(
        "group and client id ignored",
        "def configure(self, settings):\n    super().configure(msgspec.structs.replace(settings, "
        "client_id='me', group_id='mine'))",
        "settings",
        "group_id is 'orders-readers', and JoinGroup carries 'mine'",
    ),
    Broken(
        "outlives the kit",
        "def run(self):\n"
        "    exit = os._exit\n"
        "    os._exit = lambda code: time.sleep(60) if code == 1 else exit(code)\n"
        "    return super().run()",
        "end of stdin",
        "it would outlive a kit that is killed",
    ),
    Broken(
        "wrong exit code", "def run(self):\n    super().run()\n    return 3", "close", "the exit code after close is 3"
    ),
    Broken(
        "callbacks overlap",
        "def callback_ends(self, name, **given):\n"
        "    self.callback_begins('partitions_assigned', [])\n"
        "    super().callback_ends(name, **given)\n"
        "    super().callback_ends('partitions_assigned')",
        "callbacks",
        "partitions_assigned begins while partitions_assigned has not returned",
    ),
    Broken(
        "strict about fields",
        "def run(self):\n"
        "    decode = protocol.decode_command\n"
        "    def strict(line):\n"
        "        if b'unknown_field' in line:\n"
        "            raise protocol.BrokenLine('unknown_field')\n"
        "        return decode(line)\n"
        "    protocol.decode_command = strict\n"
        "    return super().run()",
        "unknown fields",
        "after commands with an unknown field nothing joins",
    ),
    Broken(
        "a misspelt keyword of poll",
        "def poll(self, poll_ms):\n    return self.consumer.poll(timeout=poll_ms)",
        "commands",
        "`poll` raised TypeError: Consumer.poll() got an unexpected keyword argument 'timeout' (<string>:",
    ),
    Broken(
        "a misspelt unsubscribe",
        "def unsubscribe(self):\n    self.consumer.unsubscrib()",
        "commands",
        "`unsubscribe` raised AttributeError",
    ),
    Broken("a misspelt close", "def close(self):\n    self.consumer.shut()", "close", "`close` raised AttributeError"),
    Broken("errors swallowed", "def error(self, error, call=None):\n    pass", "errors", "and no error came"),
    Broken(
        "records told twice",
        says("(say(event), event)[1] if isinstance(event, protocol.RecordsConsumed) else event"),
        "records",
        "poll_returned counts",
    ),
    Broken(
        "auto_commit ignored",
        "def configure(self, settings):\n    super().configure(msgspec.structs.replace(settings, auto_commit=False))",
        "auto_commit",
        "nothing was committed until close() had returned",
    ),
    Broken(
        "records not told",
        says("None if isinstance(event, protocol.RecordsConsumed) else event"),
        "auto_commit",
        "no record came that could be committed",
    ),
    Broken("commits nothing", "def commit(self):\n    return {}", "commit", "committed were []"),
    Broken(
        "stop_polling ignored",
        "def _stop_polling(self):\n    pass",
        "stop_polling",
        "after stop_polling was done",
    ),
    Broken("seek ignored", "def seek(self, partition, offset):\n    pass", "seek", "came from nowhere on"),
    Broken(
        "assign in part",
        "def assign(self, partitions):\n    super().assign(partitions[1:])",
        "assign",
        "and no record of it came",
    ),
    Broken(
        "assign subscribes",
        "def assign(self, partitions):\n    self.subscribe(['orders'])",
        "assign",
        "JoinGroup was sent though partitions were assigned by hand",
    ),
    Broken("pause ignored", "def pause(self, partitions):\n    pass", "pause", "was paused, and records came"),
    Broken("resume ignored", "def resume(self, partitions):\n    pass", "pause", "and no record came"),
    Broken(
        "wakeup declared only",
        "def wakeup(self):\n    os._exit(127)",
        "command_done",
        "exit code 127 at wakeup, whose feature is declared",
    ),
    Broken(
        "metadata.max.age.ms ignored",
        "def configure(self, settings):\n    super().configure(msgspec.structs.replace(settings, more={}))",
        "settings",
        "metadata.max.age.ms is 300, and Metadata was asked for 0 times in the",
    ),
    Broken(
        "unsubscribe is done before the listener",
        "def unsubscribe(self):\n"
        "    import threading\n"
        "    threading.Thread(target=super().unsubscribe, daemon=True).start()",
        "unsubscribe",
        "partitions_revoked returned after unsubscribe was done",
    ),
    Broken(
        "it ends in unsubscribe",
        "def unsubscribe(self):\n    import os\n    os._exit(3)",
        "unsubscribe",
        "the run ended before that",
    ),
    Broken("wakeup ignored", "def wakeup(self):\n    pass", "wakeup", "and 0 calls were woken"),
)
