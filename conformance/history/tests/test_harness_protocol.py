"""The harness protocol: its messages, their schemas, and the page that tells people about it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import msgspec
import pytest

from groupspec.conformance import wire
from groupspec.conformance.history import harness_protocol as protocol

PAGE = Path(wire.__file__).with_name("PROTOCOL.md")
SCHEMAS = PAGE.with_name("schemas")
EXAMPLES: tuple[protocol.AnyEvent, ...] = (
    protocol.StartupComplete(client="c", version="1", features=["eager"]),
    protocol.PartitionsAssigned(partitions=[protocol.Partition("orders", 0)]),
    protocol.RecordsConsumed(count=1, partitions=[protocol.ConsumedRange("orders", 0, 1, 3, 3)]),
    protocol.OffsetsCommitted(success=True, offsets=[protocol.CommittedOffset("orders", 0, 4)]),
    protocol.ErrorRaised(error="KafkaError", message="no", call="poll"),
)


def schema_files() -> dict[Path, str]:
    """The JSON Schema of each message: where it lies, and its text."""
    files = {}
    for kind, messages in (("command", protocol.COMMANDS), ("event", protocol.EVENTS)):
        for message in messages:
            schema = msgspec.json.schema(message)
            text = json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2)
            files[SCHEMAS / f"{kind}.{protocol.name_of(message)}.json"] = text + "\n"
    return files


def test_the_committed_schemas_are_those_of_the_messages() -> None:
    assert {path: path.read_text(encoding="utf-8") for path in SCHEMAS.glob("*.json")} == schema_files()


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_an_event_is_read_as_it_was_written_and_fits_its_schema(event: protocol.AnyEvent) -> None:
    line = protocol.encode(event)
    assert protocol.decode_event(line) == event
    schema = SCHEMAS / f"event.{protocol.name_of(type(event))}.json"
    jsonschema.validate(json.loads(line), json.loads(schema.read_text(encoding="utf-8")))


def test_the_engine_of_a_client_is_told_with_its_version() -> None:
    hello = protocol.decode_event(b'{"name":"startup_complete","client":"c","version":"3","engine":"lib 1"}')
    assert isinstance(hello, protocol.StartupComplete)
    assert (hello.full_version, protocol.StartupComplete(client="c", version="1").full_version) == ("3 (lib 1)", "1")


def test_names_are_those_of_verifiable_consumer() -> None:
    line = protocol.encode(EXAMPLES[2])
    expected = '{"name":"records_consumed","count":1,'
    expected += '"partitions":[{"topic":"orders","partition":0,"count":1,"minOffset":3,"maxOffset":3}],"at_us":null}'
    assert line.decode() == expected


def test_fields_of_verifiable_consumer_that_the_kit_does_not_know_are_ignored() -> None:
    event = protocol.decode_event(b'{"timestamp":1,"name":"shutdown_complete"}')
    assert event == protocol.ShutdownComplete()


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"7", b'{"name":"x"}', b'{"name":"poll_started"}', b"\xff\xfe"])
def test_what_is_not_an_event_is_refused(line: bytes) -> None:
    with pytest.raises(protocol.BrokenLine):
        protocol.decode_event(line)


def test_the_page_names_every_message_and_feature() -> None:
    page = PAGE.read_text(encoding="utf-8")
    names = [protocol.name_of(command) for command in protocol.COMMANDS]
    names += [protocol.name_of(event) for event in protocol.EVENTS]
    assert [name for name in (*names, *protocol.FEATURES, *protocol.FIXABLE) if name not in page] == []


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ("Callbacks", r"`AssignmentLost\(\)`.*says\n?\s*`partitions_lost` if .*declares `lost_callback`"),
        ("Errors", r"raised, or returned as its failure.*informational.*`_ALL_BROKERS_DOWN`.*stderr"),
    ],
)
def test_the_page_says_what_an_author_asked(section: str, says: str) -> None:
    """How one callback with a query tells of lost partitions, and which errors are none."""
    page = PAGE.read_text(encoding="utf-8")
    [text] = re.findall(rf"(?ms)^## {section}\n(.*?)(?=^## )", page)
    assert re.search(says, text, re.DOTALL)


NO_SUCH_SETTING = "there is no such setting that may be fixed"
ONLY_TRUE = "only true, beside the feature auto_commit; "


@pytest.mark.parametrize(
    ("features", "fixed", "told"),
    [
        (["auto_commit"], {"auto_commit": True, "metadata.max.age.ms": "5", "fetch_max_wait_ms": 500}, ""),
        (["auto_commit"], {"auto_comit": True}, f"{NO_SUCH_SETTING}; did you mean 'auto_commit'?"),
        (["auto_commit"], {"auto_commit": "true"}, "Expected `bool`, got `str`"),
        (["auto_commit"], {"fetch_max_wait_ms": -1}, "Expected `int` >= 0"),
        (["auto_commit"], {"metadata.max.age.ms": 5}, "Expected `str`, got `int`"),
        (["auto_commit"], {"auto_commit": False}, ONLY_TRUE),
        ([], {"auto_commit": True}, ONLY_TRUE),
        ([], {"rebalance": "eager"}, NO_SUCH_SETTING),
    ],
)
def test_fixed_settings_are_the_pages_and_of_their_types(
    features: list[str], fixed: dict[str, protocol.Setting], told: str
) -> None:
    wrong = protocol.misdeclared_settings(features, fixed)
    assert [told in each for each in wrong] == ([True] if told else [])


def test_commands_are_read_as_they_were_written() -> None:
    command = protocol.Poll(poll_ms=5, times=1)
    assert protocol.decode_command(protocol.encode(command)) == command
    assert msgspec.json.decode(protocol.encode(command))["command"] == "poll"
