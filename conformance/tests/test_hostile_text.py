"""What a client, a log, a broker or a file says stays text in everything that the kit writes.

Fifty texts that try to be more, in each place where a text of others is shown. Whatever it says, an output keeps its
shape: as many lines, the same elements, nothing that moves a cursor or gives a CI's runner an order.
"""

from __future__ import annotations

import io
import json
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from groupspec.conformance import cli, pytest_plugin
from groupspec.conformance.broker_kit.campaign import Judged
from groupspec.conformance.broker_kit.cells import CellVerdict, Shown
from groupspec.conformance.broker_kit.judging import Breach
from groupspec.conformance.checks.verdicts import Judgement, Verdict
from groupspec.conformance.commands import conform_broker, doctor, harness
from groupspec.conformance.commands._comparison import lines as compared
from groupspec.conformance.commands.trace import check
from groupspec.conformance.differential.history import History, Sent
from groupspec.conformance.differential.replay import Difference
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.outputs import json_text
from groupspec.conformance.reports import html, sarif
from groupspec.conformance.reports.badge import badge
from groupspec.conformance.reports.comparison import compare
from groupspec.conformance.reports.github import workflow_commands
from groupspec.conformance.reports.inputs import (
    ClientVerdicts,
    Conform,
    Line,
    Rebalance,
    TraceCheck,
    TraceViolation,
    VerdictRow,
    Why,
)
from groupspec.conformance.reports.matrix_page import matrix_html
from groupspec.conformance.reports.reproduction_page import write_readmes
from groupspec.conformance.reports.soak import html as soak_html
from groupspec.conformance.reports.versions import together
from groupspec.conformance.stress import report as soak_report
from groupspec.conformance.stress.judging import Finding
from groupspec.conformance.stress.judging import Verdict as StressVerdict
from groupspec.conformance.stress.lanes import Bar, Lane, Mark
from groupspec.conformance.stress.picture import run_svg
from groupspec.conformance.stress.plan import draw
from groupspec.conformance.stress.run import Outcome as StressOutcome
from groupspec.conformance.stress.timeline import Happening
from groupspec.conformance.terminal import Steps, Terminal, say_aside
from groupspec.conformance.tests.hostile_text import HARMLESS, PAYLOADS, in_text, in_workflow, shape
from groupspec.conformance.traces import findings, why
from groupspec.conformance.traces.dialects import LogLine, ParsedLog
from groupspec.conformance.traces.dialects.reading import Logs, Skipped
from groupspec.conformance.traces.engine import Verdict as TraceVerdict
from groupspec.conformance.traces.quarantine import Quarantined
from groupspec.conformance.traces.trace_rules import RULES as TRACE_RULES
from groupspec.conformance.traces.trace_rules import Violation
from groupspec.conformance.traces.why_text import show as show_why
from groupspec.conformance.wire.artefacts import write_artefacts
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import BUILT_IN, Client, find_client
from groupspec.conformance.wire.console import show
from groupspec.conformance.wire.gathering import judged_again
from groupspec.conformance.wire.harness_check.checks import CHECKS
from groupspec.conformance.wire.harness_check.report import Checked, Result
from groupspec.conformance.wire.judging import Outcome
from groupspec.conformance.wire.junit import junit_xml
from groupspec.conformance.wire.play import shown
from groupspec.conformance.wire.results import Campaign, Crash
from groupspec.conformance.wire.results_json import as_json
from groupspec.conformance.wire.scenarios import written_cases
from groupspec.conformance.wire.tests import stories
from groupspec.impl.coordinator.context import Caller
from groupspec.impl.coordinator.settings import Settings as GroupSettings
from groupspec.impl.core.messages import ErrorCode, HeartbeatRequest, JoinGroupResponse
from groupspec.impl.journal import Journal

CASE: Final = next(case for case in written_cases() if case.id == "rebalance-eager")


