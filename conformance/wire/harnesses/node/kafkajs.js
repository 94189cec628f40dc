// The harness of kafkajs: it joins when run() is called, and hands records to a handler. It has no listener (its event
// GROUP_JOIN comes after the fact, and there is none before partitions are taken away), no cooperative assignor, and no
// max.poll.interval.

import kafkajs from "kafkajs";
import { Positions, error, run } from "./protocol.js";

const FEATURES = ["eager", "auto_commit"];

class Harness {
  #settings;
  #consumer;
  #topics;
  #running = false;
  #positions = new Positions();

  async configure(settings) {
    this.#settings = settings;
    const client = new kafkajs.Kafka({
      brokers: settings.bootstrap.split(","),
      clientId: settings.client_id,
      connectionTimeout: settings.request_timeout_ms,
      requestTimeout: settings.request_timeout_ms,
      retry: { initialRetryTime: settings.retry_backoff_ms },
      logCreator: () => ({ namespace, log }) => console.error(namespace, JSON.stringify(log)),
    });
    this.#consumer = client.consumer({
      groupId: settings.group_id,
      sessionTimeout: settings.session_timeout_ms,
      rebalanceTimeout: settings.max_poll_interval_ms,
      heartbeatInterval: settings.heartbeat_interval_ms,
      maxWaitTimeInMs: settings.fetch_max_wait_ms,
    });
    this.#consumer.on(this.#consumer.events.CRASH, ({ payload }) => error(payload.error));
    await this.#consumer.connect();
  }

  async subscribe({ topics }) {
    this.#topics = topics.map((topic) => ({ topic }));
    await this.#consumer.subscribe({ topics, fromBeginning: this.#settings.auto_offset_reset === "earliest" });
  }

  poll() {
    if (this.#running) {
      this.#consumer.resume(this.#topics);
      return;
    }
    this.#running = true;
    const started = this.#consumer.run({
      autoCommit: this.#settings.auto_commit,
      autoCommitInterval: this.#settings.auto_commit_interval_ms,
      eachMessage: async ({ topic, partition, message }) => {
        this.#positions.consumed(topic, partition, Number(message.offset));
      },
    });
    started.catch(error); // it ends when the member has joined
  }

  stop_polling() {
    this.#consumer.pause(this.#topics);
  }

  async commit() {
    await this.#positions.commit((offsets) =>
      this.#consumer.commitOffsets(offsets.map((each) => ({ ...each, offset: String(each.offset) }))),
    );
  }

  async unsubscribe() {
    await this.#consumer.stop();
  }

  async close() {
    await this.#consumer?.disconnect();
  }
}

await run("kafkajs", "kafkajs", FEATURES, new Harness());
