//! What the harnesses in Rust share: commands from stdin, events to stdout, one JSON object a line, as PROTOCOL.md
//! says. `run` carries the commands out, by a `Harness`; the rest is for the harness, to say what happens.
//!
//! A thread reads stdin; when stdin ends the kit is gone, and so is this process.

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::io::{BufRead, Write, stdin, stdout};
use std::panic::Location;
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, OnceLock};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use serde_json::{Value, json};

const EXIT_UNSUPPORTED: i32 = 127;
const GRACE: Duration = Duration::from_secs(5);
/// After a poll that failed: one that always fails at once would flood the kit.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(50);

/// One of the kit's commands; each uses some of these fields.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct Command {
    pub command: String,
    pub topics: Vec<String>, // subscribe
    pub pattern: String,     // subscribe: in place of topics, if it is not empty
    pub poll_ms: u64,        // poll
    pub times: u64,
    pub topic: String, // seek
    pub partition: i32,
    pub offset: i64,
    pub partitions: Vec<Partition>, // pause, resume

    // configure
    pub bootstrap: String,
    pub group_id: String,
    pub client_id: String,
    pub rebalance: String,
    pub session_timeout_ms: u64,
    pub heartbeat_interval_ms: u64,
    pub max_poll_interval_ms: u64,
    pub request_timeout_ms: u64,
    pub retry_backoff_ms: u64,
    pub auto_commit: bool,
    pub auto_commit_interval_ms: u64,
    pub auto_offset_reset: String,
    pub fetch_max_wait_ms: u64,
    pub callback_ms: u64,
    pub more: BTreeMap<String, String>,
}

#[derive(Clone, Default, Deserialize)]
pub struct Partition {
    pub topic: String,
    pub partition: i32,
}

/// What a call of the client's returned: the error's name, and what it says.
pub struct Failure {
    pub error: String,
    pub message: String,
    /// Where the harness itself raised it, as FILE:LINE; empty if the client did.
    pub harness_line: String,
}

/// What a function of a skeleton returns until it is filled in: the kit says then what it is to do, and where it is.
#[track_caller]
pub fn to_fill_in(what: &str) -> Failure {
    let here = Location::caller();
    let file = here.file().rsplit('/').next().unwrap_or_default();
    let harness_line = format!("{file}:{}", here.line());
    Failure { error: "ToFillIn".to_string(), message: what.to_string(), harness_line }
}

/// The name is how the error's debug text begins, which for an enum is its variant.
impl<E: Debug + Display> From<E> for Failure {
    fn from(error: E) -> Self {
        let name = format!("{error:?}");
        let end = name.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(name.len());
        Failure { error: name[..end].to_string(), message: error.to_string(), harness_line: String::new() }
    }
}

pub type Outcome = Result<(), Failure>;

/// One client behind the protocol; its methods are called on the main thread.
pub trait Harness {
    /// Carry out a command other than those about polling, and close.
    fn carry_out(&mut self, command: &Command) -> Outcome;
    /// Poll once; returns topic, partition and offset of each record.
    fn poll(&mut self, timeout: Duration) -> Result<Vec<(String, i32, i64)>, Failure>;
    /// Close the client.
    fn close(&mut self) -> Outcome;
    /// Name and version of what the client wraps, such as librdkafka 2.12.1.
    fn engine(&self) -> String {
        String::new()
    }
    /// The settings of configure that the client has for good, such as json!({"auto_commit": true}).
    fn fixed(&self) -> Value {
        json!({})
    }
}

/// Run a harness until close, or the end of stdin. `not_driven`: the features that the client offers and the harness does
/// not drive.
pub fn run(client: &str, version: &str, features: &[&str], not_driven: &[&str], harness: &mut impl Harness) -> ! {
    _ = APPLICATION.set(thread::current().id()); // set here alone
    let (sender, commands) = channel();
    thread::spawn(move || read(sender));
    let offers = json!({
        "client": client, "version": version, "engine": harness.engine(), "features": features, "not_driven": not_driven,
        "fixed": harness.fixed(), "protocol": 1
    });
    say("startup_complete", offers);
    let mut poll: Option<Command> = None; // the one by which is polled
    loop {
        let Some(next) = next_of(&commands, poll.is_none()) else {
            poll = poll.and_then(|each| poll_once(harness, each));
            continue;
        };
        match next.command.as_str() {
            "close" => close_and_exit(harness),
            "poll" => poll = Some(next.clone()),
            "stop_polling" => poll = None,
            name => {
                let outcome = if name == "unsubscribe" {
                    poll = None;
                    in_a_call(|| harness.carry_out(&next))
                } else {
                    harness.carry_out(&next)
                };
                if let Err(failure) = outcome {
                    error(failure, name);
                }
            }
        }
        say("command_done", json!({"command": next.command}));
    }
}

/// Ends the process: the client does not offer what is asked for.
pub fn unsupported(what: &str) -> ! {
    eprintln!("harness: unsupported: {what}");
    exit(EXIT_UNSUPPORTED);
}

/// Waits for a command; while the application polls it only looks whether there is one.
fn next_of(commands: &Receiver<Command>, wait: bool) -> Option<Command> {
    if wait {
        Some(commands.recv().unwrap_or_else(|_| exit(1))) // stdin has ended
    } else {
        commands.try_recv().ok()
    }
}

