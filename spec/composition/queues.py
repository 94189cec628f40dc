"""The two threads of a consumer and the two queues between them, as a model.

The polling thread is the application's: it calls `poll`, `commit`, `close`. The background thread alone talks to
brokers. What the application asks for goes to the background as *server events*, in one FIFO queue; what the background
needs of the application goes back as *consumer events*, in another, and is taken by nothing but a poll, or by `close()`
(rules Q1, Q2). The background takes one event at a time. An event that needs a coordinator while none is known is laid
aside, in order, and holds up nothing else (rule Q3).

**Calls.** A call is made with a future, which is there before the event is in the queue, and completes exactly once
(rule T3): done, its time over, or cancelled because the consumer closes. A caller that waits may be woken; the future
completes all the same, only nobody waits for it any more. So a call's end is one thing, and its future's another.

**wakeup()** sets a flag. It is looked at where the application waits: at the beginning of a poll, before a waiting call
is sent, and while that waits; whoever finds it set takes it down and raises (rules T4, Q6). Nowhere else: not in calls
that do not wait, not in a call made inside a callback, not in `close()`.

**Callbacks.** REVOKE_PARTITIONS lies in the consumer-event queue until a poll takes it; the listener runs on the
polling thread, and may itself call and wait; its end is answered through the server-event queue, behind whatever the
listener asked for (rule Q2).

**close()** is a server event too. From then on the background does what is left of its queue, has the last callback run
if something is owned, and stops; at the deadline it stops without (rule L2). What it finds undone is cancelled.
`close()` returns when it has stopped, and only then may the network go (rule L4).

Left out: what the events mean (the machines have that), more than one thread that calls, and that a queue could be full
of anything but this run's events: it has room for as many as there are calls, and who finds it full tries again.

Sources: threading refactor proposal (Apache Kafka wiki), "Channel and Events", "Background thread and its lifecycle",
"Test Plan"; Kafka KafkaConsumer.wakeup, KafkaConsumer.close.
"""

from __future__ import annotations

from dataclasses import replace

from groupspec.spec.compiler.model import (
    Action,
    Block,
    Call,
    Fairness,
    For,
    If,
    IndexSet,
    Model,
    ModelProperty,
    ModelVariable,
    Procedure,
    Scope,
    Set,
    flag,
)
from groupspec.spec.terms import NO_YES

_CALL: tuple[tuple[str, IndexSet], ...] = (("i", "members"),)
_POLLING = ("free", "waiting", "callback", "callback_waiting", "closing", "last_callback", "last_waiting", "closed")


def queues_model(properties: tuple[ModelProperty, ...] = (), calls: int = 3) -> Model:
    """Both threads and both queues, for as many calls as told; `members` are the calls, and the places in a queue."""
    return Model(
        name=f"queues-{calls}",
        scope=Scope("queues"),
        sizes={"members": calls, "partitions": 1},
        variables=_variables(calls),
        procedures=_procedures(calls),
        actions=tuple(replace(action, guard=f"fault == 'none' and {action.guard}") for action in _actions(calls)),
        properties=properties,
        doc=(__doc__ or "").strip(),
    )


