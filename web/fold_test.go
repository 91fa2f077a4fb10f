package web_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"modernc.org/quickjs"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/thread"
	"github.com/convene-run/convene/web"
)

// pageFold runs a fold of the page on a log and gives the state after each event.
func pageFold(t testing.TB, fold string, bodies []string) []string {
	t.Helper()
	source, err := os.ReadFile("testdata/fold.js")
	require.NoError(t, err)
	vm, err := quickjs.NewVM()
	require.NoError(t, err)
	defer func() { require.NoError(t, vm.Close()) }()
	require.NoError(t, vm.SetEvalTimeout(time.Hour)) // the test has a bound of its own, on a busy machine too
	_, err = vm.Eval(string(source)+"\n;globalThis.statesOf = (log) => JSON.stringify(fold."+fold+"(log)); 0", quickjs.EvalGlobal)
	require.NoError(t, err)
	result, err := vm.Call("statesOf", strings.Join(bodies, "\n"))
	require.NoError(t, err)
	var states []string
	require.NoError(t, json.Unmarshal([]byte(result.(string)), &states))
	return states
}

// canonical writes the part of the Go state that the page has too, as the page
// does: members sorted by name.
func canonical(t testing.TB, th *thread.Thread) string {
	t.Helper()
	runs := []any{}
	for _, run := range th.Runs {
		runs = append(runs, canonicalRun(run))
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(map[string]any{"seq": th.Seq, "runs": runs, "handoffs": canonicalHandoffs(&th.Handoffs), "inbox": canonicalInbox(th), "messages": canonicalMessages(th)}))
	return strings.TrimSuffix(out.String(), "\n")
}

func canonicalInbox(th *thread.Thread) map[string]any {
	queue, inputs := []any{}, []any{}
	for _, m := range th.Queue() {
		queue = append(queue, map[string]any{"id": m.MessageID, "content": m.Content, "time": m.Time})
	}
	for _, run := range th.Runs {
		for _, i := range run.Inputs() {
			var answer any
			if i.Answer != nil {
				answer = i.Answer.Content
			}
			inputs = append(inputs, map[string]any{
				"id": i.InputID, "run_id": run.ID, "agent": i.Agent, "kind": i.For, "question": i.Question, "choices": emptyNotNil(i.Choices),
				"answer": answer, "settled": i.Settled,
			})
		}
	}
	return map[string]any{"queue": queue, "inputs": inputs}
}

func canonicalMessages(th *thread.Thread) []any {
	messages := []any{}
	for _, m := range th.Messages(0, 0) {
		messages = append(messages, map[string]any{
			"seq": m.Seq, "run": m.Run, "id": m.ID, "role": m.Role, "agent": m.Agent, "user": m.UserID, "content": m.Content, "time": m.Time,
			"interim": m.Interim, "delivery": m.Delivery, "input": m.InputID,
		})
	}
	return messages
}

func canonicalHandoffs(state *conversation.State) map[string]any {
	active, person, sessions := "", "", []any{}
	if session := state.Active(); session != nil {
		active = string(session.ID)
	}
	if session := state.Person(); session != nil {
		person = string(session.ID)
	}
	for _, s := range state.Sessions {
		var ended any = ""
		if !s.Ended.IsZero() {
			ended = s.Ended
		}
		sessions = append(sessions, map[string]any{
			"id": s.ID, "target": s.Request.Target, "status": s.Status, "started": s.Started, "ended": ended, "result": s.Result,
			"artifacts": emptyNotNil(s.Artifacts), "state": s.Workflow.State, "step": s.Workflow.Step, "steps": s.Workflow.Steps, "metadata": s.Workflow.Metadata,
		})
	}
	history := []any{}
	for _, p := range state.Progress.History {
		history = append(history, map[string]any{
			"from_phase": p.From, "to_phase": p.To, "from_agent": p.FromAgent, "to_agent": p.ToAgent, "reason": p.Reason, "time": p.Time,
		})
	}
	return map[string]any{"active": active, "person": person, "routed": state.Routed, "sessions": sessions, "progress": map[string]any{
		"phase": state.Progress.Phase, "active_agent_id": state.Progress.ActiveAgent, "handoff_count": state.Progress.HandoffCount, "phase_history": history,
	}}
}

