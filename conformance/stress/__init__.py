"""One group on real brokers under faults: members of several clients, and a ledger of every record (`run`).

plan      what one seed draws: members, settings, faults and their times
proxy     the network between a member and the brokers: cut, delayed, or standing still
cluster   two brokers, the topic, and what the coordinator's log tells
producer  records, until the faults are over
member    a client's process behind the harness protocol, and what is done to it
timeline  what happened, by one clock
run       carries a plan out
offsets_topic, commits  what the group has committed, and who is to blame by that
troubles  when nobody can be blamed
judging   the books: lost and doubled records, owners, hangs, each attributed to a member
known     what such runs have found wrong with other clients
report    the result, for people and as JSON; `conformance.reports.soak` makes a page of it
lanes, picture  the timeline on that page
"""
