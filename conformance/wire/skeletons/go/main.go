// The harness of my-client: it lets groupspec drive the client. Each function that returns ToFillIn is yours to write.
// protocol/ is groupspec's: it reads the commands and writes the events that groupspec's PROTOCOL.md explains.
package main

import (
	"time"

	"harness/protocol"
)

// What the client's documentation promises: a rule that needs more than is declared is UNSUPPORTED, not failed.
var features = []string{
	"eager", // rebalances that give up everything first; a client has this, "cooperative", or both
	"pull",  // records are taken by a poll with a timeout; without it: see CarryOut
	// Take the slashes away from what is there.
	// "cooperative",       // incremental rebalances (KIP-429)
	// "consumer_protocol", // the consumer protocol (KIP-848, ConsumerGroupHeartbeat)
	// "listener",          // callbacks for assigned and revoked partitions
	// "lost_callback",     // a callback of its own for lost partitions, or a query that tells them
	// "join_needs_poll",   // nothing joins before the first poll()
	// "poll_interval",     // max.poll.interval.ms: a member that does not poll leaves (KIP-62)
	// "auto_commit",       // positions are committed by the client itself
	// "static",            // static members (KIP-345): the setting group.instance.id
	// "seek",              // reading on from another offset, asked for between two polls
	// "pause",             // pausing and resuming partitions
	// "callback_commit",   // a callback may commit, and wait for it
	// "pattern",           // subscriptions by a regular expression
	// "max_poll_records",  // a limit of how many records a poll returns: the setting max.poll.records
	// "seek_to_beginning", // reading on from the first record that there is, wherever that is
}

// Of PROTOCOL.md's features, also those that this base cannot carry out, what the client offers and this harness does
// not drive: otherwise the client would seem to lack it.
var notDriven = []string{}

type harness struct {
	settings *protocol.Command
	// And the client itself, nil until it is made.
}

func main() {
	// Before that, where the client has a setting for good: protocol.Fixed = protocol.Event{"auto_commit": true}.
	// The second is the client's module, whose version is told.
	protocol.Run("my-client", "example.com/my/client", features, notDriven, &harness{})
}

// CarryOut calls a function for each command. A client that pushes records to a handler does not declare "pull" and has
// no Poll: the commands poll (start the handler) and stop_polling (pause it) come here then, and the handler says what
// it was given, by protocol.Consumed.
func (h *harness) CarryOut(c *protocol.Command) error {
	switch c.Command {
	case "configure":
		h.settings = c
		return h.configure(c)
	case "subscribe":
		return h.subscribe(c)
	case "commit":
		return h.commit()
	case "unsubscribe":
		return h.unsubscribe()
	default: // "seek": c.Topic, c.Partition, c.Offset; "pause" and "resume": c.Partitions
		return protocol.Unsupported(c) // also for what the client does not offer
	}
}

// Pass every setting on; groupspec looks on the wire for them:
//
//	Addresses(), GroupID, ClientID, SessionTimeoutMs, HeartbeatIntervalMs, RequestTimeoutMs, RetryBackoffMs,
//	MaxPollIntervalMs (also the rebalance timeout in JoinGroup), FetchMaxWaitMs, AutoOffsetReset ("earliest" or
//	"latest"), AutoCommit (every AutoCommitIntervalMs, before a rebalance takes partitions away, and at close),
//	More (further settings by the names of Kafka's consumer: PROTOCOL.md says which), Rebalance ("eager": the range
//	assignor; "cooperative": cooperative-sticky, and no other beside it)
//
// protocol.Milliseconds(n) is a time.Duration. Where making the client already joins, do nothing here but return nil, and
// make it in subscribe, from h.settings.
func (h *harness) configure(s *protocol.Command) error {
	return protocol.ToFillIn("make the client with these settings")
}

// Give the client a listener, if it has one; each callback calls
//
//	protocol.Callback("partitions_assigned", moved, h.settings.CallbackMs)
//
// or "partitions_revoked", "partitions_lost"; moved is a map[string][]int32 of topics. Where a callback of one's own
// replaces the client's commit, commit first if h.settings.AutoCommit. Do not poll yet. The topics are c.Topics; with the
// feature "pattern" all that match c.Pattern, where that is not empty. A second call, also while it polls, replaces the
// first one's.
func (h *harness) subscribe(c *protocol.Command) error {
	return protocol.ToFillIn("subscribe to the topics, with a listener")
}

// Poll for at most that long. Of each partition with records return protocol.Range(topic, partition, count, first
// offset, last offset). That the time is over is no error.
func (h *harness) Poll(timeout time.Duration) ([]protocol.Event, error) {
	return nil, protocol.ToFillIn("poll once, and return what came")
}

// Commit what Poll has returned, wait until it is done, and tell how it ended, by protocol.Committed(err, offsets):
// map[string]map[int32]int64, by topic and partition, each offset that of the next record.
func (h *harness) commit() error {
	return protocol.ToFillIn("commit the positions, wait, and tell the outcome")
}

// Give the subscription up, and return when the listener has been called.
func (h *harness) unsubscribe() error {
	return protocol.ToFillIn("unsubscribe")
}

// Close the client if it has been made; the process ends afterwards.
func (h *harness) Close() error {
	return protocol.ToFillIn("close the client")
}
