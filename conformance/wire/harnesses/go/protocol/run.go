package protocol

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

const (
	exitUnsupported = 127
	grace           = 5 * time.Second
	pauseAfterError = 50 * time.Millisecond // a poll that always fails at once would flood the kit
)

// Harness is one client behind the protocol; its methods are called on the main goroutine, but for a commit in a callback:
// CarryOut is called for it on the goroutine that has called Callback.
type Harness interface {
	// CarryOut a command other than close; what it returns is told as an error of that command.
	CarryOut(*Command) error
	// Close the client.
	Close() error
}

// Polled is a harness of a client that is polled; the others are told to begin and to stop as commands.
type Polled interface {
	Harness
	// Poll once; returns the Range of each partition of which there were records. What else it returns is told as an
	// error of the poll.
	Poll(timeout time.Duration) ([]Event, error)
}

// Fixed are the settings of configure that the client has for good, such as "auto_commit": true.
var Fixed = Event{}

// Engine is the name and version of what the client wraps, such as "librdkafka 2.12.1".
var Engine string

// Run a harness until close, or the end of stdin. The client's version is that of its Go module; notDriven are the features
// that it offers and the harness does not drive.
func Run(client, module string, features, notDriven []string, h Harness) {
	commands := make(chan *Command, 100)
	go read(commands)
	Say("startup_complete", Event{
		"client": client, "version": version(module), "engine": Engine, "features": features, "not_driven": append([]string{}, notDriven...),
		"fixed": Fixed, "protocol": 1,
	})
	polled, _ := h.(Polled)
	commit = func() error { return h.CarryOut(&Command{Command: "commit"}) }
	var poll *Command // the one by which is polled; nil while nothing is
	for {
		next, due := nextOf(commands, poll == nil)
		switch {
		case !due:
			pollOnce(polled, poll)
			if poll.Times--; poll.Times == 0 {
				poll = nil
			}
			continue
		case next == nil: // stdin has ended
			os.Exit(1)
		case next.Command == "close":
			closeAndExit(h)
		case polled != nil && next.Command == "poll":
			poll = next
		case polled != nil && next.Command == "stop_polling":
			poll = nil
		default:
			if next.Command == "unsubscribe" {
				poll = nil
			}
			if next.Command == "configure" {
				inCallback = next.InCallback
			}
			if err := h.CarryOut(next); err != nil {
				Error(err, next.Command)
			}
		}
		Say("command_done", Event{"command": next.Command})
	}
}

// Unsupported ends the process: the client does not offer what a command asks for.
func Unsupported(c *Command) error {
	fmt.Fprintln(os.Stderr, "harness: unsupported: the command", c.Command)
	os.Exit(exitUnsupported)
	return nil
}

// nextOf waits for a command; while the application polls it only looks whether there is one.
func nextOf(commands <-chan *Command, wait bool) (next *Command, due bool) {
	if wait {
		return <-commands, true
	}
	select {
	case next := <-commands:
		return next, true
	default:
		return nil, false
	}
}

func pollOnce(h Polled, poll *Command) {
	Say("poll_started", Event{"poll_ms": poll.PollMs})
	begun := time.Now()
	ranges, err := h.Poll(Milliseconds(poll.PollMs))
	elapsed := time.Since(begun)
	if err != nil {
		Error(err, "poll")
	}
	count := 0
	for _, each := range ranges {
		count += each["count"].(int)
	}
	if count > 0 {
		Say("records_consumed", Event{"count": count, "partitions": ranges})
	}
	Say("poll_returned", Event{"elapsed_ms": elapsed.Milliseconds(), "count": count})
	if err != nil {
		time.Sleep(pauseAfterError)
	}
}

func closeAndExit(h Harness) {
	Say("shutdown_requested", Event{})
	begun := time.Now()
	if err := h.Close(); err != nil {
		Error(err, "close")
	}
	Say("shutdown_complete", Event{"elapsed_ms": time.Since(begun).Milliseconds()})
	os.Exit(0)
}

func read(commands chan<- *Command) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		next := &Command{}
		if err := json.Unmarshal(lines.Bytes(), next); err != nil {
			fmt.Fprintln(os.Stderr, "harness: not a command:", err)
			break
		}
		commands <- next
	}
	close(commands)
	// The main goroutine may be inside a long poll, or blocked for ever; the process must not outlive the kit.
	time.Sleep(grace)
	os.Exit(1)
}

func version(module string) string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, each := range build.Deps {
			if each.Path == module {
				return strings.TrimPrefix(each.Version, "v")
			}
		}
	}
	return "unknown"
}
