"""Whole groups in virtual time: members of the reference, its coordinator, and faults drawn from one seed.

From the bottom:

loop          Virtual time.
aims          What random faults seldom lead to, and what leads there.
brokers       Of which releases they are, when they close connections, and who hears late.
plan          What happens in a run: drawn from a seed.
logs          The partitions: records that come by the clock, leaders that lack some of them.
cluster       The brokers: coordinator and metadata.
network       Connections that break, delay, lose and are silent.
encoded       The same, over which bytes go.
member        What the parts of a run see of one process.
ledger        What must hold of records, commits, owners and callbacks.
situations    The rare situations that a campaign has to meet, and whether it did.
tracing       The members' traces, judged by the project's checker.
application   An application and its consumer, for the ledger: whatever it runs on.
stepped       The same on a core alone, without threads.
threaded      The same with a whole consumer, in a thread.
process       What all processes of members have in common; `core_process` and `consumer_process` are the two kinds.
wording       A message in a few words.
run           One run.
noted         Its life, noted from outside.
judging       One run that is judged.
campaign      Many runs.
shrinking     A failure made small.
picture       A run as a sequence diagram.
"""
