// The harness of kafka-go (package kafka), over its ConsumerGroup.
//
// A member's life is a row of generations: Next returns one when the member has joined, and the group joins again when
// every function that the generation has started has returned. So the start of a generation is the listener's assigned
// callback, and its end the revoked one; a loss ends it in the same way. Reading is the application's: a connection to
// the leader of each partition. ConsumerGroup commits nothing by itself, and has no max.poll.interval.
package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"groupspec/harnesses/protocol"

	"github.com/segmentio/kafka-go"
)

var features = []string{"eager", "listener"}

// Its Reader, over the same ConsumerGroup, is asked for records with a timeout, and commits by itself.
var notDriven = []string{"pull", "auto_commit"}

const maxBytes = 1 << 20

type harness struct {
	settings *protocol.Command
	dialer   *kafka.Dialer
	group    *kafka.ConsumerGroup
	ended    chan struct{} // closed when the loop of Next has ended; nil where there is none
	paused   atomic.Bool

	lock       sync.Mutex
	generation *kafka.Generation        // the newest
	positions  map[string]map[int]int64 // of its partitions
}

func main() {
	protocol.Run("kafka-go", "github.com/segmentio/kafka-go", features, notDriven, &harness{})
}

// Commands -----------------------------------------------------------------------------------------------------------

func (h *harness) CarryOut(c *protocol.Command) error {
	switch c.Command {
	case "configure":
		h.settings = c // a group joins as soon as there is one, so it is made by subscribe
	case "subscribe":
		return h.subscribe(c.Topics)
	case "poll":
		h.paused.Store(false)
		h.join()
	case "stop_polling":
		h.paused.Store(true)
	case "commit":
		h.commit()
	case "unsubscribe":
		return h.leave()
	default:
		return protocol.Unsupported(c)
	}
	return nil
}

// subscribe: whoever wants other topics closes the group and makes another.
func (h *harness) subscribe(topics []string) error {
	joined := h.ended != nil
	if err := h.leave(); err != nil {
		return err
	}
	if err := h.makeGroup(topics); err != nil {
		return err
	}
	if joined {
		h.join()
	}
	return nil
}

func (h *harness) join() {
	if h.ended == nil {
		h.ended = make(chan struct{})
		go h.generations(h.group, h.ended)
	}
}

// leave: there is no way to give up a subscription but to close the group.
func (h *harness) leave() error {
	if h.group == nil {
		return nil
	}
	err := h.group.Close()
	if h.ended != nil {
		<-h.ended
	}
	h.group, h.ended = nil, nil
	return err
}

func (h *harness) makeGroup(topics []string) error {
	s := h.settings
	timeout := protocol.Milliseconds(s.RequestTimeoutMs)
	h.dialer = &kafka.Dialer{ClientID: s.ClientID, Timeout: timeout}
	start := kafka.FirstOffset
	if s.AutoOffsetReset == "latest" {
		start = kafka.LastOffset
	}
	age, ageErr := strconv.Atoi(s.More["metadata.max.age.ms"])
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID:                s.GroupID,
		Brokers:           s.Addresses(),
		Dialer:            h.dialer,
		Topics:            topics,
		GroupBalancers:    []kafka.GroupBalancer{kafka.RangeGroupBalancer{}},
		HeartbeatInterval: protocol.Milliseconds(s.HeartbeatIntervalMs),
		SessionTimeout:    protocol.Milliseconds(s.SessionTimeoutMs),
		RebalanceTimeout:  protocol.Milliseconds(s.MaxPollIntervalMs),
		JoinGroupBackoff:  protocol.Milliseconds(s.RetryBackoffMs),
		StartOffset:       start,
		Timeout:           timeout,

		WatchPartitionChanges:  ageErr == nil,
		PartitionWatchInterval: protocol.Milliseconds(age), // 0: the default
	})
	h.group = group
	return err
}

func (h *harness) commit() {
	h.lock.Lock()
	generation := h.generation
	told := map[string]map[int32]int64{}
	asked := map[string]map[int]int64{}
	for topic, partitions := range h.positions {
		told[topic], asked[topic] = map[int32]int64{}, map[int]int64{}
		for number, offset := range partitions {
			told[topic][int32(number)], asked[topic][number] = offset, offset
		}
	}
	h.lock.Unlock()
	protocol.Committed(generation.CommitOffsets(asked), told)
}

func (h *harness) Close() error {
	return h.leave()
}

// What the client does -----------------------------------------------------------------------------------------------

