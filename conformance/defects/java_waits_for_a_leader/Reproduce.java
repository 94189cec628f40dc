import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.VoidDeserializer;
import org.apache.kafka.common.serialization.VoidSerializer;

/**
 * Kafka's Java client waits for ever where the leader epoch of the committed offset is later than that of any leader.
 *
 *     java -cp 'JARS/*' Reproduce.java HOST:PORT     JARS: kafka-clients 4.3.1 and what it depends on
 *
 * One topic of one partition, records 0 to 9, leader epoch 0, as of any topic that has just been made:
 *
 * 1. Offset 5 is committed for two groups: for one without a leader epoch, for the other with 7. So commits by name a
 *    member that has read the topic of this name that was deleted, whose leader had changed seven times.
 * 2. A consumer of each group polls.
 *
 * Both have 5 to 9 to read, and if there is something wrong with the offset an application has to hear of it. Exit code
 * 1: the second one read nothing, and nothing was raised; 0: it read, or raised something; 4: nor did the first one read.
 */
public class Reproduce {
    private static final String NAME = "waits-" + UUID.randomUUID().toString().substring(0, 8);
    private static final TopicPartition PARTITION = new TopicPartition(NAME, 0);
    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final int RECORDS = 10;
    private static final int COMMITTED = 5;

    private static void write(String bootstrap) {
        try (var producer = new KafkaProducer<Void, Void>(
            Map.of("bootstrap.servers", bootstrap), new VoidSerializer(), new VoidSerializer())) {
            for (int number = 0; number < RECORDS; number++) {
                producer.send(new ProducerRecord<>(NAME, 0, null, null));
            }
        }
    }

    /** What a consumer of this group reads until it has read all, or the time is up; and then its position. */
    private static List<Long> read(String bootstrap, String group) {
        var settings = Map.<String, Object>of(
            "bootstrap.servers", bootstrap, "group.id", group, "auto.offset.reset", "earliest",
            "enable.auto.commit", "false", "metadata.max.age.ms", "1000");
        var offsets = new ArrayList<Long>();
        try (var member = new KafkaConsumer<Void, Void>(settings, new VoidDeserializer(), new VoidDeserializer())) {
            member.subscribe(List.of(NAME));
            long until = System.nanoTime() + LIMIT.toNanos();
            while (!offsets.contains(RECORDS - 1L) && System.nanoTime() < until) {
                member.poll(Duration.ofMillis(500)).forEach(record -> offsets.add(record.offset()));
            }
            System.out.println("read " + offsets + ", owns " + member.assignment());
            try {
                System.out.println("position " + member.position(PARTITION, Duration.ofSeconds(5)));
            } catch (TimeoutException problem) {
                System.out.println("position: " + problem.getMessage());
            }
        }
        return offsets;
    }

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0];
        try (var admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.createTopics(List.of(new NewTopic(NAME, 1, (short) 1))).all().get();
            write(bootstrap);
            for (Optional<Integer> epoch : List.of(Optional.<Integer>empty(), Optional.of(7))) {
                String group = NAME + epoch.map(each -> "-" + each).orElse("");
                var offset = new OffsetAndMetadata(COMMITTED, epoch, "");
                admin.alterConsumerGroupOffsets(group, Map.of(PARTITION, offset)).all().get();
                System.out.println("committed " + COMMITTED + epoch.map(each -> " of leader epoch " + each).orElse(""));
                List<Long> offsets;
                try {
                    offsets = read(bootstrap, group);
                } catch (KafkaException problem) {
                    System.out.println("raised " + problem);
                    System.exit(epoch.isPresent() ? 0 : 4);
                    return;
                }
                if (epoch.isEmpty() && offsets.isEmpty()) {
                    System.out.println("the story did not come so far");
                    System.exit(4);
                }
                if (epoch.isPresent()) {
                    System.exit(offsets.isEmpty() ? 1 : 0);
                }
            }
        }
    }
}
