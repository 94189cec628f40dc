"""A family of cases that is computed: each answer, to each request, at each point of a member's path.

A **row** says what happens: a request (JoinGroup, Heartbeat, Fetch, ...), what becomes of it, the point of the path at
which it is sent, and the rebalance protocol. What becomes of it is an error; the ordinary answer, late (later than the
retry backoff, sooner than the request timeout); no answer at all; a connection that is cut before the request is read,
or after; or an answer that is lost although the request has had its effect, so that the client asks again, and the
broker answers twice. Once that has happened everything is answered as any broker does, to the end of the run.

Nothing of a row is written by hand:

* **Which errors there are** (`refusals`): those that the group's table (`spec/broker_group.py`) gives in some state to
  a client without an instance id. What that table does not have, since no group is asked (authorisation, records,
  metadata), is in `refusals.toml`, with the method of the broker that says it.
* **Where a request is sent** (`path`): the member's machines walk from the first poll to close(); a request belongs to
  the points at which it is out. A row that cannot be is left out, with the reason: the request is not sent there, the
  member's table says that no broker gives that answer there, or it would have to overtake an earlier answer on its
  connection.
* **What must follow** (`path`): the same machines take the answer, and then the ordinary answers of a broker and an
  application that polls on, until they come to rest. The requests and callbacks that they emit meanwhile are what the
  client must show, in time; the rules of the table's rows that fired are what its log is judged by, with the checkers
  of `checks`. For requests without a machine of their own (OffsetFetch, ListOffsets, Fetch, Metadata, LeaveGroup)
  `spec/request_handling.py` has the outcome.

`story` plays a row against a client, and `family` makes scenarios of them: one for each request and protocol, whose
variants are its rows. They are no part of `--profile quick`.

Of a client less is asked than of the machines: a step that the table takes by a choice (the commit before a
rebalance), or only tells the application (an error that is raised), is not demanded. A row whose request the client
does not send there is UNTESTABLE: which request comes is judged by the scenarios that are written by hand.
"""