func canonicalRun(run *thread.Run) map[string]any {
	board, entries, places, dispatches, limits := []any{}, []any{}, []any{}, []any{}, []any{}
	for _, task := range run.Board.Tasks() {
		board = append(board, map[string]any{
			"id": task.ID, "text": task.Text, "assigned_to": task.AssignedTo, "finished": task.Finished, "auto": run.Board.AutoCompleted(task.ID),
			"declined": task.Declined, "replaced_by": run.Board.ReplacedBy(task.ID),
		})
	}
	for id := 1; id <= run.Document.Version(); id++ {
		entry, _ := run.Document.Entry(events.EntryID(id))
		trace := [][]int{}
		for _, s := range run.Document.Trace(entry.ID) {
			row := []int{s.Start, s.End}
			for _, source := range s.Entries {
				row = append(row, int(source))
			}
			trace = append(trace, row)
		}
		footnotes := []string{}
		for _, note := range run.Document.Footnotes(entry.ID) {
			footnotes = append(footnotes, fmt.Sprintf("%d %d %v %s", note.Entry, note.End, note.Found, note.Quote))
		}
		entries = append(entries, map[string]any{
			"id": id, "section": entry.Section, "slot": entry.Slot, "agent": entry.Author, "replaced_by": entry.ReplacedBy, "trace": trace,
			"footnotes": footnotes, "unsupported": append([]events.EntryID{}, run.Document.Unsupported(entry.ID)...),
		})
	}
	for _, place := range run.Document.Places() {
		live := []int{}
		for _, entry := range run.Document.Entries(place) {
			live = append(live, int(entry.ID))
		}
		places = append(places, map[string]any{"section": place.Section, "slot": place.Slot, "live": live})
	}
	for _, d := range run.Dispatches {
		outcome := events.Outcome("")
		if d.Finish != nil {
			outcome = d.Finish.Status
		}
		dispatches = append(dispatches, map[string]any{
			"id": d.ID, "agent": d.Start.Agent, "tasks": emptyNotNil(d.Start.TaskIDs), "outcome": outcome,
			"progress": d.Progress, "started": d.Started,
		})
	}
	for _, l := range run.Limits {
		limits = append(limits, l.Limit)
	}
	answer, failure := "", ""
	if run.FinalAnswer != nil {
		answer = run.FinalAnswer.Content
	}
	if run.Failure != nil {
		failure = run.Failure.Message
	}
	return map[string]any{
		"run_id": run.ID, "team": run.Team, "status": run.Status, "reason": run.Reason, "limit": run.Limit,
		"started_at": run.Start, "updated_at": run.Updated, "first_seq": run.FirstSeq, "last_seq": run.LastSeq,
		"forked_from": run.Started.ForkedFrom, "models": emptyNotNil(run.Models), "tasks": run.Tasks, "finished_tasks": run.FinishedTasks, "model_calls": run.ModelCalls,
		"cost_usd": run.CostUSD, "input_tokens": run.Usage.InputTokens, "cached_input_tokens": run.Usage.CachedInputTokens,
		"cache_write_input_tokens": run.Usage.CacheWriteInputTokens, "cache_write_1h_input_tokens": run.Usage.CacheWrite1hInputTokens,
		"output_tokens": run.Usage.OutputTokens, "reasoning_tokens": run.Usage.ReasoningTokens,
		"board": board, "document": run.Document.RenderClean(), "cited": run.Document.RenderCited(), "places": places, "entries": entries, "dispatches": dispatches,
		"answer": answer, "failure": failure, "limits": limits, "driven_ms": run.Driven.Milliseconds(),
		"cancel_requested": run.CancelRequested != nil, "cancelled": run.Cancelled, "outage": outageOf(run),
	}
}

func emptyNotNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// agree compares the two folds after every event.
func agree(t *testing.T, log events.Log, key events.ThreadKey) {
	t.Helper()
	bodies := encoded(t, log, key)
	states := pageFold(t, "states", bodies)
	require.Len(t, states, len(bodies))
	th := thread.New()
	for i, body := range bodies {
		env, err := events.Decode([]byte(body))
		require.NoError(t, err)
		require.NoError(t, th.Apply(env))
		require.JSONEq(t, canonical(t, th), states[i], "after %s", body)
	}
}

