// The types of protocol.js. What each command, setting, event and feature means is in PROTOCOL.md.

export type Feature =
  | "eager"
  | "cooperative"
  | "consumer_protocol"
  | "listener"
  | "lost_callback"
  | "listener_in_poll"
  | "join_needs_poll"
  | "pull"
  | "poll_interval"
  | "auto_commit"
  | "static"
  | "seek"
  | "pause"
  | "wakeup"
  | "callback_commit"
  | "pattern"
  | "raising_listener"
  | "close_timeout"
  | "callback_seek"
  | "max_poll_records"
  | "seek_to_beginning"
  | "assign";

/** What configure says, besides what it is called. */
export interface Settings {
  /** Addresses, with commas between. */
  bootstrap: string;
  group_id: string;
  client_id: string;
  rebalance: "eager" | "cooperative";
  session_timeout_ms: number;
  heartbeat_interval_ms: number;
  max_poll_interval_ms: number;
  request_timeout_ms: number;
  retry_backoff_ms: number;
  auto_commit: boolean;
  auto_commit_interval_ms: number;
  auto_offset_reset: "earliest" | "latest";
  fetch_max_wait_ms: number;
  callback_ms: number;
  /** By the names of Kafka's consumer. */
  more: Record<string, string>;
  /** What a callback does when it has waited, by its name; only for clients with such a feature. */
  in_callback: Record<string, "commit" | "seek" | "pause" | "raise">;
}

export interface Partition {
  topic: string;
  partition: number;
}

export interface Position extends Partition {
  offset: number;
}

/** A client behind the protocol. A command whose method is left out is UNSUPPORTED. */
export interface Client {
  /** Name and version of what the client wraps, such as "librdkafka 2.12.1". */
  engine?: string;
  /** The settings of configure that the client has for good, such as { auto_commit: true }. */
  fixed?: Record<string, boolean | number | string>;
  configure(settings: Settings): void | Promise<void>;
  /** `pattern`, where it is not empty, in place of the topics; a second call replaces the first one's. */
  subscribe(command: { topics: string[]; pattern?: string }): void | Promise<void>;
  poll(command: { poll_ms: number; times: number }): void | Promise<void>;
  stop_polling?(): void | Promise<void>;
  commit?(): void | Promise<void>;
  unsubscribe?(): void | Promise<void>;
  seek?(command: Position): void | Promise<void>;
  pause?(command: { partitions: Partition[] }): void | Promise<void>;
  resume?(command: { partitions: Partition[] }): void | Promise<void>;
  close(): void | Promise<void>;
}

export function say(name: string, fields?: Record<string, unknown>): void;
export function error(problem: unknown, call?: string): void;
export function callback(
  name: "partitions_assigned" | "partitions_revoked" | "partitions_lost",
  partitions: Partition[],
  callback_ms: number,
): Promise<void>;
/**
 * `client` is the name of its package in npm; `notDriven` are the features that the client offers and the harness does
 * not drive.
 */
export function run(
  name: string,
  client: string,
  features: Feature[],
  harness: Client,
  notDriven?: Feature[],
): Promise<void>;

export class Positions {
  consumed(topic: string, partition: number, offset: number): void;
  commit(by: (offsets: Position[]) => void | Promise<void>): Promise<void>;
}

export class ToFillIn extends Error {}
