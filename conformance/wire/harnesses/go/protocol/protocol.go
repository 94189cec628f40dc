// Package protocol is what the harnesses in Go share: commands from stdin, events to stdout, one JSON object a line, as
// PROTOCOL.md says. Run (run.go) carries the commands out, by a Harness; the rest is for the harness, to say what
// happens.
//
// A goroutine reads stdin; when stdin ends the kit is gone, and so is this process.
package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Command is one of the kit's; each uses some of these fields.
type Command struct {
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
	More                 map[string]string
	InCallback           map[string]string `json:"in_callback"`

	Topics     []string    // subscribe
	Pattern    string      // subscribe: in place of topics, if it is not empty
	PollMs     int         `json:"poll_ms"` // poll
	Times      int         // poll
	Topic      string      // seek
	Partition  int32       // seek
	Offset     int64       // seek
	Partitions []Partition // pause, resume
}

// Partition of a topic.
type Partition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

// Addresses of the bootstrap servers.
func (c *Command) Addresses() []string {
	return strings.Split(c.Bootstrap, ",")
}

// Event is one of the harness's, without its name and time.
type Event map[string]any

var output sync.Mutex

// Say writes one event, stamped by the kit's clock.
func Say(name string, e Event) {
	output.Lock()
	defer output.Unlock()
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // fails for an unknown clock only
	e["name"] = name
	e["at_us"] = now.Nano() / 1000
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // an event that is no JSON is a mistake of the harness
	}
	_, _ = os.Stdout.Write(append(line, '\n')) // without a reader the kit is gone, and stdin says so
}

// Error tells what a call returned, or what the client reported.
func Error(err error, call string) {
	event := Event{"error": fmt.Sprintf("%T", err), "message": err.Error(), "call": call}
	var missing toFillIn
	if errors.As(err, &missing) {
		event["error"], event["harness_line"] = "ToFillIn", missing.line
	}
	Say("error", event)
}

type toFillIn struct{ what, line string }

func (t toFillIn) Error() string { return t.what }

// ToFillIn is what a function of a skeleton returns until it is filled in: the kit says then what it is to do, and
// where it stands.
func ToFillIn(what string) error {
	_, file, line, _ := runtime.Caller(1)
	return toFillIn{what, fmt.Sprintf("%s:%d", filepath.Base(file), line)}
}

var (
	callbacks  sync.Mutex
	inCallback map[string]string // what a callback that names partitions does when it has waited
	commit     func() error      // as the command does
)

// Callback is a call of the listener: it says so, takes as long as the kit wants it to take, and says that it returns.
func Callback(name string, moved map[string][]int32, callbackMs int) {
	callbacks.Lock()
	defer callbacks.Unlock()
	Say(name, Event{"partitions": plain(moved)})
	time.Sleep(Milliseconds(callbackMs))
	if len(moved) > 0 && inCallback[name] == "commit" {
		if err := commit(); err != nil {
			Error(err, "commit")
		}
	}
	Say("callback_returned", Event{"callback": name})
}

// Consumed tells one record that the application was handed.
func Consumed(topic string, partition int32, offset int64) {
	Say("records_consumed", Event{"count": 1, "partitions": []Event{Range(topic, partition, 1, offset, offset)}})
}

// Range is a partition in records_consumed.
func Range(topic string, partition int32, count int, first, last int64) Event {
	return Event{"topic": topic, "partition": partition, "count": count, "minOffset": first, "maxOffset": last}
}

// Committed tells the outcome of a commit, of these offsets by topic and partition.
func Committed(err error, offsets map[string]map[int32]int64) {
	if err != nil {
		Say("offsets_committed", Event{"success": false, "error": err.Error()})
		return
	}
	committed := []Event{}
	for topic, partitions := range offsets {
		for number, offset := range partitions {
			committed = append(committed, Event{"topic": topic, "partition": number, "offset": offset})
		}
	}
	Say("offsets_committed", Event{"success": true, "offsets": committed})
}

func plain(moved map[string][]int32) []Partition {
	partitions := []Partition{}
	for topic, numbers := range moved {
		for _, number := range numbers {
			partitions = append(partitions, Partition{topic, number})
		}
	}
	sort.Slice(partitions, func(i, j int) bool {
		a, b := partitions[i], partitions[j]
		return a.Topic < b.Topic || a.Topic == b.Topic && a.Partition < b.Partition
	})
	return partitions
}

// Milliseconds as a duration.
func Milliseconds(number int) time.Duration {
	return time.Duration(number) * time.Millisecond
}
