//! The harness of krafka: a client in Rust alone, asynchronous, and polled; it awaits its listener inside poll,
//! unsubscribe and close. It has no setting for the retry backoff.

use std::time::Duration;

use krafka::Kafka;
use krafka::consumer::{
    AutoOffsetReset, Consumer, ConsumerRebalanceListener, PartitionAssignmentStrategy, TopicPartition,
};
use harness_protocol::{Command, Failure, Harness, Outcome};
use tokio::runtime::Runtime;

const FEATURES: &[&str] = &[
    "eager", "cooperative", "listener", "lost_callback", "listener_in_poll", "join_needs_poll", "pull",
    "poll_interval", "auto_commit",
];
const NOT_DRIVEN: &[&str] = &["static", "seek", "pause", "wakeup"];
const CLOSED: &str = "there is no consumer: configure comes first";

struct Krafka {
    runtime: Runtime,
    consumer: Option<Consumer>,
}

struct Listener {
    callback: Duration,
}

fn main() {
    let runtime = Runtime::new().expect("threads for the client");
    let mut harness = Krafka { runtime, consumer: None };
    harness_protocol::run("krafka", harness_protocol::pinned("krafka"), FEATURES, NOT_DRIVEN, &mut harness);
}

// Commands ------------------------------------------------------------------------------------------------------------

impl Harness for Krafka {
    fn carry_out(&mut self, command: &Command) -> Outcome {
        match command.command.as_str() {
            "configure" => self.consumer = Some(self.runtime.block_on(consumer(command))?),
            "subscribe" => self.runtime.block_on(self.consumer()?.subscribe(&command.topics))?,
            "commit" => harness_protocol::committed(self.runtime.block_on(commit(self.consumer()?))),
            "unsubscribe" => self.runtime.block_on(self.consumer()?.unsubscribe())?,
            other => harness_protocol::unsupported(&format!("the command {other}")),
        }
        Ok(())
    }

    fn poll(&mut self, timeout: Duration) -> Result<Vec<(String, i32, i64)>, Failure> {
        let records = self.runtime.block_on(self.consumer()?.poll(timeout))?;
        Ok(records.iter().map(|each| (each.topic.to_string(), each.partition, each.offset)).collect())
    }

    fn close(&mut self) -> Outcome {
        match &self.consumer {
            Some(consumer) => Ok(self.runtime.block_on(consumer.close())?),
            None => Ok(()),
        }
    }
}

impl Krafka {
    fn consumer(&self) -> Result<&Consumer, Failure> {
        self.consumer.as_ref().ok_or_else(|| Failure::from(CLOSED))
    }
}

async fn consumer(settings: &Command) -> Result<Consumer, Failure> {
    let ms = Duration::from_millis;
    let mut kafka = Kafka::builder(settings.bootstrap.as_str())
        .client_id(settings.client_id.as_str())
        .request_timeout(ms(settings.request_timeout_ms))
        .connect_timeout(ms(settings.request_timeout_ms));
    if let Some(age) = settings.more.get("metadata.max.age.ms") {
        kafka = kafka.metadata_max_age(ms(age.parse()?));
    }
    let cooperative = settings.rebalance == "cooperative";
    let earliest = settings.auto_offset_reset == "earliest";
    let listener = Listener { callback: ms(settings.callback_ms) };
    let mut builder = kafka
        .connect()
        .await?
        .consumer(settings.group_id.as_str())
        .partition_assignment_strategy(if cooperative {
            PartitionAssignmentStrategy::CooperativeSticky
        } else {
            PartitionAssignmentStrategy::Range
        })
        .session_timeout(ms(settings.session_timeout_ms))
        .heartbeat_interval(ms(settings.heartbeat_interval_ms))
        .max_poll_interval(ms(settings.max_poll_interval_ms))
        .enable_auto_commit(settings.auto_commit)
        .auto_commit_interval(ms(settings.auto_commit_interval_ms))
        .auto_offset_reset(if earliest { AutoOffsetReset::Earliest } else { AutoOffsetReset::Latest })
        .fetch_max_wait(ms(settings.fetch_max_wait_ms))
        .rebalance_listener(listener);
    if let Some(instance) = settings.more.get("group.instance.id") {
        builder = builder.group_instance_id(instance.as_str());
    }
    Ok(builder.build().await?)
}

async fn commit(consumer: &Consumer) -> Result<Vec<(String, i32, i64)>, Failure> {
    consumer.commit().await?;
    let mut positions = Vec::new();
    for (topic, partitions) in consumer.assignment().await {
        for number in partitions {
            if let Some(offset) = consumer.position(&topic, number).await {
                positions.push((topic.clone(), number, offset));
            }
        }
    }
    Ok(positions)
}

// What the client does ------------------------------------------------------------------------------------------------

impl ConsumerRebalanceListener for Listener {
    async fn on_partitions_assigned(&self, partitions: &[TopicPartition]) {
        self.called("partitions_assigned", partitions).await;
    }

    async fn on_partitions_revoked(&self, partitions: &[TopicPartition]) {
        self.called("partitions_revoked", partitions).await;
    }

    async fn on_partitions_lost(&self, partitions: &[TopicPartition]) {
        self.called("partitions_lost", partitions).await;
    }
}

impl Listener {
    async fn called(&self, name: &str, partitions: &[TopicPartition]) {
        let plain: Vec<_> = partitions.iter().map(|each| (each.topic.clone(), each.partition)).collect();
        harness_protocol::callback(name, &plain);
        tokio::time::sleep(self.callback).await;
        harness_protocol::callback_returned(name);
    }
}
