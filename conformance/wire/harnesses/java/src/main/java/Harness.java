import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.AppInfoParser;

/**
 * The harness of Kafka's own Java client, with the classic group protocol (KafkaConsumer over ClassicKafkaConsumer).
 *
 * One JSON object a line: commands on stdin, events on stdout; PROTOCOL.md says what each means. The main thread is the
 * application's: it polls and carries out commands, one at a time, and the client calls the listener on it, so that nothing
 * here needs a lock but stdout. A second thread reads stdin; when stdin ends the kit is gone, and so is this process.
 */
public final class Harness {
    private static final List<String> FEATURES = List.of(
            "eager", "cooperative", "listener", "lost_callback", "listener_in_poll", "join_needs_poll", "pull",
            "poll_interval", "auto_commit");
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);
    private static final long GRACE_MS = 5_000;
    /** In the queue of commands: stdin has ended. */
    private static final JsonObject END = new JsonObject();

    // What goes to stdout that is no event would break the protocol: whoever prints, prints to stderr.
    private static final PrintStream EVENTS = System.out;
    private static final Gson GSON = new Gson();

    private final BlockingQueue<JsonObject> commands = new LinkedBlockingQueue<>();
    private final Thread application = Thread.currentThread();
    private KafkaConsumer<byte[], byte[]> consumer;
    private long callbackMs;
    /** The call of the application's that is under way: "poll", "close", ...; "" between two calls. */
    private String call = "";
    private boolean polling;
    private long pollMs;
    private long pollsLeft;

    public static void main(String[] arguments) throws InterruptedException {
        System.setOut(System.err);
        System.exit(new Harness().run());
    }

    private int run() throws InterruptedException {
        Thread reader = new Thread(this::readCommands, "commands");
        reader.setDaemon(true);
        reader.start();
        new Event("startup_complete").with("client", "java").with("version", AppInfoParser.getVersion())
                .with("features", FEATURES).with("protocol", 1).say();
        while (true) {
            JsonObject command = polling ? commands.poll() : commands.take();
            if (command == null) {
                pollOnce();
            } else if (command == END) {
                return 1;
            } else if (command.get("command").getAsString().equals("close")) {
                close();
                return 0;
            } else {
                carryOut(command);
            }
        }
    }

    private void readCommands() {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                commands.add(JsonParser.parseString(line).getAsJsonObject());
            }
        } catch (Exception problem) {
            System.err.println("harness: not a command: " + problem);
        }
        commands.add(END);
        try {
            // The main thread may be inside a long poll, or blocked for ever; the process must not outlive the kit.
            Thread.sleep(GRACE_MS);
        } catch (InterruptedException ignored) {
            // nobody interrupts this thread; if someone does, end at once
        }
        Runtime.getRuntime().halt(1);
    }

    // Commands -------------------------------------------------------------------------------------------------------

    private void carryOut(JsonObject command) {
        String name = command.get("command").getAsString();
        call = name;
        try {
            switch (name) {
                case "configure" -> configure(command);
                case "subscribe" -> subscribe(command);
                case "poll" -> {
                    polling = true;
                    pollMs = command.get("poll_ms").getAsLong();
                    pollsLeft = command.has("times") ? command.get("times").getAsLong() : 0;
                }
                case "stop_polling" -> polling = false;
                case "commit" -> commit();
                case "unsubscribe" -> {
                    polling = false;
                    consumer.unsubscribe();
                }
                default -> {
                    System.err.println("harness: unsupported: the command " + name);
                    System.exit(127);
                }
            }
        } catch (Exception problem) {
            error(problem);
        }
        call = "";
        new Event("command_done").with("command", name).say();
    }

    private void configure(JsonObject settings) {
        boolean cooperative = settings.get("rebalance").getAsString().equals("cooperative");
        callbackMs = settings.get("callback_ms").getAsLong();
        Properties config = new Properties();
        config.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, "classic");
        config.put(ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG,
                (cooperative ? CooperativeStickyAssignor.class : RangeAssignor.class).getName());
        config.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        config.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        Map<String, String> names = new HashMap<>();
        names.put("bootstrap", ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG);
        names.put("group_id", ConsumerConfig.GROUP_ID_CONFIG);
        names.put("client_id", ConsumerConfig.CLIENT_ID_CONFIG);
        names.put("session_timeout_ms", ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG);
        names.put("heartbeat_interval_ms", ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG);
        names.put("max_poll_interval_ms", ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG);
        names.put("request_timeout_ms", ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG);
        names.put("retry_backoff_ms", ConsumerConfig.RETRY_BACKOFF_MS_CONFIG);
        names.put("auto_commit", ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG);
        names.put("auto_commit_interval_ms", ConsumerConfig.AUTO_COMMIT_INTERVAL_MS_CONFIG);
        names.put("auto_offset_reset", ConsumerConfig.AUTO_OFFSET_RESET_CONFIG);
        names.put("fetch_max_wait_ms", ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG);
        names.forEach((field, key) -> config.put(key, settings.get(field).getAsString()));
        settings.getAsJsonObject("more").entrySet().forEach(
                one -> config.put(one.getKey(), one.getValue().getAsString()));
        consumer = new KafkaConsumer<>(config);
    }

    private void subscribe(JsonObject command) {
        List<String> topics = new ArrayList<>();
        command.getAsJsonArray("topics").forEach(topic -> topics.add(topic.getAsString()));
        consumer.subscribe(topics, new ConsumerRebalanceListener() {
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
        });
    }

    private void pollOnce() {
        call = "poll";
        new Event("poll_started").with("poll_ms", pollMs).say();
        long begun = System.nanoTime();
        ConsumerRecords<byte[], byte[]> records = ConsumerRecords.empty();
        try {
            records = consumer.poll(Duration.ofMillis(pollMs));
        } catch (Exception problem) {
            error(problem);
        }
        long elapsedMs = millisecondsSince(begun);
        call = "";
        if (!records.isEmpty()) {
            new Event("records_consumed").with("count", records.count()).with("partitions", ranges(records)).say();
        }
        new Event("poll_returned").with("elapsed_ms", elapsedMs).with("count", records.count()).say();
        pollsLeft -= 1;
        if (pollsLeft == 0) {
            polling = false;
        }
    }

    private void commit() {
        Event outcome = new Event("offsets_committed");
        try {
            Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
            for (TopicPartition partition : consumer.assignment()) {
                positions.put(partition, new OffsetAndMetadata(consumer.position(partition)));
            }
            consumer.commitSync(positions);
            JsonArray offsets = new JsonArray();
            positions.forEach((partition, position) -> {
                JsonObject offset = plain(partition);
                offset.addProperty("offset", position.offset());
                offsets.add(offset);
            });
            outcome.with("success", true).with("offsets", offsets);
        } catch (Exception problem) {
            outcome.with("success", false).with("error", problem.toString());
        }
        outcome.say();
    }

    @SuppressWarnings("deprecation") // close(CloseOptions) is newer than 3.9
    private void close() {
        call = "close";
        new Event("shutdown_requested").say();
        long begun = System.nanoTime();
        try {
            if (consumer != null) {
                consumer.close(CLOSE_TIMEOUT);
            }
        } catch (Exception problem) {
            error(problem);
        }
        new Event("shutdown_complete").with("elapsed_ms", millisecondsSince(begun)).say();
    }

    // What the client does -------------------------------------------------------------------------------------------

    /** A call of the listener: it says so, takes as long as the kit wants it to take, and says that it returns. */
    private void callback(String name, Collection<TopicPartition> partitions) {
        boolean inACall = List.of("poll", "unsubscribe", "close").contains(call);
        new Event(name).with("partitions", plain(partitions))
                .with("application_thread", Thread.currentThread() == application && inACall)
                .with("owned", plain(consumer.assignment())).say();
        try {
            Thread.sleep(callbackMs);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        new Event("callback_returned").with("callback", name).say();
    }

    private void error(Exception problem) {
        new Event("error").with("error", problem.getClass().getSimpleName())
                .with("message", String.valueOf(problem.getMessage())).with("call", call).say();
    }

    private static JsonArray ranges(ConsumerRecords<byte[], byte[]> records) {
        JsonArray ranges = new JsonArray();
        for (TopicPartition partition : records.partitions()) {
            List<ConsumerRecord<byte[], byte[]>> batch = records.records(partition);
            JsonObject range = plain(partition);
            range.addProperty("count", batch.size());
            range.addProperty("minOffset", batch.get(0).offset());
            range.addProperty("maxOffset", batch.get(batch.size() - 1).offset());
            ranges.add(range);
        }
        return ranges;
    }

    private static JsonArray plain(Collection<TopicPartition> partitions) {
        JsonArray array = new JsonArray();
        partitions.forEach(partition -> array.add(plain(partition)));
        return array;
    }

    private static JsonObject plain(TopicPartition partition) {
        JsonObject object = new JsonObject();
        object.addProperty("topic", partition.topic());
        object.addProperty("partition", partition.partition());
        return object;
    }

    private static long millisecondsSince(long nanoTime) {
        return (System.nanoTime() - nanoTime) / 1_000_000;
    }

    /** One line on stdout. On Linux, nanoTime() is CLOCK_MONOTONIC, the clock of the kit (HotSpot's os::javaTimeNanos). */
    private static final class Event {
        private final JsonObject fields = new JsonObject();

        Event(String name) {
            fields.addProperty("name", name);
        }

        Event with(String field, Object value) {
            JsonElement element = GSON.toJsonTree(value);
            fields.add(field, element);
            return this;
        }

        void say() {
            synchronized (EVENTS) {
                fields.addProperty("at_us", System.nanoTime() / 1_000);
                byte[] line = (GSON.toJson(fields) + "\n").getBytes(StandardCharsets.UTF_8);
                EVENTS.write(line, 0, line.length);
                EVENTS.flush();
            }
        }
    }
}