// Proves R12, R71: the page's fold and those of Go agree after every event of whole
// runs, of every built-in team, of cancelled, limited, forked and resumed ones.
func TestPageAndGoFoldAlike(t *testing.T) {
	race.Skip(t, "what is compared is in one goroutine")
	for _, name := range []string{"trip", "general", "research", "review"} {
		t.Run(name, func(t *testing.T) {
			log, run := simulated(t, name, sim.Options{})
			agree(t, log, events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread})
		})
	}
	for _, behaviour := range []sim.Behaviour{sim.BehaveFlood, sim.BehaveCircles, sim.BehaveEmpty} {
		t.Run(string(behaviour), func(t *testing.T) {
			log, run := simulated(t, "trip", sim.Options{Behaviour: behaviour})
			agree(t, log, events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread})
		})
	}
	t.Run("fork", func(t *testing.T) {
		log := events.NewMemory()
		runs := newSimRuns(t, log, sim.Options{})
		first, err := runs.Start(t.Context(), operator, web.Job{Request: "Plan a day in Kyoto"})
		require.NoError(t, err)
		runs.wait()
		fork, err := runs.Fork(t.Context(), operator, first.Run, web.Fork{At: 12, Instruction: "Keep it cheap"})
		require.NoError(t, err)
		runs.wait()
		key := events.ThreadKey{Tenant: events.LocalTenant, Thread: fork.Thread}
		require.Contains(t, encoded(t, log, key)[0], `"forked_from":{"run_id":"`+string(first.Run))
		agree(t, log, key)
	})
}

