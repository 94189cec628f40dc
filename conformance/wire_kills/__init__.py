"""Which case of the wire kit finds which bug: every mutant of the reference against the cases, in virtual time.

`reach` says which cases enter what a mutant changes, once for all of them: no other can find it. `search` runs a mutant
against those until enough of them have found it. `matrix` is what comes of it, committed as
`generated/wire_kills.json`; of each known bug that no case finds, `unseen.toml` says why nothing outside can see it.
"""
