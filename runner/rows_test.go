package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

var errRefused = &llm.Error{Kind: llm.ErrBadRequest, Message: "the request is refused"}

// Proves R5, R13: each dispatch is a fresh agent that knows its tasks, and the
// request's words reach the facilitator and no specialist.
func TestEachDispatchIsAFreshAgent(t *testing.T) {
	script := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha", "alpha", "beta")), llmtest.Calls("", dispatch("alpha", 1)),
			llmtest.Calls("", dispatch("alpha", 2), dispatch("beta", 3)), llmtest.Says("Done")),
		llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"), complete(1)), llmtest.Says("Did 1"), llmtest.Calls("", write("a", "A2")), llmtest.Says("Did 2")),
		llmtest.Agent(beta, llmtest.Calls("", write("b", "B")), llmtest.Says("Did 3")))
	p := play(t, script, pair())
	p.completed(t)
	first, second := script.Requests(alpha)[0], script.Requests(alpha)[2]
	for i, req := range []llm.Request{first, second} {
		require.Len(t, req.Messages, 2, "a history of its own")
		require.Contains(t, req.Messages[1].Content, fmt.Sprintf("Your tasks: %d", i+1))
		require.Contains(t, req.Messages[1].Content, "The work of alpha")
		require.Contains(t, req.Messages[1].Content, "The facilitator says: Please")
	}
	require.Equal(t, first.Messages[0], second.Messages[0])
	require.NotEqual(t, first.Messages[0], script.Requests(beta)[0].Messages[0], "a prompt of its own")
	require.Equal(t, "Write about both halves", script.Requests(boss)[0].Messages[1].Content)

	// Proves R7: what a specialist that ended well wrote and did not tick off is done for
	// it, and marked.
	var auto []events.TaskID
	for _, env := range p.of(events.KindTaskUpdated) {
		if e := env.Data.(events.TaskUpdated); e.AutoCompleted {
			auto = append(auto, e.ID)
		}
	}
	require.ElementsMatch(t, []events.TaskID{2, 3}, auto)
	require.Equal(t, []string{events.WarnTaskAutoCompleted, events.WarnTaskAutoCompleted}, p.warnings())
}

// Proves R6: a task that is not one's own is corrected to the first open one that is.
func TestWrongTaskIsCorrected(t *testing.T) {
	p := play(t, llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("beta", "alpha")), llmtest.Calls("", dispatch("alpha", 2)), llmtest.Calls("", dispatch("beta", 1)), llmtest.Says("Done")),
		llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"), complete(1)), llmtest.Says("Did it")),
		llmtest.Agent(beta, llmtest.Calls("", write("b", "B"), complete(1)), llmtest.Says("Did it"))), pair())
	p.completed(t)
	require.Equal(t, []string{events.WarnTaskIDCorrected}, p.warnings())
	first := p.of(events.KindTaskUpdated)[0].Data.(events.TaskUpdated)
	require.Equal(t, events.TaskID(2), first.ID)
	require.False(t, first.AutoCompleted)
}

