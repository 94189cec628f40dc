"""Plays the brokers of one recorded run to any client that connects. Python's standard library is all that it needs.

    python play.py PORT               plays node 1 on 127.0.0.1:PORT, node 2 on PORT + 1; point the client at these
    python play.py PORT COMMAND ...   and starts a harness, which is told what it was told then

It answers a request as one of the same kind and content was answered then, in the order of that time, after as long a
time; where no request of that content was sent, with the next answer to one of its kind, but a Fetch with none of the
partitions, when its wait is over. Correlation ids and ports are those of today. What it cannot do is to react: a client
that does something else than the recorded one gets answers that may not fit.

Exit code 1: the request that broke the rule came again; 0: it did not come, in a run that came as far as then; 4: it
cannot be told (one of its kind came at its place, with other content; the rule was broken by what did not come; the run
did not come so far; the harness died, or did not end).
"""

from __future__ import annotations

import base64
import json
import os
import queue
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

HOST = b"127.0.0.1"
FETCH = 1
ROUND = ("JoinGroup", "SyncGroup", "LeaveGroup")
Exchange = dict[str, Any]


def shown(text: str) -> str:
    """What the client or the harness said, on one line: without orders to a terminal, or to a CI's runner."""
    return "".join(each if " " <= each <= "~" else ascii(each)[1:-1] for each in text).replace("##", "#\\#")


class Run:
    """The recorded run, and what has come of it today. `begin`: the port of node 1."""

    def __init__(self, recorded: dict[str, Any], begin: int) -> None:
        self.recorded, self.lock, self.ended = recorded, threading.Lock(), threading.Event()
        self.exchanges: list[Exchange] = recorded["exchanges"]
        self.ports = {old: begin + node for node, old in enumerate(recorded["ports"])}
        self.began, self.used = time.monotonic(), set[int]()
        self.came, self.waiting, self.errors = Counter[str](), Counter[str](), 0
        self.code, self.told_all = 0 if recorded["broken"] else 4, False

    def take(self, node: int, frame: bytes) -> Exchange | None:
        """A request has come: how it was answered then; None if none of its kind was."""
        key, version, _, length = struct.unpack_from(">hhih", frame)
        body = base64.b64encode(frame[10 + max(length, 0) :]).decode()
        with self.lock:
            kind = [
                (n, each) for n, each in enumerate(self.exchanges) if [each["key"], each["version"]] == [key, version]
            ]
            here = [(n, each) for n, each in kind if each["node"] == node]
            same = [(n, each) for n, each in here or kind if each["request"] == body]
            pool = same or here or kind
            if not pool:
                self.say(node, f"a request of API {key} version {version}, which was not sent then: no answer")
                return None
            left = [(n, each) for n, each in pool if n not in self.used]
            number, exchange = (left or pool[-1:])[0]
            if not same and key == FETCH:  # its answer would be of partitions or offsets that nobody asked for
                exchange = nothing_fetched(exchange, frame[10 + max(length, 0) :])
            else:
                self.used.add(number)
            self.compare(node, exchange["api"], body)
            self.came[exchange["api"]] += 1
            self.waiting[exchange["api"]] += 1
        return exchange

    def compare(self, node: int, api: str, body: str) -> None:
        """Whether this is what broke the rule then: the same kind, the same place in the run, the same content."""
        place = [sum(self.came[each] for each in ROUND), self.errors, self.waiting[api]]
        here = [each for each in self.recorded["broken"] if (each["api"], each["place"]) == (api, place)]
        for broken in here:
            verb = "again" if broken["request"] == body else "at the same place, with other content"
            self.say(node, f"{api} {verb}: then it broke {broken['rule']}: {broken['reason']}")
        if any(broken["request"] == body for broken in here):
            self.code = 1
            self.ended.set()
        elif here and not self.code:
            self.code = 4

    def doubt(self, harness: subprocess.Popen[bytes] | None) -> str:
        """Why it cannot be told that the request does not come any more; empty if it can."""
        ended = None if harness is None else harness.poll()
        if ended:
            how = f"was ended by signal {-ended}" if ended < 0 else f"ended with exit code {ended}"
            return f"the harness {how}"
        if harness is not None and ended is None:
            return "the harness had not ended when the time was over"
        if harness is not None and not self.told_all:
            return "the harness ended before it had been told everything"
        came = sum(self.came[each] for each in ROUND)
        missed = [b["rule"] for b in self.recorded["broken"] if came < b["place"][0] or self.errors < b["place"][1]]
        return f"the run did not come so far as to where {missed[0]} was broken then" if missed else ""

    def answered(self, node: int, exchange: Exchange) -> None:
        """An answer is about to be written."""
        with self.lock:
            self.waiting[exchange["api"]] -= 1
            self.errors += bool(exchange["error"])
            self.say(node, f"{exchange['api']} v{exchange['version']} {exchange['error'] or 'answered'}")

    def say(self, node: int, what: str) -> None:
        """A line of what happens."""
        print(f"{1000 * (time.monotonic() - self.began):9.1f} ms  node {node}  {shown(what)}", flush=True)

    def with_ports(self, answer: bytes) -> bytes:
        """The answer with today's ports: an address is a host and, behind it, four bytes of port."""
        for old, new in self.ports.items():
            answer = answer.replace(HOST + struct.pack(">i", old), HOST + struct.pack(">i", new))
        return answer


