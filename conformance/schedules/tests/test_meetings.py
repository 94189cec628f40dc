"""What meets what in schedules is counted; what is rare is drawn more often; the group chooses another protocol."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from msgspec import structs

from groupspec.conformance.mutation.mutant import Method, Seam
from groupspec.conformance.schedules import meanwhile
from groupspec.conformance.schedules.meanwhile import COUNTED, MEANWHILE, MEETS, OFTEN, of_a_rare_meeting, rarity
from groupspec.conformance.schedules.meetings import count, counted, holes, read, written
from groupspec.conformance.schedules.scenario import ASKS_TOPICS, UNTIL
from groupspec.conformance.schedules.tests.heard import CALM
from groupspec.conformance.schedules.tests.searching import expect_found
from groupspec.impl.core.messages import SyncGroupRequest
from groupspec.impl.core.requests import Requests, Sent

DRAWN = 4_000
PLAIN = replace(CALM, calls=("poll", "look"), answers={"Heartbeat": (), "JoinGroup": ()}, reset="earliest", holes=False)


def test_what_comes_while_a_call_is_under_way_is_counted() -> None:
    found = count("background", range(1, 15))
    assert found["poll", "PREPARING_REBALANCE", "JoinGroup"] > 5  # type: ignore[index]
    assert any(meeting.what.startswith("timer ") for meeting in found)
    assert not any(meeting.call.startswith(UNTIL) for meeting in found)
    with counted() as nothing:
        pass
    assert not nothing


def test_what_is_committed_reads_as_it_was_counted() -> None:
    text = COUNTED.read_text(encoding="utf-8")
    assert written(*read(text)) == text


def test_what_never_comes_in_a_call_is_a_hole_with_a_reason() -> None:
    otherwise, rarely = read(COUNTED.read_text(encoding="utf-8"))
    met = {(meeting.call, meeting.what) for meeting in otherwise | rarely}
    assert set(rarity()) - met == set(holes())
    assert len(rarely.keys() - otherwise.keys()) > 100  # which only that drawing has brought about
    assert all(reason.endswith(".") for reason in holes().values())


def test_the_rarer_a_meeting_the_more_often_it_is_drawn() -> None:
    """Each call that an answer may meet with each request; the rare tenth more often than the frequent half."""
    pairs = rarity()
    assert pairs.keys() == {(call, api) for call in MEETS for api in MEANWHILE}
    drawn: Counter[tuple[str, str]] = Counter()
    for seed in range(DRAWN):
        calls = of_a_rare_meeting(PLAIN, Random(f"meetings {seed}")).calls
        at = next((number for number, call in enumerate(calls) if call.startswith(UNTIL)), None)
        if at is not None and calls[at + 1 :]:  # else it closes then
            drawn[calls[at + 1], calls[at].removeprefix(UNTIL)] += 1
    assert 0.5 * OFTEN < drawn.total() / DRAWN < OFTEN
    ordered = sorted(pairs, key=pairs.__getitem__)
    frequent, rare = ordered[: len(ordered) // 2], ordered[-len(ordered) // 10 :]
    assert sum(drawn[pair] for pair in rare) > sum(drawn[pair] for pair in frequent)


def test_a_call_that_cannot_be_told_from_another_one_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meanwhile, "OFTEN", 1.0)
    asks = {(call, "Metadata"): 1.0 for call in ASKS_TOPICS}
    monkeypatch.setattr(meanwhile, "rarity", lambda: asks)
    assert of_a_rare_meeting(PLAIN, Random(1)) != PLAIN
    failing = replace(PLAIN, answers={**PLAIN.answers, "Metadata": ("CUT",)})
    assert of_a_rare_meeting(failing, Random(1)) is failing


def test_a_group_has_another_protocol_in_the_next_generation_and_who_syncs_names_it() -> None:
    """A broker of KIP-559 refuses another one (INCONSISTENT_GROUP_PROTOCOL)."""

    def names_its_first(seam: Seam) -> None:
        first: dict[int, str] = {}

        @seam.replacing(Requests.send)
        def sends(original: Method, self: Requests, request: object, *where: object) -> Sent:
            if isinstance(request, SyncGroupRequest):
                name = first.setdefault(id(self), request.protocol_name or "")
                request = structs.replace(request, protocol_name=name)
            sent: Sent = original(self, request, *where)
            return sent

    expect_found(
        names_its_first,
        lambda drawn: len(drawn.assignors) > 1 and not (drawn.leads or drawn.manual),
        "SyncGroup names the protocol",
        20,
    )
