"""`groupspec conform --record`: its options, and clients judged at a broker that nobody scripts."""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from groupspec.conformance.commands._common import Steps, remark
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.history.harness_protocol import ONLY_CONSUMER_PROTOCOL
from groupspec.conformance.outputs import writable_folder
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import find_client
from groupspec.conformance.wire.gathering import judged_again
from groupspec.conformance.wire.live.recorder import live
from groupspec.conformance.wire.live.watching import watch
from groupspec.conformance.wire.live_cases import REBALANCES, Group
from groupspec.conformance.wire.planning import unsure_of
from groupspec.conformance.wire.results import Campaign
from groupspec.impl.network.addresses import Address

SECONDS: Final = 60
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass(frozen=True)
class Live:
    """Where to record, and how.

    Attributes:
        bootstrap: What --record says.
        port: Where to listen for whoever comes; None: clients with a harness are recorded.
        heartbeat_ms: The interval of whoever comes; 0: not known.
    """

    bootstrap: str
    topic: str
    port: int | None
    seconds: int
    heartbeat_ms: int

    @property
    def addresses(self) -> Sequence[Address]:
        """Those of the brokers. Raises UsageProblem."""
        return addresses_in(self.bootstrap, "--record")

    def command(self, client: str = "") -> str:
        """What does the same again."""
        words = ["groupspec", "conform", *([client] if client else []), "--record", self.bootstrap]
        words += ["--topic", self.topic] if self.topic else []
        words += [] if self.port is None else ["--listen", str(self.port), "--seconds", str(self.seconds)]
        return shlex.join(words + (["--heartbeat-ms", str(self.heartbeat_ms)] if self.heartbeat_ms else []))


def addresses_in(text: str, where: str) -> list[Address]:
    """The addresses in what bootstrap.servers would have. Raises UsageProblem."""
    return [_address(each, where) for each in text.split(",")]


def _address(text: str, where: str) -> Address:
    host, _, port = text.strip().rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise UsageProblem(
            f"{text!r} is no broker's address",
            where=where,
            allowed="HOST:PORT, or several with commas in between, as bootstrap.servers has them",
        )
    return host.strip("[]"), int(port)


def record_options(function: Decorated) -> Callable[..., Any]:
    """Adds the options that begin with --record; the command gets `live`, None without --record."""

    @wraps(function)
    def command(
        *arguments: Any,
        record: str | None,
        topic: str,
        listen: int | None,
        seconds: int | None,
        heartbeat_ms: int,
        **others: Any,
    ) -> Any:
        if record is None:
            given = {
                "--topic": topic,
                "--listen": listen is not None,
                "--seconds": seconds,
                "--heartbeat-ms": heartbeat_ms,
            }
            for option in (name for name, value in given.items() if value):
                raise UsageProblem(
                    f"{option} is about a broker that is recorded", next_step="name one: --record HOST:PORT"
                )
            return function(*arguments, live=None, **others)
        if listen is None and (seconds or heartbeat_ms):
            raise UsageProblem(
                "--seconds and --heartbeat-ms are about clients that no harness runs", next_step="add --listen PORT"
            )
        return function(*arguments, live=Live(record, topic, listen, seconds or SECONDS, heartbeat_ms), **others)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS: Final = (
    click.option(
        "--record",
        metavar="HOST:PORT",
        help="Judge clients at this broker of a cluster (PLAINTEXT; several with commas), and script nothing: two "
        "members of CLIENT join, consume, commit, leave and close behind a recording proxy. Written to the cluster: a "
        "topic groupspec-conform-... of 4 partitions with a few records, and what the members of a group with such a "
        "name commit; both are deleted at the end.",
    ),
    click.option(
        "--topic",
        default="",
        show_default=False,
        metavar="TOPIC",
        help="With --record: read this topic, and make none: only the group's commits are written, and deleted at the "
        "end.",
    ),
    click.option(
        "--listen",
        type=click.IntRange(0, 65_535),
        metavar="PORT",
        help="With --record, instead of CLIENT: judge whoever connects to this port of 127.0.0.1 on the way to the "
        "cluster (0: any free port). Nothing is written but what those clients write.",
    ),
    click.option(
        "--seconds",
        type=click.IntRange(1, 86_400),
        show_default=str(SECONDS),
        help="With --listen: for how long; Ctrl-C ends it earlier.",
    ),
    click.option(
        "--heartbeat-ms",
        type=click.IntRange(0, 3_600_000),
        default=0,
        show_default=False,
        help="With --listen: the clients' heartbeat interval, which is not on the wire, for the rules about it.",
    ),
)