def without_surrogates(said: str) -> str:
    return said.encode(errors="replace").decode()


def run(said: str, **changes: object) -> CaseResult:
    """A run of a client that says it wherever it can say something.

    There is no half of a pair of UTF-16 in a run: msgspec takes none from a harness, and `find_client` no such command.
    """
    said = without_surrogates(said)
    history = stories.eager_rebalance().history()
    first = history.entries[0]
    asked = next(each for each in history.entries if each.kind == "request")
    error = protocol.ErrorRaised(error=said, message=said, call="poll")
    configure = {"command": "configure", "bootstrap": "127.0.0.1:9092", "group_id": said}
    spoken = [
        Entry(first.at_us, "kit", "command", json.dumps(configure)),
        Entry(first.at_us, "client", "error", said, event=error),
        Entry(first.at_us, "client", "startup_complete", said),
        Entry(first.at_us, "kit", "note", said),
        Entry(first.at_us, "wire", "garbage", said),
        replace(first, text=said, error=said),
        replace(asked, raw=bytes(12)),
    ]
    history = replace(history, entries=[*spoken, *history.entries])
    verdicts = dict(zip(CASE.rules, (Verdict.FAIL, Verdict.DEVIATION, Verdict.INCONCLUSIVE), strict=False))
    at_us = history.entries[9].at_us
    judged = {rule: Judgement(verdicts.get(rule, Verdict.UNSUPPORTED), said, at_us) for rule in CASE.rules}
    ran = CaseResult(Client(f"cmd:{said}", (said,)), CASE, said, said, history, Outcome(), judged, 2.0, stderr=said)
    return replace(ran, **changes)  # type: ignore[arg-type]


def campaign(said: str, report: Path | None = None, stderr: str = "") -> Campaign:
    """What was found out about such a client."""
    found = judged_again([run(said)], report)
    [client] = found.clients
    crash = Crash(f"{said} died", (said,), 1, stderr)
    return replace(found, clients=[replace(client, crashes=[crash])], stopped=said)


def results(said: str) -> Conform:
    """The same, as somebody's JSON has it, who may have changed more."""
    rows = tuple(
        VerdictRow(scenario=said, rule=rule, level="must", verdict=verdict, reason=said, replay=said, folder=said)
        for rule, verdict in (("J1", "FAIL"), ("J2", "DEVIATION"), ("J3", "INCONCLUSIVE"))
    )
    return Conform((ClientVerdicts(said, said, rows, client=said),), 1.0, stopped=said, groupspec=said)


def explanation(said: str) -> why.Answer:
    """What `trace why` finds in a log of such a group."""
    place = LogLine(said, 1, said)
    part = findings.Contribution("waited_for", "poll_timeout", said, said, 1, evidence=[place])
    began = findings.Rebalance(said, 1, 1_000, "session_timeout", said, (), [part], [place], number=1, generation=2)
    found = findings.Explanation(said, [began], [findings.Note(1_000, said, place)])
    parsed = ParsedLog(said, said, samples=[place], lines=1, not_understood=1, in_doubt=1, cut_off=said)
    logs = Logs({said: parsed}, [Skipped(said, said, said)], repeated=1)
    return why.Answer([found, replace(found, group=f"{said} 2")], logs)


def traces(said: str) -> TraceVerdict:
    """What `trace check` finds in such traces."""
    broken = Violation(said, said, said, 1, TRACE_RULES[0].id, said, said, 1, said, said)
    bad = Quarantined(said, 1, "not_json", said, said)
    counted = {"not_json": 1}
    return TraceVerdict(1, 1, 1, 1, counted, [bad], [], [broken], [broken], [broken], [said], 1.0)


def harness_check(said: str) -> None:
    some = next(iter(CHECKS.values()))
    found = tuple(Result(some, verdict, (said, said)) for verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE))
    checked = Checked(Client(f"cmd:{said}", ()), said, said, (said,), found, said, to_fill_in=(said,))
    harness._show(checked)


