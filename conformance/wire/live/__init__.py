"""The kit in front of a broker that it does not script: what a client does there is recorded, and judged by the rules.

tap.py        a recording proxy before each broker of a cluster
notes.py      what crosses it, written down: frames in, entries of the kit's log out
asking.py     one connection of the kit's own, and
admin.py      its few requests: a topic with records, and their removal
life.py       the plain life of two members of one client, behind their harnesses
recorder.py   records it
members.py    whose frames are whose, where no harness says it
watching.py   records whoever passes by
"""
