import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.serialization.VoidDeserializer;

/**
 * Kafka's Java client: close() with a limit never returns, once the consumer has been fenced twice.
 *
 *     java -cp 'JARS/*' Reproduce.java HOST:PORT     JARS: kafka-clients 4.3.1 and what it depends on
 *
 * Two consumers with the same group.instance.id, as when a process is started before the former one has ended. Both log
 * a FencedInstanceIdException and poll on, as a loop does that logs whatever poll() throws.
 *
 * 1. `first` joins; `second` joins and takes its place. first.poll() throws; it polls on, and takes the place back.
 * 2. second.poll() throws; it polls on, and takes the place again, while `first` is processing what it has read.
 * 3. `first` has processed, and is told to stop: close() with a limit of 2 s.
 *
 * Exit code 1: close() has not returned after 20 s; 0: it has; 4: the story did not come so far.
 */
public class Reproduce {
    private static final String NAME = "close-never-returns-" + UUID.randomUUID().toString().substring(0, 8);
    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final Duration CLOSE_LIMIT = Duration.ofSeconds(2);
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final int HEARTBEAT_INTERVAL_MS = 300;

    /** A static member of the group; both have the same instance id. */
    private static KafkaConsumer<Void, Void> consumer(String bootstrap, String name) {
        var made = new KafkaConsumer<Void, Void>(
            Map.of(
                "bootstrap.servers", bootstrap,
                "client.id", name,
                "group.id", NAME,
                "group.instance.id", "worker-1",
                "heartbeat.interval.ms", HEARTBEAT_INTERVAL_MS),
            new VoidDeserializer(),
            new VoidDeserializer());
        made.subscribe(List.of(NAME));
        return made;
    }

    /** One poll; whether it has been fenced. What poll() throws is logged. */
    private static boolean isFenced(KafkaConsumer<Void, Void> member, String name) {
        try {
            member.poll(Duration.ofMillis(100));
            return false;
        } catch (FencedInstanceIdException problem) {
            System.out.println(name + ": FencedInstanceIdException; polls on");
            return true;
        }
    }

    /** Call it until it is so; false if that takes too long. */
    private static boolean until(BooleanSupplier isSo) {
        long end = System.nanoTime() + LIMIT.toNanos();
        while (System.nanoTime() < end) {
            if (isSo.getAsBoolean()) return true;
        }
        return false;
    }

    /** Poll until it is a member with its partition. */
    private static boolean joins(KafkaConsumer<Void, Void> member, String name) {
        boolean joined = until(() -> !isFenced(member, name) && !member.assignment().isEmpty());
        System.out.println(name + (joined ? ": is a member" : ": did not join"));
        return joined;
    }

    /** So many polls, in none of which it is fenced: its heartbeat thread is at work again. */
    private static boolean staysFor(KafkaConsumer<Void, Void> member, String name, int polls) {
        return IntStream.range(0, polls).noneMatch(one -> isFenced(member, name));
    }

    /** Whether `first` has been fenced twice, and knows it only once. */
    private static boolean fencedTwice(KafkaConsumer<Void, Void> first, KafkaConsumer<Void, Void> second)
            throws InterruptedException {
        boolean came = joins(first, "first ") && joins(second, "second")
            && until(() -> isFenced(first, "first ")) && joins(first, "first ") && staysFor(first, "first ", 10)
            && until(() -> isFenced(second, "second")) && joins(second, "second");
        System.out.println("first : processes records, and does not poll");
        TimeUnit.MILLISECONDS.sleep(5 * HEARTBEAT_INTERVAL_MS);
        return came;
    }

    public static void main(String[] arguments) throws Exception {
        try (var admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
            admin.createTopics(List.of(new NewTopic(NAME, 1, (short) 1))).all().get();
        }
        var first = consumer(arguments[0], "first");
        var second = consumer(arguments[0], "second");
        if (!fencedTwice(first, second)) {
            System.out.println("the story did not come so far");
            System.exit(4);
        }
        System.out.println("first : close(), with a limit of " + CLOSE_LIMIT.toMillis() + " ms");
        var closing = new Thread(() -> first.close(CloseOptions.timeout(CLOSE_LIMIT)));
        long began = System.nanoTime();
        closing.start();
        closing.join(PATIENCE.toMillis());
        long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
        boolean hangs = closing.isAlive();
        System.out.println("first : " + (hangs ? "has not returned after " : "returned after ") + tookMs + " ms");
        if (hangs) {
            for (var frame : closing.getStackTrace()) System.out.println("            at " + frame);
        }
        System.exit(hangs ? 1 : 0);
    }
}
