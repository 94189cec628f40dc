"""What `groupspec conform --list` shows: scenarios and their variants, clients, and what a harness can offer."""

from __future__ import annotations

from collections import Counter

from rich.table import Table

from groupspec.conformance.commands._common import results, write_json
from groupspec.conformance.wire.answers.rows import left_out
from groupspec.conformance.wire.case import PLAIN_NAME
from groupspec.conformance.wire.client_builds import BUILDS
from groupspec.conformance.wire.clients import BUILT_IN, IN_PYTHON
from groupspec.conformance.wire.protocol import FEATURES
from groupspec.conformance.wire.scenarios import FULL, SCENARIOS, scenarios


def show_list() -> None:
    """Prints it, and writes it where `--json` says."""
    console = results()
    written = Table(
        title="Scenarios",
        title_justify="left",
        caption="* judged in some of the variants: `groupspec explain SCENARIO/VARIANT` shows the rules of one",
        caption_justify="left",
    )
    for name in ("scenario", "variants", "about", "rules"):
        written.add_column(name, overflow="fold", no_wrap=name == "scenario")  # an id is never cut: it is to be copied
    for each in SCENARIOS.values():
        variants = ", ".join(variant.name or PLAIN_NAME for variant in each.variants)
        in_some = {rule for variant in each.variants for rule in variant.not_judged.split()}
        judged = " ".join(f"{rule}*" if rule in in_some else rule for rule in each.rules)
        written.add_row(each.id, variants, each.title, judged)
    console.print(written)
    console.print(_generated())
    clients = Table("client", "harness", title="Built-in clients", title_justify="left")
    for client in IN_PYTHON.values():
        clients.add_row(client.name, " ".join(("python", *client.command[1:])))
    for build in BUILDS.values():
        clients.add_row(build.name, f"groupspec clients install {build.name}: by {build.needs}")
    clients.add_row("cmd:COMMAND LINE", "any program that speaks conformance/wire/PROTOCOL.md")
    console.print(clients)
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
        title="Generated scenarios (--profile full)",
        title_justify="left",
        caption="a variant is POINT-ANSWER: `--scenario heartbeat-eager/stable-unknown-member-id`; "
        f"{len(left_out())} more cannot be (--json FILE has the reasons)",
        caption_justify="left",
    )
    for name in ("scenario", "variants", "about"):
        table.add_column(name, overflow="fold", no_wrap=name == "scenario")
    for each in scenarios(FULL).values():
        if each.id not in SCENARIOS:
            table.add_row(each.id, str(len(each.variants)), each.title)
    return table
