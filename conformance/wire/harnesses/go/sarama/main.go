// The harness of sarama.
//
// Consume, which joins the group and hands records to a handler of the application's, runs in a loop on a goroutine of
// its own, as sarama's documentation asks. Setup and Cleanup of the handler are the listener: sarama has no callback of
// its own for lost partitions, and no max.poll.interval.
package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"groupspec/harnesses/protocol"

	"github.com/IBM/sarama"
)

// What was fetched before Pause is handed out all the same, as its documentation says: no pause as PROTOCOL.md means it.
var features = []string{"eager", "cooperative", "listener", "auto_commit", "static"}

// A handler may call Commit of its session, which tells no outcome.
var notDriven = []string{"callback_commit"}

type harness struct {
	settings *protocol.Command
	topics   []string
	group    sarama.ConsumerGroup
	stop     context.CancelFunc // ends the loop of Consume; nil where there is none
	stopped  chan struct{}

	lock      sync.Mutex
	session   sarama.ConsumerGroupSession
	claimed   map[claim]bool // what the listener was told, and not yet that it is taken away
	positions map[string]map[int32]int64

	failures chan error // of the commit that is under way
}

type claim struct {
	topic     string
	partition int32
}

func (c claim) partitions() map[string][]int32 {
	return map[string][]int32{c.topic: {c.partition}}
}

func main() {
	h := &harness{claimed: map[claim]bool{}, positions: map[string]map[int32]int64{}, failures: make(chan error)}
	protocol.Run("sarama", "github.com/IBM/sarama", features, notDriven, h)
}

// Commands -----------------------------------------------------------------------------------------------------------

func (h *harness) CarryOut(c *protocol.Command) error {
	switch c.Command {
	case "configure":
		return h.configure(c)
	case "subscribe":
		h.subscribe(c.Topics)
	case "poll":
		h.consume()
	case "stop_polling":
		h.group.PauseAll()
	case "commit":
		h.commit()
	case "unsubscribe":
		h.endSession() // the membership ends with Close only
	default:
		return protocol.Unsupported(c)
	}
	return nil
}

func (h *harness) configure(s *protocol.Command) error {
	h.settings = s
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion // of the broker, on which it depends which requests sarama sends
	config.ClientID = s.ClientID
	timeout, backoff := protocol.Milliseconds(s.RequestTimeoutMs), protocol.Milliseconds(s.RetryBackoffMs)
	config.Net.DialTimeout, config.Net.ReadTimeout, config.Net.WriteTimeout = timeout, timeout, timeout
	config.Metadata.Retry.Backoff = backoff
	if age, err := strconv.Atoi(s.More["metadata.max.age.ms"]); err == nil {
		config.Metadata.RefreshFrequency = protocol.Milliseconds(age)
	}
	config.Consumer.Retry.Backoff = backoff
	config.Consumer.Group.Rebalance.Retry.Backoff = backoff
	config.Consumer.Group.Session.Timeout = protocol.Milliseconds(s.SessionTimeoutMs)
	config.Consumer.Group.Heartbeat.Interval = protocol.Milliseconds(s.HeartbeatIntervalMs)
	config.Consumer.Group.Rebalance.Timeout = protocol.Milliseconds(s.MaxPollIntervalMs)
	config.Consumer.Group.InstanceId = s.More["group.instance.id"] // empty: a dynamic member
	strategy := sarama.NewBalanceStrategyRange()
	if s.Rebalance == "cooperative" {
		strategy = sarama.NewBalanceStrategyCooperativeSticky()
	}
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy}
	config.Consumer.MaxWaitTime = protocol.Milliseconds(s.FetchMaxWaitMs)
	config.Consumer.Offsets.AutoCommit.Enable = s.AutoCommit
	config.Consumer.Offsets.AutoCommit.Interval = protocol.Milliseconds(s.AutoCommitIntervalMs)
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	if s.AutoOffsetReset == "latest" {
		config.Consumer.Offsets.Initial = sarama.OffsetNewest
	}
	config.Consumer.Return.Errors = true
	group, err := sarama.NewConsumerGroup(s.Addresses(), s.GroupID, config)
	if err != nil {
		return err
	}
	h.group = group
	go h.readErrors()
	return nil
}