func (h *harness) generations(group *kafka.ConsumerGroup, ended chan struct{}) {
	defer close(ended)
	for {
		generation, err := group.Next(context.Background())
		switch {
		case errors.Is(err, kafka.ErrGroupClosed):
			return
		case err != nil:
			protocol.Error(err, "")
		default:
			h.begin(generation)
		}
	}
}

func (h *harness) begin(generation *kafka.Generation) {
	moved := map[string][]int32{}
	positions := map[string]map[int]int64{}
	for topic, partitions := range generation.Assignments {
		positions[topic] = map[int]int64{}
		for _, each := range partitions {
			moved[topic] = append(moved[topic], int32(each.ID))
		}
	}
	h.lock.Lock()
	h.generation, h.positions = generation, positions
	h.lock.Unlock()
	protocol.Callback("partitions_assigned", moved, h.settings.CallbackMs)
	var readers sync.WaitGroup
	for topic, partitions := range generation.Assignments {
		for _, each := range partitions {
			readers.Add(1)
			generation.Start(func(ctx context.Context) {
				defer readers.Done()
				h.read(ctx, topic, each.ID, each.Offset)
			})
		}
	}
	generation.Start(func(ctx context.Context) {
		<-ctx.Done()
		readers.Wait()
		protocol.Callback("partitions_revoked", moved, h.settings.CallbackMs)
	})
}

// read a partition until the generation ends, with a new connection after each failure.
func (h *harness) read(generation context.Context, topic string, partition int, offset int64) {
	for generation.Err() == nil {
		err := h.readConnected(generation, topic, partition, &offset)
		if err == nil || generation.Err() != nil {
			continue
		}
		protocol.Error(err, "")
		select {
		case <-generation.Done():
		case <-time.After(protocol.Milliseconds(h.settings.RetryBackoffMs)):
		}
	}
}

func (h *harness) readConnected(generation context.Context, topic string, partition int, offset *int64) error {
	connection, err := h.dialLeader(generation, topic, partition)
	if err != nil {
		return err
	}
	defer connection.Close()
	// An answer that is awaited is not worth waiting for when the generation ends: the group waits for this function.
	defer context.AfterFunc(generation, func() { _ = connection.SetDeadline(time.Now()) })()
	_ = connection.SetDeadline(h.soon())
	if err := seek(connection, *offset); err != nil {
		return err
	}
	for generation.Err() == nil {
		if h.paused.Load() {
			time.Sleep(protocol.Milliseconds(h.settings.RetryBackoffMs))
			continue
		}
		if err := h.readBatch(generation, connection, topic, partition, offset); err != nil {
			return err
		}
	}
	return nil
}

func (h *harness) dialLeader(ctx context.Context, topic string, partition int) (*kafka.Conn, error) {
	var failure error
	for _, address := range h.settings.Addresses() {
		connection, err := h.dialer.DialLeader(ctx, "tcp", address, topic, partition)
		if err == nil {
			return connection, nil
		}
		failure = err
	}
	return nil, failure
}

// soon: until when an answer that is asked for now is awaited.
func (h *harness) soon() time.Time {
	return time.Now().Add(protocol.Milliseconds(h.settings.RequestTimeoutMs))
}

func seek(connection *kafka.Conn, offset int64) error {
	where, whence := offset, kafka.SeekAbsolute|kafka.SeekDontCheck
	switch offset {
	case kafka.FirstOffset:
		where, whence = 0, kafka.SeekStart
	case kafka.LastOffset:
		where, whence = 0, kafka.SeekEnd
	}
	_, err := connection.Seek(where, whence)
	return err
}

func (h *harness) readBatch(generation context.Context, connection *kafka.Conn, topic string, partition int, offset *int64) error {
	_ = connection.SetDeadline(h.soon())
	wait := protocol.Milliseconds(h.settings.FetchMaxWaitMs)
	batch := connection.ReadBatchWith(kafka.ReadBatchConfig{MinBytes: 1, MaxBytes: maxBytes, MaxWait: wait})
	for generation.Err() == nil {
		message, err := batch.ReadMessage()
		if err != nil {
			break
		}
		protocol.Consumed(topic, int32(partition), message.Offset)
		*offset = message.Offset + 1
		h.lock.Lock()
		h.positions[topic][partition] = *offset
		h.lock.Unlock()
	}
	if err := batch.Close(); !errors.Is(err, kafka.RequestTimedOut) { // kafka-go's way to say that there was no record
		return err
	}
	return nil
}