// Proves R12: the twelve kinds carry the fields that they are promised with.
func TestPayloadsOfTheTwelveKinds(t *testing.T) {
	promised := map[events.Kind][]string{
		events.KindWorkflowStarted:    {"message"},
		events.KindTasksCreated:       {"tasks"},
		events.KindAgentStarted:       {"agent", "display_name", "task_ids", "message"},
		events.KindToolCall:           {"agent", "tool", "result", "phase"},
		events.KindTaskUpdated:        {"id", "text", "assigned_to", "finished"},
		events.KindDocumentUpdated:    {"version", "author", "content", "change_description"},
		events.KindAgentMessage:       {"agent", "display_name", "content"},
		events.KindAgentFinished:      {"agent", "display_name"},
		events.KindFacilitatorMessage: {"agent", "display_name", "content"},
		events.KindFinalAnswer:        {"content"},
		events.KindWorkflowFinished:   {"tasks", "document_versions"},
		events.KindError:              {"message"},
	}
	p := play(t, llmtest.Script(t, ordinary()[1], llmtest.Agent(boss,
		llmtest.Calls("First the plan", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Fails(errRefused))), pair())
	empty := play(t, llmtest.Script(t, llmtest.Agent(boss, llmtest.Fails(errRefused))), pair())
	seen := map[events.Kind]bool{}
	for _, env := range append(p.envs, empty.envs...) {
		body, err := events.Encode(env)
		require.NoError(t, err)
		var wire struct {
			Type   events.Kind                `json:"type"`
			Thread string                     `json:"thread_id"`
			Data   map[string]json.RawMessage `json:"data"`
		}
		require.NoError(t, json.Unmarshal(body, &wire))
		require.Equal(t, string(env.Thread), wire.Thread)
		for _, field := range promised[wire.Type] {
			require.Contains(t, wire.Data, field, "%s", wire.Type)
			require.NotEqual(t, "null", string(wire.Data[field]), "%s of %s: a list without elements is one, too", field, wire.Type)
		}
		switch wire.Type {
		case events.KindToolCall:
			require.JSONEq(t, `"complete"`, string(wire.Data["phase"]))
		case events.KindTasksCreated:
			require.JSONEq(t, `[{"id":1,"text":"The work of alpha","assigned_to":"alpha","finished":false}]`, string(wire.Data["tasks"]))
		}
		seen[wire.Type] = true
	}
	for kind := range promised {
		require.True(t, seen[kind], kind)
	}
}

// Proves R15: open tasks are named once; the second answer stands, degraded.
func TestOpenTasksAtTheAnswer(t *testing.T) {
	script := llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", create("alpha", "beta")), llmtest.Says("Done"), llmtest.Says("Done, I said")))
	p := play(t, script, pair())
	require.Equal(t, events.StatusDegraded, p.Status)
	require.Equal(t, "Done, I said", p.Answer)
	require.Equal(t, []events.TaskID{1, 2}, p.MissingTasks)
	require.Contains(t, p.Reason, "task 1 (alpha)")
	require.Contains(t, p.Reason, "task 2 (beta)")
	require.Equal(t, []string{"open_tasks"}, p.nudges())
	require.Equal(t, "Done", p.of(events.KindFacilitatorMessage)[0].Data.(events.FacilitatorMessage).Content)
	require.Len(t, p.of(events.KindFinalAnswer), 1)

	corrected := play(t, llmtest.Script(t, ordinary()[1], llmtest.Agent(boss,
		llmtest.Calls("", create("alpha")), llmtest.Says("Done"), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Now it is"))), pair())
	corrected.completed(t)
	require.Equal(t, "Now it is", corrected.Answer)
}

// Proves R16: every byte of the final document that an agent wrote goes back to an
// agent, a task and a model call.
func TestEveryByteHasASource(t *testing.T) {
	for _, name := range team.BuiltinNames() {
		tm := builtin(t, name)
		if tm.Conversation != nil {
			continue // a specialist answers, and nothing is written
		}
		p := play(t, sim.New(sim.Options{}), tm)
		p.completed(t)
		doc := p.thread.Current().Document
		text, segments := doc.RenderTraced()
		require.Equal(t, p.Document, text)
		calls := map[events.ModelCallID]events.AgentID{}
		for _, env := range p.of(events.KindModelCalled) {
			calls[env.Data.(events.ModelCalled).ID] = env.Agent
		}
		at := 0
		for _, s := range segments {
			require.LessOrEqual(t, at, s.Start)
			for _, line := range strings.Split(text[at:s.Start], "\n") {
				require.True(t, line == "" || strings.HasPrefix(line, "#"), "%q has no source", line)
			}
			at = s.End
			byTask := false
			for _, id := range s.Entries {
				entry, ok := doc.Entry(id)
				require.True(t, ok)
				require.Equal(t, entry.Author, calls[entry.ModelCall], "the call is the author's")
				for _, id := range entry.Tasks {
					task, ok := p.thread.Current().Board.Task(id)
					require.True(t, ok)
					require.Equal(t, entry.Author, task.AssignedTo)
					byTask = true
				}
			}
			require.True(t, byTask, "%q comes from no task", text[s.Start:s.End])
		}
		require.Empty(t, strings.TrimSpace(text[at:]))
		require.NotEmpty(t, segments)
	}
}

// Proves R21, R22: a facilitator that cannot answer leaves what the document holds,
// else what the specialists said, each with its author.
func TestAnswerWithoutTheFacilitator(t *testing.T) {
	lead := llmtest.Agent(boss, llmtest.Calls("", create("alpha", "beta")), llmtest.Calls("", dispatch("alpha", 1), dispatch("beta", 2)), llmtest.Fails(errRefused))
	both := play(t, llmtest.Script(t, lead,
		llmtest.Agent(alpha, llmtest.Calls("", write("a", "Alpha wrote"), complete(1)), llmtest.Says("Did it")),
		llmtest.Agent(beta, llmtest.Calls("", write("b", "Beta wrote"), complete(2)), llmtest.Says("Did it"))), pair())
	require.Equal(t, events.StatusDegraded, both.Status)
	require.True(t, both.Fallback)
	require.Contains(t, both.Answer, "From alpha:\n\nAlpha wrote")
	require.Contains(t, both.Answer, "From beta:\n\nBeta wrote")
	require.Contains(t, both.Reason, "the request is refused")
	require.Equal(t, "bad_request", both.of(events.KindError)[0].Data.(events.Error).Code)

	said := play(t, llmtest.Script(t, lead, llmtest.Agent(alpha, llmtest.Says("I know A?"), llmtest.Says("I know A")),
		llmtest.Agent(beta, llmtest.Says("I know B?"), llmtest.Says("I know B"))), pair())
	require.Equal(t, events.StatusDegraded, said.Status)
	require.Equal(t, "From alpha:\n\nI know A\n\nFrom beta:\n\nI know B", said.Answer)

	one := play(t, llmtest.Script(t, lead, llmtest.Agent(alpha, llmtest.Fails(errRefused)),
		llmtest.Agent(beta, llmtest.Says("I know B?"), llmtest.Says("I know B"))), pair())
	require.Equal(t, events.StatusDegraded, one.Status)
	require.Equal(t, "I know B", one.Answer)
	require.Equal(t, []events.TaskID{1, 2}, one.MissingTasks)

	none := play(t, llmtest.Script(t, lead, llmtest.Agent(alpha, llmtest.Fails(errRefused)), llmtest.Agent(beta, llmtest.Fails(errRefused))), pair())
	require.Equal(t, events.StatusFailed, none.Status)
	require.Equal(t, "All specialists failed to answer.", none.Answer)
	require.True(t, none.Fallback)

	nobody := play(t, llmtest.Script(t, llmtest.Agent(boss, llmtest.Fails(errRefused))), pair())
	require.Equal(t, events.StatusFailed, nobody.Status)
	require.Empty(t, nobody.Answer)
	require.Contains(t, nobody.Reason, "the request is refused")
}

// Proves R22: a specialist that fails is told of, and the run goes on without it.
func TestFailingSpecialistDoesNotFailTheRun(t *testing.T) {
	script := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha", "beta")), llmtest.Calls("", dispatch("alpha", 1), dispatch("beta", 2)),
			llmtest.Says("Without alpha"), llmtest.Says("Without alpha, as I said")),
		llmtest.Agent(alpha, llmtest.Calls("", write("a", "Half of A")), llmtest.Fails(errRefused)),
		llmtest.Agent(beta, llmtest.Calls("", write("b", "B"), complete(2)), llmtest.Says("Did it")))
	p := play(t, script, pair())
	require.Equal(t, events.StatusDegraded, p.Status)
	require.Equal(t, "Without alpha, as I said", p.Answer)
	require.Equal(t, []events.TaskID{1}, p.MissingTasks)
	require.Contains(t, p.Reason, "task 1 (alpha)")
	require.Contains(t, p.Reason, "the request is refused")
	require.Contains(t, p.Document, "Half of A")
	told := p.results("call_alpha")[0]
	require.Contains(t, told, "alpha did not finish")
	require.Contains(t, told, "name the limitation")
}

// The third dispatch of a specialist for the same tasks with nothing to show is
// refused; so is one for a task that is being worked on.
func TestDispatchInCircles(t *testing.T) {
	p := play(t, llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Calls("", dispatch("alpha", 1)),
			llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("No"), llmtest.Says("No.")),
		llmtest.Agent(alpha, llmtest.Fails(errRefused), llmtest.Fails(errRefused))), pair())
	require.Equal(t, events.StatusDegraded, p.Status)
	results := p.results("call_alpha")
	require.Len(t, results, 3)
	require.Contains(t, results[2], "dispatched 2 times")
	require.Contains(t, results[2], "change the plan")

	synctest.Test(t, func(t *testing.T) {
		busy := play(t, llmtest.Script(t,
			llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1), dispatch("alpha", 1)), llmtest.Says("Done")),
			llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"), complete(1)).After(time.Second), llmtest.Says("Did it"))), pair())
		busy.completed(t)
		require.Contains(t, strings.Join(busy.results("call_alpha"), "\n"), "task 1 is being worked on in dispatch d1")
	})
}

