import com.google.gson.JsonObject;
import java.time.Duration;
import java.util.List;

/**
 * The harness of my-client: it lets groupspec drive the client. Each method that throws ToFillIn is yours to write.
 * Protocol.java is groupspec's: it reads the commands and writes the events that groupspec's PROTOCOL.md explains.
 */
public final class Main implements Protocol.Client {
    /** What the client's documentation promises: a rule that needs more than is declared is UNSUPPORTED, not failed. */
    private static final List<String> FEATURES = List.of(
            // Take the slashes away from what is there.
            // "cooperative",       // incremental rebalances (KIP-429)
            // "consumer_protocol", // the consumer protocol (KIP-848, ConsumerGroupHeartbeat)
            // "listener",          // callbacks for assigned and revoked partitions
            // "lost_callback",     // a callback of its own for lost partitions, or a query that tells them
            // "listener_in_poll",  // callbacks run on the application's thread, inside poll(), unsubscribe() and close()
            // "join_needs_poll",   // nothing joins before the first poll()
            // "poll_interval",     // max.poll.interval.ms: a member that does not poll leaves (KIP-62)
            // "auto_commit",       // positions are committed by the client itself
            // "static",            // static members (KIP-345): the setting group.instance.id
            // "seek",              // reading on from another offset, asked for between two polls
            // "pause",             // pausing and resuming partitions
            // "wakeup",            // another thread ends the call in progress, or else the next one
            // "callback_commit",   // a callback may commit, and wait for it
            // "pattern",           // subscriptions by a regular expression
            // "raising_listener",  // a callback may raise: the rebalance goes on all the same
            // "close_timeout",     // a time limit of close() that the application sets, also 0
            // "callback_seek",     // a callback may set positions, and pause partitions
            // "max_poll_records",  // a limit of how many records a poll returns: the setting max.poll.records
            // "seek_to_beginning", // reading on from the first record that there is, wherever that is
            // "assign",            // partitions that the application assigns itself, to be no member of a group
            "pull", // records are taken by a poll with a timeout
            "eager"); // rebalances that give up everything first; a client has this, "cooperative", or both

    /**
     * Of PROTOCOL.md's features, also those that this base cannot carry out, what the client offers and this harness does
     * not drive: otherwise the client would seem to lack it.
     */
    private static final List<String> NOT_DRIVEN = List.of();

    // And the client itself, null until it is made. One that has a setting for good says so, by overriding fixed: no case
    // asks it for another value.

    public static void main(String[] arguments) {
        Protocol.run("my-client", "unknown", FEATURES, NOT_DRIVEN, new Main()); // the second is the client's version
    }

    /**
     * Pass every setting on; groupspec looks on the wire for them. settings.get("group_id").getAsString(), and so on:
     * bootstrap (addresses, with commas between), group_id, client_id, session_timeout_ms, heartbeat_interval_ms,
     * request_timeout_ms, retry_backoff_ms, max_poll_interval_ms (also the rebalance timeout in JoinGroup),
     * fetch_max_wait_ms, auto_offset_reset ("earliest" or "latest"), auto_commit (every auto_commit_interval_ms, before a
     * rebalance takes partitions away, and at close), more (an object: further settings by the names of Kafka's
     * consumer), rebalance ("eager": the range assignor; "cooperative": cooperative-sticky, and no other beside it).
     * Where making the client already joins, keep the settings, and make the client in subscribe.
     */
    @Override
    public void configure(JsonObject settings) {
        throw new Protocol.ToFillIn("make the client with these settings");
    }

    /**
     * Give the client a listener, if it has one; each callback calls Protocol.callback("partitions_assigned", partitions,
     * owned), or "partitions_revoked", "partitions_lost", with Protocol.Partition of each; owned is what the client says
     * that it owns, or null. Where a callback of one's own replaces the client's commit, commit first, if auto_commit was
     * true. Do not poll yet. A second call, also while the client is polled, replaces the first one's. With the feature
     * "pattern" override subscribeToPattern, too.
     */
    @Override
    public void subscribe(List<String> topics) {
        throw new Protocol.ToFillIn("subscribe to the topics, with a listener");
    }

    /** Poll for at most that long; return the number of records, the first and last offset of each partition that came. */
    @Override
    public List<Protocol.Range> poll(Duration timeout) {
        throw new Protocol.ToFillIn("poll once, and return what came");
    }

    /** Commit what poll has returned, and wait; return the offset of the next record of each partition. */
    @Override
    public List<Protocol.Position> commit() {
        throw new Protocol.ToFillIn("commit the positions, wait, and return them");
    }

    /** Give the subscription up, and return when the listener has been called. */
    @Override
    public void unsubscribe() {
        throw new Protocol.ToFillIn("unsubscribe");
    }

    /** Close the client if it has been made; the process ends afterwards. "close_timeout": override close(Duration), too. */
    @Override
    public void close() {
        throw new Protocol.ToFillIn("close the client");
    }
}
