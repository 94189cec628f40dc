// The harness of my-client: it lets groupspec drive the client. Each method that throws ToFillIn is yours to write.
// protocol.js is groupspec's: it reads the commands and writes the events that groupspec's PROTOCOL.md explains.

import { type Client, type Feature, type Settings, Positions, ToFillIn, run } from "./protocol.js";

// What the client's documentation promises: a rule that needs more than is declared is UNSUPPORTED, not failed.
const FEATURES: Feature[] = [
  "eager", // rebalances that give up everything first; a client has this, "cooperative", or both
  // Take the slashes away from what is there.
  // "cooperative",       // incremental rebalances (KIP-429)
  // "consumer_protocol", // the consumer protocol (KIP-848, ConsumerGroupHeartbeat)
  // "listener",          // callbacks for assigned and revoked partitions
  // "lost_callback",     // a callback of its own for lost partitions, or a query that tells them
  // "join_needs_poll",   // nothing joins before the first poll()
  // "pull",              // records are taken by a poll with a timeout; poll() says poll_started, poll_returned of each
  // "poll_interval",     // max.poll.interval.ms: a member that does not poll leaves (KIP-62)
  // "auto_commit",       // positions are committed by the client itself
  // "static",            // static members (KIP-345): the setting group.instance.id
  // "seek",              // reading on from another offset, asked for between two polls
  // "pause",             // pausing and resuming partitions
  // "pattern",           // subscriptions by a regular expression
  // "max_poll_records",  // a limit of how many records a poll returns: the setting max.poll.records
  // "seek_to_beginning", // reading on from the first record that there is, wherever that is
];

// Of PROTOCOL.md's features, also those that this base cannot carry out, what the client offers and this harness does
// not drive: otherwise the client would seem to lack it.
const NOT_DRIVEN: Feature[] = [];

class Harness implements Client {
  #positions = new Positions();
  // And the client itself, undefined until it is made. One that has a setting for good says so here:
  // fixed = { auto_commit: true };

  // Pass every setting on; groupspec looks on the wire for them. auto_commit: every auto_commit_interval_ms, before a
  // rebalance takes partitions away, and at close. rebalance "eager": the range assignor, or another that the client has;
  // "cooperative": cooperative-sticky, and no other beside it. max_poll_interval_ms is also the rebalance timeout in
  // JoinGroup. Where making the client already joins, keep the settings, and make the client in subscribe.
  async configure(settings: Settings): Promise<void> {
    throw new ToFillIn("make the client with these settings");
  }

  // Give the client a listener, if it has one; each callback awaits callback("partitions_assigned", partitions,
  // settings.callback_ms), or "partitions_revoked", "partitions_lost", of protocol.js. Start no handler yet. A second call
  // replaces the first one's; with the feature "pattern" it may come with `pattern` in place of the topics.
  async subscribe({ topics }: { topics: string[] }): Promise<void> {
    throw new ToFillIn("subscribe to the topics, with a listener");
  }

  // Start the handler, or resume it; do not wait until the member has joined. The handler calls
  // this.#positions.consumed(topic, partition, offset) for each record, and returns at once. What the client reports by
  // an event goes to error(problem) of protocol.js.
  async poll(): Promise<void> {
    throw new ToFillIn("start the handler of records");
  }

  // Pause the handler.
  async stop_polling(): Promise<void> {
    throw new ToFillIn("pause the handler of records");
  }

  // Commit what the handler was given: offsets is a list of {topic, partition, offset}, the offset that of the next
  // record. Wait until it is done.
  async commit(): Promise<void> {
    await this.#positions.commit((offsets) => {
      throw new ToFillIn("commit these offsets, and wait");
    });
  }

  // Give the subscription up. A method of which the client offers nothing may be removed: UNSUPPORTED then.
  async unsubscribe(): Promise<void> {
    throw new ToFillIn("unsubscribe");
  }

  // Close the client if it has been made; the process ends afterwards.
  async close(): Promise<void> {
    throw new ToFillIn("close the client");
  }
}

// The second is the client's package in npm, whose version is told.
await run("my-client", "my-client", FEATURES, new Harness(), NOT_DRIVEN);
