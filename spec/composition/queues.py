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
from itertools import product
from typing import Final

from groupspec.spec.compiler.model import (
    Action,
    Block,
    Call,
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
from groupspec.spec.composition.blocks import NO_FAULT, conjunction, each, sets, when
from groupspec.spec.properties import claimed
from groupspec.spec.terms import NO_YES

_CALL: Final[tuple[tuple[str, IndexSet], ...]] = (("i", "members"),)
_POLLING: Final = (
    "free", "waiting", "callback", "callback_waiting", "closing", "last_callback", "last_waiting", "closed"
)  # fmt: skip


def queues_model(calls: int = 3) -> Model:
    """Both threads and both queues, for as many calls as told; `members` are the calls, and the places in a queue."""
    actions = (*_calls(calls), *_polls(calls), *_background(calls), *_closing(calls))
    return Model(
        name=f"queues-{calls}",
        scope=Scope("queues"),
        sizes={"members": calls, "partitions": 1},
        variables=_variables(calls),
        procedures=_procedures(calls),
        actions=tuple(replace(action, guard=conjunction(NO_FAULT, action.guard)) for action in actions),
        properties=claims(calls),
        doc=(__doc__ or "").strip(),
    )


def claims(calls: int = 3) -> tuple[ModelProperty, ...]:
    """What is claimed of the threads and queues of a consumer, for as many calls."""
    return tuple(claimed("queues", ({"n": n} for n in range(1, calls + 1))))


def _variables(calls: int) -> tuple[ModelVariable, ...]:
    some_call = tuple(range(calls + 1))
    faults = ("none", "full", "reordered", "completed_twice", "not_asked", "woken_twice")
    return (
        ModelVariable("polling", _POLLING, "free", doc="what the polling thread does"),
        ModelVariable("next_call", some_call, 1,
                      doc="the call that the application makes next; 0 when it has made all"),
        ModelVariable("waits_for", some_call, 0, doc="the call that it waits for"),
        ModelVariable("abandoned", some_call, 0, doc="the call that was last woken while it waited"),
        flag("wakeup", "wakeup() was called, and nobody has raised for it"),
        flag("owed", "one exception is owed for it: what the flag should say"),
        ModelVariable("woke", ("nothing", "call", "callback", "close"), "nothing",
                      doc="what a wakeup interrupted last"),
        ModelVariable("future", ("unused", "pending", "done", "cancelled"), "unused", ("members",), "of each call"),
        flag("needs_coordinator", "the call's event needs a coordinator", ("members",)),
        ModelVariable("event", ("none", "call", "answer", "close"), "none", ("members",),
                      "server events, first to last"),
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
        ModelVariable("fault", faults, "none", doc="what went wrong first"),
    )  # fmt: skip


# The queues -----------------------------------------------------------------------------------------------------------


def _append(calls: int, queue: str, empty: str, entry: str) -> Block:
    """To the first free place of a queue. `entry`: what is assigned, with `{}` for the place."""
    branches = ((f"{queue}[{n}] == {empty}", sets(entry.format(n))) for n in range(1, calls + 1))
    return (If(tuple(branches), otherwise=sets("fault = 'full'")),)


def _shift(calls: int, **queues: str) -> Block:
    """Everything in these queues moves up by one place. `queues`: what each of them holds in an empty place."""
    moved = (
        (f"{queue}[{n}]", f"{queue}[{n + 1}]" if n < calls else empty)
        for queue, empty in queues.items()
        for n in range(1, calls + 1)
    )
    return (Set(tuple(moved)),)


def _successor(calls: int, name: str) -> str:
    chain = "0"
    for number in range(calls - 1, 0, -1):
        chain = f"{number + 1} if {name} == {number} else {chain}"
    return chain


def _procedures(calls: int) -> tuple[Procedure, ...]:
    put = "'revoke' if kind == 'revoke' else 'error'"
    told = ("consumer_1 == 'none'", sets(f"consumer_1 = {put}")), ("consumer_2 == 'none'", sets(f"consumer_2 = {put}"))
    full = sets("fault = 'full'")
    # fmt: off
    return (
        Procedure("put_call", _CALL, (), _append(calls, "event", "'none'", "event[{0}] = 'call'; event_of[{0}] = i")),
        Procedure("put_answer", (), (), _append(calls, "event", "'none'", "event[{0}] = 'answer'")),
        Procedure("put_close", (), (), _append(calls, "event", "'none'", "event[{0}] = 'close'")),
        Procedure("take_event", (), (), _shift(calls, event="'none'", event_of="0"),
                  "the first server event leaves the queue"),
        Procedure("lay_aside", _CALL, (), _append(calls, "aside", "0", "aside[{0}] = i")),
        Procedure("take_aside", (), (), _shift(calls, aside="0")),
        Procedure("complete", _CALL, (),
                  when("future[i] == 'pending'", sets("future[i] = 'done'"), sets("fault = 'completed_twice'")),
                  "a future completes: once"),
        Procedure("tell_polling_thread", (), (("kind", ("revoke", "error")),), (If(told, otherwise=full),)),
        Procedure("raise_wakeup", (), (),
                  when("owed", sets(f"owed = False; wakeup = False; woke = {_WOKEN}"), sets("fault = 'woken_twice'")),
                  "once for each time that it was asked for"),
        Procedure("take_consumer_event", (), (), sets("consumer_1 = consumer_2; consumer_2 = 'none'")),
    )
    # fmt: on


# What happens ---------------------------------------------------------------------------------------------------------

_WOKEN: Final = (
    "'call' if polling == 'free' or polling == 'waiting' else"
    " 'callback' if polling == 'callback' or polling == 'callback_waiting' else 'close'"
)
_WAITING: Final = "'waiting' if polling == 'free' else 'callback_waiting' if polling == 'callback' else 'last_waiting'"
_RETURNED: Final = (
    "'free' if polling == 'waiting' else 'callback' if polling == 'callback_waiting' else 'last_callback'"
)


def _calls(calls: int) -> tuple[Action, ...]:
    made = []
    may = (
        f"next_call == i and event[{calls}] == 'none' and (polling == 'free' or polling == 'callback' or polling =="
        " 'last_callback') and background != 'stopped'"
    )
    next_call = _successor(calls, "next_call")
    for waits, needs in product(NO_YES, NO_YES):
        name = f"{'wait_for' if waits else 'make'}_call{'_that_needs_coordinator' if needs else ''}"
        body = (
            *sets(f"future[i] = 'pending'; needs_coordinator[i] = {needs}; next_call = {next_call}"),
            Call("put_call", ("i",)),
            *(sets(f"waits_for = i; polling = {_WAITING}") if waits else ()),
        )
        guard = f"{may} and not (polling == 'free' and wakeup)" if waits else may
        made.append(Action(name, _CALL, guard, body, "application"))
    # fmt: off
    return (
        *made,
        Action("call_returns", _CALL, "waits_for == i and future[i] != 'pending'",
               sets(f"waits_for = 0; polling = {_RETURNED}"), "application", "weak"),
        Action("wakeup", (), "not wakeup and polling != 'closed'", sets("wakeup = True; owed = True"), "application",
               doc="from any thread"),
        Action("waiting_call_is_woken", (), "wakeup and polling == 'waiting'",
               (_RAISE, *sets("abandoned = waits_for; waits_for = 0; polling = 'free'")), "application", "weak",
               "its future completes all the same"),
        Action("call_is_woken_before_it_is_sent", (), "wakeup and polling == 'free' and next_call != 0", (_RAISE,),
               "application"),
    )
    # fmt: on


_RAISE: Final = Call("raise_wakeup")
_TAKE: Final = Call("take_consumer_event")
_ASKS: Final[Block] = (*sets("asked = 'sent'"), Call("tell_polling_thread", ("'revoke'",)))
_BEGINS: Final[Block] = (*when("asked == 'sent'", sets("asked = 'taken'"), sets("fault = 'not_asked'")), _TAKE)


def _polls(calls: int) -> tuple[Action, ...]:
    room = f"event[{calls}] == 'none'"
    answers = when("background != 'stopped'", (Call("put_answer"),))
    # fmt: off
    return (
        Action("poll_is_woken", (), "polling == 'free' and wakeup", (_RAISE,), "application"),
        Action("poll_raises", (), "polling == 'free' and not wakeup and consumer_1 == 'error'", (_TAKE,),
               "application"),
        Action("poll_begins_callback", (), "polling == 'free' and not wakeup and consumer_1 == 'revoke'",
               _BEGINS + sets("polling = 'callback'"), "application"),
        Action("callback_ends", (), f"polling == 'callback' and {room}",
               (Call("put_answer"), *sets("polling = 'free'")), "application", "weak"),
        Action("close_begins_callback", (), "polling == 'closing' and consumer_1 == 'revoke'",
               _BEGINS + sets("polling = 'last_callback'"), "application", "weak"),
        Action("close_drops_error", (), "polling == 'closing' and consumer_1 == 'error'", (_TAKE,), "application",
               "weak", "it is logged"),
        Action("last_callback_ends", (), f"polling == 'last_callback' and (background == 'stopped' or {room})",
               answers + sets("polling = 'closing'"), "application", "weak"),
    )
    # fmt: on


def _background(calls: int) -> tuple[Action, ...]:
    alive = "background != 'stopped'"
    taken: Block = (
        *when("next_taken != i", sets("fault = 'reordered'")),
        *sets(f"next_taken = {_successor(calls, 'next_taken')}"),
        Call("take_event"),
        *when("needs_coordinator[i] and not coordinator", (Call("lay_aside", ("i",)),), (Call("complete", ("i",)),)),
    )
    answered = when("asked == 'taken'", sets("asked = 'nothing'; owns = False"), sets("fault = 'not_asked'"))
    end_aside: Block = (Call("take_aside"), Call("complete", ("i",)))
    # fmt: off
    return (
        Action("background_takes_call", _CALL, f"{alive} and event[1] == 'call' and event_of[1] == i", taken, "message",
               "weak"),
        Action("background_takes_answer", (), f"{alive} and event[1] == 'answer'", (*answered, Call("take_event")),
               "message", "weak"),
        Action("background_takes_close", (), f"{alive} and event[1] == 'close'",
               (Call("take_event"), *sets("background = 'closing'")), "message", "weak"),
        Action("call_aside_is_done", _CALL, f"{alive} and coordinator and aside[1] == i", end_aside, "message", "weak"),
        Action("call_aside_is_out_of_time", _CALL, f"{alive} and aside[1] == i", end_aside, "timer", "weak"),
        Action("coordinator_found", (), f"{alive} and not coordinator", sets("coordinator = True"), "network"),
        Action("coordinator_lost", (), f"{alive} and coordinator", sets("coordinator = False"), "network"),
        Action("background_asks_for_callback", (),
               "background == 'running' and asked == 'nothing' and owns and consumer_2 == 'none'", _ASKS, "message"),
        Action("background_tells_error", (),
               "background == 'running' and consumer_1 != 'error' and consumer_2 == 'none'",
               (Call("tell_polling_thread", ("'error'",)),), "message"),
        Action("partitions_assigned", (), "background == 'running' and asked == 'nothing' and not owns",
               sets("owns = True"), "message"),
    )
    # fmt: on


def _closing(calls: int) -> tuple[Action, ...]:
    cancelled = (
        *each("i", when("future[i] == 'pending'", sets("future[i] = 'cancelled'"))),
        *each("i", sets("event[i] = 'none'; event_of[i] = 0; aside[i] = 0")),
        *sets("consumer_1 = 'none'; consumer_2 = 'none'; background = 'stopped'; coordinator = False"),
    )
    # fmt: off
    return (
        Action("close", (), f"polling == 'free' and event[{calls}] == 'none'",
               (Call("put_close"), *sets("polling = 'closing'")), "application"),
        Action("background_asks_for_last_callback", (),
               "background == 'closing' and asked == 'nothing' and owns and consumer_2 == 'none'", _ASKS, "message",
               "weak"),
        Action("deadline_of_close_passes", (), "background == 'closing' and not overdue", sets("overdue = True"),
               "timer", "weak"),
        Action("background_stops", (),
               "background == 'closing' and (overdue or (asked == 'nothing' and not owns and event[1] == 'none'))",
               cancelled, "message", "weak", "what is left undone is cancelled"),
        Action("network_closes", (), "background == 'stopped' and network", sets("network = False"), "network", "weak"),
        Action("close_returns", (), "polling == 'closing' and background == 'stopped' and not network",
               sets("polling = 'closed'; wakeup = False; owed = False"), "application", "weak"),
    )
    # fmt: on
