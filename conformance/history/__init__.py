"""What happened to a group, in one vocabulary, whatever ran and whoever saw it.

From the bottom:

message_json  Requests and answers as JSON.
event         One thing that happened.
life          All that happened in one run, as a file.
"""
