"""The same requests to the reference coordinator, the group's table and a real broker: equal answers, or why not.

drawing.py    what the members of a group send, drawn from a seed
history.py    what was sent, when, and what was answered
table.py      the group's table as a coordinator: it decides, and
table_records.py, table_answers.py    carry out
reference.py  the reference coordinator, from history to history
compare.py    reference against table: what differs, and which differences have an explanation
wire.py       hundreds of groups at once on a real broker, or on two between which they move
loading.py    what is asked of a node while it reads the groups that have moved to it
replay.py     a broker's history against the reference's
brokers.py    which brokers: Apache Kafka 4's coordinator and 3.9's, and where the latter does otherwise
"""
