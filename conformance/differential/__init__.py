"""The same requests to the reference coordinator and to the group's table: equal answers, or it is said why not.

drawing.py    what the members of a group send, drawn from a seed
history.py    what was sent, when, and what was answered
table.py, table_records.py    the group's table as a coordinator: it decides, the records carry out
reference.py  the reference coordinator, from history to history
compare.py    what differs, and which differences have an explanation
"""
