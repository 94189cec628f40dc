//! The harness of my-client: it lets groupspec drive the client. Each function that returns to_fill_in is yours to
//! write. protocol.rs is groupspec's: it reads the commands and writes the events that PROTOCOL.md explains.

use std::time::Duration;

use harness_protocol::{Command, Failure, Harness, Outcome, to_fill_in};

/// What the client's documentation promises: a rule that needs more than is declared is UNSUPPORTED, not failed.
const FEATURES: &[&str] = &[
    "eager", // rebalances that give up everything first; a client has this, "cooperative", or both
    "pull",  // records are taken by a poll with a timeout
    // Take the slashes away from what is there.
    // "cooperative",       // incremental rebalances (KIP-429)
    // "consumer_protocol", // the consumer protocol (KIP-848, ConsumerGroupHeartbeat)
    // "listener",          // callbacks for assigned and revoked partitions
    // "lost_callback",     // a callback of its own for lost partitions, or a query that tells them
    // "listener_in_poll",  // callbacks run on the application's thread, inside poll(), unsubscribe() and close()
    // "join_needs_poll",   // nothing joins before the first poll()
    // "poll_interval",     // max.poll.interval.ms: a member that does not poll leaves (KIP-62)
    // "auto_commit",       // positions are committed by the client itself
    // "static",            // static members (KIP-345): the setting group.instance.id
    // "seek",              // reading on from another offset, asked for between two polls
    // "pause",             // pausing and resuming partitions
    // "pattern",           // subscriptions by a regular expression
    // "max_poll_records",  // a limit of how many records a poll returns: the setting max.poll.records
    // "seek_to_beginning", // reading on from the first record that there is, wherever that is
];

/// Of PROTOCOL.md's features, also those that this base cannot carry out, what the client offers and this harness does
/// not drive: otherwise the client would seem to lack it.
const NOT_DRIVEN: &[&str] = &[];

/// What it keeps between two commands: the client, an Option that is None until it is made.
struct MyHarness {}

fn main() {
    let version = harness_protocol::pinned("my-client"); // the name of its package in Cargo.toml
    harness_protocol::run("my-client", version, FEATURES, NOT_DRIVEN, &mut MyHarness {});
}

/// A client that has a setting for good says so here, by the method fixed: json!({"auto_commit": true}).
impl Harness for MyHarness {
    /// A client that is asynchronous is driven by block_on of its runtime, here, in poll and in close.
    fn carry_out(&mut self, command: &Command) -> Outcome {
        match command.command.as_str() {
            "configure" => self.configure(command),
            "subscribe" => self.subscribe(command),
            "commit" => self.commit(),
            "unsubscribe" => self.unsubscribe(),
            // also for what the client does not offer
            other => harness_protocol::unsupported(&format!("the command {other}")),
        }
    }

    /// Poll for at most that long; return topic, partition and offset of each record that came. That the time is over
    /// is no error.
    fn poll(&mut self, _timeout: Duration) -> Result<Vec<(String, i32, i64)>, Failure> {
        Err(to_fill_in("poll once, and return what came"))
    }

    /// Close the client if it has been made; the process ends afterwards.
    fn close(&mut self) -> Outcome {
        Err(to_fill_in("close the client"))
    }
}

impl MyHarness {
    /// Pass every setting on; groupspec looks on the wire for them: bootstrap (addresses, with commas between),
    /// group_id, client_id, session_timeout_ms, heartbeat_interval_ms, request_timeout_ms, retry_backoff_ms,
    /// max_poll_interval_ms (also the rebalance timeout in JoinGroup), fetch_max_wait_ms, auto_offset_reset ("earliest"
    /// or "latest"), auto_commit (every auto_commit_interval_ms, before a rebalance takes partitions away, and at
    /// close), more (further settings by the names of Kafka's consumer), rebalance ("eager": the range assignor;
    /// "cooperative": cooperative-sticky, and no other beside it). Where making the client already joins, keep a clone
    /// of the settings, and make the client in subscribe.
    fn configure(&mut self, _settings: &Command) -> Outcome {
        Err(to_fill_in("make the client with these settings"))
    }

    /// Give the client a listener, if it has one. Each callback calls harness_protocol::callback("partitions_assigned",
    /// partitions), or "partitions_revoked", "partitions_lost", with topic and number of each partition; waits for
    /// callback_ms of the settings; and calls harness_protocol::callback_returned with the same name, one callback at a time.
    /// Where a callback of one's own replaces the client's commit, commit first if auto_commit was true. Do not poll
    /// yet. The topics are command.topics; with the feature "pattern" all that match command.pattern, where that is
    /// not empty. A second call, also while the client is polled, replaces the first one's.
    fn subscribe(&mut self, _command: &Command) -> Outcome {
        Err(to_fill_in("subscribe to the topics, with a listener"))
    }

    /// Commit what poll has returned, wait until it is done, and tell how it ended, by harness_protocol::committed: topic,
    /// partition and offset of the next record, or the failure.
    fn commit(&mut self) -> Outcome {
        Err(to_fill_in("commit the positions, wait, and tell the outcome"))
    }

    /// Give the subscription up, and return when the listener has been called.
    fn unsubscribe(&mut self) -> Outcome {
        Err(to_fill_in("unsubscribe"))
    }
}
