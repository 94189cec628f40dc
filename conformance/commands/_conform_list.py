"""What `groupspec conform --list` shows: scenarios and their variants, clients, and what a harness can offer."""

from __future__ import annotations

from collections import Counter

from groupspec.conformance.commands._common import results, write_json
from groupspec.conformance.history.harness_protocol import FEATURES
from groupspec.conformance.terminal import Column, Table
from groupspec.conformance.wire.answers.rows import left_out
from groupspec.conformance.wire.case import PLAIN_NAME
from groupspec.conformance.wire.client_builds import BUILDS
from groupspec.conformance.wire.clients import BUILT_IN, IN_PYTHON
from groupspec.conformance.wire.scenarios import FULL, SCENARIOS, scenarios


def show_list() -> None:
    """Prints it, and writes it where `--json` says."""
    console = results()
    written = Table(
        _columns("scenario", "variants", "about", "rules"),
        title="Scenarios",
        caption="* judged in some of the variants: `groupspec explain SCENARIO/VARIANT` shows the rules of one",
    )
    for each in SCENARIOS.values():
        variants = ", ".join(variant.name or PLAIN_NAME for variant in each.variants)
        in_some = {rule for variant in each.variants for rule in variant.not_judged.split()}
        judged = " ".join(f"{rule}*" if rule in in_some else rule for rule in each.rules)
        written.add(each.id, variants, each.title, judged)
    console.table(written)
    console.table(_generated())
    clients = Table(("client", "harness"), title="Built-in clients")
    for client in IN_PYTHON.values():
        clients.add(client.name, " ".join(("python", *client.command[1:])))
    for build in BUILDS.values():
        clients.add(build.name, f"groupspec clients install {build.name}: by {build.needs}")
    clients.add("cmd:COMMAND LINE", "any program that speaks conformance/wire/PROTOCOL.md")
    console.table(clients)
    result = {
        "scenarios": [
            {
                "id": each.id,
                "title": each.title,
                "source": each.source,
                "rebalance": each.rebalance,
                "needs": sorted(each.needs),
                "rules": list(each.rules),
                "variants": [{"name": variant.name, "poll_ms": variant.poll_ms} for variant in each.variants],
            }
            for each in scenarios(FULL).values()
        ],
        "left_out": dict(Counter(why for _, why in left_out())),
        "clients": [*BUILT_IN],
        "features": dict(FEATURES),
    }
    write_json("conform-list", result)


def _generated() -> Table:
    """What `--profile full` adds: a line for each scenario, not for each of its variants."""
    table = Table(
        _columns("scenario", "variants", "about"),
        title="Generated scenarios (--profile full)",
        caption="a variant is POINT-ANSWER: `--scenario heartbeat-eager/stable-unknown-member-id`; "
        f"{len(left_out())} more cannot be (--json FILE has the reasons)",
    )
    for each in scenarios(FULL).values():
        if each.id not in SCENARIOS:
            table.add(each.id, str(len(each.variants)), each.title)
    return table


def _columns(*names: str) -> list[Column]:
    """An id is never cut: it is to be copied."""
    return [Column(name, folded=True, whole=name == "scenario") for name in names]
