"""One expulsion, in every dress that operators meet it in: it is read in each, with the same time."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

import pytest

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.traces.dialects import Clock
from groupspec.conformance.traces.dialects.broker import BrokerCoordinatorLog
from groupspec.conformance.traces.dialects.times import since

MEMBER: Final = "app-0e4bd6b6-9b1d-4b7d-8f36-5a2c6d7f1a11"
SAYS: Final = (
    "[GroupCoordinator id=1 topic=__consumer_offsets partition=7] Preparing to rebalance group g1 in state "
    "Stable with old "
    f"generation 4 (reason: removing member {MEMBER} on heartbeat expiration.)."
)
LOGGER: Final = "org.apache.kafka.coordinator.group.GroupMetadataManager"
AT: Final = datetime(2026, 3, 1, 12, 0, 0, 123_000, tzinfo=UTC)
AT_MS: Final = round(AT.timestamp() * 1000)
IN_UTC: Final = Clock()
STAMP: Final = "2026-03-01 12:00:00,123"
PLAIN: Final = f"[{STAMP}] INFO {SAYS} ({LOGGER})"


def in_csv(*fields: str) -> str:
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="").writerow(fields)
    return written.getvalue()


LAYOUTS: Final[dict[str, str]] = {
    "Kafka's own": PLAIN,
    "Strimzi": f"{STAMP} INFO {SAYS} ({LOGGER}) [group-coordinator-event-processor-1]",
    "Strimzi, coloured": f"\x1b[32m{STAMP}\x1b[0m \x1b[1;34mINFO\x1b[m {SAYS} ({LOGGER}) "
    "[group-coordinator-event-processor-1]\x1b[0m",
    "abbreviated logger": f"[{STAMP}] INFO {SAYS} (o.a.k.c.g.GroupMetadataManager)",
    "logger in front": f"{STAMP} [group-coordinator-event-processor-1] INFO  o.a.k.c.g.GroupMetadataManager - {SAYS}",
    "no logger": f"{STAMP} INFO {SAYS}",
    "journald": f"Mar 01 12:00:01 host-7 kafka-server-start.sh[4242]: {PLAIN}",
    "CRI": f"2026-03-01T12:00:01.500000000Z stdout F {PLAIN}",
    "compose": f"kafka-1  | {PLAIN}",
    "grep -H": f"server.log.2:{PLAIN}",
    "docker json-file": json.dumps({"log": PLAIN + "\n", "stream": "stdout", "time": "2026-03-01T12:00:01.5Z"}),
    "ECS": json.dumps(
        {
            "@timestamp": "2026-03-01T12:00:00.123Z",
            "log.level": "INFO",
            "message": SAYS,
            "log.logger": LOGGER,
            "ecs.version": "1.2",
        }
    ),
    "ECS, nested": json.dumps(
        {"@timestamp": "2026-03-01T12:00:00.123Z", "log": {"level": "INFO", "logger": LOGGER}, "message": SAYS}
    ),
    "logstash": json.dumps(
        {"@version": "1", "message": SAYS, "logger_name": LOGGER, "@timestamp": "2026-03-01T13:00:00.123+01:00"}
    ),
    "log4j JsonLayout": json.dumps(
        {
            "instant": {"epochSecond": AT_MS // 1000, "nanoOfSecond": 123_000_000},
            "level": "INFO",
            "loggerName": LOGGER,
            "message": SAYS,
        }
    ),
    "log4j timeMillis": json.dumps({"timeMillis": AT_MS, "level": "INFO", "loggerName": LOGGER, "message": SAYS}),
    "GELF": json.dumps({"version": "1.1", "host": "h", "short_message": SAYS, "timestamp": AT_MS / 1000, "level": 6}),
    "journald export": json.dumps({"__REALTIME_TIMESTAMP": str(AT_MS * 1000), "MESSAGE": f"INFO {SAYS} ({LOGGER})"}),
    "JSON after text": f"kafka-1  | {json.dumps({'@timestamp': '2026-03-01T12:00:00.123Z', 'message': SAYS})}",
    "Splunk CSV": in_csv("2026-03-01T12:00:01.000+0000", PLAIN, "host-7", 'a "quoted" field'),
    "Splunk JSON": json.dumps({"preview": False, "result": {"_raw": PLAIN, "_time": "2026-03-01 12:00:01.000 UTC"}}),
    "logfmt": f'time=2026-03-01T12:00:00.123Z level=info msg="{SAYS}" logger={LOGGER}',
}


def read(line: str, clock: Clock = IN_UTC) -> int:
    """When the one rebalance of the line began."""
    parsed = BrokerCoordinatorLog().parse("server.log", [line + "\n"], clock, "g1")
    assert parsed.not_understood == 0, parsed.samples
    [event] = parsed.events
    assert (event.kind, event.reason, event.member_ids, event.generation) == (
        "rebalance",
        "session_expired",
        (MEMBER,),
        4,
    )
    return event.at_ms


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_says_the_same(layout: str) -> None:
    assert read(LAYOUTS[layout]) == AT_MS


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_recognised(layout: str) -> None:
    assert BrokerCoordinatorLog().sniff(["something else\n"] * 4000 + [LAYOUTS[layout]]) == 1.0


def test_a_quoted_field_keeps_the_quotes_inside_it() -> None:
    says = SAYS.replace(
        "removing", 'Leader app-1 re-joining group during Stable; client reason: he said "now"; removing'
    )
    for line in (
        in_csv("2026-03-01T12:00:00.123Z", f"INFO {says}", "host"),
        f"""msg="{STAMP} {says.replace('"', chr(92) + '"')}" a=b""",
    ):
        [event] = BrokerCoordinatorLog().parse("x", [line], Clock()).events
        assert event.said.startswith('he said "now"')


DATES: Final[dict[str, str]] = {
    "a dot": "2026-03-01 12:00:00.123",
    "slashes": "2026/03/01 12:00:00.123",
    "nanoseconds": "2026-03-01T12:00:00.123456789Z",
    "an offset": "2026-03-01T13:00:00.123+01:00",
    "a short offset": "2026-03-01T13:00:00.123+01",
    "log4j DATE": "01 Mar 2026 12:00:00,123",
    "log4j COMPACT": "20260301120000123",
    "basic ISO": "20260301T120000,123",
    "day in one word": "20260301 12:00:00,123",
    "web server": "01/Mar/2026:12:00:00.123 +0000",
    "seconds since 1970": "1772366400.123",
    "milliseconds since 1970": "1772366400123",
    "a named zone": "2026-03-01 12:00:00,123 UTC",
    "another named zone": "2026-03-01 13:00:00,123 CET",
    "a place": "2026-03-01 13:00:00,123 Europe/Berlin",
}


@pytest.mark.parametrize("form", DATES)
def test_every_form_of_a_date_is_the_same_time(form: str) -> None:
    assert read(f"[{DATES[form]}] INFO {SAYS}") == AT_MS


def test_a_time_without_a_zone_is_that_of_the_zone_given() -> None:
    assert AT_MS - read(PLAIN, Clock(ZoneInfo("Europe/Berlin"))) == 3_600_000


@pytest.mark.parametrize(
    ("head", "hour"),
    [
        ("2026-03-01T11:00:00.7Z [2026-03-01 12:00:00,250] INFO ", 11),
        ("2026-03-01T17:30:02Z stdout F [2026-03-01 12:00:00,250] INFO ", 17.5),
        ("2026-03-01T12:00:00+01:00 [2026-03-01 12:00:00,250] INFO ", 11),
        ("2026-03-01T11:07:00Z [2026-03-01 12:00:00,250] INFO ", 12),
        ("2026-03-01 11:00:00 [2026-03-01 12:00:00,250] INFO ", 12),
    ],
    ids=["kubectl", "CRI", "a collector with an offset", "collected late", "two times without a zone"],
)
def test_a_collectors_time_with_a_zone_tells_that_of_the_line(head: str, hour: float) -> None:
    midnight = datetime(2026, 3, 1, tzinfo=UTC).timestamp() * 1000
    assert Clock(UTC).read(head) == midnight + hour * 3_600_000 + 250
    assert Clock(UTC).has_zone(head) == (hour != 12)


def test_a_collectors_time_in_json_tells_the_zone_too() -> None:
    assert Clock(UTC).read("[2026-03-01 12:00:00,250] INFO ", "2026-03-01T11:00:01Z") == Clock(UTC).read(
        "[2026-03-01 11:00:00,250] INFO "
    )


def test_a_level_or_a_host_behind_the_time_is_no_zone() -> None:
    assert read(f"{STAMP} INFO {SAYS}") == read(f"{STAMP} KAFKA INFO {SAYS}") == AT_MS


def test_a_zones_name_with_several_meanings_is_not_guessed() -> None:
    line = f"[2026-03-01 06:00:00,123 CST] INFO {SAYS}"
    with pytest.raises(UsageProblem, match="CST, which can mean") as refusal:
        read(line)
    assert "--timezone" in str(refusal.value)
    assert read(line, Clock(ZoneInfo("America/Chicago"))) == AT_MS


def test_a_date_without_a_year_is_the_last_before_the_log_was_written() -> None:
    line = f"Mar  1 12:00:00.123 host-7 kafka[42]: INFO {SAYS}"
    assert read(line, Clock(latest=datetime(2026, 3, 2, tzinfo=UTC))) == AT_MS
    assert read(line, Clock(latest=datetime(2027, 2, 1, tzinfo=UTC))) == AT_MS


@pytest.mark.parametrize("stamp", ["12:00:00,123", "31/12/26 12:00", "2026-13-01 12:00:00"])
def test_a_time_without_a_date_is_not_guessed(stamp: str) -> None:
    parsed = BrokerCoordinatorLog().parse("x", [f"[{stamp}] INFO {SAYS}"], Clock(), "g1")
    assert (parsed.not_understood, parsed.in_doubt, parsed.events) == (1, 1, [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30m", lambda last: last - 1_800_000),
        ("2h30m", lambda last: last - 9_000_000),
        ("1m 10s", lambda last: last - 70_000),
        ("2 h", lambda last: last - 7_200_000),
        ("2026-03-01 12:00", lambda _: AT_MS - 123),
        ("2026-03-01T13:00:00+01:00", lambda _: AT_MS - 123),
        ("2026-03-01", lambda _: AT_MS - 123 - 12 * 3_600_000),
        ("12:00", lambda _: AT_MS - 123),
        ("9:30", lambda _: AT_MS - 123 - 9_000_000),
        ("11:59:58", lambda _: AT_MS - 123 - 2_000),
    ],
)
def test_since_is_a_time_or_a_duration_before_the_last_line(text: str, expected: Callable[[int], int]) -> None:
    assert since(text, Clock())(AT_MS) == expected(AT_MS)


def test_since_refuses_what_is_no_time() -> None:
    with pytest.raises(UsageProblem, match="is no time"):
        since("yesterday", Clock())
    with pytest.raises(UsageProblem, match="'25:00' is no time"):
        since("25:00", Clock())
