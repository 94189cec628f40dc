"""The frozen net: what ran before the house was rebuilt, as it happened, and what each judge said of it.

Whoever replaces a world, or a judge, holds the new one to this: it says the same of the same history, or a witness
outside this repository says why not. From the bottom:

notes      What is noted while a world runs.
simulated  Lives of groups in virtual time.
scheduled  Lives of one consumer under drawn schedules.
verdicts   What each judge that reads histories says of each of them.
freeze     Makes the corpus: `python -m groupspec.conformance.frozen`.
"""
