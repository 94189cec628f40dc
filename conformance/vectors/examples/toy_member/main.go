// Runs vector files on the toy member: `go run . FILE...`, broken on purpose `go run . -bug NAME FILE...`, in every way, one after
// the other, `go run . -kills FILE...`. With `-wire` only what is sent and refused counts, as for a client that shows no more.
package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
)

var (
	planted  = ""
	wireOnly = flag.Bool("wire", false, "compare only what is sent and what is refused, no states")
)

func bug(name string) bool { return planted == name }

var bugs = []string{
	"commit-without-deadline", "heartbeat-while-joining", "late-answers-count", "lookup-without-backoff", "member-id-not-used",
	"no-commit-before-rebalance", "no-second-rebalance", "overdue-heartbeat-forgotten", "partitions-lost-silently",
	"queued-callback-stays-revoked", "rejoins-when-fenced", "stall-forgotten-while-no-coordinator", "static-member-leaves",
	"two-heartbeats-in-flight",
}

type event struct {
	Name   string
	Inputs map[string]any
}

type line struct { // the header, a state, or a pair: what is missing stays empty
	Format         string
	Version        int
	Rebalance      string
	Configurations []map[string]bool
	Legend         struct {
		Events []event
		Sent   [][]string
		Stays  [][]int
		Never  [][][2]any
		States map[string][]string
	}
	State, Config, Stays, Never int
	From                        []int
	Is                          []int
	Does, Run, Back             [][3]int
	Pair                        []string
	Start                       int
}

func read(path string) (header line, states, pairs []line) {
	file, err := os.Open(path)
	check(err)
	unzipped, err := gzip.NewReader(file)
	check(err)
	decoder := json.NewDecoder(bufio.NewReader(unzipped))
	check(decoder.Decode(&header))
	if header.Format != "groupspec-vectors" || header.Version != 1 {
		check(fmt.Errorf("%s: not a vector file of version 1", path))
	}
	for decoder.More() {
		var next line
		check(decoder.Decode(&next))
		if next.Pair != nil {
			pairs = append(pairs, next)
		} else {
			states = append(states, next)
		}
	}
	return header, states, pairs
}

// run counts vectors, and those that fail; `first` describes the first that does.
func run(path string, header line, states, pairs []line) (vectors, failed int, first string) {
	at := make([]Member, len(states)) // the member in each state, as the way there left it
	step := func(before Member, code, sent, target int) Member {
		e := header.Legend.Events[code]
		after, said, ok := before.On(e.Name, e.Inputs)
		vectors++
		if !ok || !slices.Equal(said, header.Legend.Sent[sent]) || !*wireOnly && after != at[target] {
			if failed++; first == "" {
				first = fmt.Sprintf("%s in %s must send %v and lead to %s; it sent %v (taken: %v) and led to %s",
					e.Name, before.State, header.Legend.Sent[sent], at[target].State, said, ok, after.State)
			}
		}
		return after
	}
	for _, s := range states { // breadth first: the state before stands before
		config := header.Configurations[s.Config]
		at[s.State] = NewMember(header.Rebalance == "cooperative", config["auto_commit"], config["static"])
		if s.From != nil {
			e := header.Legend.Events[s.From[1]]
			at[s.State], _, _ = at[s.From[0]].On(e.Name, e.Inputs)
		}
	}
	for _, s := range states {
		names := [3]string{at[s.State].Beat, at[s.State].State, at[s.State].Conn}
		for i, machine := range []string{"timeouts", "rebalance", "connection"} {
			if !*wireOnly && names[i] != header.Legend.States[machine][s.Is[i]] {
				failed++ // advisory, but this member has these names
			}
		}
		for _, does := range s.Does {
			step(at[s.State], does[0], does[1], does[2])
		}
		for _, code := range header.Legend.Stays[s.Stays] {
			step(at[s.State], code, 0, s.State) // sent 0: nothing
		}
		for _, group := range header.Legend.Never[s.Never] {
			for _, code := range group[1].([]any) {
				e := header.Legend.Events[int(code.(float64))]
				vectors++
				if _, _, ok := at[s.State].On(e.Name, e.Inputs); ok {
					if failed++; first == "" {
						first = fmt.Sprintf("%s in %s must be refused (rule %v)", e.Name, at[s.State].State, group[0])
					}
				}
			}
		}
	}
	for _, p := range pairs {
		member := at[p.Start]
		for _, s := range append(slices.Clone(p.Run), p.Back...) {
			member = step(member, s[0], s[1], s[2])
		}
	}
	return vectors, failed, first
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func main() {
	flag.StringVar(&planted, "bug", "", "break the member on purpose")
	kills := flag.Bool("kills", false, "break it in every way, one after the other, and say which vectors notice")
	flag.Parse()
	todo := []string{planted}
	if *kills {
		todo = append(todo, bugs...)
	}
	bad := 0
	for _, path := range flag.Args() {
		header, states, pairs := read(path)
		for _, planted = range todo {
			if planted == "no-second-rebalance" && header.Rebalance == "eager" {
				continue // there is none to forget
			}
			vectors, failed, first := run(path, header, states, pairs)
			fmt.Printf("%-12s %-38s %7d of %d steps fail  %s\n", header.Rebalance, planted, failed, vectors, first)
			if failed > 0 != (planted != "" && *kills) {
				bad = 1
			}
		}
	}
	os.Exit(bad)
}