def _variables(calls: int) -> tuple[ModelVariable, ...]:
    some_call = tuple(range(calls + 1))
    return (
        ModelVariable("polling", _POLLING, "free", doc="what the polling thread does"),
        ModelVariable(
            "next_call", some_call, 1, doc="the call that the application makes next; 0 when it has made all"
        ),
        ModelVariable("waits_for", some_call, 0, doc="the call that it waits for"),
        ModelVariable("abandoned", some_call, 0, doc="the call that was last woken while it waited"),
        flag("wakeup", "wakeup() was called, and nobody has raised for it"),
        flag("owed", "one exception is owed for it: what the flag should say"),
        ModelVariable(
            "woke", ("nothing", "call", "callback", "close"), "nothing", doc="what a wakeup interrupted last"
        ),
        ModelVariable("future", ("unused", "pending", "done", "cancelled"), "unused", ("members",), "of each call"),
        flag("needs_coordinator", "the call's event needs a coordinator", ("members",)),
        ModelVariable(
            "event", ("none", "call", "answer", "close"), "none", ("members",), "server events, first to last"
        ),
        ModelVariable("event_of", some_call, 0, ("members",), "whose event lies in that place"),
        ModelVariable("aside", some_call, 0, ("members",), "calls that wait for a coordinator, first to last"),
        ModelVariable("next_taken", some_call, 1, doc="the call whose event the background must meet next"),
        ModelVariable("consumer_1", ("none", "revoke", "error"), "none", doc="consumer events: the first"),
        ModelVariable("consumer_2", ("none", "revoke", "error"), "none", doc="and the second"),
        ModelVariable("background", ("running", "closing", "stopped"), "running", doc="the background thread"),
        flag("coordinator", "a coordinator is known"),
        ModelVariable("owns", NO_YES, True, doc="partitions are assigned: the last callback is due before the end"),
        ModelVariable("asked", ("nothing", "sent", "taken"), "nothing", doc="a callback: asked for; begun"),
        flag("overdue", "the deadline of close() has passed"),
        ModelVariable("network", NO_YES, True, doc="sockets are open"),
        ModelVariable(
            "fault",
            ("none", "full", "reordered", "completed_twice", "not_asked", "woken_twice"),
            "none",
            doc="what went wrong first",
        ),
    )


# The queues -----------------------------------------------------------------------------------------------------------


def _set(**values: str) -> Block:
    return (Set(tuple(values.items())),)


def _append(calls: int, queue: str, empty: str, entries: dict[str, str]) -> Block:
    """To the first free place of a queue."""
    return (
        If(
            tuple(
                (
                    f"{queue}[{place}] == {empty}",
                    (Set(tuple((f"{name}[{place}]", value) for name, value in entries.items())),),
                )
                for place in range(1, calls + 1)
            ),
            otherwise=_set(fault="'full'"),
        ),
    )


def _shift(calls: int, queue: str, empty: str) -> tuple[tuple[str, str], ...]:
    """Everything moves up by one place."""
    moved = tuple((f"{queue}[{place}]", f"{queue}[{place + 1}]") for place in range(1, calls))
    return (*moved, (f"{queue}[{calls}]", empty))


def _successor(calls: int, name: str) -> str:
    chain = "0"
    for number in range(calls - 1, 0, -1):
        chain = f"{number + 1} if {name} == {number} else {chain}"
    return chain


def _procedures(calls: int) -> tuple[Procedure, ...]:
    return (
        Procedure("put_call", _CALL, body=_append(calls, "event", "'none'", {"event": "'call'", "event_of": "i"})),
        Procedure("put_answer", body=_append(calls, "event", "'none'", {"event": "'answer'"})),
        Procedure("put_close", body=_append(calls, "event", "'none'", {"event": "'close'"})),
        Procedure(
            "take_event",
            body=(Set((*_shift(calls, "event", "'none'"), *_shift(calls, "event_of", "0"))),),
            doc="the first server event leaves the queue",
        ),
        Procedure("lay_aside", _CALL, body=_append(calls, "aside", "0", {"aside": "i"})),
        Procedure("take_aside", body=(Set(_shift(calls, "aside", "0")),)),
        Procedure(
            "complete",
            _CALL,
            body=(
                If(
                    (("future[i] == 'pending'", (Set((("future[i]", "'done'"),)),)),),
                    otherwise=_set(fault="'completed_twice'"),
                ),
            ),
            doc="a future completes: once",
        ),
        Procedure(
            "tell_polling_thread",
            inputs=(("kind", ("revoke", "error")),),
            body=(
                If(
                    (
                        ("consumer_1 == 'none'", _set(consumer_1="'revoke' if kind == 'revoke' else 'error'")),
                        ("consumer_2 == 'none'", _set(consumer_2="'revoke' if kind == 'revoke' else 'error'")),
                    ),
                    otherwise=_set(fault="'full'"),
                ),
            ),
        ),
        Procedure(
            "raise_wakeup",
            body=(
                If((("owed", _set(owed="False", wakeup="False", woke=_WOKEN)),), otherwise=_set(fault="'woken_twice'")),
            ),
            doc="once for each time that it was asked for",
        ),
        Procedure("take_consumer_event", body=_set(consumer_1="consumer_2", consumer_2="'none'")),
    )


