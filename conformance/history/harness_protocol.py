"""What the kit and a harness say to each other: one JSON object a line, commands in, events out.

A *harness* makes one client speak this protocol, in a process of its own. Names of events are those of Kafka's own
`org.apache.kafka.tools.VerifiableConsumer` where it has one (startup_complete, partitions_assigned, partitions_revoked,
records_consumed, offsets_committed, shutdown_complete), and so is the field that carries them, `name`. What it lacks is
added in the same style: partitions_lost, callback_returned, poll_started, poll_returned, command_done, error.

These classes are the protocol: lines are decoded into them, and the JSON Schema of each message (`wire/schemas/`) is
made from them. `wire/PROTOCOL.md` tells the same on one page, for people who write a harness.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Annotated, Final, Literal, TypeVar, get_args

import msgspec
from msgspec import Meta

from groupspec.conformance.errors import did_you_mean
from groupspec.conformance.outside import decoded
from groupspec.spec import printable

VERSION: Final = 1
EXIT_UNSUPPORTED: Final = 127
"""A harness ends with this code when its client does not offer what a command asks for."""
TO_FILL_IN: Final = "ToFillIn"
"""The error of a function that `groupspec init` wrote and nobody has filled in yet."""

FEATURES: Final = {
    "eager": "rebalances that give up everything first",
    "cooperative": "incremental rebalances (KIP-429)",
    "consumer_protocol": "the consumer protocol (KIP-848, ConsumerGroupHeartbeat)",
    "listener": "callbacks for assigned and revoked partitions",
    "lost_callback": "a callback of its own for lost partitions, or a query that tells them",
    "listener_in_poll": "callbacks run on the application's thread, inside poll(), unsubscribe() and close()",
    "join_needs_poll": "nothing joins before the first poll()",
    "pull": "records are taken by a poll with a timeout",
    "poll_interval": "max.poll.interval.ms: a member that does not poll leaves (KIP-62)",
    "auto_commit": "positions are committed by the client itself",
    "static": "static members (KIP-345): the setting group.instance.id",
    "seek": "reading on from another offset, asked for between two polls",
    "pause": "pausing and resuming partitions",
    "wakeup": "another thread ends the call in progress, or else the next one",
    "callback_commit": "a callback may commit, and wait for it",
    "pattern": "subscriptions by a regular expression",
    "raising_listener": "a callback may raise: the rebalance goes on all the same",
    "close_timeout": "a time limit of close() that the application sets, also 0",
    "callback_seek": "a callback may set positions, and pause partitions",
    "max_poll_records": "a limit of how many records a poll returns: the setting max.poll.records",
    "seek_to_beginning": "reading on from the first record that there is, wherever that is",
    "assign": "partitions that the application assigns itself, to be no member of a group",
}
"""What a client may offer: its group protocols, and more. A rule that needs more than a client offers, or than its
harness drives, is UNSUPPORTED for it."""
OF_A_CLASSIC_GROUP: Final = frozenset({"eager", "cooperative"})
"""The features of which every member of a classic group has one."""
OF_THE_HARNESS: Final = "the harness does not drive, though the client offers it, the feature"
FIXABLE: Final = (
    "session_timeout_ms",
    "heartbeat_interval_ms",
    "max_poll_interval_ms",
    "request_timeout_ms",
    "retry_backoff_ms",
    "auto_commit",
    "auto_commit_interval_ms",
    "auto_offset_reset",
    "fetch_max_wait_ms",
    "metadata.max.age.ms",
)
"""Settings that a client may have without a way to change them. A case that needs another value is UNSUPPORTED."""
ONLY_CONSUMER_PROTOCOL: Final = "the client's only group protocol is that of KIP-848 (ConsumerGroupHeartbeat)"


def joins_no_classic_group(features: Collection[str]) -> bool:
    """Whether a client has the consumer protocol, and no other."""
    return "consumer_protocol" in features and OF_A_CLASSIC_GROUP.isdisjoint(features)


def wanting(needs: Collection[str], not_driven: Collection[str]) -> str:
    """Why what is needed cannot be had: the client does not offer it, or its harness does not drive it."""
    of_the_client, of_the_harness = set(needs) - set(not_driven), set(needs) & set(not_driven)
    whose = ("the client does not offer the feature", of_the_client), (OF_THE_HARNESS, of_the_harness)
    told = ((why, "; ".join(f"{name}: {FEATURES[name]}" for name in sorted(names))) for why, names in whose if names)
    return "; ".join(f"{why} {features}" for why, features in told)


def misspelt_features(names: Iterable[str]) -> list[str]:
    """What is wrong with the features of a startup_complete, a sentence for each that there is not."""
    hints = {name: did_you_mean(name, FEATURES) for name in sorted(set(names) - set(FEATURES))}
    return [f"there is no feature {name!r}{hint and f'; {hint}'}" for name, hint in hints.items()]


BEGINNING: Final = -2
"""The offset of a `seek` to the beginning, as ListOffsets has it; only of clients with `seek_to_beginning`."""
Setting = bool | int | str
"""The value of one field of `configure`, or of its `more`."""


def misdeclared_settings(features: Collection[str], fixed: Mapping[str, Setting]) -> list[str]:
    """What is wrong with the fixed settings of a startup_complete, a sentence for each."""
    return [f"fixed: {name}: {wrong}" for name, value in fixed.items() if (wrong := _wrong_in(features, name, value))]


def _wrong_in(features: Collection[str], name: str, value: Setting) -> str:
    if name not in FIXABLE:
        hint = did_you_mean(name, FIXABLE)
        return f"there is no such setting that may be fixed{hint and f'; {hint}'}"
    field = next((each for each in msgspec.structs.fields(Configure) if each.name == name), None)
    try:
        msgspec.convert(value, str if field is None else field.type)
    except msgspec.ValidationError as problem:
        return str(problem)
    if name == "auto_commit" and (value is False or name not in features):
        return "only true, beside the feature auto_commit; a client that never commits by itself has no such feature"
    return ""


def fixed_otherwise(fixed: Mapping[str, Setting], asked: Configure) -> str:
    """What the client cannot do of what is asked, since a setting always has another value; "" if nothing."""
    wanted = asked.more | msgspec.structs.asdict(asked)
    others = (
        f"its {name} is always {encode(value).decode()}, and {encode(wanted[name]).decode()} is needed"
        for name, value in fixed.items()
        if wanted.get(name, value) != value
    )
    told = "; ".join(others)
    return told and f"the client cannot: {told}"


Feature = Annotated[str, Meta(extra_json_schema={"enum": list(FEATURES)})]
"""The schema lists them; reading accepts any, so that a misspelt one can be told as such (see `misspelt_features`)."""
Milliseconds = Annotated[int, Meta(ge=0)]
Addresses = Annotated[
    str,
    Meta(
        pattern=r"^[^,:\s]+:[0-9]+(,[^,:\s]+:[0-9]+)*$",
        description="HOST:PORT,HOST:PORT: what bootstrap.servers takes, as one text",
    ),
]
Offset = Annotated[int, Meta(ge=-1)]
CallbackName = Literal["partitions_assigned", "partitions_revoked", "partitions_lost"]


class Partition(msgspec.Struct, frozen=True, order=True):
    """One partition, as VerifiableConsumer writes it."""

    topic: str
    partition: Annotated[int, Meta(ge=0)]

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


# Commands: from the kit to the harness --------------------------------------------------------------------------------


class Command(msgspec.Struct, frozen=True, tag_field="command", kw_only=True):
    """What the kit wants done. Each is answered with `command_done` when it is."""


class Configure(Command, frozen=True, tag="configure"):
    """Make the client, with these settings; nothing is sent yet that joins a group."""

    bootstrap: Addresses
    group_id: str
    client_id: str
    rebalance: Literal["eager", "cooperative"]
    session_timeout_ms: Milliseconds
    heartbeat_interval_ms: Milliseconds
    max_poll_interval_ms: Milliseconds
    request_timeout_ms: Milliseconds
    retry_backoff_ms: Milliseconds
    auto_commit: bool
    auto_commit_interval_ms: Milliseconds
    auto_offset_reset: Literal["earliest", "latest"]
    fetch_max_wait_ms: Milliseconds
    """How long the broker may hold a Fetch that finds no records (fetch.max.wait.ms)."""
    callback_ms: Milliseconds
    """How long each of the listener's callbacks takes: it waits that long before it returns."""
    more: dict[str, str] = msgspec.field(default_factory=dict)
    """Further settings by the names of Kafka's consumer, such as metadata.max.age.ms."""
    in_callback: dict[str, str] = msgspec.field(default_factory=dict)
    """What a callback of this name does when it has waited, if it names partitions.

    "commit"; "seek" or "pause", with each of them; "raise", once.
    """


