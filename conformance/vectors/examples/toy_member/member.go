// A toy group member, written from the tables and the prose of the book alone (deployed profile, both protocols): what to do
// next, and nothing else. No wire, no threads, no clock. `bug(...)` marks the places where `-bug NAME` breaks it on purpose.
package main

import (
	"slices"
	"strings"
)

// Member is all that a member remembers. It holds no pointers, so that a copy is a snapshot and two can be compared.
type Member struct {
	Cooperative, AutoCommit, Static bool

	Conn         string // DOWN, INITIALIZED, COORDINATOR_DISCOVERY, STABLE: the coordinator is known
	Needs, Asked bool   // who needs a coordinator: the membership, a commit or a question for offsets
	Wait         string // what the next lookup waits for: "", backoff, poll

	State                                                  string
	Subscribed, Polled, Owned, WillOwn, Keeps, JoinBackoff bool
	Preparing, Lost, CallbackRunning, FollowUp, Leaving    bool
	ID                                                     string // "", id, member
	Commit                                                 string // the commit before a rebalance: "", out, backoff, blocked
	Beat                                                   string // STOPPED, DISABLED, IDLE, IN_FLIGHT
	BeatDue, PollDue                                       bool
}

// Turn is one event under way: the member, and what it sends.
type Turn struct {
	*Member
	Sent []string
}

type refused string // a correct environment never does that; the member is left as it was

func NewMember(cooperative, autoCommit, static bool) Member {
	return Member{Cooperative: cooperative, AutoCommit: autoCommit, Static: static, Conn: "DOWN", State: "UNJOINED", Beat: "STOPPED"}
}

// On lets one event happen: the member afterwards, what it sent, and whether it took the event at all.
func (before Member) On(event string, in map[string]any) (after Member, sent []string, ok bool) {
	after = before
	turn := &Turn{Member: &after}
	defer func() {
		if problem := recover(); problem != nil {
			_ = problem.(refused)
			after, sent, ok = before, nil, false
		}
	}()
	if current, isAnswer := in["current"].(bool); current || !isAnswer || bug("late-answers-count") {
		is := func(name string) bool { value, _ := in[name].(bool); return value }
		turn.handle(event, is("takes"), is("retains"), is("gains"))
	}
	if after.Beat == "IDLE" && after.BeatDue && after.known() && !bug("overdue-heartbeat-forgotten") {
		turn.heartbeat()
	}
	return after, turn.Sent, true
}

func (m *Member) known() bool            { return m.Conn == "STABLE" }
func (m *Member) beats() bool            { return m.Beat == "IDLE" || m.Beat == "IN_FLIGHT" }
func (m *Member) in(list ...string) bool { return slices.Contains(list, m.State) }
func (t *Turn) send(word string)         { t.Sent = append(t.Sent, word) }

func must(holds bool) {
	if !holds {
		panic(refused("never here"))
	}
}