def tools(said: str) -> dict[str, list[dict[str, object]]]:
    """What `doctor` finds of tools that say it."""
    found: dict[str, object] = {"name": said, "version": said, "detail": said, "used_for": said}
    missing: dict[str, object] = {"name": said, "why": said, "costs": said, "remedy": said, "required": True}
    return {"found": [found], "missing": [missing]}


def told(show_it: Callable[[Terminal], None]) -> str:
    """What goes to a terminal that is none."""
    out = io.StringIO()
    show_it(Terminal(out))
    return out.getvalue()


def in_the_report(said: str, folder: Path, name: str) -> str:
    """A file of the run's own folder."""
    return (write_artefacts(run(said), folder, 0) / name).read_text(encoding="utf-8")


def reproduction(said: str, folder: Path) -> str:
    below = folder / "client" / "case" / "repro"
    below.mkdir(parents=True)
    configure = {"command": "configure", "more": {"client.rack": said}, "after_ms": 0}
    recorded = {"client": said, "case": "c", "failed": {"J1": said}, "commands": [configure], "harness": [said]}
    (below / "run.json").write_text(json.dumps(recorded))
    write_readmes(folder)
    return (below / "README.md").read_text(encoding="utf-8")


def page(every: Sequence[str], folder: Path) -> str:
    found = []
    for number, said in enumerate(every):
        told: Any = as_json(campaign(said, None if number % 9 else folder))
        [client] = told["clients"]
        found.append(client | {"name": f"{client['name']} {number:03}"})
    said = " ".join(every)
    conform = msgspec.convert({"clients": found, "seconds": 1.0, "stopped": said}, Conform)
    broken = TraceViolation(TRACE_RULES[0].id, said, said, said, 1, said, said, said, said)
    checked = TraceCheck(said, 1, 1, 1, {}, (broken,), 1.0)
    began = Rebalance(1, 1, "session_timeout", said, "completed", 1, 1, False, (), (Line(said, 1, said),), said)
    explained = Why(said, (began,), 1.0)
    return html.report_html(
        html.Results(said, conform, folder, folder, trace_check=checked, why=explained, why_source=said)
    )


def matrix(every: Sequence[str], folder: Path) -> str:
    files = [folder / f"{number}.json" for number in range(len(every))]
    for number, (file, said) in enumerate(zip(files, every, strict=True)):
        conform = results(without_surrogates(said))
        [client] = conform.clients
        named = msgspec.structs.replace(client, client=f"{number:03} {client.client}")
        file.write_bytes(msgspec.json.encode(msgspec.structs.replace(conform, clients=(named,))))
    return matrix_html(together(files, folder))


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command says that was asked something impossible. What no process can be given, is none of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "outdated_install", lambda: None)  # reads every file of the install, each time
        given = [each.replace("\0", "0").replace("\ud800", "\udc80") for each in arguments]
        return written(capsys, lambda: cli.main(given))


def soak(said: str) -> str:
    bar = Bar(0, 9_000_000_000, "busy", said)
    marks = [Mark(1, "expelled", said), Mark(5_000_000, "finding", said)]
    return run_svg([Lane("all", [[bar]]), Lane(said, [[bar]], marks)], 0, 9_000_000_000, [])


def stressed(said: str) -> StressOutcome:
    """A stress run in which a client raised it, and a finding says it."""
    found = Finding("hang", "kafka-python-1-2", 1, said)
    plan = draw(5, ["reference", "kafka-python"], 10_000)
    trouble = [Happening(1, "lost", "kafka-python-1-2", (2,), text=said), Happening(1, "broker down", text=said)]
    verdict = StressVerdict((found,), {}, {}, 0)
    return StressOutcome(plan, 0, 1.0, 1, 1.0, verdict, [], {"kafka-python": Counter({said: 3})}, trouble)