/// Returns the command by which is polled on.
fn poll_once(harness: &mut impl Harness, mut poll: Command) -> Option<Command> {
    say("poll_started", json!({"poll_ms": poll.poll_ms}));
    let begun = Instant::now();
    let polled = in_a_call(|| harness.poll(Duration::from_millis(poll.poll_ms)));
    let elapsed_ms = begun.elapsed().as_millis() as u64;
    let failed = polled.is_err();
    let records = polled.unwrap_or_else(|failure| {
        error(failure, "poll");
        Vec::new()
    });
    if !records.is_empty() {
        say("records_consumed", json!({"count": records.len(), "partitions": ranges(&records)}));
    }
    say("poll_returned", json!({"elapsed_ms": elapsed_ms, "count": records.len()}));
    if failed {
        thread::sleep(PAUSE_AFTER_ERROR);
    }
    poll.times = match poll.times {
        0 => 0,
        1 => return None,
        left => left - 1,
    };
    Some(poll)
}

fn ranges(records: &[(String, i32, i64)]) -> Vec<Value> {
    let mut offsets: BTreeMap<(&str, i32), Vec<i64>> = BTreeMap::new();
    for (topic, partition, offset) in records {
        offsets.entry((topic, *partition)).or_default().push(*offset);
    }
    let range = |((topic, partition), offsets): ((&str, i32), Vec<i64>)| {
        json!({"topic": topic, "partition": partition, "count": offsets.len(),
               "minOffset": offsets.first(), "maxOffset": offsets.last()})
    };
    offsets.into_iter().map(range).collect()
}

fn close_and_exit(harness: &mut impl Harness) -> ! {
    say("shutdown_requested", json!({}));
    let begun = Instant::now();
    if let Err(failure) = in_a_call(|| harness.close()) {
        error(failure, "close");
    }
    say("shutdown_complete", json!({"elapsed_ms": begun.elapsed().as_millis() as u64}));
    exit(0);
}

fn read(commands: Sender<Command>) {
    for line in stdin().lock().lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(command) => _ = commands.send(command), // its receiver lives as long as the process
            Err(problem) => {
                eprintln!("harness: not a command: {problem}");
                break;
            }
        }
    }
    drop(commands);
    // The main thread may be inside a long poll, or blocked for ever; the process must not outlive the kit.
    thread::sleep(GRACE);
    exit(1);
}

// Events --------------------------------------------------------------------------------------------------------------

static OUTPUT: Mutex<()> = Mutex::new(());

/// Write one event, stamped by the kit's clock.
pub fn say(name: &str, mut event: Value) {
    let _one_at_a_time = OUTPUT.lock();
    let now = clock_gettime(ClockId::Monotonic);
    event["name"] = json!(name);
    event["at_us"] = json!(now.tv_sec * 1_000_000 + now.tv_nsec / 1_000);
    let mut out = stdout().lock();
    _ = writeln!(out, "{event}").and_then(|()| out.flush()); // without a reader the kit is gone, and stdin says so
}

/// Tell what a call returned, or what the client reported.
pub fn error(failure: Failure, call: &str) {
    let mut event = json!({"error": failure.error, "message": failure.message, "call": call});
    if !failure.harness_line.is_empty() {
        event["harness_line"] = json!(failure.harness_line);
    }
    say("error", event);
}

static APPLICATION: OnceLock<ThreadId> = OnceLock::new();
/// Whether the application is inside poll, unsubscribe or close.
static IN_A_CALL: AtomicBool = AtomicBool::new(false);

fn in_a_call<T>(call: impl FnOnce() -> T) -> T {
    IN_A_CALL.store(true, Ordering::SeqCst);
    let outcome = call();
    IN_A_CALL.store(false, Ordering::SeqCst);
    outcome
}

/// The beginning of a call of the listener; `callback_returned` tells its end.
pub fn callback(name: &str, partitions: &[(String, i32)]) {
    let plain = |(topic, number): &(String, i32)| json!({"topic": topic, "partition": number});
    let plain: Vec<Value> = partitions.iter().map(plain).collect();
    let mine = APPLICATION.get() == Some(&thread::current().id()) && IN_A_CALL.load(Ordering::SeqCst);
    say(name, json!({"partitions": plain, "application_thread": mine}));
}

pub fn callback_returned(name: &str) {
    say("callback_returned", json!({"callback": name}));
}

/// Tell the outcome of a commit: topic, partition and offset of each position.
pub fn committed(outcome: Result<Vec<(String, i32, i64)>, Failure>) {
    match outcome {
        Err(failure) => say("offsets_committed", json!({"success": false, "error": failure.message})),
        Ok(offsets) => {
            let plain = |(topic, partition, offset): &(String, i32, i64)| {
                json!({"topic": topic, "partition": partition, "offset": offset})
            };
            let plain: Vec<Value> = offsets.iter().map(plain).collect();
            say("offsets_committed", json!({"success": true, "offsets": plain}));
        }
    }
}

/// The version of a client, which cannot tell it itself: as Cargo.toml, which the harness carries, names it in the line
/// of the client's package (`acme = "1.2"`, `acme = { version = "=1.2", ... }`); of a checkout by path "unknown".
pub fn pinned(client: &str) -> &'static str {
    let lines = include_str!("Cargo.toml").lines().filter_map(|line| line.split_once('='));
    let mut of_client = lines.filter(|(name, _)| name.trim() == client).map(|(_, value)| value.trim());
    let quoted = of_client.find_map(|value| match value.split_once("version") {
        Some((_, rest)) => rest.split('"').nth(1),
        None if value.starts_with('"') => value.split('"').nth(1),
        None => None, // a feature of that name, or a path
    });
    quoted.map_or("unknown", |version| version.trim_start_matches(['=', '^', '~', ' ']))
}
