// The harness of kafkajs: it joins when run() is called, and hands records to a handler. It has no listener (its event
// GROUP_JOIN comes after the fact, and there is none before partitions are taken away), no cooperative assignor, and no
// max.poll.interval.

import { setTimeout as wait } from "node:timers/promises";

import kafkajs from "kafkajs";
import { Positions, error, run } from "./protocol.js";

const FEATURES = ["eager", "auto_commit"];
const NOT_DRIVEN = ["seek", "pause"];

class Harness {
  #settings;
  #consumer;
  #topics;
  #subscribed;
  #running = false;
  #positions = new Positions();

  async configure(settings) {
    this.#settings = settings;
    await this.#connect();
  }

  async #connect() {
    const settings = this.#settings;
    const age = settings.more["metadata.max.age.ms"];
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
      ...(age && { metadataMaxAge: Number(age) }),
    });
    this.#consumer.on(this.#consumer.events.CRASH, ({ payload }) => this.#crashed(payload));
    await this.#consumer.connect();
  }

  // Topics come only to a consumer that does not run, and are never dropped: who wants others makes another consumer.
  async subscribe({ topics }) {
    const runs = this.#running;
    if (this.#topics) {
      await this.#consumer.disconnect();
      await this.#connect();
    }
    this.#topics = topics.map((topic) => ({ topic }));
    const fromBeginning = this.#settings.auto_offset_reset === "earliest";
    this.#subscribed = this.#subscribeAtLast(this.#consumer, { topics, fromBeginning });
    if (runs) {
      this.#run();
    }
  }

  // subscribe() asks for metadata, and fails if that fails.
  async #subscribeAtLast(consumer, subscription) {
    while (consumer === this.#consumer) {
      try {
        return await consumer.subscribe(subscription);
      } catch (failure) {
        error(failure);
        await wait(this.#settings.retry_backoff_ms);
      }
    }
  }

  poll() {
    if (this.#running) {
      this.#consumer.resume(this.#topics);
    } else {
      this.#run();
    }
  }

  #run() {
    this.#running = true;
    this.#consume(this.#consumer).catch(error); // it ends when the member has joined
  }

  async #consume(consumer) {
    await this.#subscribed;
    await consumer.run({
      autoCommit: this.#settings.auto_commit,
      autoCommitInterval: this.#settings.auto_commit_interval_ms,
      eachMessage: async ({ topic, partition, message }) => {
        this.#positions.consumed(topic, partition, Number(message.offset));
      },
    });
  }

  // A consumer starts again by itself after what passes; after the rest it is the application's turn.
  async #crashed({ error: failure, restart }) {
    error(failure);
    if (!restart) {
      await wait(this.#settings.retry_backoff_ms);
      if (this.#running) {
        this.#run();
      }
    }
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
    this.#running = false;
  }

  async close() {
    await this.#consumer?.disconnect();
  }
}

await run("kafkajs", "kafkajs", FEATURES, new Harness(), NOT_DRIVEN);