def record(
    clients: Sequence[str], live_at: Live, repeat: int, report: Path | None, rules: frozenset[str], *, confirm: bool
) -> Campaign:
    """The verdicts on clients that live there, or that pass by; on these rules.

    With `confirm` clients live again that broke one of them, until that is certain or flaps: asked for, and not the
    default as it is for scripted runs, since a cluster is somebody's, and each life takes its time there.
    """
    if live_at.port is not None and clients:
        raise UsageProblem(
            "--listen judges whoever connects, and starts no client", where=" ".join(clients), next_step="leave one out"
        )
    if live_at.port is None and not clients:
        raise UsageProblem(
            "no client to record",
            next_step="for example `groupspec conform reference --record HOST:PORT`, or --listen PORT for one that you "
            "start yourself",
        )
    if report is not None:
        writable_folder(report)
    if live_at.port is not None:
        return _passers_by(live_at, live_at.port, report, rules)
    judged = [find_client(name) for name in dict.fromkeys(clients)]
    groups: tuple[Group, ...] = REBALANCES
    jobs = deque((client, group) for client in judged for group in groups for _ in range(repeat))
    results: list[CaseResult] = []
    stopped, seconds = "", 0.0
    with Steps("recording", len(jobs)) as steps:
        while jobs and not stopped:
            client, group = jobs.popleft()
            recorded = live(client, group, live_at.addresses, live_at.topic, live_at.command(client.name))
            results += recorded.results
            seconds += max(each.seconds for each in recorded.results)
            for left in recorded.left_behind:
                remark(f"groupspec: left behind at {live_at.bootstrap}: {left}")
            if confirm and (client, group) not in jobs and _is_unsure(recorded.results, results, rules):
                jobs.appendleft((client, group))
                steps.more(1)
            if group == REBALANCES[-1] and all(_joins_no_classic_group(each) for each in recorded.results):
                jobs.appendleft((client, "consumer"))
                steps.more(1)
            steps.done()
            stopped = recorded.stopped
    return replace(judged_again(results, report, rules), seconds=seconds, repeat=repeat, stopped=stopped)


def _joins_no_classic_group(result: CaseResult) -> bool:
    """Whether the client said so: then its members live in a consumer group (KIP-848), too."""
    return result.outcome.unsupported.startswith(ONLY_CONSUMER_PROTOCOL)


def _is_unsure(latest: Sequence[CaseResult], every: Sequence[CaseResult], rules: frozenset[str]) -> bool:
    """Whether another life of a client is due, since one of its members broke a rule, and not for certain yet."""
    of_members = ([each for each in every if (each.client, each.case) == (one.client, one.case)] for one in latest)
    return any(unsure_of(runs, rules) for runs in of_members)


def _passers_by(live_at: Live, port: int, report: Path | None, rules: frozenset[str]) -> Campaign:
    def began(bootstrap: str) -> None:
        remark(f"groupspec: for {live_at.seconds} s clients are recorded that have bootstrap.servers={bootstrap}")

    recorded = watch(live_at.addresses, port, live_at.seconds, live_at.heartbeat_ms, live_at.command(), began)
    if recorded.stopped:
        remark("groupspec: the recording was stopped; it is judged as far as it goes")
    return replace(
        judged_again(recorded.results, report, rules), seconds=max(each.seconds for each in recorded.results)
    )
