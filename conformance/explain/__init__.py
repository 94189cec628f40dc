"""What `groupspec explain` says of a name, and what the book says in the same words.

`index.py` finds what a name means, `log_lines.py` what a line of a log tells; `explanation.py` is the answer; `code.py`
finds functions of the reference.
The kinds of name: `rules.py`, `machines.py` (states, rows), `vocabulary.py` (events, variables, effects), `protocol.py`
(what Kafka says), `checks.py` (what judges, and what it prints), `terms.py` (glossary, bugs, differences), `lab.py`
(models, properties, findings, mutants).
"""
