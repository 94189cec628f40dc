"""What happened to a group, in one vocabulary, whatever ran and whoever saw it.

From the bottom:

message_json      Requests and answers as JSON.
harness_protocol  What a harness is asked, and what it tells.
entry             One thing that happened in a client's run, as the wire kit saw it.
pairing           Which answer belongs to which request.
exchange          A request with its answer, and what the two say of the member.
calls, settings   What the application saw; what the client was made with.
timing            How long something took, and for how much of that the client is not responsible.
history           A run, read once for the checks: its index.
event, life       One thing that happened in any world; all that happened in one run, as a file.
notes             What is noted while a world runs, as such events.
member_life       A life as the history of one of its members.
"""