// Only entries that the facilitator has read are replaced.
func TestConsolidationReplacesWhatWasRead(t *testing.T) {
	merge := func(content string) events.ToolCall {
		return llmtest.Call("consolidate_section", args{"section": "a", "content": content})
	}
	p := play(t, llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha", "beta")), llmtest.Calls("", dispatch("alpha", 1)),
			llmtest.Calls("", llmtest.Call("read_document", args{})), llmtest.Calls("", dispatch("beta", 2)),
			llmtest.Calls("", merge("Merged: {{entry:1}}")), llmtest.Says("Done")),
		llmtest.Agent(alpha, llmtest.Calls("", write("a", "Alpha wrote"), complete(1)), llmtest.Says("Did it")),
		llmtest.Agent(beta, llmtest.Calls("", write("a", "Beta wrote"), complete(2)), llmtest.Says("Did it"))), pair())
	p.completed(t)
	doc := p.thread.Current().Document
	merged, ok := doc.Entry(3)
	require.True(t, ok)
	require.Equal(t, "Merged: Alpha wrote", merged.Content)
	require.Contains(t, p.Document, "Beta wrote", "an entry that nobody read stays")
	require.Contains(t, p.results("consolidate_section")[0], "entry 2 [beta]")
	require.Len(t, doc.Entries(document.Place{Section: "a", Slot: merged.Slot}), 2)
}