// Proves R71: what no simulated run holds: bytes that are not letters of one byte,
// names that differ in case, spans inside spans, failures, a cancellation and a
// second run in the thread.
func TestPageAndGoFoldRareThingsAlike(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	first := s.run
	s.start("Größe 漢字 🎈")
	s.add(events.TasksCreated{Tasks: []events.Task{{ID: 1, Text: "ä", AssignedTo: "food"}, {ID: 2, Text: "b", AssignedTo: "food"}}})
	write := func(id int, section, slot, content string, replaced []events.EntryID, spans ...events.Span) {
		e := events.DocumentUpdated{
			Version: id, EntryID: events.EntryID(id), Author: "food", Content: content, Section: section, Slot: slot, Replaced: replaced, Spans: spans,
		}
		for _, span := range spans {
			e.Merged = append(e.Merged, span.Entry)
		}
		e.Sources, e.Unsupported = []events.Citation{{Source: events.Source{Tool: "search"}, Quote: content + " é_*1\n 2", Found: id%2 == 0}}, id%3 == 0
		s.add(e)
	}
	write(1, "Straße  Eins", "Main", "Grüße 漢字 🎈.", nil)
	write(2, "ÉTÉ", "notes", "second", nil)
	write(3, "straße eins", "main", "third", nil)
	one := len("Grüße 漢字 🎈.")
	write(4, "Straße Eins", "MAIN", "→ Grüße 漢字 🎈. and more 🎈", []events.EntryID{1, 3}, events.Span{Start: 4, End: 4 + one, Entry: 1})
	four := len("→ Grüße 漢字 🎈. and more 🎈")
	write(5, "Straße Eins", "main", "→ Grüße 漢字 🎈. and more 🎈 end", []events.EntryID{4}, events.Span{Start: 0, End: four, Entry: 4})
	write(6, "été", "ΣΊΣΥΦΟΣ", "ς", nil)
	write(7, "ǆ first_second", "a-b", "x", nil)
	zero, cost := 0.0, 0.25
	s.add(
		events.TaskUpdated{Task: events.Task{ID: 1, Text: "ä", AssignedTo: "food", Declined: "keine Quellen 漢"}},
		events.TasksCreated{Tasks: []events.Task{
			{ID: 3, Text: "c", AssignedTo: "food", Replaces: []events.TaskID{1}}, {ID: 4, Text: "d", AssignedTo: "food", Replaces: []events.TaskID{1}},
		}},
		events.TaskUpdated{Task: events.Task{ID: 4, Text: "d", AssignedTo: "food", Replaces: []events.TaskID{1}, Declined: "auch nicht"}},
		events.TaskUpdated{Task: events.Task{ID: 2, Text: "b", AssignedTo: "food", Finished: true}, AutoCompleted: true},
		events.LimitReached{Limit: "max_tokens", Value: 5, Used: 6, Consequence: "wrap up"},
		events.Error{Message: "broken", FailedCall: events.FailedCall{Lost: &events.Spent{Usage: events.Usage{InputTokens: 3}, CostUSD: &cost}}},
		events.ModelCallFailed{FailedCall: events.FailedCall{ModelCall: "f.1", Lost: &events.Spent{Usage: events.Usage{InputTokens: 20, OutputTokens: 1}, CostUSD: &cost}}},
		events.ModelCalled{ID: "f.1", CostUSD: &cost, Lost: &events.Spent{Usage: events.Usage{InputTokens: 100, ReasoningTokens: 4}, CostUSD: &cost}},
		events.RunSuspended{Reason: "stopped"}, events.RunResumed{Owner: "other"},
		events.CancelRequested{Reason: "enough"}, events.RunCancelled{Reason: "enough"},
		events.UserMessage{Content: "too late for the run"}, events.Warning{Code: "a"},
		events.WorkflowFinished{Status: events.StatusCancelled, Reason: "enough", CostUSD: &zero},
		events.UserMessage{Content: "behind its end"}, events.CancelRequested{},
	)
	s.run += "2"
	s.start("again")
	s.add(events.UserMessage{Content: "hello"}, events.WorkflowFinished{Status: events.StatusFailed, Reason: "no"})
	s.run += "3"
	s.add(events.WorkflowStarted{Message: "Go on", Continues: first, TasksBefore: 3, FinishedBefore: 1})
	write(8, "Straße Eins", "main", "once more", []events.EntryID{5})
	s.add(
		events.TaskUpdated{Task: events.Task{ID: 3, Text: "c", AssignedTo: "food", Replaces: []events.TaskID{1}, Finished: true}},
		events.TasksCreated{Tasks: []events.Task{{ID: 5, Text: "e", AssignedTo: "food", Replaces: []events.TaskID{4}}}},
		events.ModelCalled{ID: "f.1", CostUSD: &cost}, events.WorkflowFinished{Status: events.StatusDegraded, Reason: "c"},
	)
	agree(t, log, s.key)
}

// Proves R32, R34, R35: both folds say alike who speaks: steps, a second handoff that is
// rejected, exits in time, late, and after the run was cancelled.
func TestPageAndGoFoldHandoffsAlike(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("I want to create a skill")
	asked := func(id events.HandoffID) events.HandoffRequested {
		return events.HandoffRequested{HandoffID: id, Source: events.FacilitatorID, Target: "food", ContextSummary: "Wants a skill", Reason: "so"}
	}
	s.add(
		events.MessageRouted{MessageID: "m1", Agent: "food", Tier: events.TierTrigger, Rule: "create a skill"},
		asked("h1"), events.HandoffAccepted{HandoffID: "h1"},
		events.WorkflowStateChanged{HandoffID: "h1", To: "one", Step: 1, Steps: 2, Metadata: json.RawMessage(`{"b":[1,{}],"a":"ü"}`)},
		asked("h2"), events.HandoffRejected{HandoffID: "h2", Code: "active_session", Reason: "busy"},
		events.HandoffExitRequested{HandoffID: "h2", By: "ann"},
		events.WorkflowStateChanged{HandoffID: "h1", From: "one", To: "two", Step: 2, Steps: 2},
		events.HandoffExitRequested{HandoffID: "h1", By: "ann"},
		events.HandoffReturned{HandoffID: "h1", CompletionStatus: events.CompletionCancelled, ResultSummary: "half", ArtifactsCreated: []string{"a.md"}},
		asked("h3"), events.HandoffAccepted{HandoffID: "h3"},
		events.RunCancelled{Reason: "enough"}, events.HandoffExitRequested{HandoffID: "h3", By: "ann"},
		events.WorkflowFinished{Status: events.StatusCancelled, CostUSD: new(float64)},
		events.HandoffExitRequested{HandoffID: "h3", By: "ann"},
	)
	agree(t, log, s.key)
}

