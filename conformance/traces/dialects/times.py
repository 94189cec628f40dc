"""Times as log layouts print them: a date or seconds since 1970; a zone, its name, or none.

A time without a zone is read in the zone that the user gives (UTC unless told otherwise); a zone in the line wins. A
zone's name that stands for several offsets (`CST`) is no guess to make: it is read only if the given zone has that name
at that time. Where a collector put its own time with a zone beside one without, as `kubectl logs --timestamps` does,
the difference is the zone of the other one. A date without a year (syslog, journald) is the last such day before the
log was last written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.traces.dialects.zones import abbreviated

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH: Final = rf"(?P<month>{'|'.join(_MONTHS)})"
_CLOCK: Final = r"(?P<time>\d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
_LEVEL: Final = r"(?:INFO|WARN|ERROR|DEBUG|TRACE|FATAL)\b"
_ZONE: Final = rf" ?(?P<zone>Z\b|[+-]\d\d(?::?\d\d)?(?!\d)|(?!{_LEVEL})[A-Z]{{3,5}}\b|[A-Z][a-z]+/[A-Z]\w+)?"

# Tried in this order; of each form the last one in the line's head counts, because collectors put a time of their own
# in front of the program's.
_FORMS: Final = tuple(
    re.compile(form)
    for form in (
        rf"(?P<year>\d{{4}})[-/](?P<number>\d\d)[-/](?P<day>\d\d)[ T]{_CLOCK}{_ZONE}",
        rf"\b(?P<day>\d\d)[ /]{_MONTH}[ /](?P<year>\d{{4}})[ :]{_CLOCK}{_ZONE}",
        rf"\b(?P<year>\d{{4}})(?P<number>\d\d)(?P<day>\d\d)[ T]{_CLOCK}{_ZONE}",
        r"\b(?P<year>20\d\d)(?P<number>\d\d)(?P<day>\d\d)T?(?P<time>[0-2]\d[0-5]\d[0-5]\d)[.,]?(?P<fraction>\d{3})\b",
        r"(?<![\d.,:-])(?P<epoch>1\d{9})(?:[.,]?(?P<fraction>\d{3}(?:\d{3}){0,2}))?(?![\d.,:-])",
        rf"\b{_MONTH} +(?P<day>\d\d?) {_CLOCK}{_ZONE}",
    )
)
_ZONES_ARE_APART_MS: Final = 15 * 60_000
"""Offsets from UTC are multiples of this."""
_WRITTEN_AT_ONCE_MS: Final = 60_000
"""A collector stamps a line so soon after it was written."""
_LARGEST_OFFSET_MS: Final = 14 * 3_600_000
_LOOKS_STAMPED: Final = re.compile(r"\d\d:\d\d:\d\d|\d{10}")


def is_stamped(head: str) -> bool:
    """Whether `head` looks as if it held a time stamp of any form."""
    return _LOOKS_STAMPED.search(head) is not None


@dataclass(frozen=True, slots=True)
class Clock:
    """Reads the time stamps of log lines.

    zone    meant where a line prints none
    latest  when the log was last written: no line is later (used where a date has no year)
    """

    zone: tzinfo = UTC
    latest: datetime | None = None

    def read(self, head: str, beside: str = "") -> int | None:
        """Milliseconds since 1970 of the time stamp in `head`; None when there is none, or no valid one.

        `beside` is a time stamp of a collector from outside of the line.

        Raises:
            UsageProblem: the line names a time zone that can mean several offsets, and `zone` does not settle it.
        """
        for form in _FORMS:
            if matches := list(form.finditer(head)):
                collector = matches[0] if matches[1:] else _FORMS[0].search(beside)
                return self._told(matches[-1], collector)
        return None

    def has_zone(self, head: str, beside: str = "") -> bool:
        """Whether the time stamp in `head` means the same in every zone that a user can give."""
        clocks = (replace(self, zone=timezone(timedelta(hours=hours))) for hours in (0, 1))
        try:
            return len({clock.read(head, beside) for clock in clocks}) == 1
        except UsageProblem:  # an abbreviation that only the user's zone explains
            return False

    def _told(self, found: re.Match[str], collector: re.Match[str] | None) -> int | None:
        """The moment of a time stamp; if it has no zone, and the collector's has one, in the zone that both tell."""
        at_ms = self._moment(found)
        zones = found.groupdict().get("zone"), collector and collector.groupdict().get("zone")
        if at_ms is None or collector is None or zones[0] or not zones[1]:
            return at_ms
        utc_ms, collected_ms = replace(self, zone=UTC)._moment(found), self._moment(collector)
        if utc_ms is None or collected_ms is None:
            return at_ms
        offset_ms = round((utc_ms - collected_ms) / _ZONES_ARE_APART_MS) * _ZONES_ARE_APART_MS
        late_ms = collected_ms - (utc_ms - offset_ms)
        at_once = abs(late_ms) <= _WRITTEN_AT_ONCE_MS and abs(offset_ms) <= _LARGEST_OFFSET_MS
        return utc_ms - offset_ms if at_once else at_ms

    def _moment(self, found: re.Match[str]) -> int | None:
        said = found.groupdict()
        fraction = timedelta(microseconds=int((said["fraction"] or "0")[:6].ljust(6, "0")))
        if "epoch" in said:
            return round((int(said["epoch"]) + fraction.total_seconds()) * 1000)
        month = int(said["number"]) if "number" in said else _MONTHS.index(said["month"]) + 1
        year = int(said["year"]) if "year" in said else self._year(month, int(said["day"]))
        clock = said["time"].replace(":", "")
        try:
            moment = datetime(year, month, int(said["day"]), int(clock[:2]), int(clock[2:4]), int(clock[4:]))
        except ValueError:
            return None
        zone = self._zone(said.get("zone") or "", moment)
        return round((moment + fraction).replace(tzinfo=zone).timestamp() * 1000)

    def _year(self, month: int, day: int) -> int:
        latest = (self.latest or datetime.now(UTC)).astimezone(self.zone)
        return latest.year - ((month, day) > (latest.month, latest.day))

    def _zone(self, name: str, moment: datetime) -> tzinfo:
        """The zone that a line prints (an offset, a place, an abbreviation), else the one that the user gave."""
        if not name:
            return self.zone
        if name in {"Z", "UTC", "GMT"}:
            return UTC
        if name[0] in "+-":
            return datetime.strptime(name.replace(":", "").ljust(5, "0"), "%z").tzinfo or self.zone
        if "/" in name:
            try:
                return ZoneInfo(name)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                return self.zone
        if moment.replace(tzinfo=self.zone).tzname() == name:
            return self.zone
        return abbreviated(name) or self.zone


