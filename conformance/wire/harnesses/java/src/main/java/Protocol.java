import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * What harnesses in Java share: commands from stdin, events to stdout, one JSON object a line, as PROTOCOL.md says.
 *
 * The main thread is the application's: it polls and carries out commands, one at a time, by a Client. A second thread
 * reads stdin; when stdin ends the kit is gone, and so is this process.
 */
public final class Protocol {
    /** A client behind the protocol; its methods are called on the main thread, and what they throw is told. */
    public interface Client {
        /** Make the client; the fields of the settings are in PROTOCOL.md. */
        void configure(JsonObject settings) throws Exception;

        /** Subscribe with a listener that calls {@link Protocol#callback}; do not poll yet. */
        void subscribe(List<String> topics) throws Exception;

        /** The same to all topics that match a regular expression. */
        default void subscribeToPattern(String pattern) throws Exception {
            throw new Unsupported("the command subscribe with a pattern");
        }

        /** Read these, without a subscription. */
        default void assign(List<Partition> partitions) throws Exception {
            throw new Unsupported("the command assign");
        }

        /** Poll once; what records it returned. */
        List<Range> poll(Duration timeout) throws Exception;

        /** Commit the positions and wait; what was committed. */
        List<Position> commit() throws Exception;

        /** Give up the subscription. */
        void unsubscribe() throws Exception;

        /** Close the client, if it has been made. */
        void close() throws Exception;

        /** Read a partition from this offset on. */
        default void seek(Partition partition, long offset) throws Exception {
            throw new Unsupported("the command seek");
        }

        /** Return no records of these. */
        default void pause(List<Partition> partitions) throws Exception {
            throw new Unsupported("the command pause");
        }

        /** Return records of these again. */
        default void resume(List<Partition> partitions) throws Exception {
            throw new Unsupported("the command resume");
        }

        /** Close the client within this time. */
        default void close(Duration timeout) throws Exception {
            throw new Unsupported("the command close with a time limit");
        }

        /** End the call in progress, or the next one; called by another thread. */
        default void wakeup() {
            throw new Unsupported("the command wakeup");
        }

        /** Name and version of what the client wraps, such as librdkafka 2.12.1. */
        default String engine() {
            return "";
        }

        /** The settings of configure that the client has for good, such as "auto_commit": true. */
        default Map<String, Object> fixed() {
            return Map.of();
        }

        /** Whether this is what a wakeup ends a call with. */
        default boolean isWoken(Exception problem) {
            return false;
        }
    }

    /** A partition. */
    public record Partition(String topic, int partition) {}

    /** The records of a partition that a poll returned: their number, the first and the last offset. */
    public record Range(String topic, int partition, int count, long minOffset, long maxOffset) {}

    /** The offset that was committed of a partition. */
    public record Position(String topic, int partition, long offset) {}

    /** What a method throws of which the client offers nothing: its rules are UNSUPPORTED. */
    public static final class Unsupported extends RuntimeException {
        public Unsupported(String reason) {
            super(reason);
        }
    }

    /** What a method of a skeleton throws until it is filled in: the kit says then what it is to do, and where. */
    public static final class ToFillIn extends RuntimeException {
        public ToFillIn(String what) {
            super(what);
        }
    }

    /** What a callback throws because the kit wants it to. */
    public static final class ListenerFailure extends RuntimeException {
        ListenerFailure(String reason) {
            super(reason);
        }
    }

    /** The offset of a seek to the beginning. */
    static final long BEGINNING = -2;

    private static final int EXIT_UNSUPPORTED = 127;
    private static final long GRACE_MS = 5_000;
    /** Where a partition is read from of which the kit has a callback set the position. */
    private static final long SOUGHT_IN_CALLBACK = 1;
    /** After a poll that threw: one that always throws at once would flood the kit. */
    private static final long PAUSE_AFTER_ERROR_MS = 50;
    /** In the queue of commands: stdin has ended. */
    private static final JsonObject END = new JsonObject();

    // What goes to stdout that is no event would break the protocol: whoever prints, prints to stderr.
    private static final PrintStream EVENTS = System.out;
    private static final Gson GSON = new Gson();
    private static final Object CALLBACK = new Object();

    private static Thread application;
    private static Protocol running;
    private static long callbackMs;
    /** What a callback that names partitions does when it has waited. */
    private static JsonObject inCallback = new JsonObject();
    /** The call of the application's that is under way: "poll", "close", ...; "" between two calls. */
    private static volatile String call = "";