def nothing_fetched(exchange: Exchange, request: bytes) -> Exchange:
    """An answer to a Fetch 4 or later: none of the partitions, when its wait is over.

    Clients take that of a broker that throttles (KIP-219), here for 1 ms.
    """
    version = exchange["version"]
    wait_at = (1 if version >= 12 else 0) + (0 if version >= 15 else 4)  # behind tagged fields, the replica's id
    empty = struct.pack(">i", 1) + (bytes(6) if version >= 7 else b"")  # throttled; no error, and no session
    empty = b"\0" + empty + b"\1\0" if version >= 12 else empty + bytes(4)
    answer = base64.b64encode(empty).decode()
    wait_ms = struct.unpack_from(">i", request, wait_at)[0]
    return exchange | {"then": "answer", "after_ms": wait_ms, "error": "", "answer": answer}


def read(connection: socket.socket, count: int) -> bytes:
    """So many bytes; fewer at the end of the stream."""
    data = b""
    while len(data) < count and (more := connection.recv(count - len(data))):
        data += more
    return data


def serve(run: Run, node: int, connection: socket.socket) -> None:
    """Reads requests as they come; another thread answers them in order."""
    waiting: queue.Queue[tuple[float, bytes, Exchange | None]] = queue.Queue()
    threading.Thread(target=answer, args=(run, node, connection, waiting), daemon=True).start()
    with suppress(ConnectionError):  # the client has gone
        while len(head := read(connection, 4)) == 4:
            frame = read(connection, struct.unpack(">i", head)[0])
            if len(frame) < 10:
                return
            waiting.put((time.monotonic(), frame[4:8], run.take(node, frame)))


def answer(run: Run, node: int, connection: socket.socket, waiting: queue.Queue[Any]) -> None:
    """Answers until an answer never came, or the connection was cut."""
    while True:
        came_at, correlation_id, exchange = waiting.get()
        if exchange is None or exchange["then"] == "never":
            return
        time.sleep(max(0.0, came_at + exchange["after_ms"] / 1000 - time.monotonic()))
        if exchange["then"] == "close":
            run.say(node, f"{exchange['api']}: the connection is cut")
            connection.shutdown(socket.SHUT_RDWR)
            return
        run.answered(node, exchange)
        body = correlation_id + run.with_ports(base64.b64decode(exchange["answer"]))
        try:
            connection.sendall(struct.pack(">i", len(body)) + body)
        except ConnectionError:
            return  # the client has gone


def accept(run: Run, node: int, listener: socket.socket) -> None:
    """Takes connections of a node."""
    while True:
        threading.Thread(target=serve, args=(run, node, listener.accept()[0]), daemon=True).start()


def drive(run: Run, harness: subprocess.Popen[bytes]) -> None:
    """Tells a harness what it was told then: each command when the one before is done, and as long after it."""
    assert harness.stdin is not None
    assert harness.stdout is not None
    for command in run.recorded["commands"]:
        after = b'"startup_complete"' if command["command"] == "configure" else b'"command_done"'
        if not any(after in line for line in harness.stdout):
            break  # it has ended
        time.sleep(command.pop("after_ms") / 1000)
        if command["command"] == "configure":
            command["bootstrap"] = ",".join(f"127.0.0.1:{port}" for port in run.ports.values())
        try:
            harness.stdin.write(json.dumps(command).encode() + b"\n")
            harness.stdin.flush()
        except BrokenPipeError:
            break  # it has ended; what it said last is read
    else:
        run.told_all = True
    for _ in harness.stdout:
        pass
    with suppress(subprocess.TimeoutExpired):
        harness.wait(10)
    run.ended.set()


def main(port: int, command: list[str]) -> int:
    """Plays until the request came again, the harness has ended, or it is late: ten times as long as the run took."""
    recorded = json.loads(Path(__file__).with_name("run.json").read_text(encoding="utf-8"))
    run = Run(recorded, port)
    for node, each in enumerate(run.ports.values(), 1):
        try:
            listener = socket.create_server(("127.0.0.1", each))
        except (OSError, OverflowError) as problem:
            print(f"cannot listen on 127.0.0.1:{each}: {problem}; give another PORT", file=sys.stderr)
            return 2
        threading.Thread(target=accept, args=(run, node, listener), daemon=True).start()
    name = shown(f"{recorded['case']}, as it was with {recorded['client']}")
    print(f"{name}: nodes on {[*run.ports.values()]}", flush=True)
    harness = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) if command else None
    try:
        if harness is not None:
            threading.Thread(target=drive, args=(run, harness), daemon=True).start()
        run.ended.wait(30 + 10 * recorded["seconds"])
    except KeyboardInterrupt:
        pass
    doubt = "" if run.code == 1 else run.doubt(harness)
    if doubt:
        print(f"that the request does not come any more cannot be told: {doubt}", flush=True)
    if harness is not None:
        harness.kill()
    return 4 if doubt else run.code


if __name__ == "__main__":
    given = len(sys.argv) > 1 and sys.argv[1].isdigit()
    code = main(int(sys.argv[1]), sys.argv[2:]) if given else 2
    if not given:
        print(__doc__, file=sys.stderr)
    sys.stdout.flush()
    os._exit(code)  # without waiting for the threads, some of which are in the middle of a line
