// The harness of @platformatic/kafka: it joins when consume() is called, and its stream pushes records. It has no
// listener (its events tell of joining, and of nothing before partitions are taken away), no cooperative assignor, and no
// max.poll.interval.

import { Consumer, MessagesStreamFallbackModes, MessagesStreamModes } from "@platformatic/kafka";
import { Positions, error, run } from "./protocol.js";

const FEATURES = ["eager", "auto_commit"];

class Harness {
  #settings;
  #consumer;
  #topics;
  #stream;
  #positions = new Positions();

  configure(settings) {
    this.#settings = settings;
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
    });
    this.#consumer.on("consumer:heartbeat:error", ({ error: problem }) => error(problem));
  }

  subscribe({ topics }) {
    this.#topics = topics;
  }

  poll() {
    if (this.#stream) {
      this.#stream.resume();
      return;
    }
    // It is there when the member has joined.
    this.#start().catch((problem) => error(problem, "poll"));
  }

  async #start() {
    const { auto_commit, auto_commit_interval_ms, auto_offset_reset } = this.#settings;
    const earliest = auto_offset_reset === "earliest";
    this.#stream = await this.#consumer.consume({
      topics: this.#topics,
      autocommit: auto_commit && auto_commit_interval_ms,
      mode: MessagesStreamModes.COMMITTED,
      fallbackMode: earliest ? MessagesStreamFallbackModes.EARLIEST : MessagesStreamFallbackModes.LATEST,
    });
    this.#stream.on("error", error);
    this.#stream.on("data", ({ topic, partition, offset }) => {
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
    await this.#stream.close();
    await this.#consumer.leaveGroup();
  }

  async close() {
    await this.#stream?.close();
    await this.#consumer?.close();
  }
}

await run("platformatic", "@platformatic/kafka", FEATURES, new Harness());