class Subscribe(Command, frozen=True, tag="subscribe"):
    """Subscribe to these topics, with a listener; with a `pattern` to all that match it, and to no others."""

    topics: list[str]
    pattern: str = ""


class Assign(Command, frozen=True, tag="assign"):
    """Read these partitions, without a subscription: as nobody's member, though positions are the group's."""

    partitions: list[Partition]


class Poll(Command, frozen=True, tag="poll"):
    """Poll again and again with this timeout, `times` times or (0) until stop_polling.

    Done when the first poll starts.
    """

    poll_ms: Milliseconds
    times: Milliseconds = 0


class StopPolling(Command, frozen=True, tag="stop_polling"):
    """Poll no more; done when the poll in progress has returned."""


class Commit(Command, frozen=True, tag="commit"):
    """Commit the positions, and wait for it; the outcome is an `offsets_committed`."""


class Seek(Command, frozen=True, tag="seek"):
    """Read a partition that the client has from this offset on; from its beginning if it is -2 (BEGINNING)."""

    topic: str
    partition: Annotated[int, Meta(ge=0)]
    offset: Annotated[int, Meta(ge=-2)]

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Pause(Command, frozen=True, tag="pause"):
    """Return no records of these partitions until they are resumed."""

    partitions: list[Partition]


class Resume(Command, frozen=True, tag="resume"):
    """Return records of these partitions again."""

    partitions: list[Partition]


