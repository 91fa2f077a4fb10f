package sim_test

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
)

const tripRequest = "Plan a 3-day trip to Lisbon for two friends, with good food and some history."

// Any team's job is played to its end: planned, written, completed, merged, summed up.
func TestPlaysTheJobOfAnyTeam(t *testing.T) {
	for name, team := range map[string]*fakeTeam{
		"trip":     travelTeam(t, sim.New(sim.Options{})),
		"research": researchTeam(t, sim.New(sim.Options{})),
		"early":    travelTeam(t, sim.New(sim.Options{EarlyDispatch: true})),
		"bench":    travelTeam(t, sim.New(sim.Options{Bench: true})),
	} {
		answer := team.run(tripRequest)
		require.Len(t, team.tasks, 2*len(team.specialists), name)
		require.Zero(t, team.open(), name)
		require.Zero(t, team.mistakes, name)
		require.Contains(t, answer, "a 3-day trip to Lisbon", name)
		require.NotContains(t, answer, "Limitations", name)
		texts := map[string]bool{}
		for _, task := range team.tasks {
			require.False(t, texts[task.text], "tasks differ")
			texts[task.text] = true
		}
		if name == "bench" {
			continue // has no turn left to merge
		}
		places := map[string]bool{}
		for _, e := range team.entries {
			require.False(t, places[e.address], "%s: %s is merged", name, e.address)
			places[e.address] = true
			require.Greater(t, len(strings.Fields(e.text)), 10)
		}
	}
}

// The days that were asked for are all written about.
func TestTripCoversItsDays(t *testing.T) {
	team := travelTeam(t, sim.New(sim.Options{}))
	team.run(tripRequest)
	all := strings.Join(team.final(), "\n")
	for _, day := range []string{"day=1", "day=2", "day=3"} {
		require.Contains(t, all, day)
	}
	require.NotContains(t, all, "day=4")
}

// The order in which parallel specialists run leaves no trace in the document.
func TestInterleavingDoesNotChangeTheDocument(t *testing.T) {
	for seed := range 12 {
		options := sim.Options{Seed: uint64(seed), EarlyDispatch: seed%2 == 0}
		request := rapid.StringN(1, 200, -1).Example(seed)
		forward, backward := travelTeam(t, sim.New(options)), travelTeam(t, sim.New(options))
		backward.reverse = true
		require.Equal(t, forward.run(request), backward.run(request), "%q", request)
		require.Equal(t, forward.final(), backward.final(), "%q", request)
	}
}

func TestSeedVariesTheText(t *testing.T) {
	one, other := travelTeam(t, sim.New(sim.Options{Seed: 1})), travelTeam(t, sim.New(sim.Options{Seed: 2}))
	one.run(tripRequest)
	other.run(tripRequest)
	require.NotEqual(t, one.final(), other.final())
}

