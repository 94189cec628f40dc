"""`groupspec explain`: names that the tool prints or that Kafka says lead to their meaning, misspellings to names."""

from __future__ import annotations

import json
import random
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import jsonschema
import pytest

from groupspec.conformance import cli, generate
from groupspec.conformance.checks import CHECKERS
from groupspec.conformance.commands._common import SCHEMAS
from groupspec.conformance.commands.explain import NAMES
from groupspec.conformance.explain import code, index
from groupspec.conformance.explain.explanation import Explanation, place_of
from groupspec.conformance.explain.index import explain, nearest
from groupspec.conformance.explain.lab import claimed, notices
from groupspec.conformance.explain.log_lines import MESSAGES
from groupspec.conformance.explain.machines import functions_for
from groupspec.conformance.judges import judges_markdown
from groupspec.conformance.scores.files import committed
from groupspec.conformance.scores.mutants import OPERATORS
from groupspec.conformance.tests.repository import ROOT
from groupspec.conformance.traces.dialects import Clock
from groupspec.conformance.traces.dialects.broker import BrokerCoordinatorLog
from groupspec.conformance.wire.case import PLAIN_NAME, Case
from groupspec.conformance.wire.scenarios import SCENARIOS
from groupspec.impl.core import dispatch, errors
from groupspec.impl.core.config import Config
from groupspec.spec.compiler.tables import whole_tables
from groupspec.spec.composition import models
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.rules import RULES
from groupspec.spec.vocabulary import EVENTS, RESPONSES

Captured = pytest.CaptureFixture[str]

PRINTED: Final = (
    (["table", "connection"], r"`?\b([A-Z]{4,}(?:_[A-Z]+)*|[a-z]+(?:_[a-z]+)+)\b"),
    (["conform", "--list"], r"^\W*([a-z]+(?:-[a-z]+)+(?:/[\w-]+)?)\b"),
    (["clients", "list"], r"^\W+(reference|[a-z]+-?[a-z]+)\s+[│|]"),
    (["explain", "H2"], r"\b([A-Z]+-[A-Z0-9]+(?:-[A-Z]+)?|[A-Z]\d+ [a-z]+-[a-z-]+|[a-z]+\.[A-Z_]+\.\w+\.\d)\b"),
)
"""Commands, and how the names in what they print look."""
KAFKA: Final = ("CommitFailedException", "IllegalGenerationError", "KIP-62", "KAFKA-10134", "group.max.size")
DRAWN: Final = 60
CAPTURES: Final = Path(__file__).parents[2] / "traces" / "captures"
MISSPELT: Final = 20


def _printed(capsys: Captured) -> list[str]:
    """The names in what commands print, in the order in which they print them."""
    found: list[str] = []
    for arguments, pattern in PRINTED:
        assert cli.main(arguments) == 0
        names = list(dict.fromkeys(re.findall(pattern, capsys.readouterr().out, re.MULTILINE)))
        assert names, f"{arguments} prints no name that is recognised"
        found += names
    return found


def _known() -> list[list[str]]:
    """Names from the tables of the specification and of the reference, by kind."""
    return [
        list(RULES),
        [rule.name for rule in RULES.values()],
        [row.id for table in whole_tables().values() for row in table.rows],
        list(EVENTS),
        list(KNOWN_BUGS),
        list(models()),
        [each.id for maker in models().values() for each in maker.properties],
        [error for _, error in RESPONSES if error.isupper() and error != "NONE"],
        [api for api, _ in RESPONSES],
        [field.replace("_", ".") for field in Config.__dataclass_fields__],
        list(KAFKA),
    ]


def _is_useful(told: list[Explanation]) -> bool:
    """Whether each says what it means, and leads on: to a source, rows, rules, a function or a command."""
    return bool(told) and all(
        one.statement.strip() and (one.sources or one.rows or one.rules or one.code or one.sections) for one in told
    )


def _misspelt(name: str, chance: random.Random) -> str:
    """One letter left out, doubled, or swapped with the next."""
    at = chance.randrange(1, len(name) - 1)
    how = chance.choice(("left out", "doubled", "swapped"))
    if how == "swapped":
        return name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    return name[:at] + (name[at] * 2 if how == "doubled" else "") + name[at + 1 :]


