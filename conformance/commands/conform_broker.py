"""`groupspec conform-broker`: judges any broker's group coordinator, cell by cell of the group's table."""

from __future__ import annotations

from collections.abc import Sequence

import click

from groupspec.conformance.broker_kit.campaign import Asked, Judged, judge_broker
from groupspec.conformance.broker_kit.cells import CellVerdict
from groupspec.conformance.broker_kit.target import SETTINGS
from groupspec.conformance.broker_kit.telling import as_json, lines
from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.commands._common import Known, Steps, json_option, remark, results, say, write_json
from groupspec.conformance.commands._conform_record import addresses_in
from groupspec.conformance.differential.brokers import BROKERS
from groupspec.conformance.errors import UsageProblem, require_known
from groupspec.conformance.terminal import Part, Styled, Table
from groupspec.conformance.wire.console import STYLES
from groupspec.conformance.wire.live.tap import told


@click.command("conform-broker")
@click.argument("broker", metavar="HOST:PORT")
@click.option("--seed", type=click.IntRange(0), default=0, help="Draws the requests.")
@click.option("--steps", type=click.IntRange(1, 1000), default=24, help="Requests to each group.")
@click.option("--groups", type=click.IntRange(1, 1000), default=120, help="Groups at the same time.")
@click.option(
    "--kafka",
    type=Known("version", BROKERS),
    default=next(iter(BROKERS)),
    help="Whose known differences from the table are told as DEVIATION, each with its reason.",
)
@click.option(
    "--topic",
    default="",
    show_default=False,
    metavar="TOPIC",
    help="A topic that is there, for commits; without it one is made, and deleted at the end.",
)
@click.option(
    "--setting",
    "settings",
    multiple=True,
    metavar="NAME=MS",
    help=f"Of a broker that does not tell its settings: {', '.join(SETTINGS)}.",
)
@json_option
def command(broker: str, seed: int, steps: int, groups: int, kafka: str, topic: str, settings: Sequence[str]) -> int:
    """Judge a broker by the group's table: a verdict for each state and event.

    Groups are driven at HOST:PORT (PLAINTEXT; of a cluster: at one of its coordinators) with requests drawn from the
    seed: what members send, and all that they must not. Each answer is held against the table (`groupspec table
    broker_group`). Written to the cluster: groups named groupspec-conform-..., what they commit, and a topic of such a
    name unless --topic is given; all is deleted at the end.

    As every client does, it connects to the hosts that the broker names as controller and coordinator, and tells if the
    coordinator is not at HOST:PORT: a broker that you do not trust belongs in a network of its own.

    Example: groupspec conform-broker localhost:9092

    Example: groupspec conform-broker localhost:9092 --kafka 3.9.1 --seed 7 --json broker.json

    Exit code 0 without a FAIL, 1 with one, 2 where no broker answers, 4 if the broker was lost.
    """
    asked = Asked(addresses_in(broker, "HOST:PORT"), seed, steps, groups, topic, _settings(settings), kafka)
    with Steps("driving groups") as bar:
        judged = judge_broker(asked, bar.now)
    if judged.address not in asked.addresses:
        remark(f"groupspec: {broker} names {told(judged.address)} as coordinator: there the groups were driven")
    write_json("conform-broker", as_json(judged, asked))
    _show(judged)
    for left in judged.left_behind:
        remark(f"groupspec: left behind at {broker}: {left}")
    return judged.exit_code()


def _settings(given: Sequence[str]) -> dict[str, int]:
    found = {}
    for each in given:
        name, _, value = each.partition("=")
        require_known(name, SETTINGS, "setting", "--setting")
        if not value.isdecimal():
            raise UsageProblem(f"{each!r} has no number", where="--setting", allowed=f"{name}=NUMBER")
        found[name] = int(value)
    return found


def _show(judged: Judged) -> None:
    states = list(dict.fromkeys(cell.cell[0] for cell in judged.cells))
    table = Table(("event", *states))
    for event in dict.fromkeys(cell.cell[1] for cell in judged.cells):
        row = {cell.cell[0]: _marked(cell) for cell in judged.cells if cell.cell[1] == event}
        table.add(event, *(row.get(state, "") for state in states))
    results().table(table)
    say(*lines(judged))
    counts = ", ".join(f"{judged.count(verdict)} {verdict.value}" for verdict in Verdict if judged.count(verdict))
    size = f"{len(judged.cells)} cells; {judged.requests} requests, {judged.seconds:.0f} s"
    say(f"{told(judged.address)}: {counts} of {size}")
    if judged.unconfirmed:
        say(f"{judged.unconfirmed} differences in time did not show again, and count for nothing")


def _marked(cell: CellVerdict) -> Sequence[Part]:
    if cell.verdict is Verdict.UNTESTABLE:
        return [Styled("untestable", STYLES[cell.verdict])]
    return [Styled(cell.verdict.value, STYLES[cell.verdict]), f" {cell.met}"]
