import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.serialization.VoidDeserializer;
import org.apache.kafka.common.serialization.VoidSerializer;

/**
 * Kafka's Java client goes on at its old offset in a topic that was deleted and made anew under its name.
 *
 *     java -cp 'JARS/*' Reproduce.java HOST:PORT     JARS: kafka-clients 4.3.1 and what it depends on
 *
 * One member, and one topic of one partition:
 *
 * 1. It reads records 0 to 9, and commits 10.
 * 2. Between two polls the topic is deleted and made anew: it has another id. 15 records are written to it.
 * 3. The member polls on. Its Fetch is answered UNKNOWN_TOPIC_ID, and its metadata name the new id.
 *
 * Nothing of the new topic has been read, and its group has committed nothing of it, so that the first record is to be
 * 0. Exit code 1: it is another, and what is before it is never returned; 0: it is 0; 4: the story did not come so far.
 */
public class Reproduce {
    private static final String NAME = "another-topic-" + UUID.randomUUID().toString().substring(0, 8);
    private static final TopicPartition PARTITION = new TopicPartition(NAME, 0);
    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final int OLD = 10;
    private static final int NEW = 15;

    /** The topic, as soon as the one before it is gone. */
    private static void create(Admin admin) throws Exception {
        for (long until = System.nanoTime() + LIMIT.toNanos(); System.nanoTime() < until; Thread.sleep(50)) {
            try {
                admin.createTopics(List.of(new NewTopic(NAME, 1, (short) 1))).all().get();
                return;
            } catch (ExecutionException problem) {
                if (!(problem.getCause() instanceof TopicExistsException)) {
                    throw problem;
                }
            }
        }
    }

    /** So many records, by a producer that knows the topic that there is now. */
    private static void write(String bootstrap, int records) {
        try (var producer = new KafkaProducer<Void, Void>(
            Map.of("bootstrap.servers", bootstrap), new VoidSerializer(), new VoidSerializer())) {
            for (int number = 0; number < records; number++) {
                producer.send(new ProducerRecord<>(NAME, 0, null, null));
            }
        }
    }

    /** Poll until this offset was read, or the time is up: the offsets. */
    private static List<Long> read(KafkaConsumer<Void, Void> member, int last) {
        var offsets = new ArrayList<Long>();
        long until = System.nanoTime() + LIMIT.toNanos();
        while (!offsets.contains((long) last) && System.nanoTime() < until) {
            member.poll(Duration.ofMillis(500)).forEach(record -> offsets.add(record.offset()));
        }
        return offsets;
    }

    private static String committed(KafkaConsumer<Void, Void> member) {
        member.commitSync();
        return "committed " + member.committed(Set.of(PARTITION)).get(PARTITION).offset();
    }

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0];
        var settings = Map.<String, Object>of(
            "bootstrap.servers", bootstrap, "group.id", NAME, "auto.offset.reset", "earliest");
        try (var admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
             var member = new KafkaConsumer<Void, Void>(settings, new VoidDeserializer(), new VoidDeserializer())) {
            create(admin);
            write(bootstrap, OLD);
            member.subscribe(List.of(NAME));
            var before = read(member, OLD - 1);
            System.out.println("read " + before + " of the topic, " + committed(member));

            admin.deleteTopics(List.of(NAME)).all().get();
            create(admin);
            write(bootstrap, NEW);
            System.out.println("the topic is another one now, with records 0 to " + (NEW - 1));
            var after = read(member, NEW - 1);
            if (!before.contains((long) OLD - 1) || after.isEmpty()) {
                System.out.println("the story did not come so far");
                System.exit(4);
            }
            System.out.println("read " + after + " of it, " + committed(member));
            System.exit(after.get(0) == 0 ? 0 : 1);
        }
    }
}