def test_sixty_names_that_are_printed_are_explained_and_twenty_misspellings_understood(capsys: Captured) -> None:
    chance = random.Random(9)
    printed, known = _printed(capsys), _known()
    drawn = chance.sample(printed, DRAWN // 2) + [chance.choice(known[n % len(known)]) for n in range(DRAWN // 2)]
    assert [name for name in drawn if not _is_useful(explain(name))] == []
    long = [names for kind in known if (names := [name for name in kind if len(name) > 6])]
    for n in range(MISSPELT):
        name = chance.choice(long[n % len(long)])
        wrong = _misspelt(name, chance)
        understood = explain(wrong) or [one for near in nearest(wrong) for one in explain(near)]
        assert {one.name for one in explain(name)} & {one.name for one in understood}, (name, wrong)


def test_every_name_is_explained_and_leads_to_what_is_there() -> None:
    schema = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "explain.json").read_text()))
    folder = generate.ROOT
    for kind in index.kinds():
        own = dict.fromkeys(kind.names().values())
        for name in own if kind.name != "model" else ["open-group"]:  # to make every model takes seconds
            told = kind.explain(name)
            assert told.statement.strip(), name
            assert set(told.rules) <= set(RULES), name
            for place in (*told.code, *told.tests):
                assert (folder / place.file).is_file(), place
            if len(told.rows) < 2 and kind.name != "row":  # validation is slow, and rows are all alike
                schema.validate({**json.loads(json.dumps(told.data())), "others": []})
                assert all((folder / picture).is_file() for picture in told.pictures()), name


