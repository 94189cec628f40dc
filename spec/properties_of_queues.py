"""What is claimed of a consumer's two threads and the queues between them (`composition/queues.py`)."""

from __future__ import annotations

from groupspec.spec.compiler.model import ModelProperty

_PROPOSAL = "Threading refactor proposal (Apache Kafka wiki)"


def of_the_queues(calls: int) -> tuple[ModelProperty, ...]:
    """What is claimed of the threads and queues of a consumer, for as many calls."""
    test_plan, channel = (f"{_PROPOSAL}, 'Test Plan'",), (f"{_PROPOSAL}, 'Channel and Events'",)
    lies = "any(event_of[k] == i for k in members)"
    lies_aside = "any(aside[k] == i for k in members)"
    return (
        ModelProperty(
            "queue-keeps-order",
            "invariant",
            "fault != 'reordered' and fault != 'full'",
            statement="The background meets server events in the order in which they were made.",
            sources=test_plan,
            rules=("Q1",),
        ),
        ModelProperty(
            "queue-loses-nothing",
            "invariant",
            f"all(future[i] != 'pending' or {lies} or {lies_aside} for i in members)",
            statement="The event of every call that is under way lies in the queue, or aside.",
            sources=test_plan,
            rules=("Q1",),
        ),
        ModelProperty(
            "queue-doubles-nothing",
            "invariant",
            f"all((not {lies} or not {lies_aside})"
            " and all(not (event_of[k] == i and any(event_of[l] == i for l in members if l != k)) for k in members)"
            " and all(not (aside[k] == i and any(aside[l] == i for l in members if l != k)) for k in "
            "members) for i in members)",
            statement="No event is in two places.",
            sources=test_plan,
            rules=("Q1",),
        ),
        ModelProperty(
            "future-completes-once",
            "invariant",
            "fault != 'completed_twice' and all(future[i] != 'unused' or waits_for != i for i in members)",
            statement="No future completes twice, and nobody waits for one that is not there.",
            sources=("KAFKA-10793",),
            rules=("T3",),
        ),
        ModelProperty(
            "callback-only-when-asked",
            "invariant",
            "fault != 'not_asked' and (background == 'stopped' or not (polling == 'callback' or polling == "
            "'callback_waiting'"
            " or polling == 'last_callback' or polling == 'last_waiting') or asked == 'taken')",
            statement="User code runs on the polling thread, for an event that it took from its queue, and answers "
            "once.",
            sources=channel,
            rules=("Q2",),
        ),
        ModelProperty(
            "closed-is-clean",
            "invariant",
            "background != 'stopped' or all(future[i] != 'pending' and event[i] == 'none' and aside[i] == 0 "
            "for i in members)",
            statement="A background that has stopped leaves nothing behind: every event left over was answered or "
            "cancelled.",
            sources=test_plan,
            rules=("Q1", "L2"),
        ),
        ModelProperty(
            "background-stops-first",
            "invariant",
            "(network or background == 'stopped') and (polling != 'closed' or not network)",
            statement="The background thread has stopped before the network goes, and that before close() returns.",
            sources=("KAFKA-4786",),
            rules=("L4",),
        ),
        ModelProperty(
            "wakeup-interrupts-one-call",
            "invariant",
            "fault != 'woken_twice' and woke != 'callback' and woke != 'close'",
            statement="A wakeup interrupts one call or poll of the application, and none inside a callback or close().",
            sources=("KAFKA-7194", "KAFKA-16167"),
            rules=("T4",),
        ),
        ModelProperty(
            "closed-is-not-woken",
            "invariant",
            "polling != 'closed' or not wakeup",
            statement="A wakeup that comes too late for any call dies with the consumer.",
            sources=("KAFKA-4569",),
            rules=("T4",),
        ),
        ModelProperty(
            "nothing-waits-behind-coordinator",
            "reachable",
            "aside[1] == 1 and future[2] == 'done'",
            statement="An event that waits for a coordinator does not hold up one that needs none.",
            sources=(f"{_PROPOSAL}, 'Background thread and its lifecycle'",),
            rules=("Q3",),
        ),
        ModelProperty(
            "woken-call-completes",
            "reachable",
            "any(abandoned == i and future[i] == 'done' for i in members)",
            statement="A call that was woken completes all the same.",
            sources=("KAFKA-7194",),
            rules=("T3", "T4"),
        ),
        ModelProperty(
            "wakeup-spares-callback",
            "reachable",
            "wakeup and polling == 'callback_waiting'",
            statement="A call inside a callback waits on while a wakeup is due.",
            sources=("KAFKA-16167",),
            rules=("T4",),
        ),
        ModelProperty(
            "close-cancels",
            "reachable",
            "polling == 'closed' and any(future[i] == 'cancelled' for i in members)",
            statement="close() cancels what it could not wait for.",
            sources=("KAFKA-19357",),
            rules=("Q1", "L2"),
        ),
        ModelProperty(
            "close-stays-possible",
            "recoverable",
            "polling == 'closed'",
            statement="Whatever happens, the consumer can be closed.",
            sources=("KAFKA-19357",),
            rules=("L2",),
        ),
        ModelProperty(
            "close-ends",
            "leads_to",
            "polling == 'closed'",
            "polling == 'closing'",
            statement="close() ends, whoever answers and whatever the listener does, if the listener returns.",
            sources=("KAFKA-19357",),
            rules=("L2", "L4"),
        ),
        ModelProperty(
            "wakeup-ends-a-wait",
            "leads_to",
            "polling != 'waiting'",
            "wakeup and polling == 'waiting'",
            statement="A call that waits does not wait on when it is woken.",
            sources=("KafkaConsumer.wakeup",),
            rules=("T4",),
        ),
        *(
            ModelProperty(
                f"future-{number}-completes",
                "leads_to",
                f"future[{number}] != 'pending'",
                f"future[{number}] == 'pending'",
                statement="Every future completes.",
                sources=("KAFKA-10793",),
                rules=("T3", "L2"),
            )
            for number in range(1, calls + 1)
        ),
    )
