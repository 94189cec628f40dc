import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.nio.ByteBuffer;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * Kafka's assignors: a group in a line of stdin, what each member gets in a line of stdout.
 *
 * <p>In: assignor;topic=count,...;member then each "id|instance id|topics|owned|generation|user data in base64". Out:
 * "id|partitions" for each. Lists within a field have commas between their items, fields of a line semicolons.
 */
public final class Assign {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(assign(line.split(";", -1)));
        }
    }

    private static String assign(String[] fields) {
        List<PartitionInfo> partitions = new ArrayList<>();
        Node node = new Node(1, "localhost", 9092);
        for (String topic : items(fields[1])) {
            String[] count = topic.split("=");
            for (int number = 0; number < Integer.parseInt(count[1]); number++) {
                partitions.add(new PartitionInfo(count[0], number, node, new Node[] {node}, new Node[] {node}));
            }
        }
        Map<String, Subscription> group = new HashMap<>();
        for (String member : Arrays.copyOfRange(fields, 2, fields.length)) {
            String[] parts = member.split("\\|", -1);
            group.put(parts[0], subscription(parts));
        }
        Cluster cluster = new Cluster("c", List.of(node), partitions, java.util.Set.of(), java.util.Set.of());
        Map<String, ConsumerPartitionAssignor.Assignment> assigned =
            new TreeMap<>(assignor(fields[0]).assign(cluster, new GroupSubscription(group)).groupAssignment());
        List<String> told = new ArrayList<>();
        assigned.forEach((id, assignment) -> {
            List<String> names = new ArrayList<>();
            assignment.partitions().forEach(partition -> names.add(partition.topic() + "-" + partition.partition()));
            told.add(id + "|" + String.join(",", names));
        });
        return String.join(";", told);
    }

    private static Subscription subscription(String[] parts) {
        List<TopicPartition> owned = new ArrayList<>();
        for (String name : items(parts[3])) {
            int dash = name.lastIndexOf('-');
            owned.add(new TopicPartition(name.substring(0, dash), Integer.parseInt(name.substring(dash + 1))));
        }
        ByteBuffer userData = parts[5].isEmpty() ? null : ByteBuffer.wrap(Base64.getDecoder().decode(parts[5]));
        Subscription subscription =
            new Subscription(items(parts[2]), userData, owned, Integer.parseInt(parts[4]), Optional.empty());
        subscription.setGroupInstanceId(parts[1].isEmpty() ? Optional.empty() : Optional.of(parts[1]));
        return subscription;
    }

    private static List<String> items(String field) {
        return field.isEmpty() ? List.of() : Arrays.asList(field.split(","));
    }

    private static ConsumerPartitionAssignor assignor(String name) {
        switch (name) {
            case "range":
                return new RangeAssignor();
            case "roundrobin":
                return new RoundRobinAssignor();
            case "sticky":
                return new StickyAssignor();
            case "cooperative-sticky":
                return new CooperativeStickyAssignor();
            default:
                throw new IllegalArgumentException(name);
        }
    }
}
