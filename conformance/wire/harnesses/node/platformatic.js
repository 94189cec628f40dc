// The harness of @platformatic/kafka: it joins when consume() is called, and its stream pushes records. It has no
// listener (its events tell of joining, and of nothing before partitions are taken away), no cooperative assignor, and no
// max.poll.interval.

import { setTimeout as wait } from "node:timers/promises";

import { Consumer, MessagesStreamFallbackModes, MessagesStreamModes } from "@platformatic/kafka";
import { Positions, error, run } from "./protocol.js";

const FEATURES = ["eager", "auto_commit", "static"];
const NOT_DRIVEN = ["consumer_protocol"];

class Harness {
  #settings;
  #consumer;
  #topics;
  #stream;
  #reading; // made when the application polls, dropped when it gives its topics up
  #positions = new Positions();

  configure(settings) {
    this.#settings = settings;
    const { "metadata.max.age.ms": age, "group.instance.id": groupInstanceId } = settings.more;
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
      ...(groupInstanceId && { groupInstanceId }),
    });
    this.#consumer.on("consumer:heartbeat:error", ({ error: problem }) => error(problem));
  }

  // The topics are the stream's: who wants others closes it, leaves, and makes another.
  async subscribe({ topics }) {
    const reads = this.#reading !== undefined;
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
    } else if (!this.#reading) {
      this.#reading = Symbol();
      this.#readAtLast(this.#reading);
    }
  }

  // consume() ends when the member has joined, and a stream that fails is over: an application asks for it again.
  async #readAtLast(reading) {
    while (reading === this.#reading && !this.#stream) {
      try {
        await this.#start(reading);
      } catch (problem) {
        error(problem, "poll");
        await wait(this.#settings.retry_backoff_ms);
      }
    }
  }

  async #start(reading) {
    const { auto_commit, auto_commit_interval_ms, auto_offset_reset } = this.#settings;
    const earliest = auto_offset_reset === "earliest";
    const stream = await this.#consumer.consume({
      topics: this.#topics,
      autocommit: auto_commit && auto_commit_interval_ms,
      mode: MessagesStreamModes.COMMITTED,
      fallbackMode: earliest ? MessagesStreamFallbackModes.EARLIEST : MessagesStreamFallbackModes.LATEST,
    });
    stream.on("error", (problem) => {
      error(problem);
      if (stream === this.#stream) {
        this.#stream = undefined;
        this.#readAtLast(reading);
      }
    });
    if (reading !== this.#reading) {
      await stream.close(); // the application has given these topics up while the member joined
      return;
    }
    this.#stream = stream;
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

  // A stream whose last commit fails says so when it closes, and the member has to leave all the same.
  async close() {
    try {
      await this.#endStream();
    } finally {
      await this.#consumer?.close();
    }
  }

  async #endStream() {
    this.#reading = undefined;
    const stream = this.#stream;
    this.#stream = undefined;
    await stream?.close();
  }
}

await run("platformatic", "@platformatic/kafka", FEATURES, new Harness(), NOT_DRIVEN);