def test_a_rule_leads_to_everything_about_it(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "told.json"
    assert cli.main(["explain", "J3", "--json", str(file)]) == 0
    shown = capsys.readouterr().out
    for expected in (
        "MEMBER_ID_REQUIRED",
        "KIP-394",
        "join_member_id_required",
        "first-join",
        "BUG-23",
        ".svg",
        "spec/rebalance.py:",
        "Joining.member_id_required",
        "test_J3_",
    ):
        assert expected in shown
    assert json.loads(file.read_text())["level"] == "should"


def test_a_rule_leads_to_the_functions_that_judge_histories_by_it() -> None:
    for rule, checkers in CHECKERS.items():
        [told] = explain(rule)
        assert [place.name for place in told.checks] == [checker.check.__name__ for checker in checkers]
        for place in told.checks:
            lines = (ROOT / place.file).read_text(encoding="utf-8").splitlines()
            assert any(f"def {place.name}(" in line for line in lines[place.line - 1 : place.line + 3])


def test_each_rule_is_cited_by_the_function_of_the_reference_that_keeps_it() -> None:
    assert [rule.id for rule in RULES.values() if not code.citing(rule.id)] == []


def test_each_answer_leads_to_the_function_that_takes_it() -> None:
    for api, error in RESPONSES:
        assert code.handling(api, error), (api, error)
    for kind, detail in dispatch.HANDLERS:
        assert code.handling(kind, detail), (kind, detail)
    assert [place.name for place in code.handling("JoinGroup", "NONE")] == ["Joining.join_accepted"]
    assert [place.name for place in functions_for("heartbeat_due")] == ["Heartbeats.heartbeat_due"]


def test_the_exceptions_of_the_reference_are_explained() -> None:
    raised = [name for name, value in vars(errors).items() if isinstance(value, type) and name.endswith("Error")]
    ours = {"KafkaError", "ConfigError", "ConsumerClosedError", "ProtocolError", "UnreadableRecordsError"}
    assert [name for name in raised if name not in ours and not explain(name)] == []


def test_a_row_and_a_cell_have_file_and_line() -> None:
    (told,) = explain("timeouts.IDLE.heartbeat_due.1")
    ((machine, row),) = told.rows
    file, _, line = place_of(machine, row).partition(":")
    text = (generate.ROOT / file).read_text().split("\n")[int(line) - 1]
    assert "heartbeat_due" in text
    assert len(explain("timeouts:IDLE.heartbeat_due")[0].rows) == 3


def test_case_and_separators_do_not_count_and_namesakes_are_all_told(capsys: Captured) -> None:
    assert cli.main(["explain", "stable"]) == 0
    told = capsys.readouterr().out
    assert all(f"a state of {machine}" in told for machine in ("connection", "rebalance", "broker_group"))
    assert cli.main(["explain", "STABLE"]) == 0
    assert "a state of broker_group" not in capsys.readouterr().out
    assert cli.main(["explain", "connection.STABLE"]) == 0
    assert "a state of rebalance" not in capsys.readouterr().out
    assert [one.name for one in explain("Illegal Generation")] == ["ILLEGAL_GENERATION"]
    assert [one.kind for one in explain("commit")] == ["machine", "effect"]


@pytest.mark.parametrize("cause", ["join", "rejoin", "leave"])
def test_what_trace_why_prints_as_a_cause_is_explained_as_one_first(cause: str) -> None:
    assert explain(cause)[0].kind == "cause of a rebalance"
    assert len(explain(cause)) > 1


@pytest.mark.parametrize(
    ("phrase", "kind", "told"),
    [
        ("Stabilized", "line of a log", "all members have joined"),
        ("stabilizing", "line of a log", "all members have joined"),
        ("expired", "line of a log", "did not call poll()"),
        ("heartbeat expiration", "line of a log", "heard nothing from a member"),
        ("has left group", "line of a log", "leaves the group"),
        ("Attempt to heartbeat failed", "line of a log", "has begun a rebalance"),
        ("Request joining group due to", "line of a log", "asks to join again"),
        ("max.poll.interval", "setting", "between two polls"),
        ("interrupted", "term", "did not end by itself"),
        ("unfinished", "term", "logs do not show"),
        ("second round", "term", "cooperative rebalance"),
        ("back after", "term", "joined again"),
        ("not sure", "term", "exit code 4"),
    ],
)
def test_words_of_logs_and_of_trace_why_are_explained(phrase: str, kind: str, told: str) -> None:
    first = explain(phrase)[0]
    assert first.kind == kind
    assert told in first.statement


def test_a_word_that_stands_in_many_messages_tells_nothing() -> None:
    assert explain("group") == []


def test_a_guess_shares_a_word_or_is_a_letter_or_two_away() -> None:
    assert nearest("Stabilized") == []
    assert nearest("Stabelized") == []
    assert nearest("consumer commit failed exception")[0] == "CommitFailedException"


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("IllegalGenerationException", "ILLEGAL_GENERATION"),
        ("RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID"),
        ("kerr.RebalanceInProgress", "REBALANCE_IN_PROGRESS"),
        ("error 25", "UNKNOWN_MEMBER_ID"),
        ("GROUP_LOAD_IN_PROGRESS", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("HeartbeatRequest", "Heartbeat"),
        ("H2 heartbeat-interval", "H2"),
        ("Attempt to heartbeat failed: FENCED_INSTANCE_ID (group g1)", "FENCED_INSTANCE_ID"),
    ],
)
def test_names_as_clients_and_logs_have_them(said: str, name: str) -> None:
    assert [one.name for one in explain(said)] == [name]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (
            "[Consumer clientId=c, groupId=g] Attempt to heartbeat failed since group is rebalancing",
            "REBALANCE_IN_PROGRESS H4",
        ),
        (
            "%4|1.1|MAXPOLL|c#consumer-1| [thrd:main]: Application maximum poll interval (3000ms) exceeded by 12ms",
            "poll_timeout P1",
        ),
        ("%4|1.1|SESSTMOUT|c#consumer-1| [thrd:main]: Consumer group session timed out (in join-state steady)", "H5"),
        (
            "kafka.coordinator.consumer Offset commit failed: [Error 25] UnknownMemberIdError",
            "CommitFailedException M2 UNKNOWN_MEMBER_ID",
        ),
        (
            "INFO [GroupCoordinator id=1] Stabilized group g generation 2 with 2 members.",
            "broker_group.CompletingRebalance",
        ),
        (
            "reason: removing member m-1 on heartbeat expiration (kafka.coordinator.group.GroupCoordinator)",
            "session_timeout G5",
        ),
    ],
)
def test_a_line_of_a_log_is_told_and_led_to_what_explains_it(line: str, names: str) -> None:
    told, *others = explain(line)
    assert told.kind == "line of a log"
    assert [one.name for one in others][: len(names.split())] == names.split()
    assert not {"ERROR", "client.id", "coordinator"} & {one.name for one in others}


