// What the harnesses in JavaScript share: commands from stdin, events to stdout, one JSON object a line, as PROTOCOL.md
// says. When stdin ends the kit is gone, and so is this process: by a signal, since exit() waits for the threads of a
// client in native code, which may wait for a broker for ever.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const EXIT_CRASHED = 1;
const EXIT_UNSUPPORTED = 127;
const GRACE_MS = 5_000;

// stdout belongs to the protocol.
console.log = console.info = console.debug = console.error;

// What ends the process comes last on stderr, of which the kit shows the end: Node itself would write it above the stack.
process.on("uncaughtException", (problem) => {
  console.error(problem);
  console.error(`harness: crashed: ${problem?.name ?? "Error"}: ${problem?.message ?? problem}`);
  process.exit(EXIT_CRASHED);
});

/** Write one event, stamped by the kit's clock. */
export function say(name, fields = {}) {
  const at_us = Number(process.hrtime.bigint() / 1000n);
  process.stdout.write(`${JSON.stringify({ name, at_us, ...fields })}\n`);
}

/** Tell what a call threw, or what the client reported. */
export function error(problem, call = "") {
  const told = { error: problem.name ?? "Error", message: String(problem.message ?? problem).slice(0, 500), call };
  if (problem instanceof ToFillIn) {
    told.harness_line = problem.line;
  } else {
    console.error(problem);
  }
  say("error", told);
}

/** What a method of a skeleton throws until it is filled in: the kit says then what it is to do, and where it stands. */
export class ToFillIn extends Error {
  name = "ToFillIn";

  /** The line that made it, as FILE:LINE. */
  get line() {
    return /([^/\\\s(]+:\d+):\d+\)?$/m.exec(this.stack)?.[1] ?? "";
  }
}

let callbacks = Promise.resolve();

/**
 * A call of the listener (partitions_assigned, partitions_revoked, partitions_lost): it says so, takes as long as the kit
 * wants it to take, and says that it returns; never two at once.
 */
export function callback(name, partitions, callback_ms) {
  callbacks = callbacks.then(async () => {
    say(name, { partitions });
    await new Promise((returned) => setTimeout(returned, callback_ms));
    say("callback_returned", { callback: name });
  });
  return callbacks;
}

/** The records that the application was handed: what it would commit of each partition. */
export class Positions {
  #next = new Map();

  /** Tell one record. */
  consumed(topic, partition, offset) {
    const range = { topic, partition, count: 1, minOffset: offset, maxOffset: offset };
    say("records_consumed", { count: 1, partitions: [range] });
    this.#next.set(`${topic} ${partition}`, { topic, partition, offset: offset + 1 });
  }

  /** Commit them by a function that takes them, and tell how it ended. */
  async commit(by) {
    const offsets = [...this.#next.values()];
    try {
      await by(offsets);
      say("offsets_committed", { success: true, offsets });
    } catch (problem) {
      if (problem instanceof ToFillIn) {
        throw problem;
      }
      say("offsets_committed", { success: false, error: String(problem.message ?? problem).slice(0, 500) });
    }
  }
}

/**
 * Carry out the kit's commands, one at a time, by the methods of a harness: configure, subscribe, poll, stop_polling,
 * commit, unsubscribe and close. `client` is the name of its package in npm; `notDriven` are the features that the client
 * offers and the harness does not drive. Its `fixed`, if there is one, are the settings of configure that the client has
 * for good; its `engine` is the name and version of what the client wraps.
 */
export async function run(name, client, features, harness, notDriven = []) {
  // The main loop may wait for the client for ever; the process must not outlive the kit.
  process.stdin.once("end", () => setTimeout(end, GRACE_MS));
  const { engine = "", fixed = {} } = harness;
  const offers = { features, not_driven: notDriven, fixed };
  say("startup_complete", { client: name, version: versionOf(client), engine, ...offers, protocol: 1 });
  for await (const line of createInterface({ input: process.stdin })) {
    const { command, ...settings } = JSON.parse(line);
    if (command === "close") {
      await close(harness);
    }
    if (harness[command] === undefined) {
      console.error(`harness: unsupported: the command ${command}`);
      process.exit(EXIT_UNSUPPORTED);
    }
    try {
      await harness[command](settings);
    } catch (problem) {
      error(problem, command);
    }
    say("command_done", { command });
  }
  end();
}

function end() {
  process.kill(process.pid, "SIGKILL");
}

function versionOf(client) {
  try {
    return createRequire(import.meta.url)(`./node_modules/${client}/package.json`).version;
  } catch {
    return "unknown"; // it is not installed by npm
  }
}

async function close(harness) {
  say("shutdown_requested");
  const begun = performance.now();
  try {
    await harness.close();
  } catch (problem) {
    error(problem, "close");
  }
  say("shutdown_complete", { elapsed_ms: Math.round(performance.now() - begun) });
  process.exit(0);
}