# What happens
# -----------------------------------------------------------------------------------------------------------


def _actions(calls: int) -> tuple[Action, ...]:
    return (*_calls(calls), *_polls(calls), *_background(calls), *_closing(calls))


def _action(
    name: str, guard: str, body: Block, kind: str, *, fair: Fairness = "", of_call: bool = False, doc: str = ""
) -> Action:
    return Action(name, _CALL if of_call else (), guard, body, kind, fair, doc)


def _calls(calls: int) -> tuple[Action, ...]:
    room = f"event[{calls}] == 'none'"
    made = [
        _action(
            f"{'wait_for' if waits else 'make'}_call{'_that_needs_coordinator' if needs else ''}",
            f"next_call == i and {room} and (polling == 'free' or polling == 'callback' or polling == 'last_callback')"
            f" and background != 'stopped'" + (" and not (polling == 'free' and wakeup)" if waits else ""),
            (
                Set(
                    (
                        ("future[i]", "'pending'"),
                        ("needs_coordinator[i]", str(needs)),
                        ("next_call", _successor(calls, "next_call")),
                    )
                ),
                Call("put_call", ("i",)),
                *(_set(waits_for="i", polling=_WAITING) if waits else ()),
            ),
            "application",
            of_call=True,
        )
        for waits in (False, True)
        for needs in (False, True)
    ]
    return (
        *made,
        _action(
            "call_returns",
            "waits_for == i and future[i] != 'pending'",
            _set(waits_for="0", polling=_RETURNED),
            "application",
            fair="weak",
            of_call=True,
        ),
        _action(
            "wakeup",
            "not wakeup and polling != 'closed'",
            _set(wakeup="True", owed="True"),
            "application",
            doc="from any thread",
        ),
        _action(
            "waiting_call_is_woken",
            "wakeup and polling == 'waiting'",
            (Call("raise_wakeup"), *_set(abandoned="waits_for", waits_for="0", polling="'free'")),
            "application",
            fair="weak",
            doc="its future completes all the same",
        ),
        _action(
            "call_is_woken_before_it_is_sent",
            "wakeup and polling == 'free' and next_call != 0",
            (Call("raise_wakeup"),),
            "application",
        ),
    )


_WOKEN = (
    "'call' if polling == 'free' or polling == 'waiting' else"
    " 'callback' if polling == 'callback' or polling == 'callback_waiting' else 'close'"
)
_WAITING = "'waiting' if polling == 'free' else 'callback_waiting' if polling == 'callback' else 'last_waiting'"
_RETURNED = "'free' if polling == 'waiting' else 'callback' if polling == 'callback_waiting' else 'last_callback'"


def _polls(calls: int) -> tuple[Action, ...]:
    room = f"event[{calls}] == 'none'"
    begun: Block = (
        If((("asked == 'sent'", _set(asked="'taken'")),), otherwise=_set(fault="'not_asked'")),
        Call("take_consumer_event"),
    )
    return (
        _action("poll_is_woken", "polling == 'free' and wakeup", (Call("raise_wakeup"),), "application"),
        _action(
            "poll_raises",
            "polling == 'free' and not wakeup and consumer_1 == 'error'",
            (Call("take_consumer_event"),),
            "application",
        ),
        _action(
            "poll_begins_callback",
            "polling == 'free' and not wakeup and consumer_1 == 'revoke'",
            (*begun, *_set(polling="'callback'")),
            "application",
        ),
        _action(
            "callback_ends",
            f"polling == 'callback' and {room}",
            (Call("put_answer"), *_set(polling="'free'")),
            "application",
            fair="weak",
        ),
        _action(
            "close_begins_callback",
            "polling == 'closing' and consumer_1 == 'revoke'",
            (*begun, *_set(polling="'last_callback'")),
            "application",
            fair="weak",
        ),
        _action(
            "close_drops_error",
            "polling == 'closing' and consumer_1 == 'error'",
            (Call("take_consumer_event"),),
            "application",
            fair="weak",
            doc="it is logged",
        ),
        _action(
            "last_callback_ends",
            f"polling == 'last_callback' and (background == 'stopped' or {room})",
            (If((("background != 'stopped'", (Call("put_answer"),)),)), *_set(polling="'closing'")),
            "application",
            fair="weak",
        ),
    )