// Both folds say alike what waits in a thread and what was asked of people: messages that come
// twice, that a cancelled run does not hear, that find no room; answers that come late.
func TestPageAndGoFoldInboxAlike(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("Plan a day")
	run := s.run
	outside := func(data ...events.Event) {
		s.run = ""
		s.add(data...)
		s.run = run
	}
	message := func(id events.MessageID, input events.InputID) events.UserMessage {
		return events.UserMessage{Content: "I say " + string(id), MessageID: id, InputID: input}
	}
	ref := events.CallRef{ModelCall: "f.1", CallID: "c1", Arguments: "{}"}
	s.add(
		message("m1", ""), message("m1", ""),
		events.ModelCalled{ID: "f.1", CostUSD: new(float64), Reply: events.Reply{ToolCalls: []events.ToolCall{{ID: "c1", Name: "ask_user", Arguments: "{}"}}}},
		events.InputRequested{InputID: "i1", For: events.InputQuestion, Question: "Where?", Choices: []string{"Kyoto"}, Call: "c1"},
		events.InputRequested{InputID: "i2", For: events.InputHuman, Question: "Hello?"},
		message("m2", "i9"), message("m3", "i1"), message("m4", "i1"), message("m1", "i2"),
		events.RunSuspended{AwaitingInput: true}, events.RunResumed{Owner: "other"},
		events.ToolCallDone{Tool: "ask_user", Result: "Kyoto", CallRef: ref},
		events.InputRequested{InputID: "i3", For: events.InputApproval, Question: "May it?", Call: "c9", Action: &events.Action{Tool: "send_mail", Arguments: "{}"}},
		message("m6", "i3"), // a text approves nothing
		events.UserMessage{Content: "No", MessageID: "m7", InputID: "i2", Approval: &events.Approval{Decision: events.DecisionDeny}},
		events.UserMessage{Content: "No", MessageID: "m8", InputID: "i3", Approval: &events.Approval{Decision: events.DecisionDeny}},
	)
	outside(message("q1", ""), message("q1", ""), message("m1", ""), message("q2", "i2"), events.UserMessage{Content: "nameless"})
	s.add(events.RunCancelled{Reason: "enough"}, message("q3", ""), message("m5", "i2"))
	for i := range thread.MaxQueued {
		outside(message(events.MessageID(fmt.Sprint("more", i)), ""))
	}
	s.add(events.WorkflowFinished{Status: events.StatusCancelled, CostUSD: new(float64)}, message("late", ""))
	run += "2"
	s.run = run
	s.add(events.WorkflowStarted{Message: "I say q1", MessageID: "q1"}, events.InputRequested{InputID: "i4", For: events.InputQuestion, Question: "So?"})
	agree(t, log, s.key)
}

// Proves R38 and R45: both folds say alike in which phase the conversation is: one that
// follows another, one that is taken back, and the end of the last.
func TestPageAndGoFoldPhasesAlike(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("Assess my company")
	asked := func(id events.HandoffID, source, target events.AgentID) events.HandoffRequested {
		return events.HandoffRequested{HandoffID: id, Source: source, Target: target, ContextSummary: "found", Reason: "so"}
	}
	done := func(id events.HandoffID) events.HandoffReturned {
		return events.HandoffReturned{HandoffID: id, CompletionStatus: events.CompletionCompleted, ResultSummary: "found"}
	}
	s.add(
		events.MessageRouted{MessageID: "m1", Agent: "food", Tier: events.TierRule, Rule: "pipeline: intake"},
		asked("h1", events.RouterID, "food"), events.HandoffAccepted{HandoffID: "h1"},
		events.PhaseChanged{To: "intake", ToAgent: "food", Reason: "a rule", HandoffID: "h1"},
		done("h1"), asked("h2", "food", "logistics"), events.HandoffAccepted{HandoffID: "h2"},
		events.PhaseChanged{From: "intake", To: "handling", FromAgent: "food", ToAgent: "logistics", Reason: "done", HandoffID: "h2", FromHandoffID: "h1"},
		events.TransitionRolledBack{HandoffID: "h2", ToSeq: 5, Reason: "logistics failed"},
		done("h1"), asked("h3", "food", "logistics"), events.HandoffAccepted{HandoffID: "h3"},
		events.PhaseChanged{From: "intake", To: "handling", FromAgent: "food", ToAgent: "logistics", Reason: "done", HandoffID: "h3", FromHandoffID: "h1"},
		done("h3"), events.PhaseChanged{From: "handling", FromAgent: "logistics", ToAgent: events.FacilitatorID, Reason: "done", FromHandoffID: "h3"},
	)
	agree(t, log, s.key)
}