class Wakeup(Command, frozen=True, tag="wakeup"):
    """End the call in progress, or else the next one. Carried out at once, beside that call."""


class Unsubscribe(Command, frozen=True, tag="unsubscribe"):
    """Give up the subscription and leave the group."""


class Close(Command, frozen=True, tag="close", omit_defaults=True):
    """Close the client, say shutdown_complete, and end the process with exit code 0.

    `timeout_ms`: its time limit, of clients that offer one; without it, 5 s or the client's own.
    """

    timeout_ms: Milliseconds | None = None


AnyCommand = (
    Configure | Subscribe | Assign | Poll | StopPolling | Commit | Seek | Pause | Resume | Wakeup | Unsubscribe | Close
)
COMMANDS: Final[tuple[type[Command], ...]] = get_args(AnyCommand)


# Events: from the harness to the kit ----------------------------------------------------------------------------------


class Event(msgspec.Struct, frozen=True, tag_field="name", kw_only=True):
    """What happened. `at_us`: when, on the system's monotonic clock; without it, the time of arrival counts."""

    at_us: Annotated[int, Meta(ge=0)] | None = None


class StartupComplete(Event, frozen=True, tag="startup_complete"):
    """The first line: the client, its version, and its features (see FEATURES).

    `not_driven`: what the client offers besides, and this harness does not drive; `fixed`: settings that the client has
    for good (see FIXABLE), by their names in `configure`; `engine`: the name and version of what the client wraps, such
    as librdkafka 2.16.0.
    """

    client: str
    version: str
    engine: str = ""
    features: list[Feature] = msgspec.field(default_factory=list)
    not_driven: list[Feature] = msgspec.field(default_factory=list)
    fixed: dict[str, Setting] = msgspec.field(default_factory=dict)
    protocol: int = VERSION

    @property
    def full_version(self) -> str:
        """With the engine, if there is one: `2.16.1 (librdkafka 2.16.0)`."""
        return f"{self.version} ({self.engine})" if self.engine else self.version


class CommandDone(Event, frozen=True, tag="command_done"):
    """The command has been carried out."""

    command: str


class CallbackStarted(Event, frozen=True):
    """The listener's callback begins; see PartitionsAssigned."""

    partitions: list[Partition]
    application_thread: bool | None = None
    owned: list[Partition] | None = None


class PartitionsAssigned(CallbackStarted, frozen=True, tag="partitions_assigned"):
    """The listener's callback begins: these partitions are new.

    `application_thread`: whether it runs inside a call of the application's (poll, unsubscribe, close), on its thread;
    `owned`: what the client's assignment() says in it. Both may be left out.
    """


class PartitionsRevoked(CallbackStarted, frozen=True, tag="partitions_revoked"):
    """The listener's callback begins: these partitions will be taken away."""


class PartitionsLost(CallbackStarted, frozen=True, tag="partitions_lost"):
    """The listener's callback begins: these partitions are gone, and others may have them."""