_DURATION: Final = re.compile(r"(?:(\d+)\s*([smhd])\s*)+")
_PART: Final = re.compile(r"(\d+)\s*([smhd])")
_TIME_OF_DAY: Final = re.compile(r"\d\d?:\d\d(:\d\d)?")
_UNIT_MS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def since(text: str, clock: Clock, option: str = "--since") -> Callable[[int], int]:
    """Reads `--since` or `--until`: a time, a time of the last line's day, or how long before the last line.

    Args:
        text: `2026-03-01 12:00`, `2026-03-01T12:00:00+01:00`, `2026-03-01`, `14:03`, or `90s`, `30m`, `2h30m`, `7d`.
        clock: Its zone is that of a time without one.
        option: For the message.

    Returns:
        From the time of the last line to the one that is meant, both in milliseconds since 1970.

    Raises:
        UsageProblem: `text` is none of these.
    """
    duration = _DURATION.fullmatch(text.strip())
    if duration:
        length_ms = sum(int(number) * _UNIT_MS[unit] for number, unit in _PART.findall(text))
        return lambda last_ms: last_ms - length_ms
    try:
        if _TIME_OF_DAY.fullmatch(text.strip()):
            at = time.fromisoformat(text.strip().zfill(5 if text.count(":") == 1 else 8))
            return lambda last_ms: _on_the_day_of(last_ms, at, clock.zone)
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageProblem(
            f"{text!r} is no time",
            where=option,
            allowed="a time such as '2026-03-01 12:00', or 14:03 on the last line's day, or how long before the last "
            "line: 10s, 30m, 2h30m, 7d",
        ) from None
    first_ms = round((moment if moment.tzinfo else moment.replace(tzinfo=clock.zone)).timestamp() * 1000)
    return lambda _: first_ms


def _on_the_day_of(last_ms: int, at: time, zone: tzinfo) -> int:
    day = datetime.fromtimestamp(last_ms / 1000, zone).date()
    return round(datetime.combine(day, at, zone).timestamp() * 1000)
