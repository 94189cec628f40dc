//! The harness of rdkafka, the binding of librdkafka for Rust: BaseConsumer, which is polled.
//!
//! librdkafka joins in the background as soon as it is subscribed; its rebalance events are served by poll, and by the
//! end of the consumer, which closes it. There is one callback for revoked and lost partitions, and in it
//! assignment_lost() says which they are.

use std::thread;
use std::time::{Duration, Instant};

use harness_protocol::{Command, Failure, Harness, Outcome};
use rdkafka::client::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::KafkaError;
use rdkafka::message::Message;
use rdkafka::topic_partition_list::TopicPartitionList;
use rdkafka::util::get_rdkafka_version;

const FEATURES: &[&str] = &[
    "eager", "cooperative", "listener", "lost_callback", "listener_in_poll", "pull", "poll_interval", "auto_commit",
];
const NOT_DRIVEN: &[&str] = &["consumer_protocol", "static", "seek", "pause", "callback_commit", "pattern"];
const NO_CONSUMER: &str = "there is no consumer: configure comes first";
const REVOKED_WITHIN: Duration = Duration::from_secs(5);

struct Rdkafka {
    consumer: Option<BaseConsumer<Listener>>,
}

struct Listener {
    callback: Duration,
}

fn main() {
    let version = harness_protocol::pinned("rdkafka");
    harness_protocol::run("rdkafka", version, FEATURES, NOT_DRIVEN, &mut Rdkafka { consumer: None });
}

// Commands ------------------------------------------------------------------------------------------------------------

impl Harness for Rdkafka {
    fn engine(&self) -> String {
        format!("librdkafka {}", get_rdkafka_version().1)
    }

    fn carry_out(&mut self, command: &Command) -> Outcome {
        match command.command.as_str() {
            "configure" => self.consumer = Some(consumer(command)?),
            "subscribe" => {
                let topics: Vec<&str> = command.topics.iter().map(String::as_str).collect();
                self.consumer()?.subscribe(&topics)?;
            }
            "commit" => harness_protocol::committed(commit(self.consumer()?)),
            "unsubscribe" => unsubscribe(self.consumer()?)?,
            other => harness_protocol::unsupported(&format!("the command {other}")),
        }
        Ok(())
    }

    fn poll(&mut self, timeout: Duration) -> Result<Vec<(String, i32, i64)>, Failure> {
        match self.consumer()?.poll(timeout) {
            None => Ok(Vec::new()),
            Some(polled) => {
                let message = polled?;
                Ok(vec![(message.topic().to_string(), message.partition(), message.offset())])
            }
        }
    }

    fn close(&mut self) -> Outcome {
        drop(self.consumer.take());
        Ok(())
    }
}

impl Rdkafka {
    fn consumer(&self) -> Result<&BaseConsumer<Listener>, Failure> {
        self.consumer.as_ref().ok_or_else(|| Failure::from(NO_CONSUMER))
    }
}

fn consumer(settings: &Command) -> Result<BaseConsumer<Listener>, Failure> {
    if settings.max_poll_interval_ms < settings.session_timeout_ms {
        harness_protocol::unsupported("max.poll.interval.ms below session.timeout.ms");
    }
    let cooperative = settings.rebalance == "cooperative";
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", &settings.bootstrap)
        .set("group.id", &settings.group_id)
        .set("client.id", &settings.client_id)
        .set("partition.assignment.strategy", if cooperative { "cooperative-sticky" } else { "range" })
        .set("session.timeout.ms", settings.session_timeout_ms.to_string())
        .set("heartbeat.interval.ms", settings.heartbeat_interval_ms.to_string())
        .set("max.poll.interval.ms", settings.max_poll_interval_ms.to_string())
        .set("socket.timeout.ms", settings.request_timeout_ms.to_string())
        .set("retry.backoff.ms", settings.retry_backoff_ms.to_string())
        .set("enable.auto.commit", settings.auto_commit.to_string())
        .set("auto.commit.interval.ms", settings.auto_commit_interval_ms.to_string())
        .set("auto.offset.reset", &settings.auto_offset_reset)
        .set("fetch.wait.max.ms", settings.fetch_max_wait_ms.to_string());
    for (name, value) in &settings.more {
        let known = if name == "metadata.max.age.ms" { "topic.metadata.refresh.interval.ms" } else { name };
        config.set(known, value);
    }
    let listener = Listener { callback: Duration::from_millis(settings.callback_ms) };
    Ok(config.create_with_context(listener)?)
}

fn commit(consumer: &BaseConsumer<Listener>) -> Result<Vec<(String, i32, i64)>, Failure> {
    consumer.commit_consumer_state(CommitMode::Sync)?;
    let positions = consumer.position()?;
    let plain = |each: &rdkafka::topic_partition_list::TopicPartitionListElem<'_>| {
        Some((each.topic().to_string(), each.partition(), each.offset().to_raw()?))
    };
    Ok(positions.elements().iter().filter_map(plain).collect())
}

/// It only begins there: the revocation is an event, which poll serves.
fn unsubscribe(consumer: &BaseConsumer<Listener>) -> Outcome {
    consumer.unsubscribe();
    let begun = Instant::now();
    while consumer.assignment()?.count() > 0 && begun.elapsed() < REVOKED_WITHIN {
        if let Some(Err(problem)) = consumer.poll(Duration::from_millis(10)) {
            return Err(problem.into());
        }
    }
    Ok(())
}

// What the client does ------------------------------------------------------------------------------------------------

impl ClientContext for Listener {
    fn error(&self, error: KafkaError, reason: &str) {
        let failure = Failure { message: format!("{error}: {reason}"), ..Failure::from(error) };
        harness_protocol::error(failure, "");
    }
}

impl ConsumerContext for Listener {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        match rebalance {
            Rebalance::Assign(partitions) => self.called("partitions_assigned", partitions),
            Rebalance::Revoke(partitions) if consumer.assignment_lost() => self.called("partitions_lost", partitions),
            Rebalance::Revoke(partitions) => self.called("partitions_revoked", partitions),
            Rebalance::Error(problem) => harness_protocol::error(Failure::from(problem), ""),
        }
    }
}

impl Listener {
    fn called(&self, name: &str, partitions: &TopicPartitionList) {
        let plain: Vec<_> =
            partitions.elements().iter().map(|each| (each.topic().to_string(), each.partition())).collect();
        harness_protocol::callback(name, &plain);
        thread::sleep(self.callback);
        harness_protocol::callback_returned(name);
    }
}