class CallbackReturned(Event, frozen=True, tag="callback_returned"):
    """The listener's callback has ended; `raised`: by raising, as the kit had asked."""

    callback: CallbackName
    raised: bool = False


class PollStarted(Event, frozen=True, tag="poll_started"):
    """The application calls poll()."""

    poll_ms: Milliseconds


class PollReturned(Event, frozen=True, tag="poll_returned"):
    """poll() has returned, after this long."""

    elapsed_ms: Milliseconds
    count: Milliseconds = 0


class ConsumedRange(msgspec.Struct, frozen=True, rename="camel"):
    """The records of one partition in one poll's result."""

    topic: str
    partition: Annotated[int, Meta(ge=0)]
    count: Milliseconds
    min_offset: Offset
    max_offset: Offset


class RecordsConsumed(Event, frozen=True, tag="records_consumed"):
    """What a poll returned, if it returned records."""

    count: Milliseconds
    partitions: list[ConsumedRange]


class CommittedOffset(msgspec.Struct, frozen=True):
    """The offset committed for one partition."""

    topic: str
    partition: Annotated[int, Meta(ge=0)]
    offset: Offset


class OffsetsCommitted(Event, frozen=True, tag="offsets_committed"):
    """The outcome of a commit that the application asked for."""

    success: bool
    offsets: list[CommittedOffset] = msgspec.field(default_factory=list)
    error: str = ""


class ErrorRaised(Event, frozen=True, tag="error"):
    """A call raised, or the client reported an error. `call`: poll, commit, close, ...; "" when none was under way.

    `harness_line`: where the harness's own code raised it, as FILE:LINE; "" if the client did, or if it is not known.
    With `error` "ToFillIn", a function that `groupspec init` wrote is to be filled in; `message` says what it is to do.
    `woken`: it is what a wakeup ends a call with.
    """

    error: str
    message: str = ""
    call: str = ""
    harness_line: str = ""
    woken: bool = False

    @property
    def said(self) -> str:
        """The error and its message as one line that is read on; the log has all of it."""
        return f"{printable.name(self.error)}: {printable.name(self.message)}"


class ShutdownRequested(Event, frozen=True, tag="shutdown_requested"):
    """close() is being called.

    `another_thread`: by a thread that does not poll, where no callback can run. `block_raised`: at the end of a block
    that raises, whose last poll's records the application has not worked on.
    """

    another_thread: bool = False
    block_raised: bool = False


class ShutdownComplete(Event, frozen=True, tag="shutdown_complete"):
    """close() has returned; the process ends now."""

    elapsed_ms: Milliseconds = 0


AnyEvent = (
    StartupComplete
    | CommandDone
    | PartitionsAssigned
    | PartitionsRevoked
    | PartitionsLost
    | CallbackReturned
    | PollStarted
    | PollReturned
    | RecordsConsumed
    | OffsetsCommitted
    | ErrorRaised
    | ShutdownRequested
    | ShutdownComplete
)
EVENTS: Final[tuple[type[Event], ...]] = get_args(AnyEvent)

CALLBACKS: Final = {
    "partitions_assigned": PartitionsAssigned,
    "partitions_revoked": PartitionsRevoked,
    "partitions_lost": PartitionsLost,
}
"""The listener's callbacks by their names."""

encode = msgspec.json.Encoder().encode
"""A message as bytes, without the line's end."""
_EVENT: Final[msgspec.json.Decoder[AnyEvent]] = msgspec.json.Decoder(AnyEvent)
_COMMAND: Final[msgspec.json.Decoder[AnyCommand]] = msgspec.json.Decoder(AnyCommand)
Message = TypeVar("Message")


class BrokenLine(ValueError):
    """A line that is not a message of this protocol."""


def decode_event(line: bytes) -> AnyEvent:
    """The event in a line of a harness. Raises BrokenLine."""
    return _decoded(line, _EVENT)


def decode_command(line: bytes) -> AnyCommand:
    """The command in a line of the kit. Raises BrokenLine."""
    return _decoded(line, _COMMAND)


def _decoded(line: bytes, decoder: msgspec.json.Decoder[Message]) -> Message:
    try:
        return decoded(decoder.decode, line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise BrokenLine(f"{problem} in {line[:200]!r}") from problem


@cache
def name_of(message: type[Command] | type[Event]) -> str:
    """What the message is called on the wire."""
    tag = message.__struct_config__.tag
    assert isinstance(tag, str)
    return tag
