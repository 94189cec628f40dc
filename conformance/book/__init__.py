"""The book: the whole specification as a static site, made from its sources and from nothing else.

`site.py` puts it together; each other file makes one kind of page, or knows one thing about all of them: `text.py` how
prose and guards are written, `variants.py` which tables are really different. What `groupspec explain` says too (what a
word means, where a thing stands, the address of a source) is in `../explain/`. Every page works from a file, without a
server and without a script; the scripts add search, and zoom in the pictures.
"""
