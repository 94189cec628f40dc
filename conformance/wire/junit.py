"""The verdicts as JUnit XML, which every CI system can show: a suite a client, a test a rule of a case."""

from __future__ import annotations

from xml.etree import ElementTree

from groupspec.conformance.wire.campaign import Campaign, ClientResult, Row
from groupspec.conformance.wire.verdicts import Verdict
from groupspec.spec.rules import RULES

SKIPPED = (Verdict.UNSUPPORTED, Verdict.UNTESTABLE, Verdict.DEVIATION)
"""Not failures, and not passes: shown as skipped, with the verdict and its reason."""


def junit_xml(campaign: Campaign) -> str:
    """The whole document."""
    suites = ElementTree.Element("testsuites", name="groupspec conform", time=f"{campaign.seconds:.3f}")
    for client in campaign.clients:
        suites.append(_suite(client))
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _suite(client: ClientResult) -> ElementTree.Element:
    verdicts = [row.judgement.verdict for row in client.rows]
    suite = ElementTree.Element(
        "testsuite",
        name=f"{client.name} {client.version}".strip(),
        tests=str(len(verdicts)),
        failures=str(verdicts.count(Verdict.FAIL)),
        errors=str(verdicts.count(Verdict.INCONCLUSIVE)),
        skipped=str(sum(verdict in SKIPPED for verdict in verdicts)),
    )
    for row in client.rows:
        suite.append(_case(client, row))
    return suite


def _case(client: ClientResult, row: Row) -> ElementTree.Element:
    name = f"{row.rule} {row.case.id}"
    case = ElementTree.Element("testcase", classname=client.client.folder, name=name, time=f"{row.seconds:.3f}")
    verdict, reason = row.judgement.verdict, row.judgement.reason
    if verdict is Verdict.FAIL:
        failure = ElementTree.SubElement(case, "failure", message=_clean(reason))
        failure.text = _clean(f"{RULES[row.rule].statement}\nreplay: {row.replay}")
    elif verdict is Verdict.INCONCLUSIVE:
        ElementTree.SubElement(case, "error", message=_clean(reason))
    elif verdict in SKIPPED:
        ElementTree.SubElement(case, "skipped", message=_clean(f"{verdict.value}: {reason}"))
    return case


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(character if character >= " " or character in "\n\t" else "?" for character in text)