// Proves R24: a thread id is given or made, and never another kind of text.
func TestThreadID(t *testing.T) {
	for _, bad := range []events.ThreadID{"x", "00000000-0000-1000-8000-000000000000", events.ThreadID(strings.ToUpper(uuid.NewString()))} {
		job := job
		job.Team, job.Thread = pair(), bad
		_, err := owned(t, events.NewMemory(), llmtest.Script(t), "driver").Start(t.Context(), job)
		var input *runner.InputError
		require.ErrorAs(t, err, &input, bad)
	}
	given := events.ThreadID(uuid.NewString())
	for _, id := range []events.ThreadID{given, ""} {
		log := events.NewMemory()
		job := job
		job.Team, job.Thread = pair(), id
		run, err := owned(t, log, llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Hello"))), "driver").Start(t.Context(), job)
		require.NoError(t, err)
		p := ended(t, log, run) // which checks the thread of every event
		parsed, err := uuid.Parse(string(p.Thread))
		require.NoError(t, err)
		require.EqualValues(t, 4, parsed.Version())
		require.True(t, id == "" || p.Thread == given)
	}
}

// Text that no model could be sent is refused before anything starts, wherever in the
// job it stands.
func TestJobsThatCannotStart(t *testing.T) {
	big := strings.Repeat("x", runner.MaxRequestChars+1)
	for name, change := range map[string]func(*runner.Job){
		"no team":         func(j *runner.Job) { j.Team = nil },
		"empty":           func(j *runner.Job) { j.Request = " \n" },
		"too long":        func(j *runner.Job) { j.Request = big },
		"not UTF-8":       func(j *runner.Job) { j.Request = "a\xff" },
		"NUL":             func(j *runner.Job) { j.Request = "a\x00" },
		"value too long":  func(j *runner.Job) { j.Vars = texts{"city": big} },
		"value not UTF-8": func(j *runner.Job) { j.Vars = texts{"city": "a\xff"} },
		"value with NUL":  func(j *runner.Job) { j.Vars = texts{"city": "a\x00"} },
		"value missing":   func(j *runner.Job) { j.Vars = nil },
		"run id":          func(j *runner.Job) { j.Run = events.RunID(uuid.NewString()) },
	} {
		t.Run(name, func(t *testing.T) {
			log := events.NewMemory()
			tm := pair()
			tm.Request = "{{request}} in {{city}}"
			job := runner.Job{Request: "Write", Team: tm, Vars: texts{"city": "Kyoto"}}
			change(&job)
			_, err := owned(t, log, llmtest.Script(t), "driver").Start(t.Context(), job)
			var input *runner.InputError
			require.ErrorAs(t, err, &input)
			runs, err := log.Runs(t.Context(), events.RunQuery{})
			require.NoError(t, err)
			require.Empty(t, runs)
		})
	}
	odd := "مرحبا 👩‍👩‍👧 \t\x01 end"
	script := llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Hello")))
	log := events.NewMemory()
	run, err := owned(t, log, script, "driver").Start(t.Context(), runner.Job{Request: odd, Team: pair()})
	require.NoError(t, err)
	ended(t, log, run)
	require.Equal(t, odd, script.Requests(boss)[0].Messages[1].Content, "byte for byte")
}

type texts = map[string]string

// The state that a run was driven with is the fold of its log, whatever it met.
func TestLogRebuiltIsTheLiveState(t *testing.T) {
	from, step := race.Every(3, 0)
	for seed := uint64(from); seed < 12; seed += uint64(step) {
		behaviour := sim.Behaviours()[seed%uint64(len(sim.Behaviours()))]
		if behaviour == sim.BehaveHuge {
			continue // the others' megabytes say as much
		}
		log := events.NewMemory()
		client := sim.New(sim.Options{Seed: seed, EarlyDispatch: seed%2 == 0, Behaviour: behaviour})
		run, err := newRunner(t, log, client).Start(t.Context(), runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")})
		require.NoError(t, err)
		p := ended(t, log, run)
		require.Equal(t, p.thread, run.State())

		wire := thread.New()
		for _, env := range p.envs {
			body, err := events.Encode(env)
			require.NoError(t, err)
			decoded, err := events.Decode(body)
			require.NoError(t, err)
			require.NoError(t, wire.Apply(decoded))
		}
		again, live := wire.Current(), p.thread.Current()
		require.Equal(t, live.Facilitator.Messages(), again.Facilitator.Messages())
		require.Equal(t, live.Board.Tasks(), again.Board.Tasks())
		require.Equal(t, live.Document.RenderAttributed(), again.Document.RenderAttributed())
		require.Equal(t, live.RunSummary, again.RunSummary)
		require.Equal(t, live.Driven, again.Driven)
	}
}

// Downtime between a stop and a resume counts neither for a dispatch nor for the run.
func TestDowntimeDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha,
			llmtest.Calls("", write("a", "A"), complete(1)).After(5*time.Second), llmtest.Says("Did it").After(5*time.Second)))
		held := make(chan struct{})
		client := stage(script, alpha, 2, func(ctx context.Context, _ llm.Request, yield func(llm.Delta, error) bool) {
			close(held)
			<-ctx.Done()
			yield(llm.Delta{}, ctx.Err())
		})
		run := start(t, owned(t, log, client, "driver"))
		<-held
		run.Halt()
		parked(t, log, run)
		time.Sleep(time.Hour)
		resumed, err := owned(t, log, script, "other").Resume(t.Context(), "", run.ID(), runner.Terms{})
		require.NoError(t, err)
		p := ended(t, log, resumed)
		p.completed(t)
		finished := p.of(events.KindAgentFinished)[0].Data.(events.AgentFinished)
		require.InDelta(t, 10_000, finished.ElapsedMS, 100)
		require.InDelta(t, 10_000, p.of(events.KindWorkflowFinished)[0].Data.(events.WorkflowFinished).DrivenMS, 100)
		require.InDelta(t, 10, p.Driven.Seconds(), 0.1)
	})
}

