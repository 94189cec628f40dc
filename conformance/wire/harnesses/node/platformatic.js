// The harness of @platformatic/kafka: it joins when consume() is called, and its stream pushes records. It has no
// listener (its events tell of joining, and of nothing before partitions are taken away), no cooperative assignor, and no
// max.poll.interval.

import { setTimeout as wait } from "node:timers/promises";

import { Consumer, MessagesStreamFallbackModes, MessagesStreamModes } from "@platformatic/kafka";
import { Positions, error, run } from "./protocol.js";

const FEATURES = ["eager", "auto_commit"];

class Harness {
  #settings;
  #consumer;
  #topics;
  #stream;
  #reads = false; // whether the application has polled, and has not given its topics up since
  #positions = new Positions();

  configure(settings) {
    this.#settings = settings;
    const age = settings.more["metadata.max.age.ms"];
    this.#consumer = new Consumer({
      bootstrapBrokers: settings.bootstrap.split(","),
      clientId: settings.client_id,
      groupId: settings.group_id,
      sessionTimeout: settings.session_timeout_ms,
      rebalanceTimeout: settings.max_poll_interval_ms,
      heartbeatInterval: settings.heartbeat_interval_ms,
      maxWaitTime: settings.fetch_max_wait_ms,
      connectTimeout: settings.request_timeout_ms,
      requestTimeout: settings.request_timeout_ms,
      retryDelay: settings.retry_backoff_ms,
      ...(age && { metadataMaxAge: Number(age) }),
    });
    this.#consumer.on("consumer:heartbeat:error", ({ error: problem }) => error(problem));
  }

  // The topics are the stream's: who wants others closes it, leaves, and makes another.
  async subscribe({ topics }) {
    const reads = this.#reads;
    if (reads) {
      await this.unsubscribe();
    }
    this.#topics = topics;
    if (reads) {
      this.poll();
    }
  }

  poll() {
    if (this.#stream) {
      this.#stream.resume();
    } else if (!this.#reads) {
      this.#reads = true;
      this.#readAtLast();
    }
  }

  // consume() ends when the member has joined, and a stream that fails is over: an application asks for it again.
  async #readAtLast() {
    while (this.#reads && !this.#stream) {
      try {
        await this.#start();
      } catch (problem) {
        error(problem, "poll");
        await wait(this.#settings.retry_backoff_ms);
      }
    }
  }

  async #start() {
    const { auto_commit, auto_commit_interval_ms, auto_offset_reset } = this.#settings;
    const earliest = auto_offset_reset === "earliest";
    const stream = await this.#consumer.consume({
      topics: this.#topics,
      autocommit: auto_commit && auto_commit_interval_ms,
      mode: MessagesStreamModes.COMMITTED,
      fallbackMode: earliest ? MessagesStreamFallbackModes.EARLIEST : MessagesStreamFallbackModes.LATEST,
    });
    this.#stream = stream;
    stream.on("error", (problem) => {
      error(problem);
      if (stream === this.#stream) {
        this.#stream = undefined;
        this.#readAtLast();
      }
    });
    stream.on("data", ({ topic, partition, offset }) => {
      this.#positions.consumed(topic, partition, Number(offset));
    });
  }

  stop_polling() {
    this.#stream.pause();
  }

  async commit() {
    await this.#positions.commit((positions) =>
      this.#consumer.commit({
        offsets: positions.map((each) => ({ ...each, offset: BigInt(each.offset), leaderEpoch: 0 })),
      }),
    );
  }

  async unsubscribe() {
    await this.#endStream();
    await this.#consumer.leaveGroup();
  }

  async close() {
    await this.#endStream();
    await this.#consumer?.close();
  }

  async #endStream() {
    this.#reads = false;
    const stream = this.#stream;
    this.#stream = undefined;
    await stream?.close();
  }
}

await run("platformatic", "@platformatic/kafka", FEATURES, new Harness());
