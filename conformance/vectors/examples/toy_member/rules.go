package main

import (
	"slices"
	"strings"
)

// Member is a set of facts, a bit each: a copy is a snapshot, and two can be compared.
type Member uint64

// facts has the bit of each fact; rivals the bits of those that end when it begins to hold.
var facts, rivals = map[string]Member{}, map[string]Member{}

func init() {
	for _, group := range strings.Fields(vocabulary) {
		first, names := len(facts), strings.Split(group, "/")
		for _, name := range names {
			facts[name] = 1 << len(facts)
		}
		for _, name := range names {
			rivals[name] = 1<<len(facts) - 1<<first
		}
	}
}

// Is says whether a fact holds, or with "!" before it whether it does not.
func (m Member) Is(word string) bool {
	name, not := strings.CutPrefix(word, "!")
	return m&facts[name] != 0 != not
}

// Rules are the rows of a table, by event.
type Rules map[string][]row

type row struct {
	when [][]string // each holds: that is, one of its words does
	then []string
}

// ReadRules reads a table.
func ReadRules(table string) Rules {
	rules, events := Rules{}, []string(nil)
	for _, line := range strings.Split(table, "\n") {
		columns := strings.Split(line, "|")
		if len(columns) < 3 {
			continue
		}
		if named := strings.Fields(columns[0]); len(named) > 0 {
			events = named
		}
		next := row{then: strings.Fields(columns[2])}
		for _, words := range strings.Fields(columns[1]) {
			next.when = append(next.when, strings.Split(words, "/"))
		}
		for _, event := range events {
			rules[event] = append(rules[event], next)
		}
	}
	return rules
}

// turn is one event under way, with everything that follows from it.
type turn struct {
	Member
	rules Rules
	sent  []string
}

// On lets one event happen: the member afterwards, and what it sent.
func (r Rules) On(before Member, event string, inputs map[string]bool) (after Member, sent []string) {
	t, told := turn{Member: before, rules: r}, Member(0)
	for name, holds := range inputs {
		if holds {
			told |= facts[name]
		}
	}
	t.Member |= told
	if _, isAnswer := inputs["current"]; isAnswer {
		request, answer, _ := strings.Cut(event, "_")
		t.happens("*_*", request+"_*", event, "*_"+answer)
	} else {
		t.happens(event)
	}
	t.happens("turn_ended")
	return t.Member &^ told, t.sent
}

// happens follows the first row that fits, of the first of these names that has one.
func (t *turn) happens(names ...string) {
	for _, name := range names {
		for _, row := range t.rules[name] {
			if row.fits(t.Member) {
				for _, word := range row.then {
					t.do(word)
				}
				return
			}
		}
	}
}

func (r row) fits(m Member) bool {
	for _, words := range r.when {
		if !slices.ContainsFunc(words, m.Is) {
			return false
		}
	}
	return true
}

func (t *turn) do(word string) {
	event, calls := strings.CutSuffix(word, "()")
	fact, source, copies := strings.Cut(word, "=")
	switch {
	case calls:
		t.happens(event)
	case word[0] == '>':
		t.sent = append(t.sent, word[1:])
	case word[0] == '!':
		t.Member &^= facts[word[1:]]
	case copies && !t.Is(source):
		t.Member &^= facts[fact]
	default:
		t.Member = t.Member&^rivals[fact] | facts[fact]
	}
}
