"""One member: three machines over one set of variables, and who hears what.

An event from outside (the application, an answer, a timer) goes to every machine that knows it. What a row emits for
other machines is handled at once and to the end, before the event goes on to the next machine; requests and events for
the polling thread leave in the order in which they were emitted. So one event from outside is one step of the member,
whatever it sets off inside.

When everything that an event set off is done, the background thread's turn ends, and one last event goes round
(`turn_ended`): what had to wait for the rest to be settled, such as an overdue heartbeat, happens then.

The order in which machines hear an event matters in one place: an answer to a heartbeat is heard by the timers first,
so that it is no longer in flight when the rebalance reacts.

Two machines stand apart, and only listen: the subscription, one for each partition, and the commit, one for each
commit. The broker's group is at the other end of the wire.
"""

from __future__ import annotations

from typing import Final

MACHINES: Final = ("timeouts", "rebalance", "connection")
"""The machines of a member, in the order in which they hear an event."""
