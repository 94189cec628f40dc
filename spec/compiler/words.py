"""The vocabulary as the compiler sees it: one record, so that a test can compile a machine over words of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from groupspec.spec import rules, vocabulary
from groupspec.spec.terms import Effect, Event, Variable


@dataclass(frozen=True)
class Words:
    """Everything that a row may name.

    Attributes:
        variables: What guards may read, by name.
        events: What machines may hear.
        effects: What rows may do.
        reasons: Why an event may be ignored: id to text.
        rules: The ids of the rules that rows may cite.
        requests: Requests that an effect may emit.
        consumer_events: Events for the polling thread that an effect may emit.
        other_words: Endings of a commit, and answers and acts of the group's coordinator, that an effect may emit.
    """

    variables: Mapping[str, Variable]
    events: Mapping[str, Event]
    effects: Mapping[str, Effect]
    reasons: Mapping[str, str]
    rules: frozenset[str]
    requests: tuple[str, ...]
    consumer_events: tuple[str, ...]
    other_words: tuple[str, ...] = ()

    @property
    def emitted(self) -> tuple[str, ...]:
        """Everything that an effect may emit."""
        return (*self.requests, *self.consumer_events, *self.other_words, *self.events)

    @classmethod
    @cache
    def ours(cls) -> Words:
        """The words of the specification itself."""
        return cls(
            vocabulary.VARIABLES,
            vocabulary.EVENTS,
            vocabulary.EFFECTS,
            vocabulary.IGNORED_REASONS,
            frozenset(rules.RULES),
            vocabulary.REQUESTS,
            vocabulary.CONSUMER_EVENTS,
            (*vocabulary.COMMIT_ENDINGS, *vocabulary.ANSWERS, *vocabulary.GROUP_ACTS),
        )