func (t *Turn) handle(event string, takes, retains, gains bool) {
	if slices.Contains([]string{"subscribed_to_topics", "rejoin_requested", "leave_requested", "application_polled", "commit_or_fetch_asked"}, event) {
		must(t.Conn != "DOWN")
	}
	switch event {
	case "started":
		if t.Conn == "DOWN" {
			t.Conn, t.Beat = "INITIALIZED", "DISABLED"
		}
	case "stopped":
		must(!t.beats() && t.State == "UNJOINED" && !t.Subscribed && t.ID == "")
		t.Conn, t.Beat, t.Needs, t.Asked, t.Wait = "DOWN", "STOPPED", false, false, ""
	case "subscribed_to_topics":
		if t.State == "UNJOINED" && !t.Subscribed {
			t.Subscribed, t.Polled = true, false
		}
	case "application_polled":
		t.PollDue = false
		if t.in("UNJOINED", "PREPARING_REBALANCE") && !t.Polled && (t.Subscribed || t.State != "UNJOINED") {
			t.Polled = true
			t.needCoordinator()
			t.join()
		} else if t.State != "UNJOINED" {
			t.Polled = true
		}
		if t.Conn == "INITIALIZED" && t.Wait == "poll" {
			t.lookUpIfNeeded()
		}
	case "poll_raised":
		t.PollDue = false
	case "rejoin_requested":
		t.rebalanceWanted()
	case "leave_requested":
		t.leaveRequested()
	case "callback_started":
		must(t.State == "REVOKING_PARTITION" && !t.CallbackRunning)
		if t.CallbackRunning = true; t.Lost {
			t.send("onPartitionsLost")
		} else {
			t.send("onPartitionsRevoked")
		}
	case "partitions_revoked":
		must(t.State == "REVOKING_PARTITION" && t.CallbackRunning)
		t.revoked()
	case "partitions_assigned":
		if t.State == "ASSIGNING_PARTITIONS" {
			t.assigned()
		}
	case "commit_or_fetch_asked":
		t.Asked = true
		if t.Conn == "INITIALIZED" && t.Wait != "backoff" {
			t.lookUp()
		}
	case "asks_settled":
		t.Asked = false
	case "heartbeat_due":
		if t.Beat == "IDLE" && t.known() && !t.BeatDue || t.Beat == "IN_FLIGHT" && bug("two-heartbeats-in-flight") {
			t.heartbeat()
		} else if t.beats() {
			t.BeatDue = true
		}
	case "session_expired":
		if t.beats() && t.known() {
			t.coordinatorGone()
		}
	case "poll_interval_expired":
		if t.beats() && !t.PollDue {
			t.PollDue = true
			if t.known() {
				t.pollLimit()
			}
		}
	case "join_backoff_elapsed":
		if t.JoinBackoff {
			t.JoinBackoff = false
			t.join()
		}
	case "lookup_backoff_elapsed":
		if t.Conn == "INITIALIZED" && t.Wait == "backoff" {
			t.lookUpIfNeeded()
		}
	case "commit_backoff_elapsed":
		if t.Commit == "backoff" {
			t.commit()
		}
	case "commit_deadline_expired":
		if t.Commit != "" && !bug("commit-without-deadline") {
			t.committed()
		}
	case "ask_coordinator_gone":
		must(t.known() && t.Asked)
		t.coordinatorGone()
	default:
		t.answer(event, takes, retains, gains)
	}
}

func (t *Turn) answer(event string, takes, retains, gains bool) {
	kind, what, _ := strings.Cut(event, "_")
	switch kind {
	case "lookup":
		must(t.Conn == "COORDINATOR_DISCOVERY")
		t.lookedUp(what)
	case "join":
		must(t.State == "PREPARING_REBALANCE" && t.Polled && t.known() && !t.JoinBackoff)
		t.joined(what)
	case "sync":
		must(t.State == "COMPLETING_REBALANCE")
		t.synced(what, takes, retains, gains)
	case "heartbeat":
		must(t.Beat == "IN_FLIGHT")
		t.Beat = "IDLE"
		switch what {
		case "retriable", "error", "coordinator_gone":
			t.BeatDue = false
			if what == "error" {
				t.send("ERROR")
			} else if what == "coordinator_gone" {
				t.coordinatorGone()
			}
		case "rebalance_in_progress":
			if !t.in("PREPARING_REBALANCE", "COMPLETING_REBALANCE") {
				t.rebalanceWanted()
			}
		case "unknown_member", "illegal_generation", "fenced":
			t.membershipLost(what)
		}
	case "commit":
		must(!t.in("UNJOINED", "PREPARING_REBALANCE", "COMPLETING_REBALANCE") && t.known())
		must(t.Commit == "out" || t.Commit == "" && t.Owned && t.ID == "member")
		t.commitAnswered(what)
	}
}

// -- the coordinator

func (t *Turn) lookUp() {
	t.Conn, t.Wait = "COORDINATOR_DISCOVERY", ""
	t.send("FindCoordinator")
}

func (t *Turn) lookUpIfNeeded() {
	if t.Wait = ""; t.Needs || t.Asked {
		t.lookUp()
	}
}

func (t *Turn) needCoordinator() {
	t.Needs = true
	if t.Conn == "INITIALIZED" && t.Wait == "" {
		t.lookUp()
	}
}

func (t *Turn) lookedUp(what string) {
	t.Conn = "INITIALIZED"
	switch what {
	case "retriable":
		if t.Wait = "backoff"; bug("lookup-without-backoff") {
			t.lookUpIfNeeded()
		}
	case "fatal":
		t.Wait, t.Asked = "poll", false
		t.send("ERROR")
	case "found":
		t.Conn = "STABLE"
		if t.PollDue && !bug("stall-forgotten-while-no-coordinator") {
			t.pollLimit()
		}
		if t.Commit == "blocked" {
			t.commit()
		} else if t.in("UNJOINED", "PREPARING_REBALANCE", "PARTITION_REVOKED", "STABLE") {
			t.join()
		}
	}
}

