// A toy group member, written from the tables and the prose of the book alone (deployed profile, both protocols): what to do
// next, and nothing else. No wire, no threads, no clock. This file says it all; rules.go reads it and knows nothing of Kafka.
package main

// A member is the set of the facts that hold. Of those joined by a stroke one does: the coordinator (KNOWN: the connection is
// STABLE), when it is looked up, the membership, heartbeats, identity, the commit before a rebalance, what of a smaller assignment
// is not wanted any more. The last five are told with an event and forgotten when it is over.
const vocabulary = `
DOWN/INITIALIZED/COORDINATOR_DISCOVERY/KNOWN lookup_now/lookup_backoff/lookup_at_poll
UNJOINED/PREPARE_REVOCATION/REVOKING_PARTITION/PARTITION_REVOKED/PREPARING_REBALANCE/COMPLETING_REBALANCE/ASSIGNING_PARTITIONS/STABLE
STOPPED/DISABLED/IDLE/IN_FLIGHT nobody/id_given/member no_commit/commit_out/commit_outdated/commit_backoff/commit_blocked none_later/some_later/all_later
cooperative auto_commit static subscribed polled fenced wanted asked join_backoff preparing follow_up leaving
owned will_own unwanted keeps lost callback_running beat_due poll_due current revokes_any retains_any adds_any fits_subscription`