// subscribe: whoever wants other topics ends Consume and calls it with those, as its documentation says.
func (h *harness) subscribe(topics []string) {
	consumes := h.stop != nil
	h.endSession()
	h.topics = topics
	if consumes {
		h.consume()
	}
}

func (h *harness) consume() {
	if h.stop != nil {
		h.group.ResumeAll()
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	h.stop, h.stopped = stop, make(chan struct{})
	go func() {
		defer close(h.stopped)
		for ctx.Err() == nil {
			if err := h.group.Consume(ctx, h.topics, h); err != nil && ctx.Err() == nil {
				protocol.Error(err, "")
				if errors.Is(err, sarama.ErrFencedInstancedId) {
					return // another process has the instance id: what is left to do is to close
				}
				time.Sleep(protocol.Milliseconds(h.settings.RetryBackoffMs))
			}
		}
	}()
}

// commit: Commit tells no outcome; what fails is told on the channel of errors, right after it.
func (h *harness) commit() {
	h.lock.Lock()
	session := h.session
	h.lock.Unlock()
	if session != nil {
		session.Commit()
	}
	var failure error
	select {
	case failure = <-h.failures:
	case <-time.After(100 * time.Millisecond):
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	protocol.Committed(failure, h.positions)
}

func (h *harness) readErrors() {
	for err := range h.group.Errors() {
		select {
		case h.failures <- err:
		default:
			protocol.Error(err, "")
		}
	}
}

func (h *harness) endSession() {
	if h.stop != nil {
		h.stop()
		<-h.stopped
		h.stop = nil
	}
}

func (h *harness) Close() error {
	h.endSession()
	if h.group == nil {
		return nil
	}
	return h.group.Close()
}

// What the client does -----------------------------------------------------------------------------------------------

// Setup is called when a session begins.
func (h *harness) Setup(session sarama.ConsumerGroupSession) error {
	claims := session.Claims()
	h.lock.Lock()
	h.session = session
	for topic, partitions := range claims {
		for _, partition := range partitions {
			h.claimed[claim{topic, partition}] = true
		}
	}
	h.lock.Unlock()
	protocol.Callback("partitions_assigned", claims, h.settings.CallbackMs)
	return nil
}

// ConsumeClaim is called for each partition, on a goroutine of its own. A cooperative session lives on over rebalances:
// then the beginning of this call is all that tells of a new partition, and its end of one that is taken away.
func (h *harness) ConsumeClaim(session sarama.ConsumerGroupSession, messages sarama.ConsumerGroupClaim) error {
	own := claim{messages.Topic(), messages.Partition()}
	if h.setClaimed(own, true) {
		protocol.Callback("partitions_assigned", own.partitions(), h.settings.CallbackMs)
	}
	h.read(session, messages)
	if h.settings.Rebalance == "cooperative" {
		h.setClaimed(own, false)
		protocol.Callback("partitions_revoked", own.partitions(), h.settings.CallbackMs)
	}
	return nil
}

// Cleanup is called when a session ends.
func (h *harness) Cleanup(sarama.ConsumerGroupSession) error {
	h.lock.Lock()
	left := map[string][]int32{}
	for each := range h.claimed {
		left[each.topic] = append(left[each.topic], each.partition)
	}
	clear(h.claimed)
	h.lock.Unlock()
	protocol.Callback("partitions_revoked", left, h.settings.CallbackMs)
	return nil
}

// setClaimed says whether that is new.
func (h *harness) setClaimed(one claim, claimed bool) bool {
	h.lock.Lock()
	defer h.lock.Unlock()
	before := h.claimed[one]
	if claimed {
		h.claimed[one] = true
	} else {
		delete(h.claimed, one)
	}
	return before != claimed
}

func (h *harness) read(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return
			}
			h.consumed(message)
			session.MarkMessage(message, "")
		case <-session.Context().Done():
			return
		}
	}
}

func (h *harness) consumed(message *sarama.ConsumerMessage) {
	protocol.Consumed(message.Topic, message.Partition, message.Offset)
	h.lock.Lock()
	defer h.lock.Unlock()
	if h.positions[message.Topic] == nil {
		h.positions[message.Topic] = map[int32]int64{}
	}
	h.positions[message.Topic][message.Partition] = message.Offset + 1
}
