"""The whole consumer under the scheduler: drawn scenarios, drawn orders of its threads, and every promise of its API.

From the bottom:

answers       How the coordinator and the brokers can answer.
scenario      What the group, the network and the application do.
drawing       It is drawn from a seed.
passing       Failures that pass, leaders that change again, and calls without a limit.
topic_away    A topic that is deleted, and away for a while.
further       The same with events that came later, from a stream of their own.
times         When it must show signs of life, give up, and try again.
rounds        Which rebalances have to come, and whether the last one has brought what it owns.
finding       Which coordinator it may ask, and when it may look for one.
asking        What it asks brokers for: no more than it needs.
claims        What JoinGroup says of its member.
answered      What a member knows by the answers that it has taken.
rates         How often it may turn, and ask.
requests      What each request must contain, and when it may be sent.
others        The other members of a group that is led, and what the leader may give them.
topics        Which topics there are, as they come and go.
logs          What the brokers have of each partition, and elections of leaders that lack records.
network       A thread for each connection, so that answers race.
group         The coordinator and the brokers.
ledger        What the application was given, and what may come next.
outcomes      How its calls end.
questions     What it asks besides records, and whether the answers are true.
looking       What it asks about log, topics and itself, and whether those answers are true.
reading       What poll() brings.
choosing      What the application subscribes to, and what it may be given of it.
parting       How it leaves its group: unsubscribe() and close().
settling      Whether all comes to be well when nothing disturbs it any more.
application   What the application does, and what it may rely on: the oracle.
noted         All that happens to the member, as a life.
judging       What the shared checks say of that life.
campaign      Runs scenarios under schedules, and makes a failure short.
"""