_JAVA = "[Consumer clientId=c1, groupId=orders] "


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (f"{_JAVA}Giving away all assigned partitions as lost since generation/memberID has been reset,", "put out"),
        (f"{_JAVA}Failing OffsetCommit request since the consumer is not part of an active group", "not even sent"),
        (f"{_JAVA}SyncGroup failed: The group began another rebalance. Need to re-join", "has begun a rebalance"),
        (f"{_JAVA}Rebalance failed.", "did not succeed"),
        (f"{_JAVA}Node 2147483646 disconnected.", "connection to broker N as the group's coordinator"),
        (f"{_JAVA}Cancelled in-flight JOIN_GROUP request with correlation id 7", "requests that had no answer yet"),
        (f"{_JAVA}Notifying assignor about the new Assignment(partitions=[t-0])", "tells its assignor"),
        (f"{_JAVA}The pause flag in partitions [t-0] will be removed due to revocation.", "not paused"),
        (f"{_JAVA}User provided listener Foo failed on invocation of onPartitionsRevoked for partitions", "raised an"),
        ('%7|1.1|REJOIN|c#consumer-1| [thrd:main]: Group "g": heartbeat error', "did not accept a heartbeat"),
        ("stream-thread [a] State transition from RUNNING to PARTITIONS_REVOKED", "gives partitions up"),
        ("[GroupCoordinator 1]: Static member with unknown member id joins group g", "back after a restart"),
        ("Heartbeat poll expired, leaving group", "did not call poll()"),
        ("Heartbeat failed for group orders because it is rebalancing", "has begun a rebalance"),
        ("Heartbeat: local member_id was not recognized; this consumer needs to re-join", "does not know the member"),
    ],
)
def test_what_stands_behind_the_prefix_of_a_line_is_what_is_told(line: str, told: str) -> None:
    first, *others = explain(line)
    assert first.kind == "line of a log"
    assert told in first.statement
    assert not {"client.id", "rejoin", "PARTITIONS_REVOKED", "coordinator"} & {one.name for one in others}


def test_a_listener_that_failed_is_not_told_as_one_that_was_called() -> None:
    first, *_ = explain(f"{_JAVA}User provided listener Foo failed on invocation of onPartitionsLost for partitions")
    assert "put out" not in first.statement


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (f"{_JAVA}Something that no client has ever written about the coordinator", "Java client log"),
        ("2026-11-21 07:52:10 INFO client.id is what the coordinator rejoins", "trace why"),
        ("[Sarama] consumergroup/session UNKNOWN_MEMBER_ID", "`groupspec explain UNKNOWN_MEMBER_ID`"),
    ],
)
def test_a_line_without_a_known_phrase_is_not_explained_by_a_name_in_it(line: str, hint: str, capsys: Captured) -> None:
    assert cli.main(["explain", line]) == 2
    said = capsys.readouterr()
    assert "no known phrase in this line" in said.err
    assert hint in said.err
    assert not said.out


@pytest.mark.parametrize("nothing", [[], [""], [" "]])
def test_without_a_name_it_is_asked_for(nothing: list[str], capsys: Captured) -> None:
    assert cli.main(["explain", *nothing]) == 2
    assert "which name?" in capsys.readouterr().err
    assert explain("") == []


def test_several_words_are_one_name_as_if_they_were_quoted(capsys: Captured) -> None:
    assert cli.main(["explain", "static", "member"]) == 0
    assert capsys.readouterr().out.startswith("term static member\n")


def test_rows_wait_behind_a_line_and_behind_a_state_of_the_broker(capsys: Captured) -> None:
    for name in ("PreparingRebalance", "INFO [GroupCoordinator id=1] Stabilized group g generation 2 with 2 members."):
        assert cli.main(["explain", name]) == 0
        assert re.search(r"\nrows \(\d+\): --all shows them\n", capsys.readouterr().out)
        assert cli.main(["explain", name, "--all"]) == 0
        assert re.search(r"\nrows \(\d+\)\n  spec/broker_group.py:", capsys.readouterr().out)


def test_every_line_of_recorded_brokers_that_became_an_event_is_explained() -> None:
    for file in sorted(CAPTURES.glob("*/broker.log")):
        lines = file.read_text(encoding="utf-8").splitlines()
        events = BrokerCoordinatorLog().parse(file.name, lines, Clock(ZoneInfo("UTC"))).events
        lost = [lines[event.place.line - 1] for event in events if event.kind != "started"]
        assert [line for line in lost if not _is_useful(explain(line))] == []


def test_what_a_line_means_are_names() -> None:
    assert [name for message in MESSAGES.values() for name in message.means if not explain(name)] == []


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("join_fence", "join_fenced"), ("CommitFaildException", "CommitFailedException"), ("KIP 8484", "KIP-848")],
)
def test_a_misspelling_is_answered_with_the_nearest_names_and_no_list(wrong: str, meant: str, capsys: Captured) -> None:
    assert cli.main(["explain", wrong]) == 2
    said = capsys.readouterr().err
    assert f"did you mean {meant!r}?" in said
    assert len(said) < 400