    private final Client client;
    private final BlockingQueue<JsonObject> commands = new LinkedBlockingQueue<>();
    private boolean polling;
    private long pollMs;
    private long pollsLeft;

    private Protocol(Client client) {
        this.client = client;
    }

    /**
     * Carry out the kit's commands until close, or the end of stdin; then end the process. `notDriven`: the features that
     * the client offers and the harness does not drive.
     */
    public static void run(
            String name, String version, List<String> features, List<String> notDriven, Client client) {
        System.setOut(System.err);
        application = Thread.currentThread();
        new Event("startup_complete").with("client", name).with("version", version).with("engine", client.engine())
                .with("features", features).with("not_driven", notDriven).with("fixed", client.fixed()).with("protocol", 1).say();
        int code = 1;
        try {
            running = new Protocol(client);
            code = running.carryOutCommands();
        } catch (Unsupported reason) {
            code = unsupported(reason);
        } catch (InterruptedException interrupted) {
            System.err.println("harness: interrupted while it waited for a command");
        }
        System.exit(code);
    }

    private static int unsupported(Unsupported reason) {
        System.err.println("harness: unsupported: " + reason.getMessage());
        return EXIT_UNSUPPORTED;
    }

    // What a client tells --------------------------------------------------------------------------------------------

    /**
     * A call of the listener: it says so, takes as long as the kit wants it to take, and says that it returns. `name` is
     * partitions_assigned, partitions_revoked or partitions_lost; `owned` what the client says that it owns, or null.
     * Throws ListenerFailure where the kit wants a callback to throw.
     */
    public static void callback(String name, Collection<Partition> partitions, Collection<Partition> owned) {
        synchronized (CALLBACK) {
            boolean inACall = List.of("poll", "unsubscribe", "close").contains(call);
            new Event(name).with("partitions", partitions)
                    .with("application_thread", Thread.currentThread() == application && inACall)
                    .with("owned", owned).say();
            pause(callbackMs);
            String what = partitions.isEmpty() || !inCallback.has(name) ? "" : inCallback.get(name).getAsString();
            if (what.equals("commit")) {
                running.commit();
            } else if (what.equals("seek") || what.equals("pause")) {
                running.seekOrPause(what, partitions);
            }
            boolean raises = what.equals("raise");
            new Event("callback_returned").with("callback", name).with("raised", raises).say();
            if (raises) {
                inCallback = new JsonObject();
                throw new ListenerFailure(name + " throws this, as the kit asked");
            }
        }
    }

    /** What a call threw, or what the client reported. */
    public static void error(Exception problem) {
        Event event = new Event("error").with("error", problem.getClass().getSimpleName())
                .with("message", String.valueOf(problem.getMessage())).with("call", call)
                .with("woken", running.client.isWoken(problem));
        if (problem instanceof ToFillIn) {
            StackTraceElement made = problem.getStackTrace()[0];
            event.with("harness_line", made.getFileName() + ":" + made.getLineNumber());
        }
        event.say();
    }

    // Commands -------------------------------------------------------------------------------------------------------

    private int carryOutCommands() throws InterruptedException {
        Thread reader = new Thread(this::readCommands, "commands");
        reader.setDaemon(true);
        reader.start();
        while (true) {
            JsonObject command = polling ? commands.poll() : commands.take();
            if (command == null) {
                pollOnce();
            } else if (command == END) {
                return 1;
            } else if (command.get("command").getAsString().equals("close")) {
                close(command.has("timeout_ms") ? Duration.ofMillis(command.get("timeout_ms").getAsLong()) : null);
                return 0;
            } else {
                carryOut(command);
            }
        }
    }