// Event | what holds | what follows: the first row that fits. No event: that of the row above. Answers are called request_answer.
// a/b: a or b. !a: not a; in the third column, a ends. a=b: a holds if b does, and else ends. >X: send X. x(): x happens now.
// After each event turn_ended happens. >REFUSED is said to an environment that does what it never may.
const table = `
created                    |                               | DOWN lookup_now UNJOINED STOPPED nobody no_commit none_later
started                    | DOWN                          | INITIALIZED DISABLED
stopped                    | IDLE/IN_FLIGHT/!UNJOINED/subscribed/!nobody | >REFUSED
                           |                               | DOWN STOPPED lookup_now !wanted !asked
subscribed_to_topics application_polled commit_or_fetch_requested subscription_changed rejoin_requested leave_requested | DOWN | >REFUSED
subscribed_to_topics       | UNJOINED !subscribed          | subscribed !polled
application_polled         | fenced                        | !poll_due >ERROR poll_waited()
                           |                               | !poll_due poll() poll_waited()
poll                       | UNJOINED !subscribed          |
                           | !polled                       | polled coordinator_needed() join()
poll_waited                | INITIALIZED lookup_at_poll    | look_up()
poll_raised                |                               | !poll_due
*_*                        | !current                      |

-- the coordinator is looked up, and lost
coordinator_needed         |                               | wanted look_up_soon()
commit_or_fetch_requested  |                               | asked look_up_soon()
look_up_soon               | INITIALIZED !lookup_backoff   | look_up()
requests_settled           |                               | !asked
offset_*                   | !KNOWN/!asked                 | >REFUSED
look_up                    | wanted/asked                  | COORDINATOR_DISCOVERY lookup_now >FindCoordinator
                           |                               | lookup_now
discovery_backoff_elapsed  | INITIALIZED lookup_backoff    | look_up()
discovery_*                | !COORDINATOR_DISCOVERY        | >REFUSED
discovery_retriable        |                               | INITIALIZED lookup_backoff
discovery_fatal            |                               | INITIALIZED lookup_at_poll !asked >ERROR
discovery_succeeded        |                               | KNOWN stall() go_on()
go_on                      | commit_blocked                | commit()
                           |                               | join()
session_expired            | IDLE/IN_FLIGHT                | coordinator_gone()
*_coordinator_gone offset_fetch_coordinator_gone |         | coordinator_gone()
coordinator_gone           | KNOWN                         | INITIALIZED heartbeat_lost() commit_lost() join_lost() look_up()
heartbeat_lost heartbeat_retriable | IN_FLIGHT          | IDLE !beat_due
commit_lost commit_retriable | commit_out/commit_outdated | commit_backoff
join_lost                  | COMPLETING_REBALANCE/PREPARING_REBALANCE polled | PREPARING_REBALANCE join_backoff

-- joining
join                       | !KNOWN                        |
                           | STABLE preparing no_commit    | send_join()
                           | UNJOINED/PARTITION_REVOKED/PREPARING_REBALANCE polled !join_backoff | send_join()
send_join                  |                               | PREPARING_REBALANCE !preparing !follow_up !join_backoff !keeps silence() >JoinGroup
join_backoff_elapsed       | join_backoff                  | !join_backoff join()
join_*                     | !PREPARING_REBALANCE/!KNOWN/!polled/join_backoff | >REFUSED
join_accepted              |                               | COMPLETING_REBALANCE member IDLE >SyncGroup
join_member_id_required    |                               | id_given send_join()
join_coordinator_loading   |                               | join_backoff
sync_*                     | !COMPLETING_REBALANCE         | >REFUSED
sync_accepted              | !fits_subscription            | STABLE note_unwanted() rejoin()
                           | revokes_any retains_any       | will_own keeps none_later PREPARE_REVOCATION commit_first()
                           | revokes_any                   | will_own=adds_any none_later PREPARE_REVOCATION commit_first()
                           | owned                         | ASSIGNING_PARTITIONS >ASSIGN_PARTITIONS
                           |                               | ASSIGNING_PARTITIONS owned=adds_any >ASSIGN_PARTITIONS
join_rebalance_in_progress sync_rebalance_in_progress |  | send_join()
join_fatal sync_fatal      |                               | PREPARING_REBALANCE !polled >ERROR

-- a rebalance, and the commit before it
rejoin_requested           |                               | rebalance()
subscription_changed       | STABLE !preparing             | note_unwanted() rejoin()
                           | STABLE revokes_any no_commit  | note_unwanted() PREPARE_REVOCATION commit_first()
                           | STABLE revokes_any commit_out | note_unwanted() PREPARE_REVOCATION commit_outdated
                           | STABLE revokes_any            | note_unwanted() PREPARE_REVOCATION
                           | ASSIGNING_PARTITIONS          | note_unwanted() follow_up
                           | PREPARING_REBALANCE/COMPLETING_REBALANCE | follow_up
                           | will_own !unwanted member revokes_any retains_any | some_later
                           | will_own !unwanted member revokes_any | all_later
                           | will_own !unwanted member     | none_later
note_unwanted              | cooperative owned revokes_any | !preparing unwanted keeps=retains_any
                           |                               | !preparing !unwanted !keeps
rejoin                     |                               | !follow_up rebalance()
rebalance                  | PREPARING_REBALANCE/COMPLETING_REBALANCE/ASSIGNING_PARTITIONS | follow_up
                           | !STABLE/preparing             |
                           | cooperative !unwanted         | preparing commit_first()
                           |                               | PREPARE_REVOCATION commit_first()
commit_first               | owned auto_commit             | commit()
                           |                               | committed()
commit                     | KNOWN                         | commit_out >OffsetCommit
                           |                               | commit_blocked
committed                  | STABLE                        | no_commit join()
                           |                               | no_commit revoke()
commit_backoff_elapsed     | commit_backoff                | commit()
commit_deadline_expired    | !no_commit                    | committed()
commit_*                   | UNJOINED/PREPARING_REBALANCE/COMPLETING_REBALANCE/!KNOWN/commit_backoff/commit_blocked | >REFUSED
                           | no_commit !owned/!member      | >REFUSED
commit_settled             | commit_outdated               | commit()
commit_settled commit_rebalance_in_progress | commit_out/commit_outdated | committed()
commit_rebalance_in_progress |                               | rebalance()

-- callbacks
revoke                     |                               | REVOKING_PARTITION !lost !callback_running >REVOKE_PARTITIONS
lose                       |                               | revoke() lost forget_rebalance() !will_own !keeps
forget_rebalance           |                               | no_commit !preparing !follow_up
callback_started           | !REVOKING_PARTITION/callback_running | >REFUSED
                           | lost                          | callback_running >onPartitionsLost
                           |                               | callback_running >onPartitionsRevoked
partitions_revoked         | !REVOKING_PARTITION/!callback_running | >REFUSED
                           |                               | owned=keeps !callback_running revoked()
revoked                    | leaving !keeps                | leave()
                           | leaving member                | !keeps revoke()
                           | lost                          | !lost unjoin()
                           | !member keeps                 | silence() lose()
                           | !member                       | unjoin()
                           | cooperative !unwanted         | own_later() follow_up ASSIGNING_PARTITIONS >ASSIGN_PARTITIONS
                           |                               | PARTITION_REVOKED join()
own_later                  |                               | owned=will_own !will_own unwanted=!none_later keeps=some_later none_later
partitions_assigned        | !ASSIGNING_PARTITIONS         |
                           | member follow_up              | STABLE rejoin()
                           | member                        | STABLE
                           | owned                         | lose()
                           |                               | unjoin()
unjoin                     |                               | UNJOINED !follow_up join()

-- the membership is lost, or given up
*_unknown_member           |                               | nobody membership_lost()
*_illegal_generation       |                               | id_given membership_lost()
*_fenced                   |                               | nobody fenced !polled !wanted >ERROR membership_lost()
membership_lost            | REVOKING_PARTITION !callback_running | silence() lost !will_own !keeps !follow_up
                           | REVOKING_PARTITION/ASSIGNING_PARTITIONS | silence()
                           | owned                         | silence() lose()
                           |                               | silence() forget_rebalance() unjoin()
poll_interval_expired      | IDLE/IN_FLIGHT !poll_due      | poll_due stall()
stall                      | !KNOWN/!poll_due/leaving      |
                           |                               | say_goodbye() nobody !polled membership_lost()
leave_requested            | REVOKING_PARTITION            | give_up()
                           | UNJOINED/!owned               | leave()
                           | PREPARING_REBALANCE/COMPLETING_REBALANCE/!member | give_up() lose()
                           |                               | give_up() !keeps revoke()
give_up                    |                               | leaving forget_rebalance() !join_backoff !unwanted none_later
leave                      |                               | say_goodbye() forget_rebalance() forget_subscription() UNJOINED nobody silence()
say_goodbye                | !static member/PREPARING_REBALANCE !nobody KNOWN | >LeaveGroup
forget_subscription        |                               | !subscribed !polled !fenced !wanted !join_backoff !leaving !lost !will_own !keeps

-- heartbeats
heartbeat_due              | IDLE/IN_FLIGHT                | beat_due
turn_ended                 | IDLE KNOWN beat_due           | IN_FLIGHT !beat_due >Heartbeat
heartbeat_*                | !IN_FLIGHT                    | >REFUSED
heartbeat_ok               |                               | IDLE
heartbeat_error            |                               | IDLE !beat_due >ERROR
heartbeat_rebalance_in_progress | PREPARING_REBALANCE/COMPLETING_REBALANCE | IDLE
                           |                               | IDLE rebalance()
silence                    |                               | DISABLED !beat_due !poll_due !unwanted none_later`
