import com.google.gson.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.GroupProtocol;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.AppInfoParser;

/**
 * The harness of Kafka's own Java client: with the classic group protocol (KafkaConsumer over ClassicKafkaConsumer) as
 * "java", and, started with the argument "consumer", with that of KIP-848 (over AsyncKafkaConsumer) as "java-async".
 *
 * The client calls the listener on the application's thread, inside poll, unsubscribe and close.
 */
public final class Harness implements Protocol.Client {
    private static final List<String> CLASSIC = List.of("eager", "cooperative");
    private static final List<String> KIP_848 = List.of("consumer_protocol");
    private static final List<String> EITHER = List.of(
            "listener", "lost_callback", "listener_in_poll", "join_needs_poll", "pull", "poll_interval", "auto_commit",
            "static", "seek", "pause", "wakeup", "callback_commit", "pattern", "raising_listener",
            "close_timeout", "callback_seek", "max_poll_records", "seek_to_beginning", "assign");
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private final GroupProtocol protocol;
    private KafkaConsumer<byte[], byte[]> consumer;

    private Harness(GroupProtocol protocol) {
        this.protocol = protocol;
    }

    public static void main(String[] arguments) {
        GroupProtocol protocol = GroupProtocol.of(arguments.length == 0 ? "classic" : arguments[0]);
        boolean classic = protocol == GroupProtocol.CLASSIC;
        List<String> features = new ArrayList<>(classic ? CLASSIC : KIP_848);
        features.addAll(EITHER);
        Protocol.run(classic ? "java" : "java-async", AppInfoParser.getVersion(), features, List.of(), new Harness(protocol));
    }

    @Override
    public void configure(JsonObject settings) {
        Properties config = new Properties();
        config.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, protocol.name());
        config.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        config.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        Map<String, String> names = new HashMap<>();
        names.put("bootstrap", ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG);
        names.put("group_id", ConsumerConfig.GROUP_ID_CONFIG);
        names.put("client_id", ConsumerConfig.CLIENT_ID_CONFIG);
        names.put("max_poll_interval_ms", ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG);
        names.put("request_timeout_ms", ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG);
        names.put("retry_backoff_ms", ConsumerConfig.RETRY_BACKOFF_MS_CONFIG);
        names.put("auto_commit", ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG);
        names.put("auto_commit_interval_ms", ConsumerConfig.AUTO_COMMIT_INTERVAL_MS_CONFIG);
        names.put("auto_offset_reset", ConsumerConfig.AUTO_OFFSET_RESET_CONFIG);
        names.put("fetch_max_wait_ms", ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG);
        if (protocol == GroupProtocol.CLASSIC) { // in the other it is the broker that has these, and sets them
            boolean cooperative = settings.get("rebalance").getAsString().equals("cooperative");
            config.put(ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG,
                    (cooperative ? CooperativeStickyAssignor.class : RangeAssignor.class).getName());
            names.put("session_timeout_ms", ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG);
            names.put("heartbeat_interval_ms", ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG);
        }
        names.forEach((field, key) -> config.put(key, settings.get(field).getAsString()));
        settings.getAsJsonObject("more").entrySet().forEach(
                one -> config.put(one.getKey(), one.getValue().getAsString()));
        consumer = new KafkaConsumer<>(config);
    }

    @Override
    public void subscribe(List<String> topics) {
        consumer.subscribe(topics, listener());
    }

    @Override
    public void subscribeToPattern(String pattern) {
        consumer.subscribe(Pattern.compile(pattern), listener());
    }

    @Override
    public void assign(List<Protocol.Partition> partitions) {
        consumer.assign(partitions.stream().map(Harness::named).toList());
    }

    private ConsumerRebalanceListener listener() {
        return new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                callback("partitions_assigned", partitions);
            }

            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                callback("partitions_revoked", partitions);
            }

            @Override
            public void onPartitionsLost(Collection<TopicPartition> partitions) {
                callback("partitions_lost", partitions);
            }
        };
    }

    @Override
    public List<Protocol.Range> poll(Duration timeout) {
        ConsumerRecords<byte[], byte[]> records = consumer.poll(timeout);
        List<Protocol.Range> ranges = new ArrayList<>();
        for (TopicPartition partition : records.partitions()) {
            List<ConsumerRecord<byte[], byte[]>> batch = records.records(partition);
            long first = batch.get(0).offset();
            long last = batch.get(batch.size() - 1).offset();
            ranges.add(new Protocol.Range(partition.topic(), partition.partition(), batch.size(), first, last));
        }
        return ranges;
    }

    @Override
    public List<Protocol.Position> commit() {
        Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
        for (TopicPartition partition : consumer.assignment()) {
            positions.put(partition, new OffsetAndMetadata(consumer.position(partition)));
        }
        consumer.commitSync(positions);
        List<Protocol.Position> committed = new ArrayList<>();
        positions.forEach((partition, position) ->
                committed.add(new Protocol.Position(partition.topic(), partition.partition(), position.offset())));
        return committed;
    }

    @Override
    public void unsubscribe() {
        consumer.unsubscribe();
    }

    @Override
    public void close() {
        close(CLOSE_TIMEOUT);
    }

    @Override
    @SuppressWarnings("deprecation") // close(CloseOptions) is newer than 3.9
    public void close(Duration timeout) {
        if (consumer != null) {
            consumer.close(timeout);
        }
    }

    @Override
    public void seek(Protocol.Partition partition, long offset) {
        if (offset == Protocol.BEGINNING) {
            consumer.seekToBeginning(List.of(named(partition)));
        } else {
            consumer.seek(named(partition), offset);
        }
    }

    @Override
    public void pause(List<Protocol.Partition> partitions) {
        consumer.pause(partitions.stream().map(Harness::named).toList());
    }

    @Override
    public void resume(List<Protocol.Partition> partitions) {
        consumer.resume(partitions.stream().map(Harness::named).toList());
    }

    @Override
    public void wakeup() {
        consumer.wakeup();
    }

    @Override
    public boolean isWoken(Exception problem) {
        return problem instanceof WakeupException;
    }

    private static TopicPartition named(Protocol.Partition partition) {
        return new TopicPartition(partition.topic(), partition.partition());
    }

    private void callback(String name, Collection<TopicPartition> partitions) {
        Protocol.callback(name, plain(partitions), plain(consumer.assignment()));
    }

    private static List<Protocol.Partition> plain(Collection<TopicPartition> partitions) {
        return partitions.stream().map(each -> new Protocol.Partition(each.topic(), each.partition())).toList();
    }
}