def _background(calls: int) -> tuple[Action, ...]:
    alive = "background != 'stopped'"
    taken: Block = (
        If((("next_taken != i", _set(fault="'reordered'")),)),
        *_set(next_taken=_successor(calls, "next_taken")),
        Call("take_event"),
        If(
            (("needs_coordinator[i] and not coordinator", (Call("lay_aside", ("i",)),)),),
            otherwise=(Call("complete", ("i",)),),
        ),
    )
    end_aside: Block = (Call("take_aside"), Call("complete", ("i",)))
    return (
        _action(
            "background_takes_call",
            f"{alive} and event[1] == 'call' and event_of[1] == i",
            taken,
            "message",
            fair="weak",
            of_call=True,
        ),
        _action(
            "background_takes_answer",
            f"{alive} and event[1] == 'answer'",
            (
                If((("asked == 'taken'", _set(asked="'nothing'", owns="False")),), otherwise=_set(fault="'not_asked'")),
                Call("take_event"),
            ),
            "message",
            fair="weak",
        ),
        _action(
            "background_takes_close",
            f"{alive} and event[1] == 'close'",
            (Call("take_event"), *_set(background="'closing'")),
            "message",
            fair="weak",
        ),
        _action(
            "call_aside_is_done",
            f"{alive} and coordinator and aside[1] == i",
            end_aside,
            "message",
            fair="weak",
            of_call=True,
        ),
        _action(
            "call_aside_is_out_of_time", f"{alive} and aside[1] == i", end_aside, "timer", fair="weak", of_call=True
        ),
        _action("coordinator_found", f"{alive} and not coordinator", _set(coordinator="True"), "network"),
        _action("coordinator_lost", f"{alive} and coordinator", _set(coordinator="False"), "network"),
        _action(
            "background_asks_for_callback",
            "background == 'running' and asked == 'nothing' and owns and consumer_2 == 'none'",
            (*_set(asked="'sent'"), Call("tell_polling_thread", ("'revoke'",))),
            "message",
        ),
        _action(
            "background_tells_error",
            "background == 'running' and consumer_1 != 'error' and consumer_2 == 'none'",
            (Call("tell_polling_thread", ("'error'",)),),
            "message",
        ),
        _action(
            "partitions_assigned",
            "background == 'running' and asked == 'nothing' and not owns",
            _set(owns="True"),
            "message",
        ),
    )


def _closing(calls: int) -> tuple[Action, ...]:
    cancelled: Block = (
        For("i", "members", (If((("future[i] == 'pending'", (Set((("future[i]", "'cancelled'"),)),)),)),)),
        For("i", "members", (Set((("event[i]", "'none'"), ("event_of[i]", "0"), ("aside[i]", "0"))),)),
        *_set(consumer_1="'none'", consumer_2="'none'", background="'stopped'", coordinator="False"),
    )
    return (
        _action(
            "close",
            f"polling == 'free' and event[{calls}] == 'none'",
            (Call("put_close"), *_set(polling="'closing'")),
            "application",
        ),
        _action(
            "background_asks_for_last_callback",
            "background == 'closing' and asked == 'nothing' and owns and consumer_2 == 'none'",
            (*_set(asked="'sent'"), Call("tell_polling_thread", ("'revoke'",))),
            "message",
            fair="weak",
        ),
        _action(
            "deadline_of_close_passes",
            "background == 'closing' and not overdue",
            _set(overdue="True"),
            "timer",
            fair="weak",
        ),
        _action(
            "background_stops",
            "background == 'closing' and (overdue or (asked == 'nothing' and not owns and event[1] == 'none'))",
            cancelled,
            "message",
            fair="weak",
            doc="what is left undone is cancelled",
        ),
        _action("network_closes", "background == 'stopped' and network", _set(network="False"), "network", fair="weak"),
        _action(
            "close_returns",
            "polling == 'closing' and background == 'stopped' and not network",
            _set(polling="'closed'", wakeup="False", owed="False"),
            "application",
            fair="weak",
        ),
    )