// Proves R32, R35: both folds say alike what becomes of requests that wait for a session to
// end, and of one that is resumed.
func TestPageAndGoFoldQueuedAndResumedHandoffsAlike(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("I want to create a skill")
	asked := func(id events.HandoffID, target events.AgentID) events.HandoffRequested {
		return events.HandoffRequested{HandoffID: id, Source: events.FacilitatorID, Target: target, ContextSummary: "Wants a skill", Reason: "so", PreserveState: true}
	}
	left := func(id events.HandoffID) events.HandoffReturned {
		return events.HandoffReturned{HandoffID: id, CompletionStatus: events.CompletionCancelled, ResultSummary: "half", Notice: "Bye"}
	}
	s.add(
		asked("h1", "food"), events.HandoffAccepted{HandoffID: "h1", Notice: "Connecting you with Food..."},
		events.WorkflowStateChanged{HandoffID: "h1", To: "one", Step: 1, Steps: 2, Metadata: json.RawMessage(`{"a":1}`)},
		asked("h2", "logistics"), asked("h3", "food"),
		left("h1"), events.HandoffRejected{HandoffID: "h2", Code: "unavailable", Reason: "down"}, events.HandoffAccepted{HandoffID: "h3"},
		left("h3"), events.PermissionDenied{Permission: "handoff:initiate", What: "hand over"},
		events.HandoffResumed{HandoffID: "h1", By: "ann", ContextSummary: "Goes on", Notice: "Reconnecting"},
		events.WorkflowStateChanged{HandoffID: "h1", From: "one", To: "two", Step: 2, Steps: 2},
		events.HandoffReturned{HandoffID: "h1", CompletionStatus: events.CompletionCompleted, ResultSummary: "done"},
		events.WorkflowFinished{Status: events.StatusCompleted, CostUSD: new(float64)},
	)
	agree(t, log, s.key)
}

// Proves R49: both folds say alike what a person is asked beside whom the agents go on
// answering: over runs, answered at once and from the queue, too late, and left.
func TestPageAndGoFoldPersonBesideAgentsAlike(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("Help")
	run, runs := s.run, 1
	person := func(id events.HandoffID) {
		s.add(events.HandoffRequested{HandoffID: id, Source: events.FacilitatorID, Target: events.HumanID, ContextSummary: "Wants help", Reason: "so"},
			events.HandoffAccepted{HandoffID: id, AllMayAnswer: true, Notice: "A person has been asked"})
	}
	asks := func(input events.InputID, question string) events.InputRequested {
		return events.InputRequested{InputID: input, For: events.InputHuman, Question: question, HandoffID: "h1"}
	}
	answers := func(id events.MessageID, input events.InputID) {
		under := s.run
		s.run = ""
		s.add(events.UserMessage{Content: "I am Joe " + string(id), MessageID: id, InputID: input, UserID: "joe"})
		s.run = under
	}
	finish := func(more ...events.Event) {
		s.add(append(more, events.WorkflowFinished{Status: events.StatusCompleted, CostUSD: new(float64)})...)
	}
	next := func(said string, id events.MessageID) {
		runs++
		s.run = events.RunID(fmt.Sprint(run, runs))
		s.add(events.WorkflowStarted{Message: said, MessageID: id})
	}
	person("h1")
	s.add(asks("i1", "Help"), events.UserMessage{Content: "in its place", MessageID: "in", InputID: "i1"})
	finish(events.FinalAnswer{Content: "Somebody looks into it."})
	answers("early", "i2")
	next("Is it done?", "m2")
	s.add(asks("i2", "Is it done?"), events.InputRequested{InputID: "i3", For: events.InputQuestion, Question: "Which?"})
	answers("superseded", "i1")
	answers("a1", "i2")
	answers("a1", "i2")
	answers("second", "i2")
	finish()
	next("I am Joe a1", "a1")
	s.add(events.FinalAnswer{Content: "I am Joe a1"})
	finish()
	next("Thanks", "m3")
	s.add(asks("i4", "Thanks"), events.HandoffExitRequested{HandoffID: "h1", By: "joe"})
	answers("late", "i4")
	person("h2")
	finish(events.HandoffExitRequested{HandoffID: "h1"})
	agree(t, log, s.key)
}