func (t *Turn) coordinatorGone() {
	if !t.known() {
		return
	}
	t.Conn = "INITIALIZED"
	if t.Beat == "IN_FLIGHT" {
		t.Beat, t.BeatDue = "IDLE", false
	}
	if t.Commit == "out" {
		t.Commit = "backoff"
	}
	if t.State == "COMPLETING_REBALANCE" || t.State == "PREPARING_REBALANCE" && t.Polled {
		t.State, t.JoinBackoff = "PREPARING_REBALANCE", true
	}
	if t.Needs || t.Asked {
		t.lookUp()
	}
}

// -- joining

func (t *Turn) join() {
	ready := t.known() && t.Polled && !t.JoinBackoff
	switch t.State {
	case "UNJOINED", "PARTITION_REVOKED":
		ready = ready && t.Subscribed
	case "STABLE": // a commit comes first; no poll is waited for
		ready = t.known() && t.Preparing && t.Commit == ""
	case "PREPARING_REBALANCE":
	default:
		return
	}
	if ready {
		t.sendJoin()
	}
}

func (t *Turn) unjoin() {
	t.State, t.FollowUp = "UNJOINED", false
	t.join()
}

func (t *Turn) sendJoin() {
	t.State, t.Preparing, t.FollowUp, t.JoinBackoff = "PREPARING_REBALANCE", false, false, false
	if !bug("heartbeat-while-joining") {
		t.silence()
	}
	t.send("JoinGroup")
}

func (t *Turn) joined(what string) {
	switch what {
	case "accepted":
		t.State, t.ID, t.Beat, t.BeatDue, t.PollDue = "COMPLETING_REBALANCE", "member", "IDLE", false, false
		t.send("SyncGroup")
	case "member_id_required":
		if t.ID = "id"; !bug("member-id-not-used") {
			t.sendJoin()
		}
	case "rebalance_in_progress":
		t.sendJoin()
	case "coordinator_loading":
		t.JoinBackoff = true
	case "coordinator_gone":
		t.JoinBackoff = true
		t.coordinatorGone()
	case "fatal":
		t.Polled = false
		t.send("ERROR")
	default:
		t.membershipLost(what)
	}
}

func (t *Turn) synced(what string, takes, retains, gains bool) {
	switch what {
	case "accepted":
		if t.Cooperative && t.Owned && takes {
			t.WillOwn, t.Keeps = gains || retains, retains
			t.revoke()
			return
		}
		t.State, t.Keeps, t.Owned = "ASSIGNING_PARTITIONS", false, gains || t.Cooperative && t.Owned
		t.send("ASSIGN_PARTITIONS")
	case "rebalance_in_progress":
		t.sendJoin()
	case "coordinator_gone":
		t.State, t.JoinBackoff = "PREPARING_REBALANCE", true
		t.coordinatorGone()
	case "fatal":
		t.State, t.Polled = "PREPARING_REBALANCE", false
		t.send("ERROR")
	default:
		t.membershipLost(what)
	}
}

// -- a rebalance, and the commit before it

func (t *Turn) rebalanceWanted() {
	switch t.State {
	case "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "ASSIGNING_PARTITIONS":
		t.FollowUp = true
	case "STABLE":
		if t.Preparing {
			return
		}
		if t.Cooperative {
			t.Preparing = true
		} else {
			t.State, t.Keeps = "PREPARE_REVOCATION", false
		}
		if t.Owned && t.AutoCommit && !bug("no-commit-before-rebalance") {
			t.commit()
		} else {
			t.committed()
		}
	}
}

func (t *Turn) commit() {
	if t.Commit = "blocked"; t.known() {
		t.Commit = "out"
		t.send("OffsetCommit")
	}
}

// committed: the commit is over, well or not; the rebalance goes on.
func (t *Turn) committed() {
	if t.Commit = ""; t.State == "STABLE" {
		t.join()
	} else {
		t.revoke()
	}
}

func (t *Turn) commitAnswered(what string) {
	switch what {
	case "settled":
		if t.Commit == "out" {
			t.committed()
		}
	case "rebalance_in_progress":
		if t.Commit == "out" {
			t.committed()
		} else {
			t.rebalanceWanted()
		}
	case "retriable", "coordinator_gone":
		if t.Commit == "out" {
			t.Commit = "backoff"
		}
		if what == "coordinator_gone" {
			t.coordinatorGone()
		}
	default:
		t.membershipLost(what)
	}
}

// -- callbacks

