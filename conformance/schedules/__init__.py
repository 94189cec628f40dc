"""The whole consumer under the scheduler: drawn scenarios, drawn orders of its threads, and every promise of its API.

From the bottom:

answers       How the coordinator and the brokers can answer.
scenario      What the group, the network and the application do: drawn from a seed.
further       The same with events that came later, from a stream of their own.
times         When it must show signs of life, give up, and try again.
rounds        Which rebalances have to come, and whether the last one has brought what it owns.
finding       Which coordinator it may ask, and when it may look for one.
asking        What it asks brokers for: no more than it needs.
requests      What each request must contain, and when it may be sent.
another       The other member of a group that is led, and what the leader may give it.
logs          What the brokers have of each partition, and elections of leaders that lack records.
group         The coordinator and the brokers, a thread for each connection, so that answers race.
ledger        What the application was given, and what may come next.
outcomes      How its calls end.
questions     What it asks besides records, and whether the answers are true.
looking       What it asks about log, topics and itself, and whether those answers are true.
reading       What poll() brings.
application   What the application does, and what it may rely on: the oracle.
campaign      Runs scenarios under schedules, and makes a failure short.
"""