// Proves R25, R33: both say alike what was said, by whom and in which run: a conversation
// that was handed over, what agents say while they work, messages that come twice, late and
// in a run under way.
func TestPageAndGoFoldConversationsAlike(t *testing.T) {
	log := events.NewMemory()
	c := tellSupport(t, log)
	c.hears("Yes, please", events.MessageRouted{Agent: "billing", Tier: events.TierHandoff, Rule: "h1"})
	c.by("billing", "h1", events.AgentMessage{Agent: "billing", DisplayName: "Billing", Content: "One moment."})
	c.add(
		events.UserMessage{Content: "and hurry", MessageID: "m9", Delivery: events.DeliverySteer, UserID: "ann"},
		events.UserMessage{Content: "and hurry", MessageID: "m9", Delivery: events.DeliverySteer, UserID: "ann"},
		events.UserMessage{Content: "go on", Synthetic: true, Reason: "empty_reply"},
	)
	run := c.run
	c.run = ""
	c.add(events.UserMessage{Content: "then tell me the date", MessageID: "m10", Delivery: events.DeliveryQueue})
	c.run = run
	c.answers("billing", "h1", "Done: €39.00 are on their way.")
	c.run += "x"
	c.add(supportStarted("then tell me the date", "m10"), events.MessageRouted{MessageID: "m10", Agent: "billing", Tier: events.TierHandoff},
		events.WorkflowFinished{Status: events.StatusFailed, Reason: "no key", CostUSD: new(float64)})
	agree(t, log, c.key)
}

// Both folds agree after every event of any conversation: of random messages, of what is
// queued and steers, handoffs of a program, exits, cancelled and parked runs, and what is taken
// up again.
func TestPageAndGoFoldAnyConversationAlike(t *testing.T) {
	race.Skip(t, "what is compared is in one goroutine")
	const conversations, steps = 6, 8
	for seed := range uint64(conversations) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 11))
			log := events.NewMemory()
			var runs *simRuns
			var c *chat
			open := func() {
				runs = newSimRuns(t, log, sim.Options{FirstToken: time.Millisecond})
				server := serve(t, web.Config{Log: log, Runs: runs})
				if c == nil {
					c = newChat(t, server)
				}
				c.server = server
			}
			open()
			c.say("Hello", fmt.Sprintf(`"team":%q`, []string{"skill-builder", "support"}[seed%2]))
			for range steps {
				texts := []string{"I want to create a skill that sends Slack alerts", "My router is broken", "To #ops", "cancel", "I want to talk to a person", "Thanks"}
				text := texts[random.IntN(len(texts))]
				post := func(method, rest, body string) { c.server.do(t, method, c.path(rest), body) } // or it is refused
				switch random.IntN(8) {
				case 0:
					post(http.MethodPost, "/messages", message(text, `"delivery":"steer"`))
				case 1:
					post(http.MethodPost, "/messages", message(text, `"delivery":"answer"`))
				case 2:
					post(http.MethodDelete, "/handoff", "")
				case 3:
					target := []string{"skill_builder", "handler", "human"}[random.IntN(3)]
					post(http.MethodPost, "/handoff", fmt.Sprintf(`{"target":%q,"reason":"asked for","summary":"Wants something"}`, target))
				case 4:
					for _, run := range runs.runner.Runs() {
						_ = runs.runner.Cancel(t.Context(), "", run.ID(), "enough")
					}
				case 5:
					runs.stop()
					open()
				default:
					post(http.MethodPost, "/messages", message(text))
				}
				if random.IntN(3) > 0 {
					runs.wait()
				}
			}
			runs.stop()
			agree(t, log, events.ThreadKey{Tenant: events.LocalTenant, Thread: c.thread})
		})
	}
}