// The reply is a function of the request; nonsense neither panics nor hangs.
func TestReplyIsAFunctionOfTheRequest(t *testing.T) {
	tools := slices.Concat(travelTeam(t, nil).facilitatorTools(), researchTeam(t, nil).specialistTools(), []llm.Tool{
		{Name: "lookup", Parameters: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`)},
		{Name: "bad", Parameters: json.RawMessage(`{`)}, {Name: "none"},
	})
	texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"- [ ] 1 (food) eat", "- [x] 99999999999999999999 (food) eat", "## day=1 time_slot=morning\n[food] (entry 3)\nx\n[culture] (entry 4)",
		"Tasks are still open", "Your tasks: 1, 2", "Error: no", "This is your last turn", `{"error":1}`, "days 3 to 1", "days 1 to 99",
	}))
	rapid.Check(t, func(rt *rapid.T) {
		messages := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) events.Message {
			m := events.Message{
				Role:    rapid.SampledFrom([]events.Role{events.RoleSystem, events.RoleUser, events.RoleAssistant, events.RoleTool}).Draw(rt, "role"),
				Content: texts.Draw(rt, "content"), ToolCallID: events.CallID(rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "answers")),
			}
			if m.Role == events.RoleAssistant && rapid.Bool().Draw(rt, "calls") {
				m.ToolCalls = []events.ToolCall{{ID: "a", Name: rapid.SampledFrom(tools).Draw(rt, "tool").Name,
					Arguments: rapid.SampledFrom([]string{"", "{}", "{", "[]", `{"task_ids":[1]}`, `{"task_id":1}`}).Draw(rt, "args")}}
			}
			return m
		}), 0, 12).Draw(rt, "messages")
		req := llm.Request{Messages: messages, Tools: rapid.SliceOfN(rapid.SampledFrom(tools), 0, 8).Draw(rt, "tools")}
		model := sim.New(sim.Options{Chunks: rapid.IntRange(0, 30).Draw(rt, "chunks")})
		first := model.Reply(req)
		require.Equal(rt, first, model.Reply(req))
		require.True(rt, first.Text != "" || len(first.ToolCalls) > 0)
		for _, call := range first.ToolCalls {
			require.True(rt, json.Valid([]byte(call.Arguments)))
		}
	})
}

// Proves R22 on the model's side: a specialist that fails is tried once more, then
// done without and named.
func TestAFailingSpecialistIsNamed(t *testing.T) {
	team := travelTeam(t, sim.New(sim.Options{}))
	team.fail["food"] = true
	answer := team.run(tripRequest)
	require.Equal(t, 2, team.open())
	require.Contains(t, answer, "**Limitations:** Not finished: #1 (food), #2 (food). food could not finish its part.")
}

// A refused call is tried once more and then left.
func TestRefusalsDoNotLoop(t *testing.T) {
	for _, tool := range []string{
		"create_tasks", "get_plan_status", "read_document", "consolidate_section", "read_document_clean",
		"read_tasks", "write_section", "complete_task", "call_food",
	} {
		once := travelTeam(t, sim.New(sim.Options{}))
		once.refuse[tool] = 1
		once.run(tripRequest)
		require.Zero(t, once.open(), "%s refused once is made good", tool)
		always := travelTeam(t, sim.New(sim.Options{}))
		always.refuse[tool] = 1 << 30
		require.NotEmpty(t, always.run(tripRequest), tool)
		require.Less(t, always.total(), 40, tool)
	}
}

// Tools are given up when the request says so, and a new request begins a new job.
func TestObeysNudges(t *testing.T) {
	team := travelTeam(t, nil)
	model := sim.New(sim.Options{})
	history := []events.Message{{Role: events.RoleSystem, Content: "You lead."}, {Role: events.RoleUser, Content: tripRequest}}
	plan := model.Reply(llm.Request{Messages: history, Tools: team.facilitatorTools()})
	history = append(history, plan.Message(), events.Message{Role: events.RoleTool, ToolCallID: plan.ToolCalls[0].ID,
		Content: "Created:\n0/1 done, open: 1\n- [ ] 1 (food) Eat"})
	with := func(text string, more ...events.Message) llm.Request {
		messages := append(slices.Clone(history), more...)
		return llm.Request{Tools: team.facilitatorTools(), Messages: append(messages, events.Message{Role: events.RoleUser, Content: text})}
	}
	last := model.Reply(with("This is your last turn: answer the user now, without calling a tool."))
	require.Empty(t, last.ToolCalls)
	require.Contains(t, last.Text, "Not finished: #1 (food)")

	none := with("Go on.")
	none.ToolChoice = llm.ToolChoiceNone
	require.Empty(t, model.Reply(none).ToolCalls)

	final := events.Message{Role: events.RoleAssistant, Content: "All done."}
	again := model.Reply(with("Tasks are still open:\n- [ ] 1 (food) Eat\nDispatch their specialists again.", final))
	require.Equal(t, "call_food", again.ToolCalls[0].Name)
	next := model.Reply(with("Now plan a day in Rome.", final))
	require.Equal(t, "create_tasks", next.ToolCalls[0].Name)
	require.Contains(t, next.ToolCalls[0].Arguments, "Rome")
}

// Alone, the model answers in text, after one call of a tool that it does not know.
func TestWorksAlone(t *testing.T) {
	model := sim.New(sim.Options{})
	req := hello()
	require.Contains(t, model.Reply(req).Text, "ides in a few words")
	req.Tools = []llm.Tool{
		{Name: "handoff_conversation", Parameters: json.RawMessage(`{"type":"object"}`)},
		{Name: "lookup", Parameters: json.RawMessage(`{"type":"object","required":["q","n","kind","list","nested"],"properties":{
			"q":{"type":"string","minLength":30},"n":{"type":"integer","minimum":4},"kind":{"enum":["x","y"]},
			"list":{"type":["null","array"],"minItems":1,"items":{"$ref":"#/$defs/item"}},"nested":{"anyOf":[{"type":"boolean"}]}},
			"$defs":{"item":{"type":"object","required":["a"],"properties":{"a":{"const":7}}}}}`)},
	}
	reply := model.Reply(req)
	require.Equal(t, "lookup", reply.ToolCalls[0].Name)
	require.JSONEq(t, `{"q":"tides in a few words..........","n":4,"kind":"x","list":[{"a":7}],"nested":false}`, reply.ToolCalls[0].Arguments)
	req.Messages = append(req.Messages, reply.Message(), events.Message{Role: events.RoleTool, ToolCallID: reply.ToolCalls[0].ID, Content: "found"})
	require.Empty(t, model.Reply(req).ToolCalls)
}

// The bench profile is 16 calls, whatever the team's size, of exactly 25 chunks each.
func TestBenchProfile(t *testing.T) {
	for _, early := range []bool{false, true} {
		counter := &chunkCounter{Client: sim.New(sim.Options{Bench: true, Chunks: 25, EarlyDispatch: early})}
		team := travelTeam(t, counter)
		team.specialists = append(slices.Clone(team.specialists), fakeSpecialist{"extra", "Is not asked."})
		team.run(tripRequest)
		require.Equal(t, map[string]int{"facilitator": 4, "food": 4, "culture": 4, "transport": 4}, team.calls)
		require.Zero(t, team.open())
		for _, n := range counter.counts {
			require.Equal(t, 25, n)
		}
	}
}

// chunkCounter counts the pieces of each reply.
type chunkCounter struct {
	llm.Client
	counts []int
}

func (c *chunkCounter) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		n := 0
		for delta, err := range c.Client.Stream(ctx, req) {
			if delta.Text != "" || delta.Fragment != "" {
				n++
			}
			if !yield(delta, err) {
				return
			}
		}
		c.counts = append(c.counts, n)
	}
}

// Chunks are due at absolute times: a consumer that is late for one does not delay
// the others, and a context's end stops the stream.
func TestPacesByDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := sim.New(sim.Options{FirstToken: time.Second, PerChunk: 100 * time.Millisecond, Chunks: 25})
		start, i := time.Now(), 0
		for delta, err := range model.Stream(t.Context(), hello()) {
			require.NoError(t, err)
			switch {
			case delta.Done != nil:
				require.Equal(t, time.Second, delta.Done.FirstToken)
				require.Equal(t, 3400*time.Millisecond, delta.Done.Total)
			case i == 3:
				time.Sleep(450 * time.Millisecond)
			case i < 3 || i > 8:
				require.Equal(t, time.Second+time.Duration(i)*100*time.Millisecond, time.Since(start))
			}
			i++
		}
		require.Equal(t, 26, i)

		ctx, cancel := context.WithTimeout(t.Context(), 1250*time.Millisecond)
		defer cancel()
		var last error
		for _, err := range model.Stream(ctx, hello()) {
			last = err
		}
		require.ErrorIs(t, last, context.DeadlineExceeded)
	})
}

// A reply's deltas add up to it, calls come whole and in order, tokens are counted.
func TestDeltasAddUp(t *testing.T) {
	team := travelTeam(t, nil)
	req := llm.Request{Model: "m", Messages: hello().Messages, Tools: team.facilitatorTools()}
	fragments, text, calls := map[int]string{}, "", []events.ToolCall(nil)
	for delta, err := range sim.New(sim.Options{EarlyDispatch: true}).Stream(t.Context(), req) {
		require.NoError(t, err)
		text += delta.Text
		fragments[delta.Index] += delta.Fragment
		if delta.Call != nil {
			require.Equal(t, len(calls), delta.Index)
			require.Equal(t, delta.Call.Arguments, fragments[delta.Index])
			calls = append(calls, *delta.Call)
		}
		if done := delta.Done; done != nil {
			require.Equal(t, done.Reply.Text, text)
			require.Equal(t, done.Reply.ToolCalls, calls)
			require.Equal(t, "sim", done.Provider)
			require.Positive(t, done.Usage.InputTokens)
			require.Positive(t, done.Usage.OutputTokens)
			require.Zero(t, done.Usage.CachedInputTokens)
		}
	}
	require.Len(t, calls, 4)
}
