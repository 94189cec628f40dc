// The harness of franz-go (package kgo).
//
// One JSON object a line: commands on stdin, events on stdout; PROTOCOL.md says what each means. The main goroutine is the
// application: it polls and carries out commands, one at a time. kgo manages the group on goroutines of its own, joins as
// soon as there is a client with topics, and calls the listener there, never two callbacks at once (its documentation of
// OnPartitionsAssigned); so a lock around stdout is all that is needed. It has no max.poll.interval.
//
// A second goroutine reads stdin; when stdin ends the kit is gone, and so is this process.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sys/unix"
)

const (
	exitUnsupported = 127
	grace           = 5 * time.Second
)

var features = []string{"eager", "cooperative", "listener", "lost_callback", "pull", "auto_commit"}

// A command of the kit; each uses some of these fields.
type command struct {
	Command string

	// configure
	Bootstrap            string
	GroupID              string `json:"group_id"`
	ClientID             string `json:"client_id"`
	Rebalance            string
	SessionTimeoutMs     int    `json:"session_timeout_ms"`
	HeartbeatIntervalMs  int    `json:"heartbeat_interval_ms"`
	MaxPollIntervalMs    int    `json:"max_poll_interval_ms"`
	RequestTimeoutMs     int    `json:"request_timeout_ms"`
	RetryBackoffMs       int    `json:"retry_backoff_ms"`
	AutoCommit           bool   `json:"auto_commit"`
	AutoCommitIntervalMs int    `json:"auto_commit_interval_ms"`
	AutoOffsetReset      string `json:"auto_offset_reset"`
	FetchMaxWaitMs       int    `json:"fetch_max_wait_ms"`
	CallbackMs           int    `json:"callback_ms"`

	Topics []string // subscribe
	PollMs int      `json:"poll_ms"` // poll
	Times  int      // poll
}

type partition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

type event map[string]any

type harness struct {
	output   sync.Mutex
	commands chan *command // nil in it: stdin has ended
	settings *command
	client   *kgo.Client

	polling   bool
	pollMs    int
	pollsLeft int
}

func main() {
	h := &harness{commands: make(chan *command, 100)}
	go h.readCommands()
	h.say("startup_complete", event{"client": "kgo", "version": version(), "features": features, "protocol": 1})
	for {
		next, due := h.nextCommand()
		switch {
		case !due:
			h.pollOnce()
		case next == nil:
			os.Exit(1)
		case next.Command == "close":
			h.close()
			os.Exit(0)
		default:
			h.carryOut(next)
		}
	}
}

// nextCommand waits for a command; while the application polls it only looks whether there is one.
func (h *harness) nextCommand() (next *command, due bool) {
	if !h.polling {
		return <-h.commands, true
	}
	select {
	case next := <-h.commands:
		return next, true
	default:
		return nil, false
	}
}

func (h *harness) readCommands() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		next := &command{}
		if err := json.Unmarshal(lines.Bytes(), next); err != nil {
			fmt.Fprintln(os.Stderr, "harness: not a command:", err)
			break
		}
		h.commands <- next
	}
	h.commands <- nil
	// The main goroutine may be inside a long poll, or blocked for ever; the process must not outlive the kit.
	time.Sleep(grace)
	os.Exit(1)
}

// Commands -----------------------------------------------------------------------------------------------------------

func (h *harness) carryOut(c *command) {
	var err error
	switch c.Command {
	case "configure":
		h.settings = c // kgo's client joins as soon as there is one, so it is made by subscribe
	case "subscribe":
		err = h.subscribe(c.Topics)
	case "poll":
		h.polling, h.pollMs, h.pollsLeft = true, c.PollMs, c.Times
	case "stop_polling":
		h.polling = false
	case "commit":
		h.commit()
	case "unsubscribe":
		h.polling = false
		h.client.LeaveGroup()
	default:
		fmt.Fprintln(os.Stderr, "harness: unsupported: the command", c.Command)
		os.Exit(exitUnsupported)
	}
	if err != nil {
		h.error(err, c.Command)
	}
	h.say("command_done", event{"command": c.Command})
}

func (h *harness) subscribe(topics []string) error {
	s := h.settings
	balancer := kgo.RangeBalancer()
	if s.Rebalance == "cooperative" {
		balancer = kgo.CooperativeStickyBalancer()
	}
	reset := kgo.NewOffset().AtStart()
	if s.AutoOffsetReset == "latest" {
		reset = kgo.NewOffset().AtEnd()
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(s.Bootstrap, ",")...),
		kgo.ClientID(s.ClientID),
		kgo.ConsumerGroup(s.GroupID),
		kgo.ConsumeTopics(topics...),
		kgo.Balancers(balancer),
		kgo.SessionTimeout(milliseconds(s.SessionTimeoutMs)),
		kgo.HeartbeatInterval(milliseconds(s.HeartbeatIntervalMs)),
		kgo.RebalanceTimeout(milliseconds(s.MaxPollIntervalMs)),
		kgo.RequestTimeoutOverhead(milliseconds(s.RequestTimeoutMs)),
		kgo.RetryBackoffFn(func(int) time.Duration { return milliseconds(s.RetryBackoffMs) }),
		kgo.ConsumeResetOffset(reset),
		kgo.FetchMaxWait(milliseconds(s.FetchMaxWaitMs)),
		kgo.OnPartitionsAssigned(h.assigned),
		kgo.OnPartitionsRevoked(h.revoked),
		kgo.OnPartitionsLost(h.lost),
	}
	if s.AutoCommit {
		options = append(options, kgo.AutoCommitInterval(milliseconds(s.AutoCommitIntervalMs)))
	} else {
		options = append(options, kgo.DisableAutoCommit())
	}
	client, err := kgo.NewClient(options...)
	h.client = client
	return err
}