// Proves R74: both folds count the time that a run was driven alike: not the night
// between two processes, whatever was posted in it, and not a clock that is ahead.
func TestPageAndGoCountDrivenTimeAlike(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.moment = time.Date(2026, 3, 1, 22, 0, 0, 999_999_999, time.UTC)
	begun := s.moment
	after := func(d time.Duration, facts ...events.Event) {
		s.moment = s.moment.Add(d)
		s.add(facts...)
	}
	s.start("x")
	after(1500*time.Microsecond, events.Warning{Code: "a"})
	after(time.Second, events.UserMessage{Content: "also"}, events.Warning{Code: "b"}) // one clock, by chance
	after(time.Second, events.UserMessage{Content: "also"})
	after(time.Second, events.Warning{Code: "c"})
	after(time.Second, events.RunSuspended{Reason: "stopped", DrivenMS: 4001})
	after(8*time.Hour, events.UserMessage{Content: "in the night"})
	after(time.Hour, events.RunResumed{Owner: "other"})
	after(time.Second, events.UserMessage{Synthetic: true, Reason: "empty_reply", Content: "go on"})
	after(9*time.Hour, events.CancelRequested{Reason: "enough"}) // the process was killed
	after(time.Hour, events.RunResumed{Owner: "other"}, events.RunCancelled{Reason: "enough"})
	after(time.Second, events.RunSuspended{AwaitingInput: true, DrivenMS: 6001})
	after(time.Hour, events.RunResumed{Owner: "other"})
	after(time.Second, events.WorkflowFinished{Status: events.StatusCancelled, Reason: "enough", DrivenMS: 6001, CostUSD: new(float64)})
	agree(t, log, s.key)

	th := thread.New()
	for _, body := range encoded(t, log, s.key) {
		env, err := events.Decode([]byte(body))
		require.NoError(t, err)
		require.NoError(t, th.Apply(env))
	}
	require.Equal(t, 6*time.Second+2*time.Millisecond, th.Current().Driven, "of %s", s.moment.Sub(begun))
}

// The headings of every layout are those of Go.
func TestPageAndGoTitleAlike(t *testing.T) {
	declared, err := document.Sections([]document.Section{
		{ID: "next_steps", Slots: []string{"who_does-what", "b"}}, {ID: "einleitung", Title: "Überblick"}, {ID: "ßeta"}, {ID: "__"},
	})
	require.NoError(t, err)
	for _, layout := range []document.Layout{document.Travel(), document.Free(), declared} {
		wire, err := json.Marshal(layout)
		require.NoError(t, err)
		log := events.NewMemory()
		s := newScript(t, log)
		s.add(events.WorkflowStarted{Message: "x", Team: "t", Layout: wire})
		places := []document.Place{{Section: "3", Slot: "night"}, {Section: "0", Slot: "general"}, {Section: "3", Slot: "morning"}, {Section: "12", Slot: "general"}}
		if layout.Kind() == document.KindSections {
			places = []document.Place{{Section: "ßeta", Slot: "main"}, {Section: "einleitung", Slot: "main"}, {Section: "next_steps", Slot: "b"}, {Section: "__", Slot: "main"}, {Section: "next_steps", Slot: "who_does-what"}}
		}
		for i, place := range places {
			s.add(events.DocumentUpdated{Version: i + 1, EntryID: events.EntryID(i + 1), Author: "a", Content: "text", Section: place.Section, Slot: place.Slot})
		}
		agree(t, log, s.key)
	}
}

func outageOf(run *thread.Run) string {
	if run.Outage == nil {
		return ""
	}
	return run.Outage.Code
}