def test_what_is_nothing_like_a_name_is_told_where_to_look(capsys: Captured) -> None:
    assert cli.main(["explain", "xqzw"]) == 2
    assert "groupspec table" in capsys.readouterr().err


def test_what_is_nothing_like_a_name_is_told_in_a_line_where_all_kinds_are_listed(capsys: Captured) -> None:
    assert cli.main(["explain", "--help"]) == 0
    helped = " ".join(capsys.readouterr().out.split())
    assert cli.main(["explain", "xqzw"]) == 2
    (allowed,) = re.findall("allowed: (.*)", capsys.readouterr().err)
    assert "`groupspec explain --help`" in allowed and len(allowed) < 120
    assert f"It may be {NAMES}." in helped
    assert all(each in helped for each in ("API", "setting", "exception", "KIP", "log"))


def test_every_case_can_be_named_as_conform_takes_it() -> None:
    for scenario in SCENARIOS.values():
        for variant in scenario.variants:
            (told,) = explain(f"{scenario.id}/{variant.name or PLAIN_NAME}")
            assert told.rules == Case(scenario, variant).rules


def test_the_words_of_the_table_of_judges_are_explained() -> None:
    rows = [line.strip("| ").split(" | ") for line in judges_markdown().splitlines() if re.match(r"\| [A-Z]\d", line)]
    words = {name for row in rows for cell in row for name in cell.split(", ")} - {"-"}
    assert len(words) > len(RULES)
    assert [name for name in words if not explain(name)] == []
    assert "J3" in explain("should")[0].sections["rules"][0].split(", ")


def test_a_function_that_is_named_as_the_reference_has_it_is_explained() -> None:
    (told,) = explain("rebalance_announced")
    (of_heartbeats,) = explain("Heartbeats.rebalance_announced")
    assert of_heartbeats.code[0] in told.code
    assert {"Heartbeats.rebalance_announced", "Membership.rebalance_announced"} < {each.name for each in told.code}
    assert of_heartbeats.rules == ("H1",)
    for function in ("heartbeats.py:140", "Nothing.rebalance_announced"):
        assert explain(function) == []


def test_classes_of_kafka_that_sources_name_are_explained() -> None:
    (told,) = explain("AbstractCoordinator.HeartbeatThread")
    assert {"D2", "H5", "P2"} <= set(told.rules)
    assert set(told.rules) < set(explain("AbstractCoordinator")[0].rules)
    assert [one.kind for one in explain("Heartbeat")] == ["API"]


def test_what_binds_a_cooperative_member_is_told_with_the_word() -> None:
    named = [rule.id for rule in RULES.values() if rule.id[0] == "K" or "cooperative" in rule.statement.lower()]
    (told,) = (one for one in explain("cooperative") if one.kind == "term")
    assert list(told.rules) == named


def test_what_a_maker_of_models_claims_is_what_the_model_claims() -> None:
    for name in ("open-member-eager-deployed", "base-static-eager-deployed-2", "commits-2", "queues-3"):
        made, said = models()[name]().properties, models()[name].properties
        assert [(one.id, one.statement, one.rules) for one in made] == [
            (one.id, one.statement, one.rules) for one in said
        ]


def test_the_commands_that_explanations_name_exist(capsys: Captured) -> None:
    names = ("H2", "first-join", "one-owner", "open-group", "BUG-23", "deployed", "connection", "aiokafka")
    sections = [lines for name in names for one in explain(name) for lines in one.sections.values()]
    lines = {line for section in sections for line in section if line.startswith("groupspec ")}
    assert len(lines) >= 6
    for line in lines:
        command, *arguments = shlex.split(line)[1:]
        assert cli.main([command, "--help"]) == 0
        usage = capsys.readouterr().out
        assert all(each in usage for each in arguments if each.startswith("--")), line