func (t *Turn) revoke() {
	t.State, t.Lost, t.CallbackRunning = "REVOKING_PARTITION", false, false
	t.send("REVOKE_PARTITIONS")
}

func (t *Turn) lose() {
	t.State, t.Lost, t.CallbackRunning, t.Keeps = "REVOKING_PARTITION", true, false, false
	t.Commit, t.Preparing, t.FollowUp, t.WillOwn = "", false, false, false
	t.send("REVOKE_PARTITIONS")
}

func (t *Turn) revoked() {
	lost, member := t.Lost, t.ID == "member"
	t.Owned, t.Lost, t.CallbackRunning = t.Keeps, false, false
	switch {
	case !lost && t.Keeps && !member:
		t.silence()
		t.lose()
	case !lost && t.Keeps && t.Leaving:
		t.Keeps = false
		t.revoke()
	case t.Leaving:
		t.State = "UNJOINED"
		t.leave()
	case lost || !member:
		t.unjoin()
	case t.Cooperative:
		t.State, t.FollowUp, t.Owned, t.WillOwn, t.Keeps = "ASSIGNING_PARTITIONS", !bug("no-second-rebalance"), t.WillOwn, false, false
		t.send("ASSIGN_PARTITIONS")
	default:
		t.State = "PARTITION_REVOKED"
		t.join()
	}
}

func (t *Turn) assigned() {
	switch {
	case t.ID == "member":
		again := t.FollowUp
		if t.State, t.FollowUp = "STABLE", false; again {
			t.rebalanceWanted()
		}
	case t.Owned:
		t.lose()
	default:
		t.unjoin()
	}
}

// -- the membership is lost, or given up

// membershipLost: an answer says that the identity is gone (fenced: another process has it; the application must poll again).
func (t *Turn) membershipLost(what string) {
	if t.ID = ""; what == "illegal_generation" { // the id stays good, its generation is over
		t.ID = "id"
	}
	if what == "fenced" {
		t.Polled = bug("rejoins-when-fenced")
		t.send("ERROR")
	}
	t.afterLoss()
}

func (t *Turn) pollLimit() {
	if t.State == "REVOKING_PARTITION" && t.Leaving {
		return
	}
	if !t.Static || bug("static-member-leaves") {
		t.send("LeaveGroup")
	}
	t.ID, t.Polled = "", false
	t.afterLoss()
}

func (t *Turn) afterLoss() {
	t.silence()
	switch {
	case t.State == "REVOKING_PARTITION" && !t.CallbackRunning && !bug("queued-callback-stays-revoked"):
		t.Lost, t.Keeps, t.FollowUp, t.WillOwn = true, false, false, false
	case t.in("REVOKING_PARTITION", "ASSIGNING_PARTITIONS"):
	case t.Owned && !bug("partitions-lost-silently"):
		t.lose()
	default:
		t.Commit, t.Preparing = "", false
		t.unjoin()
	}
}

func (t *Turn) leaveRequested() {
	if t.State == "UNJOINED" {
		if t.Subscribed || t.ID != "" {
			t.leave()
		}
		return
	}
	if !t.Owned && t.State != "REVOKING_PARTITION" {
		t.State = "UNJOINED"
		t.leave()
		return
	}
	if t.State == "REVOKING_PARTITION" && t.Leaving {
		return
	}
	t.Leaving, t.Commit, t.Preparing, t.FollowUp, t.JoinBackoff = true, "", false, false, false
	if t.in("PREPARING_REBALANCE", "COMPLETING_REBALANCE") || t.State == "ASSIGNING_PARTITIONS" && t.ID != "member" {
		t.lose() // a rebalance is given up: what is owned counts as lost
	} else if t.State != "REVOKING_PARTITION" {
		t.Keeps = false
		t.revoke()
	}
}

func (t *Turn) leave() {
	t.Leaving, t.Subscribed, t.Polled, t.JoinBackoff, t.FollowUp = false, false, false, false, false
	t.Commit, t.Preparing, t.WillOwn, t.Keeps, t.Needs = "", false, false, false, false
	if !t.Static && t.ID != "" && t.known() {
		t.send("LeaveGroup")
	}
	t.ID = ""
	t.silence()
}

// -- heartbeats

func (t *Turn) heartbeat() {
	t.Beat, t.BeatDue = "IN_FLIGHT", false
	t.send("Heartbeat")
}

func (t *Turn) silence() {
	if t.BeatDue, t.PollDue = false, false; t.beats() {
		t.Beat = "DISABLED"
	}
}
