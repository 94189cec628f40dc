// The harness of franz-go (package kgo).
//
// kgo manages the group on goroutines of its own, joins as soon as there is a client with topics, and calls the
// listener there, never two callbacks at once (its documentation of OnPartitionsAssigned). It has no max.poll.interval.
package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"groupspec/harnesses/protocol"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Not seek: SetOffsets is to be used only while no rebalance can come, says its documentation.
var features = []string{
	"eager", "cooperative", "listener", "lost_callback", "pull", "auto_commit", "static", "pause", "callback_commit",
	"pattern", "max_poll_records",
}

const metadataMinAge = 100 * time.Millisecond // it may not be above the other one

type harness struct {
	settings *protocol.Command
	client   *kgo.Client
	limit    int // of the records that a poll returns; 0: none
	left     bool
}

func main() {
	protocol.Run("kgo", "github.com/twmb/franz-go", features, nil, &harness{})
}

// Commands -----------------------------------------------------------------------------------------------------------

func (h *harness) CarryOut(c *protocol.Command) error {
	switch c.Command {
	case "configure":
		h.settings = c // kgo's client joins as soon as there is one, so it is made by subscribe
	case "subscribe":
		return h.subscribe(c)
	case "commit":
		h.commit()
	case "pause":
		h.client.PauseFetchPartitions(byTopic(c.Partitions))
	case "resume":
		h.client.ResumeFetchPartitions(byTopic(c.Partitions))
	case "unsubscribe":
		h.client.LeaveGroup() // for good: who subscribes again has another client
		h.left = true
	default:
		return protocol.Unsupported(c)
	}
	return nil
}

func (h *harness) subscribe(c *protocol.Command) error {
	s, topics := h.settings, c.Topics
	if c.Pattern != "" {
		topics = []string{c.Pattern}
	}
	if h.client != nil && !h.left {
		return h.subscribeAnew(topics, c)
	}
	h.left = false
	balancer := kgo.RangeBalancer()
	if s.Rebalance == "cooperative" {
		balancer = kgo.CooperativeStickyBalancer()
	}
	reset := kgo.NewOffset().AtStart()
	if s.AutoOffsetReset == "latest" {
		reset = kgo.NewOffset().AtEnd()
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(s.Addresses()...),
		kgo.ClientID(s.ClientID),
		kgo.ConsumerGroup(s.GroupID),
		kgo.ConsumeTopics(topics...),
		kgo.Balancers(balancer),
		kgo.SessionTimeout(protocol.Milliseconds(s.SessionTimeoutMs)),
		kgo.HeartbeatInterval(protocol.Milliseconds(s.HeartbeatIntervalMs)),
		kgo.RebalanceTimeout(protocol.Milliseconds(s.MaxPollIntervalMs)),
		kgo.RequestTimeoutOverhead(protocol.Milliseconds(s.RequestTimeoutMs)),
		kgo.RetryBackoffFn(func(int) time.Duration { return protocol.Milliseconds(s.RetryBackoffMs) }),
		kgo.ConsumeResetOffset(reset),
		kgo.FetchMaxWait(protocol.Milliseconds(s.FetchMaxWaitMs)),
		kgo.OnPartitionsAssigned(h.assigned),
		kgo.OnPartitionsRevoked(h.revoked),
		kgo.OnPartitionsLost(h.lost),
	}
	if c.Pattern != "" {
		options = append(options, kgo.ConsumeRegex())
	}
	if instance := s.More["group.instance.id"]; instance != "" {
		options = append(options, kgo.InstanceID(instance))
	}
	if age, err := strconv.Atoi(s.More["metadata.max.age.ms"]); err == nil {
		options = append(options, kgo.MetadataMaxAge(protocol.Milliseconds(age)), kgo.MetadataMinAge(metadataMinAge))
	}
	if s.AutoCommit {
		options = append(options, kgo.AutoCommitInterval(protocol.Milliseconds(s.AutoCommitIntervalMs)))
	} else {
		options = append(options, kgo.DisableAutoCommit())
	}
	h.limit, _ = strconv.Atoi(s.More["max.poll.records"])
	client, err := kgo.NewClient(options...)
	h.client = client
	return err
}

// One client has one set of topics; to another set belong those that it has not, and not those that it alone has.
func (h *harness) subscribeAnew(topics []string, c *protocol.Command) error {
	if c.Pattern != "" {
		return protocol.Unsupported(c)
	}
	isKept := func(topic string) bool { return slices.Contains(topics, topic) }
	gone := slices.DeleteFunc(h.client.GetConsumeTopics(), isKept)
	h.client.AddConsumeTopics(topics...)
	h.client.PurgeTopicsFromConsuming(gone...)
	return nil
}

// Poll tells the errors of partitions by itself: there may be several.
func (h *harness) Poll(timeout time.Duration) ([]protocol.Event, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	fetches := h.client.PollRecords(ctx, h.limit)
	fetches.EachError(func(_ string, _ int32, err error) {
		if !errors.Is(err, context.DeadlineExceeded) { // kgo's way to say that the time is over
			protocol.Error(err, "poll")
		}
	})
	ranges := []protocol.Event{}
	fetches.EachPartition(func(batch kgo.FetchTopicPartition) {
		if count := len(batch.Records); count > 0 {
			first, last := batch.Records[0].Offset, batch.Records[count-1].Offset
			ranges = append(ranges, protocol.Range(batch.Topic, batch.Partition, count, first, last))
		}
	})
	return ranges, nil
}

func (h *harness) commit() {
	offsets := map[string]map[int32]int64{}
	for topic, partitions := range h.client.UncommittedOffsets() {
		offsets[topic] = map[int32]int64{}
		for number, position := range partitions {
			offsets[topic][number] = position.Offset
		}
	}
	protocol.Committed(h.client.CommitUncommittedOffsets(context.Background()), offsets)
}

func byTopic(partitions []protocol.Partition) map[string][]int32 {
	found := map[string][]int32{}
	for _, each := range partitions {
		found[each.Topic] = append(found[each.Topic], each.Partition)
	}
	return found
}

func (h *harness) Close() error {
	if h.client != nil {
		h.client.Close()
	}
	return nil
}

// What the client does -----------------------------------------------------------------------------------------------

func (h *harness) assigned(_ context.Context, _ *kgo.Client, moved map[string][]int32) {
	protocol.Callback("partitions_assigned", moved, h.settings.CallbackMs)
}

// A revoked callback of the application's replaces kgo's own, which commits (its documentation of OnPartitionsRevoked);
// who wants positions committed automatically must commit in it, as here, before the rest of the callback.
func (h *harness) revoked(ctx context.Context, client *kgo.Client, moved map[string][]int32) {
	if h.settings.AutoCommit && len(moved) > 0 {
		if err := client.CommitUncommittedOffsets(ctx); err != nil {
			protocol.Error(err, "commit")
		}
	}
	protocol.Callback("partitions_revoked", moved, h.settings.CallbackMs)
}

func (h *harness) lost(_ context.Context, _ *kgo.Client, moved map[string][]int32) {
	protocol.Callback("partitions_lost", moved, h.settings.CallbackMs)
}