def test_a_property_is_told_with_its_formula_and_its_place_before_anything_else(capsys: Captured) -> None:
    assert cli.main(["explain", "stable-after-faults"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines[0] == "property (leads to) stable-after-faults"
    assert lines[2] == "  when: faults_stopped"
    assert "under the fairness" in lines[3]
    assert "(broker_group == 'Stable' or broker_group == 'Empty')" in lines[3]
    for name, claim in claimed().items():
        (told,) = [one for one in explain(name) if one.kind.startswith("property")]
        places = re.findall(r"(spec/\S+\.toml):(\d+)", told.formula[-1])
        entries = [(generate.ROOT / file).read_text().split("\n")[int(line) - 1] for file, line in places]
        assert entries, name
        assert all(re.fullmatch(r'\["?[\w{}-]+"?\]', entry) for entry in entries), (name, entries)
        assert any(claim.stated.holds in line for line in told.formula), name


def test_many_names_stand_beside_each_other(capsys: Captured) -> None:
    assert cli.main(["explain", "one-owner"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("\n") < 40
    below = shown.partition("claimed of 25 models\n")[2]
    assert below.startswith("  base-eager-published-2, base-eager-deployed-2, ")
    assert max(map(len, below.partition("known to be")[0].split("\n"))) <= 120


def test_namesakes_are_counted_and_named_first(capsys: Captured) -> None:
    assert cli.main(["explain", "callbacks-alternate"]) == 0
    first, rule, claim, *_ = capsys.readouterr().out.split("\n")
    assert first == "2 things have this name:"
    assert rule.startswith("- rule C1 callbacks-alternate: ")
    assert claim.startswith("- property (invariant) callbacks-alternate: ")
    assert cli.main(["explain", "late"]) == 0
    assert capsys.readouterr().out.startswith("3 things have this name:\n- ")
    assert cli.main(["explain", "Attempt to heartbeat failed since group is rebalancing"]) == 0
    assert "have this name" not in capsys.readouterr().out


def test_a_property_is_told_with_the_changed_rows_that_only_it_notices() -> None:
    scores = committed()
    assert scores is not None
    alone = Counter(row["by"][0] for row in scores["mutants"] if len(row["by"]) == 1)
    noticed = Counter(name for row in scores["mutants"] for name in row["by"])
    for name in claimed():
        (told,) = [one for one in explain(name) if one.kind.startswith("property")]
        lines = {heading: lines for heading, lines in told.sections.items() if "changed rows" in heading}
        counted, *listed = lines.values()
        assert counted[0].startswith(f"Notices {noticed[name]} changed row"), name
        assert sum(map(len, listed)) == alone[name], name
    assert "of no model in which rows are changed" in notices("one-owner")
    assert "rebalance/STABLE.rejoin_requested.1/ignore/row (open-member-eager-deployed)" in str(
        explain("announced-is-pursued")[0].sections
    )


@pytest.mark.parametrize("pair", ["STABLE x rejoin_requested", "rebalance.STABLE x rejoin_requested"])
def test_a_state_and_an_event_are_a_cell_however_they_are_joined(pair: str, capsys: Captured) -> None:
    assert cli.main(["explain", pair]) == 0
    told = capsys.readouterr().out
    assert cli.main(["explain", pair.replace(" x ", ".")]) == 0
    assert capsys.readouterr().out == told


def test_the_words_of_models_and_scores_are_explained(capsys: Captured) -> None:
    for operator in OPERATORS:
        assert [one.kind for one in explain(operator)] == ["operator of mutants"]
    for name in ("open-member", "base-eager", "open-*", "base-faults-stop"):
        (told,) = [one for one in explain(name) if one.kind == "family of models"]
        (listed,) = [lines for heading, lines in told.sections.items() if heading.endswith(" models")]
        assert set(listed) == {model for model in models() if model.startswith(name.rstrip("*").rstrip("-") + "-")}
    assert {"term", "family of models"} == {one.kind for one in explain("open")}
    scores = committed()
    assert scores is not None
    for row in scores["mutants"][::97]:
        (told,) = explain(row["id"])
        assert told.rows
        assert any(line.startswith(f"{row['model']}: {row['fate']}") for line in told.sections["in"])
    assert explain("rebalance/lose/drop-set/no_such_variable") == []
    assert {"state", "term"} == {one.kind for one in explain("idle")}


def test_every_variable_of_a_model_is_explained() -> None:
    """The names are those of the committed table, the meanings those of the models."""
    for name in ("base-faults-stop-eager-deployed-2", "open-member-eager-deployed", "open-group", "queues-3"):
        for variable in models()[name]().variables:
            told = [one for one in explain(variable.name) if one.kind in ("variable", "variable of models", "machine")]
            assert told and told[0].statement, variable.name
    (fault,) = explain("fault")
    assert any(line.startswith("base-eager-published-2: none, ") for line in fault.sections["values"])