    private void readCommands() {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                JsonObject command = JsonParser.parseString(line).getAsJsonObject();
                if (command.get("command").getAsString().equals("wakeup")) {
                    wakeup();
                } else {
                    commands.add(command);
                }
            }
        } catch (Exception problem) {
            System.err.println("harness: not a command: " + problem);
        }
        commands.add(END);
        // The main thread may be inside a long poll, or blocked for ever; the process must not outlive the kit.
        pause(GRACE_MS);
        Runtime.getRuntime().halt(1);
    }

    private void wakeup() {
        try {
            client.wakeup();
        } catch (Unsupported reason) {
            Runtime.getRuntime().halt(unsupported(reason));
        }
        new Event("command_done").with("command", "wakeup").say();
    }

    private void carryOut(JsonObject command) {
        String name = command.get("command").getAsString();
        call = name;
        try {
            switch (name) {
                case "configure" -> {
                    callbackMs = command.get("callback_ms").getAsLong();
                    inCallback = command.getAsJsonObject("in_callback");
                    client.configure(command);
                }
                case "subscribe" -> {
                    List<String> topics = new ArrayList<>();
                    command.getAsJsonArray("topics").forEach(topic -> topics.add(topic.getAsString()));
                    String pattern = command.has("pattern") ? command.get("pattern").getAsString() : "";
                    if (pattern.isEmpty()) {
                        client.subscribe(topics);
                    } else {
                        client.subscribeToPattern(pattern);
                    }
                }
                case "assign" -> client.assign(partitions(command));
                case "poll" -> {
                    polling = true;
                    pollMs = command.get("poll_ms").getAsLong();
                    pollsLeft = command.has("times") ? command.get("times").getAsLong() : 0;
                }
                case "stop_polling" -> polling = false;
                case "commit" -> commit();
                case "seek" -> client.seek(GSON.fromJson(command, Partition.class), command.get("offset").getAsLong());
                case "pause" -> client.pause(partitions(command));
                case "resume" -> client.resume(partitions(command));
                case "unsubscribe" -> {
                    polling = false;
                    client.unsubscribe();
                }
                default -> throw new Unsupported("the command " + name);
            }
        } catch (Unsupported reason) {
            throw reason;
        } catch (Exception problem) {
            error(problem);
        }
        call = "";
        new Event("command_done").with("command", name).say();
    }

    private static List<Partition> partitions(JsonObject command) {
        List<Partition> named = new ArrayList<>();
        command.getAsJsonArray("partitions").forEach(each -> named.add(GSON.fromJson(each, Partition.class)));
        return named;
    }

    private void pollOnce() {
        call = "poll";
        new Event("poll_started").with("poll_ms", pollMs).say();
        long begun = System.nanoTime();
        List<Range> ranges = List.of();
        boolean failed = false;
        try {
            ranges = client.poll(Duration.ofMillis(pollMs));
        } catch (Unsupported reason) {
            throw reason;
        } catch (Exception problem) {
            error(problem);
            failed = true;
        }
        long elapsedMs = millisecondsSince(begun);
        call = "";
        int count = ranges.stream().mapToInt(Range::count).sum();
        if (count > 0) {
            new Event("records_consumed").with("count", count).with("partitions", ranges).say();
        }
        new Event("poll_returned").with("elapsed_ms", elapsedMs).with("count", count).say();
        pollsLeft -= 1;
        if (pollsLeft == 0) {
            polling = false;
        }
        pause(failed ? PAUSE_AFTER_ERROR_MS : 0);
    }

    private void commit() {
        Event outcome = new Event("offsets_committed");
        try {
            outcome.with("offsets", client.commit()).with("success", true);
        } catch (Unsupported | ToFillIn told) {
            throw told;
        } catch (Exception problem) {
            if (client.isWoken(problem)) {
                error(problem);
            }
            outcome.with("success", false).with("error", problem.toString());
        }
        outcome.say();
    }

    private void seekOrPause(String what, Collection<Partition> partitions) {
        try {
            if (what.equals("pause")) {
                client.pause(List.copyOf(partitions));
            } else {
                for (Partition each : partitions) {
                    client.seek(each, SOUGHT_IN_CALLBACK);
                }
            }
        } catch (Unsupported reason) {
            throw reason;
        } catch (Exception problem) {
            error(problem);
        }
    }

    private void close(Duration timeout) {
        call = "close";
        new Event("shutdown_requested").say();
        long begun = System.nanoTime();
        try {
            if (timeout == null) {
                client.close();
            } else {
                client.close(timeout);
            }
        } catch (Unsupported reason) {
            throw reason;
        } catch (Exception problem) {
            error(problem);
        }
        new Event("shutdown_complete").with("elapsed_ms", millisecondsSince(begun)).say();
    }

    private static long millisecondsSince(long nanoTime) {
        return (System.nanoTime() - nanoTime) / 1_000_000;
    }

    private static void pause(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** One line on stdout. On Linux, nanoTime() is CLOCK_MONOTONIC, the clock of the kit (HotSpot's os::javaTimeNanos). */
    private static final class Event {
        private final JsonObject fields = new JsonObject();

        Event(String name) {
            fields.addProperty("name", name);
        }

        Event with(String field, Object value) {
            fields.add(field, GSON.toJsonTree(value));
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