func (h *harness) pollOnce() {
	h.say("poll_started", event{"poll_ms": h.pollMs})
	begun := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), milliseconds(h.pollMs))
	fetches := h.client.PollFetches(ctx)
	cancel()
	elapsed := time.Since(begun)
	fetches.EachError(func(_ string, _ int32, err error) {
		if !errors.Is(err, context.DeadlineExceeded) { // kgo's way to say that the time is over
			h.error(err, "poll")
		}
	})
	if count := fetches.NumRecords(); count > 0 {
		h.say("records_consumed", event{"count": count, "partitions": ranges(fetches)})
	}
	h.say("poll_returned", event{"elapsed_ms": elapsed.Milliseconds(), "count": fetches.NumRecords()})
	h.pollsLeft--
	if h.pollsLeft == 0 {
		h.polling = false
	}
}

func (h *harness) commit() {
	uncommitted := h.client.UncommittedOffsets()
	if err := h.client.CommitUncommittedOffsets(context.Background()); err != nil {
		h.say("offsets_committed", event{"success": false, "error": err.Error()})
		return
	}
	offsets := []event{}
	for topic, partitions := range uncommitted {
		for number, position := range partitions {
			offsets = append(offsets, event{"topic": topic, "partition": number, "offset": position.Offset})
		}
	}
	h.say("offsets_committed", event{"success": true, "offsets": offsets})
}

func (h *harness) close() {
	h.say("shutdown_requested", event{})
	begun := time.Now()
	if h.client != nil {
		h.client.Close()
	}
	h.say("shutdown_complete", event{"elapsed_ms": time.Since(begun).Milliseconds()})
}

// What the client does -----------------------------------------------------------------------------------------------

func (h *harness) assigned(_ context.Context, _ *kgo.Client, moved map[string][]int32) {
	h.callback("partitions_assigned", moved)
}

// A revoked callback of the application's replaces kgo's own, which commits (its documentation of OnPartitionsRevoked);
// who wants positions committed automatically must commit in it, as here, before the rest of the callback.
func (h *harness) revoked(ctx context.Context, client *kgo.Client, moved map[string][]int32) {
	if h.settings.AutoCommit && len(moved) > 0 {
		if err := client.CommitUncommittedOffsets(ctx); err != nil {
			h.error(err, "commit")
		}
	}
	h.callback("partitions_revoked", moved)
}

func (h *harness) lost(_ context.Context, _ *kgo.Client, moved map[string][]int32) {
	h.callback("partitions_lost", moved)
}

// callback is a call of the listener: it says so, takes as long as the kit wants it to take, and says that it returns.
func (h *harness) callback(name string, moved map[string][]int32) {
	h.say(name, event{"partitions": plain(moved)})
	time.Sleep(milliseconds(h.settings.CallbackMs))
	h.say("callback_returned", event{"callback": name})
}

func (h *harness) error(err error, call string) {
	h.say("error", event{"error": fmt.Sprintf("%T", err), "message": err.Error(), "call": call})
}

func ranges(fetches kgo.Fetches) []event {
	found := []event{}
	fetches.EachPartition(func(batch kgo.FetchTopicPartition) {
		if last := len(batch.Records) - 1; last >= 0 {
			found = append(found, event{
				"topic": batch.Topic, "partition": batch.Partition, "count": last + 1,
				"minOffset": batch.Records[0].Offset, "maxOffset": batch.Records[last].Offset,
			})
		}
	})
	return found
}

func plain(moved map[string][]int32) []partition {
	partitions := []partition{}
	for topic, numbers := range moved {
		for _, number := range numbers {
			partitions = append(partitions, partition{topic, number})
		}
	}
	sort.Slice(partitions, func(i, j int) bool {
		a, b := partitions[i], partitions[j]
		return a.Topic < b.Topic || a.Topic == b.Topic && a.Partition < b.Partition
	})
	return partitions
}

func milliseconds(number int) time.Duration {
	return time.Duration(number) * time.Millisecond
}

// say writes one event, stamped by the kit's clock.
func (h *harness) say(name string, e event) {
	h.output.Lock()
	defer h.output.Unlock()
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // fails for an unknown clock only
	e["name"] = name
	e["at_us"] = now.Nano() / 1000
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // an event that is no JSON is a mistake in this file
	}
	_, _ = os.Stdout.Write(append(line, '\n')) // without a reader the kit is gone, and stdin says so
}

// version is that of kgo, as this program was built.
func version() string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if module.Path == "github.com/twmb/franz-go" {
				return strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	return "unknown"
}
