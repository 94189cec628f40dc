"""Time zones as users and logs name them: a place, an offset, an abbreviation."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from difflib import get_close_matches
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from groupspec.conformance.errors import UsageProblem

_OFFSET: Final = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d\d))?", re.IGNORECASE)
_TWO_DIGITS: Final = re.compile(r"[+-]\d\d(?::?\d\d)?")


def zone_named(name: str) -> tzinfo:
    """The zone that `--timezone` names: Europe/Berlin, UTC, +02:00.

    Raises:
        UsageProblem: there is none; it names what was probably meant.
    """
    try:
        if _TWO_DIGITS.fullmatch(name):
            return datetime.strptime(name.replace(":", "").ljust(5, "0"), "%z").tzinfo or UTC
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as problem:
        raise UsageProblem(
            f"there is no time zone {name!r}",
            where="--timezone",
            allowed="a name such as UTC or Europe/Berlin, or an offset: +02:00",
            next_step=_meant(name),
        ) from problem


def _meant(name: str) -> str:
    """The nearest zone: `UTC+1` is +01:00, `Berlin` Europe/Berlin, `PST` -08:00 or +08:00; "": none is near."""
    if offset := _OFFSET.fullmatch(name):
        return f"did you mean {offset[1]}{int(offset[2]):02}:{offset[3] or '00'}?"
    if offsets := _abbreviations().get(name.upper()):
        told = " or ".join(sorted(_spelled(each).removeprefix("UTC") for each in offsets))
        return f"did you mean {told}?"
    places = {zone.rpartition("/")[2]: zone for zone in sorted(available_timezones(), reverse=True)}
    place = name.rpartition("/")[2].replace(" ", "_")
    near = get_close_matches(place.lower(), [each.lower() for each in places], n=1)
    meant = next((zone for each, zone in places.items() if each.lower() in near), "")
    return f"did you mean {meant}?" if meant else ""


def abbreviated(name: str) -> tzinfo | None:
    """The offset that an abbreviation stands for; None when no zone has it (then it was some other word)."""
    offsets = _abbreviations().get(name, frozenset())
    if len(offsets) > 1:
        raise UsageProblem(
            f"the log prints the time zone {name}, which can mean {', '.join(sorted(map(_spelled, offsets)))}",
            where="the time stamps of the log",
            allowed="a zone that has this name at that time",
            next_step="say which it is: --timezone, for example --timezone America/Chicago",
        )
    return timezone(next(iter(offsets))) if offsets else None


@cache
def _abbreviations() -> dict[str, frozenset[timedelta]]:
    """Every abbreviation in use, with the offsets that it stands for somewhere."""
    found: dict[str, set[timedelta]] = {}
    year = datetime.now(UTC).year
    for name in available_timezones():
        for month in (1, 7):
            moment = datetime(year, month, 1, tzinfo=ZoneInfo(name))
            found.setdefault(str(moment.tzname()), set()).add(moment.utcoffset() or timedelta())
    return {name: frozenset(offsets) for name, offsets in found.items()}


def _spelled(offset: timedelta) -> str:
    return f"UTC{timezone(offset).tzname(None)[3:] or '+00:00'}"
