"""The verdicts as JUnit XML, which every CI system can show: a suite a client, a test a rule of a case."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from groupspec.conformance.wire.results import Campaign, ClientResult, Row
from groupspec.conformance.wire.verdicts import Verdict
from groupspec.spec.rules import RULES

SKIPPED = (Verdict.UNSUPPORTED, Verdict.UNTESTABLE)
"""Nothing was judged: shown as skipped, with the verdict and its reason."""


def junit_xml(campaign: Campaign, report: Path | None = None) -> str:
    """The whole document. `report`: where the runs' folders lie, for the paths of their logs."""
    suites = ElementTree.Element("testsuites", name="groupspec conform", time=f"{campaign.seconds:.3f}")
    for client in campaign.clients:
        suites.append(_suite(campaign, client, report))
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _suite(campaign: Campaign, client: ClientResult, report: Path | None) -> ElementTree.Element:
    verdicts = client.verdicts()
    suite = ElementTree.Element(
        "testsuite",
        name=f"{client.name} {client.version}".strip(),
        tests=str(len(verdicts)),
        failures=str(verdicts.count(Verdict.FAIL) - sum(map(campaign.allows, client.rows))),
        errors=str(verdicts.count(Verdict.INCONCLUSIVE)),
        skipped=str(sum(verdict in SKIPPED for verdict in verdicts)),
    )
    for crash in client.crashes:
        said = ElementTree.SubElement(suite, "system-err")
        said.text = _clean(f"{crash.reason} ({crash.runs} runs: {', '.join(crash.cases)})\n{crash.stderr}")
    for row in client.rows:
        suite.append(_case(client, row, report, campaign.allows(row)))
    return suite


def _case(client: ClientResult, row: Row, report: Path | None, allowed: bool) -> ElementTree.Element:
    """A test case. A DEVIATION and an allowed FAIL are no failures for JUnit, so the name says them."""
    verdict = row.judgement.verdict
    reason = f"{row.combined.how_sure}: {row.judgement.reason}"
    told = verdict is Verdict.DEVIATION or allowed
    scenario = ".".join(filter(None, (row.case.scenario.id, row.case.variant.name)))
    case = ElementTree.Element(
        "testcase",
        classname=f"{client.name.replace('.', '-')[:60]}.{scenario}",
        name=f"{row.rule} {verdict.value}" if told else row.rule,
        time=f"{row.seconds:.3f}",
    )
    if verdict is Verdict.FAIL and not allowed:
        failure = ElementTree.SubElement(case, "failure", message=_clean(reason), type=verdict.value)
        failure.text = _clean(f"{RULES[row.rule].statement}\nreplay: {row.replay}")
    elif verdict is Verdict.INCONCLUSIVE:
        ElementTree.SubElement(case, "error", message=_clean(reason), type=verdict.value)
    elif verdict in SKIPPED:
        ElementTree.SubElement(case, "skipped", message=_clean(f"{verdict.value}: {reason}"))
    said = [f"{verdict.value}: {reason}"] if told else []
    if report is not None and row.folder and verdict is not Verdict.PASS:
        said.append(f"[[ATTACHMENT|{(report / row.folder / 'wire.txt').absolute()}]]")
    if said:
        ElementTree.SubElement(case, "system-out").text = _clean("\n".join(said))
    return case


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(character if character >= " " or character in "\n\t" else "?" for character in text)
