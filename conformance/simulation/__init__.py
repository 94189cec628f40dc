"""Whole groups in virtual time: members with the reference's core, its coordinator, and faults drawn from one seed.

From the bottom:

loop          Virtual time.
plan          What happens in a run: drawn from a seed.
cluster       The brokers: coordinator, metadata, records that come by the clock.
network       Connections that break, delay, lose and are silent.
member        What the parts of a run see of one process.
ledger        What must hold of records, commits, owners and callbacks.
application   What an application does with a consumer.
process       A core with its application.
situations    The rare situations that a campaign has to meet, and whether it did.
tracing       The members' traces, judged by the project's checker.
run           One run.
campaign      Many runs; a failure is made small.
"""
