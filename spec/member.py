"""One member: three machines over one set of variables, and which machine gets which event.

An event from outside (the application, an answer, a timer) goes to every machine that knows it. What a row emits for
other machines is handled at once and completely, before the event goes on to the next machine. Requests and events for
the polling thread leave in the order in which they were emitted. So one event from outside is one step of the member,
with everything that it causes.

When all of that is done, the background thread's turn ends with one last event (`turn_ended`): what had to wait, such
as an overdue heartbeat, happens then.

The order of the machines matters in one place: the timers get an answer to a heartbeat first, so that the heartbeat is
no longer in flight when the rebalance reacts.

Two machines emit nothing to the others: the subscription, one for each partition, and the commit, one for each commit.
The broker's group is at the other end of the wire.
"""

from __future__ import annotations

from typing import Final

MACHINES: Final = ("timeouts", "rebalance", "connection")
"""The machines of a member, in the order in which they get an event."""
