// Runs vector files on the toy member: `go run . FILE...`; broken on purpose, `go run . -bug NAME FILE...`; in every way, one
// after the other, `go run . -kills FILE...`. With `-wire` only what is sent and refused counts, as for a client that shows no more.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

var refused = []string{"REFUSED"}

var machines = []string{"timeouts", "rebalance", "connection"}

var wireOnly = flag.Bool("wire", false, "compare only what is sent and what is refused, no states")

// run counts vectors, and those that fail; `first` describes the first that does.
func run(rules Rules, header line, states, pairs []line) (vectors, failed int, first string) {
	events := header.Legend.Events
	fail := func(what string, about ...any) {
		if failed++; first == "" {
			first = fmt.Sprintf(what, about...)
		}
	}
	at := make([]Member, len(states)) // the member in each state, as the way there left it
	for i, s := range states {        // breadth first: the state before stands before
		if s.From != nil {
			e := events[s.From[1]]
			at[i], _ = rules.On(at[s.From[0]], e.Name, e.Inputs)
			continue
		}
		at[i], _ = rules.On(0, "created", nil)
		at[i] |= facts[header.Rebalance] // "eager" is not a fact: none
		for name, holds := range header.Configurations[s.Config] {
			if holds {
				at[i] |= facts[name]
			}
		}
	}
	step := func(before Member, code, sent, target int) Member {
		e, wanted := events[code], header.Legend.Sent[sent]
		after, said := rules.On(before, e.Name, e.Inputs)
		vectors++
		if !slices.Equal(said, wanted) || !*wireOnly && after != at[target] {
			fail("%s must send %v and lead to %v; it sent %v and led to %v", e.Name, wanted, at[target], said, after)
		}
		return after
	}
	for i, s := range states {
		for machine, code := range s.Is {
			name := header.Legend.States[machines[machine]][code]
			if machines[machine] == "connection" {
				name = strings.Replace(name, "STABLE", "KNOWN", 1)
			}
			if !*wireOnly && !at[i].Is(name) {
				fail("state %d should be %s, and is %v", i, name, at[i]) // advisory, but this member has these names
			}
		}
		for _, does := range s.Does {
			step(at[i], does[0], does[1], does[2])
		}
		for _, code := range header.Legend.Stays[s.Stays] {
			step(at[i], code, 0, i) // sent 0: nothing
		}
		for _, group := range header.Legend.Never[s.Never] {
			for _, code := range group[1].([]any) {
				e := events[int(code.(float64))]
				vectors++
				if after, said := rules.On(at[i], e.Name, e.Inputs); after != at[i] || !slices.Equal(said, refused) {
					fail("%s in %v must be refused (rule %v)", e.Name, at[i], group[0])
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

// String names the facts that hold.
func (m Member) String() string {
	var names []string
	for name := range facts {
		if m.Is(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return "(" + strings.Join(names, " ") + ")"
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func main() {
	bug := flag.String("bug", "", "break the member on purpose")
	kills := flag.Bool("kills", false, "break it in every way, one after the other, and say which vectors notice")
	flag.Parse()
	if flag.NArg() == 0 {
		check(errors.New("which files? For instance ../../data/member.*.gz"))
	}
	todo, bad := []string{*bug}, false
	if *kills {
		for _, b := range bugs {
			todo = append(todo, b.name)
		}
	}
	for _, path := range flag.Args() {
		header, states, pairs := read(path)
		for _, bug := range todo {
			if slices.Contains(ofCooperative, bug) && header.Rebalance == "eager" {
				continue
			}
			rows, err := tableWith(bug)
			check(err)
			vectors, failed, first := run(ReadRules(rows), header, states, pairs)
			fmt.Printf("%-12s %-38s %7d of %d steps fail  %s\n", header.Rebalance, bug, failed, vectors, first)
			bad = bad || failed > 0 != (bug != "" && *kills)
		}
	}
	if bad {
		os.Exit(1)
	}
}
