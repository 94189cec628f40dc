"""The verdicts as JUnit XML, which every CI system can show: a suite a client, a test a rule of a case."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.wire.results import Campaign, ClientResult, Row
from groupspec.spec import printable
from groupspec.spec.rules import RULES

SKIPPED = (Verdict.UNSUPPORTED, Verdict.UNTESTABLE)
"""Nothing was judged: shown as skipped, with the verdict and its reason."""


def junit_xml(campaign: Campaign, report: Path | None = None) -> str:
    """The whole document. `report`: where the runs' folders lie, for the paths of their logs."""
    suites = ElementTree.Element("testsuites", name="groupspec conform", time=f"{campaign.seconds:.3f}")
    for client in campaign.clients:
        suites.append(_suite(campaign, client, report))
    for each in suites.iter():
        each.attrib = {name: printable.lines(value) for name, value in each.attrib.items()}
        each.text = each.text and printable.lines(each.text)
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
        said.text = _said(f"{crash.reason} ({crash.runs} runs: {', '.join(crash.cases)})\n{crash.stderr}")
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
        classname=f"{client.name.replace('.', '-')}.{scenario}",
        name=f"{row.rule} {verdict.value}" if told else row.rule,
        time=f"{row.seconds:.3f}",
    )
    if verdict is Verdict.FAIL and not allowed:
        failure = ElementTree.SubElement(case, "failure", message=reason, type=verdict.value)
        failure.text = f"{RULES[row.rule].statement}\nreplay: {row.replay}"
    elif verdict is Verdict.INCONCLUSIVE:
        ElementTree.SubElement(case, "error", message=reason, type=verdict.value)
    elif verdict in SKIPPED:
        ElementTree.SubElement(case, "skipped", message=f"{verdict.value}: {reason}")
    said = [_said(f"{verdict.value}: {reason}")] if told else []
    if report is not None and row.folder and verdict is not Verdict.PASS:
        said.append(f"[[ATTACHMENT|{(report / row.folder / 'wire.txt').absolute()}]]")
    if said:
        ElementTree.SubElement(case, "system-out").text = "\n".join(said)
    return case


def _said(text: str) -> str:
    """What Jenkins looks for attachments in: a client's words name none."""
    return text.replace("[[ATTACHMENT", "[\\[ATTACHMENT")