// A model that misbehaves ends at a bound, with its reason in the log.
func TestModelsThatMisbehave(t *testing.T) {
	for behaviour, limits := range map[sim.Behaviour][]events.Limit{
		sim.BehaveEndless: {events.LimitMaxFacilitatorTurns},
		sim.BehaveCircles: nil,
		sim.BehaveFlood:   {events.LimitMaxTasks},
		sim.BehaveHuge:    {events.LimitMaxReplyChars},
		sim.BehaveEmpty:   {events.LimitMaxEmptyReplies},
	} {
		t.Run(string(behaviour), func(t *testing.T) {
			p := play(t, sim.New(sim.Options{Behaviour: behaviour}), builtin(t, "trip"))
			for _, limit := range limits {
				require.Contains(t, p.limits(), limit)
			}
			switch behaviour {
			case sim.BehaveFlood:
				require.Equal(t, events.StatusCompleted, p.Status, p.Reason)
			case sim.BehaveEmpty:
				require.Equal(t, events.StatusFailed, p.Status)
			case sim.BehaveCircles:
				require.NotEmpty(t, p.limits())
			default:
				require.NotEqual(t, events.StatusCompleted, p.Status)
				require.NotEmpty(t, p.Reason)
				require.NotEmpty(t, p.Limit)
			}
			t.Logf("%s: status=%s reason=%q limits=%v calls=%d", behaviour, p.Status, p.Reason, p.limits(), p.ModelCalls)
		})
	}
}