def soak_page(every: Sequence[str], _: Path) -> str:
    return "".join(soak_html(stressed(said), said) for said in every)


def broker(said: str) -> Judged:
    """What `conform-broker` finds of a broker that says it in each text of an answer."""
    sent = Sent(1, 1, HeartbeatRequest(said, 1, said, said), Caller(4, said))
    answer = JoinGroupResponse(ErrorCode.NONE, 1, said, said, said)
    breach = Breach((said, said), 1, Difference(1, answer, answer), said, said)
    shown = Shown(breach, 1, History([sent], {1: answer}), again=True)
    cells = [CellVerdict((said, said), 1, [shown], Counter({breach.kind: 1}))]
    return Judged((said, 1), GroupSettings(), cells, 1, 1, 1.0, (said,))


def logged(said: str) -> str:
    """A line of a consumer's, in which a group, a member and a topic have this name."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    logger = logging.getLogger("groupspec.impl.hostile")
    logger.addHandler(handler)
    try:
        journal = Journal(said, said)
        journal.event(logger.name, 0, "lost", None, (said, 1, said), [f"{said}-0"], {})
        journal.seldom(logger.name, said, 0)
    finally:
        logger.removeHandler(handler)
    return out.getvalue()


def say_twice(steps: Steps, said: str) -> None:
    with steps:
        steps.now(said)
        steps.refresh()
        steps.say(said)


def written(capsys: pytest.CaptureFixture[str], write: Callable[[], object]) -> str:
    write()
    out, err = capsys.readouterr()
    return out + err


Output = Callable[[str, Path, pytest.CaptureFixture[str]], str]
OUTPUTS: Final[dict[str, tuple[str, Output]]] = {
    "conform": ("text", lambda said, _, __: told(lambda out: show(out, campaign(said), None))),
    "stderr": ("file", lambda said, _, __: told(lambda out: show(out, campaign("x", stderr=said), None))),
    "github": ("workflow", lambda said, _, __: "\n".join(workflow_commands(campaign(said)))),
    "junit": ("xml", lambda said, folder, _: junit_xml(campaign(said), folder)),
    "sarif": ("json", lambda said, folder, _: sarif.sarif_text(campaign(said, folder), folder)),
    "conform.json": ("json", lambda said, _, __: json_text(as_json(campaign(said)))),
    "badge": ("xml", lambda said, _, __: badge(campaign(said).clients)),
    "sequence.svg": ("xml", lambda said, folder, _: in_the_report(said, folder, "sequence.svg")),
    "wire.txt": ("text", lambda said, folder, _: in_the_report(said, folder, "wire.txt")),
    "stderr.txt": ("file", lambda said, folder, _: in_the_report(said, folder, "stderr.txt")),
    "reproduction": ("text", lambda said, folder, _: reproduction(said, folder)),
    "run.json": ("json", lambda said, folder, _: in_the_report(said, folder, "repro/run.json")),
    "player": ("text", lambda said, _, __: f"0.1 ms  {shown(said)}"),
    "compare": (
        "text",
        lambda said, _, __: told(lambda out: out.lines(*compared(compare(results("x"), results(said))))),
    ),
    "trace check": (
        "text",
        lambda said, _, __: told(lambda out: out.lines(*check._lines(traces(said), [said], [said]))),
    ),
    "trace why": ("text", lambda said, _, __: told(lambda out: show_why(explanation(said), out, UTC))),
    "harness check": ("file", lambda said, _, capsys: written(capsys, lambda: harness_check(said))),
    "doctor": ("text", lambda said, _, capsys: written(capsys, lambda: doctor._show(tools(said)))),
    "pytest": ("text", lambda said, _, __: pytest_plugin._told(campaign(said).clients[0].rows[0])),
    "pytest, stderr": ("file", lambda said, _, __: pytest_plugin._stderr(campaign("x", stderr=said).clients[0])),
    "explain": ("file", lambda said, _, capsys: asked(capsys, "explain", "--", said)),
    "no such client": ("text", lambda said, _, capsys: asked(capsys, "conform", f"cmd:{said}")),
    "no such file": ("text", lambda said, _, capsys: asked(capsys, "compare", said, said)),
    "no such option": ("text", lambda said, _, capsys: asked(capsys, "doctor", f"--{said}")),
    "problem": ("text", lambda said, _, __: str(UsageProblem(said, said, said, said, said))),
    "traceback": ("file", lambda said, _, capsys: written(capsys, lambda: say_aside(f"groupspec: {said}"))),
    "progress": ("text", lambda said, _, capsys: written(capsys, lambda: say_twice(Steps(said), said))),
    "soak picture": ("xml", lambda said, _, __: soak(said)),
    "soak": ("text", lambda said, _, __: told(lambda out: out.lines(*soak_report.lines(stressed(said), said)))),
    "conform-broker": ("text", lambda said, _, capsys: written(capsys, lambda: conform_broker._show(broker(said)))),
    "consumer's log": ("log", lambda said, _, __: logged(said)),
}

"""The kind of each, and how it comes about: with the text, a folder, and what catches stdout and stderr."""
WITHOUT_IT: Final = ("badge",)
"""They tell numbers only."""


def wrong_with(kind: str, text: str) -> Iterator[str]:
    """What no output of this kind may have. No runner reads XML, HTML, and the log of an application."""
    found = in_workflow(text) if kind == "workflow" else in_text(text)
    allowed = {"xml": ("an order",), "html": ("an order",), "log": ("an order", "a pile")}.get(kind, ())
    yield from (each for each in found if not each.startswith(allowed))
    text.encode()


@pytest.mark.parametrize("output", OUTPUTS)
def test_what_others_say_stays_text(output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kind, write = OUTPUTS[output]
    wrong = []
    for number, (name, said) in enumerate({"": HARMLESS, **PAYLOADS}.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = write(said, folder, capsys)
        wrong += [f"{name}: {each}" for each in wrong_with(kind, text)]
        if not name:
            assert HARMLESS in text or output in WITHOUT_IT
            as_usual = shape(kind, text)
        elif kind != "file" and shape(kind, text) != as_usual:
            wrong.append(f"{name}: another shape")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("write", [page, matrix, soak_page])
def test_what_others_say_stays_text_in_a_page(write: Callable[[Sequence[str], Path], str], tmp_path: Path) -> None:
    """All of it in one page: to make one takes a while."""
    as_usual = write([f"{HARMLESS} {number}" for number in range(len(PAYLOADS))], tmp_path)
    assert as_usual.count(HARMLESS) > 2 * len(PAYLOADS)
    text = write([*PAYLOADS.values()], tmp_path)
    assert [*wrong_with("html", text)] == []
    assert shape("html", text) == shape("html", as_usual)


def test_a_command_line_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="is no text"):
        find_client(f"cmd:{sys.executable} \udcff")


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_folder_of_the_report_is_one_client_s_and_lies_in_it(name: str, tmp_path: Path) -> None:
    """Whatever a client or a recording calls itself, and however alike two are."""
    said = PAYLOADS[name]
    folders = {Client(each, ()).folder for each in (said, f"cmd:{said}", f"{said} ", said.swapcase() + "'", f"{said}a")}
    assert len({folder.casefold() for folder in folders}) == 5
    assert not folders & {*BUILT_IN, "report.html"}
    for folder in folders:
        assert folder.isascii() and len(folder) < 80 and folder[0].isalnum() and "/" not in folder
    written_to = write_artefacts(run("", client=Client(without_surrogates(said), ())), tmp_path, 0)
    assert written_to.resolve().parent.parent == tmp_path.resolve()


def test_a_client_that_the_kit_knows_has_a_folder_of_its_name() -> None:
    assert {Client(name, ()).folder for name in BUILT_IN} == {*BUILT_IN}
