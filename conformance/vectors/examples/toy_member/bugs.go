package main

import (
	"fmt"
	"regexp"
	"strings"
)

// bugs are the ways to break the member on purpose: a row of the table, and what it is changed to; nothing: it is left out.
var bugs = []struct{ name, row, wrong string }{
	{"commit-without-deadline", "commit_deadline_expired | !no_commit | committed()", ""},
	{"heartbeat-while-joining", "!keeps silence() >JoinGroup", "!keeps >JoinGroup"},
	{"joins-with-what-it-does-not-want", "unwanted keeps=retains_any", "!unwanted !keeps"},
	{"late-answers-count", "*_* | !current |", ""},
	{"leaves-with-a-kept-id", "!static member/PREPARING_REBALANCE !nobody", "!static !nobody"},
	{"lookup-without-backoff", "INITIALIZED lookup_backoff\n", "INITIALIZED look_up()\n"},
	{"member-id-not-used", "| id_given send_join()", "| id_given"},
	{"no-commit-before-rebalance", "owned auto_commit | commit()", "owned auto_commit | committed()"},
	{"no-second-rebalance", "own_later() follow_up ASSIGNING_PARTITIONS", "own_later() ASSIGNING_PARTITIONS"},
	{"overdue-heartbeat-forgotten", "IDLE/IN_FLIGHT | beat_due", "IDLE/IN_FLIGHT KNOWN | beat_due"},
	{"partitions-lost-silently", "| owned | silence() lose()", ""},
	{"queued-callback-stays-revoked", "silence() lost !will_own !keeps !follow_up", "silence()"},
	{"rejoins-when-fenced", "nobody fenced !polled !wanted >ERROR", "nobody >ERROR"},
	{"stall-forgotten-while-no-coordinator", "KNOWN stall() go_on()", "KNOWN go_on()"},
	{"static-member-leaves", "| !static member/PREPARING_REBALANCE", "| member/PREPARING_REBALANCE"},
	{"two-heartbeats-in-flight", "turn_ended | IDLE KNOWN beat_due", "turn_ended | IDLE/IN_FLIGHT KNOWN beat_due"},
	{"unsubscribed-in-a-revocation-forgotten", "unwanted=!none_later keeps=some_later", "!unwanted !keeps"},
}

// ofCooperative are those that an eager member cannot have: it joins with nothing, and has nothing to give up afterwards.
var ofCooperative = []string{"joins-with-what-it-does-not-want", "no-second-rebalance", "unsubscribed-in-a-revocation-forgotten"}

// tableWith is the table with a bug in it, and as it should be if none is named.
func tableWith(bug string) (string, error) {
	narrow := regexp.MustCompile(` +`).ReplaceAllString(table, " ")
	for _, b := range bugs {
		if b.name == bug && strings.Count(narrow, b.row) == 1 {
			return strings.Replace(narrow, b.row, b.wrong, 1), nil
		}
	}
	if bug != "" {
		return "", fmt.Errorf("no such bug, or no such row any more: %s", bug)
	}
	return narrow, nil
}
