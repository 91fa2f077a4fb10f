package web_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/steer"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
	"github.com/convene-run/convene/web"
)

// modelServer is the simulated model behind real HTTP. It keeps what it was asked, and can be
// told to fail an agent, or to keep it waiting.
type modelServer struct {
	url string

	mu    sync.Mutex // guards what follows
	asked []asked
	fails map[string]int
	hangs map[string]bool
	// at counts the requests under way, most the most at once.
	at, most int
}

// asked is a request for a chat completion.
type asked struct {
	Messages []struct {
		Role       string
		Content    string
		ToolCallID string                `json:"tool_call_id"`
		ToolCalls  []struct{ ID string } `json:"tool_calls"`
	}
}

func newModelServer(t testing.TB) *modelServer {
	m := &modelServer{fails: map[string]int{}, hangs: map[string]bool{}}
	model := sim.NewServer(sim.Options{FirstToken: 5 * time.Millisecond})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		status, hang := m.note(body)
		defer m.done()
		switch {
		case hang:
			<-r.Context().Done()
		case status != 0:
			http.Error(w, `{"error":{"message":"this agent is down"}}`, status)
		default:
			model.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	m.url = server.URL + "/v1"
	return m
}

// note keeps a request and says how it is to go.
func (m *modelServer) note(body []byte) (status int, hang bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var a asked
	if json.Unmarshal(body, &a) == nil && len(a.Messages) > 0 {
		m.asked = append(m.asked, a)
	}
	m.at++
	m.most = max(m.most, m.at)
	for system, wrong := range m.fails {
		if a.is(system) {
			status = wrong
		}
	}
	for system := range m.hangs {
		hang = hang || a.is(system)
	}
	return status, hang
}

func (m *modelServer) done() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at--
}

// is reports whether the system prompt has the text.
func (a asked) is(system string) bool {
	return len(a.Messages) > 0 && strings.Contains(a.Messages[0].Content, system)
}

// of gives the requests of the agent whose system prompt has the text, and checks that each
// call in all of them has just one result, right behind it.
func (m *modelServer) of(t testing.TB, system string) (own []asked) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.asked {
		for i := 0; i < len(a.Messages); i++ {
			require.NotEqual(t, "tool", a.Messages[i].Role, "a result without its call")
			for _, call := range a.Messages[i].ToolCalls {
				i++
				require.Less(t, i, len(a.Messages), "a call without its result")
				require.Equal(t, call.ID, a.Messages[i].ToolCallID)
			}
		}
		if a.is(system) {
			own = append(own, a)
		}
	}
	return own
}

// The agents of skill-builder, by stretches of their system prompts.
const (
	assistant = "You are Assistant, the facilitator"
	builder   = "You are Skill Creation Assistant, a specialist in a team. The conversation"
	knowledge = "You are Knowledge, a specialist"
)

// desk is a server with all that is behind it: a store, a runner, a model.
type desk struct {
	*served
	model *modelServer
	log   events.Log
	stop  func()
}

// newDesk serves a new store.
func newDesk(t testing.TB, model *modelServer, teams map[string]*team.Team, change ...func(*runner.Config)) *desk {
	t.Helper()
	return openDesk(t, events.NewMemory(), model, teams, change...)
}

// openDesk serves a store that nobody else serves.
func openDesk(t testing.TB, log events.Log, model *modelServer, teams map[string]*team.Team, change ...func(*runner.Config)) *desk {
	t.Helper()
	models := endpointOf{&llm.Endpoint{
		Name: "sim", Simulated: true, Client: openai.New(openai.Config{Config: wire.Config{Provider: "sim", BaseURL: model.url}}),
		Limiter: llm.NewLimiter(llm.LimiterConfig{}),
	}}
	config := runner.Config{Log: log, Models: models}
	for _, c := range change {
		c(&config)
	}
	r, err := runner.New(config)
	require.NoError(t, err)
	runs := &simRuns{steer.New(steer.Config{Runner: r, DefaultTeam: "skill-builder", Teams: teams}), r}
	d := &desk{served: serve(t, web.Config{Log: log, Runs: runs}), model: model, log: log}
	d.stop = sync.OnceFunc(func() {
		d.served.stop()
		runs.stop()
		require.NoError(t, log.Close())
	})
	t.Cleanup(d.stop)
	return d
}

type endpointOf struct{ endpoint *llm.Endpoint }

func (m endpointOf) Resolve(...string) (llm.Route, error) {
	return llm.Route{{Endpoint: m.endpoint, Model: "sim"}}, nil
}

// logged gives the events of a kind in the thread.
func (d *desk) logged(t testing.TB, c *chat, kind events.Kind) (list []events.Event) {
	t.Helper()
	envs, err := d.log.Read(t.Context(), events.ThreadKey{Tenant: events.LocalTenant, Thread: c.thread}, 0, 0, kind)
	require.NoError(t, err)
	for _, env := range envs {
		list = append(list, env.Data)
	}
	return list
}

// ended is how the first dispatch of an agent ended.
func (d *desk) ended(t testing.TB, c *chat, agent events.AgentID) events.AgentFinished {
	t.Helper()
	for _, e := range d.logged(t, c, events.KindAgentFinished) {
		if finished := e.(events.AgentFinished); finished.Agent == agent {
			return finished
		}
	}
	require.Fail(t, "it never worked", agent)
	return events.AgentFinished{}
}

// said are all messages of the thread, as a user reads them.
func (c *chat) said() (list []string) {
	c.t.Helper()
	for _, m := range c.messages("?after=0&limit=500").Messages {
		who := m.DisplayName
		if m.Role != events.RoleAssistant {
			who = string(m.Role)
		}
		list = append(list, who+": "+m.Content)
	}
	return list
}

// answers says something, waits for all that comes of it, and gives what the user sees of
// that.
func (c *chat) answers(text string, members ...string) []string {
	c.t.Helper()
	before := 0
	if status, _, _ := c.server.get(c.t, c.path("")); status == http.StatusOK {
		before = len(c.said())
	}
	c.say(text, members...)
	c.rests()
	return c.said()[before+1:]
}

func last(list []string) string { return list[len(list)-1] }

// Proves journey 1 of the first source: a question that a sub-agent is consulted for is
// answered by the main agent, and the user hears of nobody else.
func TestJourneyNormalQuestion(t *testing.T) {
	d := newDesk(t, newModelServer(t), nil)
	c := newChat(t, d.served)
	answers := c.answers("How do I configure rate limiting for my agent?")
	for _, line := range answers {
		require.True(t, strings.HasPrefix(line, "Assistant: "), line)
	}
	require.Equal(t, events.StatusCompleted, c.context().Status)

	require.NotEmpty(t, d.logged(t, c, events.KindAgentStarted), "it was looked up")
	require.Empty(t, d.logged(t, c, events.KindHandoffRequested))
	require.Len(t, d.logged(t, c, events.KindFinalAnswer), 1)
	require.NotEmpty(t, d.model.of(t, knowledge))
	require.Contains(t, d.model.of(t, assistant)[0].Messages[1].Content, "rate limiting")

	followUp := c.answers("And what was it about?")
	require.NotEmpty(t, followUp)
	requests := d.model.of(t, assistant)
	var texts []string
	for _, m := range requests[len(requests)-1].Messages {
		texts = append(texts, m.Content)
	}
	require.Contains(t, strings.Join(texts, "\n"), "How do I configure rate limiting", "the full exchange is stored under the thread")
}

// Proves journey 2: the user is handed over, goes through the five steps with the specialist,
// and comes back to the main agent, who confirms.
func TestJourneySkillCreation(t *testing.T) {
	d := newDesk(t, newModelServer(t), nil)
	c := newChat(t, d.served)
	opening := c.answers("I want to create a skill that sends Slack alerts")
	require.Contains(t, opening, "notice: Connecting you with Skill Creation Assistant...")
	require.Contains(t, last(opening), "Skill Creation Assistant: ")
	view := c.context()
	require.Equal(t, "gathering_requirements", view.Workflow.State)
	var steps []int
	for _, answer := range []string{"It watches the error rate", "Whenever the rate is above 2 %", "Nothing is missing", "Yes, finish it"} {
		if view.Workflow != nil {
			steps = append(steps, view.Workflow.Step)
			require.Equal(t, 5, view.Workflow.Steps)
		}
		c.answers(answer)
		view = c.context()
	}
	require.Equal(t, []int{1, 2, 3, 4}, steps)
	require.Equal(t, events.FacilitatorID, view.Agent, "the main agent has the conversation again")
	require.Contains(t, c.said(), "notice: Returning you to the main assistant.")
	require.True(t, strings.HasPrefix(last(c.said()), "Assistant: "), "it confirms")

	require.Len(t, d.logged(t, c, events.KindHandoffAccepted), 1)
	require.Len(t, d.logged(t, c, events.KindWorkflowStateChanged), 5)
	returned := d.logged(t, c, events.KindHandoffReturned)
	require.Len(t, returned, 1)
	require.Equal(t, events.CompletionCompleted, returned[0].(events.HandoffReturned).CompletionStatus)
	require.Equal(t, []string{"SKILL.md"}, returned[0].(events.HandoffReturned).ArtifactsCreated)

	opened := d.model.of(t, builder)[0]
	require.Contains(t, opened.Messages[1].Content, "[Context from previous agent (Assistant)]:")
	requests := d.model.of(t, assistant)
	for _, request := range requests[:len(requests)-1] {
		for _, m := range request.Messages {
			require.NotContains(t, m.Content, "above 2 %", "the main agent is not in the path")
		}
	}
}

// Proves journey 3: several sub-agents work on one request at the same time; what each of
// them contributed can be told apart.
func TestJourneyOrchestration(t *testing.T) {
	d := newDesk(t, newModelServer(t), nil)
	c := newChat(t, d.served)
	receipt := c.say("Research how bees find their way", `"team":"research"`)
	require.Equal(t, events.StatusCompleted, c.rests().Status)
	authors := map[events.AgentID]bool{}
	for _, e := range d.logged(t, c, events.KindDocumentUpdated) {
		authors[e.(events.DocumentUpdated).Author] = true
	}
	require.Greater(t, len(authors), 1)
	require.Greater(t, d.model.most, 1, "they were asked at the same time")
	status, _, body := d.get(t, "/api/v1/runs/"+string(receipt.Run)+"/result")
	require.Equal(t, http.StatusOK, status)
	var result web.ResultView
	require.NoError(t, json.Unmarshal([]byte(body), &result))
	require.NotEmpty(t, result.Document)
	for _, task := range result.Tasks {
		require.True(t, task.Finished)
		require.NotEmpty(t, task.AssignedTo)
	}
	messages := c.messages("").Messages
	require.Equal(t, result.Answer, messages[len(messages)-1].Content)
}

// Proves journey 4: the user leaves in the middle, by a word or by a button; the main agent
// answers, what was gathered is kept, and the conversation goes on.
func TestJourneyCancellation(t *testing.T) {
	for name, leave := range map[string]func(c *chat){
		"by word":   func(c *chat) { c.say("Cancel", `"user_id":"ann"`) },
		"by button": func(c *chat) { c.call(http.MethodDelete, "/handoff?user_id=ann", "", http.StatusAccepted, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, newModelServer(t), nil)
			c := newChat(t, d.served)
			c.answers("I want to create a skill that sends Slack alerts")
			c.answers("It watches the error rate")
			require.Equal(t, 2, c.context().Workflow.Step)
			leave(c)
			require.Equal(t, events.FacilitatorID, c.rests().Agent)
			answer := c.messages("").Messages
			require.Equal(t, events.FacilitatorID, answer[len(answer)-1].Agent)

			exits := d.logged(t, c, events.KindHandoffExitRequested)
			require.Len(t, exits, 1)
			require.Equal(t, "ann", exits[0].(events.HandoffExitRequested).By)
			returned := d.logged(t, c, events.KindHandoffReturned)
			require.Equal(t, events.CompletionCancelled, returned[0].(events.HandoffReturned).CompletionStatus)
			states := d.logged(t, c, events.KindWorkflowStateChanged)
			require.Contains(t, string(states[len(states)-1].(events.WorkflowStateChanged).Metadata), "It watches the error rate")
			require.Contains(t, c.said(), "notice: No problem! Returning you to the main assistant.")
			require.True(t, strings.HasPrefix(last(c.answers("Thanks")), "Assistant: "))

			saved := c.context().Saved
			require.Len(t, saved, 1)
			require.Equal(t, 2, saved[0].Workflow.Step)
			c.call(http.MethodPost, "/handoff", `{"resume":"`+string(saved[0].ID)+`"}`, http.StatusAccepted, nil)
			view := c.rests()
			require.Equal(t, events.AgentID("skill_builder"), view.Agent)
			require.Equal(t, 2, view.Workflow.Step, "where it was left")
			require.Empty(t, view.Saved)
			require.Len(t, d.logged(t, c, events.KindHandoffResumed), 1)
			require.Contains(t, c.said(), "notice: Reconnecting you with Skill Creation Assistant...")
			d.model.of(t, builder)
		})
	}
}

// Proves the edge case "sub-agent unavailable": the main agent answers without it, and the
// run says what it lacks.
func TestEdgeSubAgentUnavailable(t *testing.T) {
	model := newModelServer(t)
	model.fails[knowledge] = http.StatusBadRequest
	d := newDesk(t, model, nil)
	c := newChat(t, d.served)
	answers := c.answers("How do I configure rate limiting for my agent?")
	require.Contains(t, last(answers), "Assistant: ")
	view := c.context()
	require.Equal(t, events.StatusDegraded, view.Status)
	finished := d.ended(t, c, "knowledge")
	require.Equal(t, events.OutcomeFailed, finished.Status)
	require.Contains(t, finished.Error, "this agent is down")
	d.model.of(t, assistant)
}

// Proves the edge case "handoff target unavailable": the main agent keeps the conversation,
// explains and offers something else.
func TestEdgeTargetUnavailable(t *testing.T) {
	d := newDesk(t, newModelServer(t), nil, func(c *runner.Config) {
		c.Available = func(string, events.AgentID) error { return errors.New("closed for today") }
	})
	c := newChat(t, d.served)
	answers := c.answers("I want to create a skill that sends Slack alerts")
	require.Contains(t, answers, "notice: Skill Creation Assistant is currently unavailable. Would you like me to help you with something else, or try again later?")
	require.True(t, strings.HasPrefix(last(answers), "Assistant: "), "it goes on with the user")
	require.Equal(t, events.FacilitatorID, c.context().Agent)
	rejected := d.logged(t, c, events.KindHandoffRejected)
	require.NotEmpty(t, rejected)
	require.Equal(t, "unavailable", rejected[0].(events.HandoffRejected).Code)
	require.Empty(t, d.logged(t, c, events.KindHandoffAccepted))
	require.Empty(t, d.model.of(t, builder), "it was asked nothing")
	d.model.of(t, assistant)
}

// Proves the edge case "user abandons a handoff": the process ends, and the next message
// goes on where the conversation was.
func TestEdgeAbandonedHandoff(t *testing.T) {
	path, model := t.TempDir()+"/log", newModelServer(t)
	open := func() *desk {
		log, err := sqlite.Open(t.Context(), path)
		require.NoError(t, err)
		return openDesk(t, log, model, nil)
	}
	d := open()
	c := newChat(t, d.served)
	c.answers("I want to create a skill that sends Slack alerts")
	c.answers("It watches the error rate")
	before, said := c.context(), c.said()
	d.stop()

	d = open()
	c.server = d.served
	require.Equal(t, before, c.context(), "nothing is lost")
	require.Equal(t, said, c.said())
	require.Contains(t, last(c.answers("Whenever the rate is above 2 %")), "Skill Creation Assistant: ")
	require.Equal(t, 3, c.context().Workflow.Step)
	requests := model.of(t, builder)
	var texts []string
	for _, m := range requests[len(requests)-1].Messages {
		texts = append(texts, m.Content)
	}
	require.Contains(t, texts, "It watches the error rate", "the user repeats nothing")
}

// Proves the edge case "concurrent handoffs": a second one is refused with an explanation,
// and the first goes on.
func TestEdgeConcurrentHandoffs(t *testing.T) {
	d := newDesk(t, newModelServer(t), nil)
	c := newChat(t, d.served)
	c.answers("I want to create a skill that sends Slack alerts")
	var refusal struct{ Detail string }
	c.call(http.MethodPost, "/handoff", `{"target":"skill_builder","reason":"another","summary":"A second skill"}`, http.StatusConflict, &refusal)
	require.Contains(t, refusal.Detail, "has the conversation already")
	require.Equal(t, "notice: You're currently in a session with Skill Creation Assistant. Would you like to finish that first?", last(c.said()))
	rejected := d.logged(t, c, events.KindHandoffRejected)
	require.Len(t, rejected, 1)
	require.Equal(t, "active_session", rejected[0].(events.HandoffRejected).Code)
	view := c.rests()
	require.Equal(t, events.AgentID("skill_builder"), view.Agent)
	require.Equal(t, events.HandoffID("h1"), view.Handoff.ID)
	require.Contains(t, last(c.answers("It watches the error rate")), "Skill Creation Assistant: ")
}

// Proves the edge case "thread id mismatch": a thread of another tenant does not exist.
func TestEdgeForeignThread(t *testing.T) {
	d := newDesk(t, newModelServer(t), nil)
	c := newChat(t, d.served)
	c.answers("Hello")
	other := newChat(t, serve(t, web.Config{Log: d.log, As: access.Operator("other")}))
	other.thread = c.thread
	for _, rest := range []string{"", "/messages", "/events"} {
		var refusal struct{ Detail string }
		other.call(http.MethodGet, rest, "", http.StatusNotFound, &refusal)
		require.Contains(t, refusal.Detail, "there is no thread")
	}
	said := c.said()
	client := llmtest.Script(t, llmtest.Agent("the facilitator of a team", llmtest.Says("Whom do you mean?")))
	r, err := runner.New(runner.Config{Log: d.log, Models: oneClient{client}})
	require.NoError(t, err)
	runs := &simRuns{steer.New(steer.Config{Runner: r}), r}
	t.Cleanup(runs.stop)
	other.server = serve(t, web.Config{Log: d.log, As: access.Operator("other"), Runs: runs})
	var refusal struct{ Detail string }
	for method, body := range map[string]string{http.MethodPost: `{"target":"skill_builder","reason":"r","summary":"s"}`, http.MethodDelete: ""} {
		other.call(method, "/handoff", body, http.StatusNotFound, &refusal)
		require.Contains(t, refusal.Detail, "there is no thread")
	}
	require.Equal(t, []string{"Facilitator: Whom do you mean?"}, other.answers("Go on"), "it begins a conversation of its own")
	require.Equal(t, said, c.said(), "nothing of theirs is changed")
}

// A message that starts a run by name of the team fills the team's request template; what the
// user says next is passed on as it is.
func TestMessageWithVarsOverHTTP(t *testing.T) {
	file, err := team.Parse("desk.yaml", []byte("name: desk\nrequest: \"In {{city}}: {{request}}\"\nspecialists:\n"+
		"  - {id: alpha, description: Knows all., prompt: You know all.}\ndocument:\n  sections:\n    - {id: notes, title: Notes}\n"))
	require.NoError(t, err)
	log := events.NewMemory()
	client := llmtest.Script(t, llmtest.Agent("the facilitator of a team", llmtest.Says("At Ippudo."), llmtest.Says("You're welcome."), llmtest.Says("At Edogawa.")))
	r, err := runner.New(runner.Config{Log: log, Models: oneClient{client}})
	require.NoError(t, err)
	runs := &simRuns{steer.New(steer.Config{Runner: r, Teams: map[string]*team.Team{"desk": file}}), r}
	t.Cleanup(runs.stop)
	c := newChat(t, serve(t, web.Config{Log: log, Runs: runs}))
	start := func(request, vars string, status int) string {
		got, _, answer := c.server.do(t, http.MethodPost, "/api/v1/runs", `{"team":"desk","thread_id":"`+string(c.thread)+`","request":"`+request+`"`+vars+`}`)
		require.Equal(t, status, got, answer)
		return answer
	}
	require.Contains(t, start("Where to eat?", "", http.StatusUnprocessableEntity), "needs a value for city")
	start("Where to eat?", `,"vars":{"city":"Kyoto"}`, http.StatusCreated)
	c.rests()
	require.Equal(t, []string{"Facilitator: You're welcome."}, c.answers("Thanks"))
	start("And there?", `,"vars":{"city":"Nara"}`, http.StatusCreated)
	c.rests()

	var heard []string
	for _, m := range client.Requests("the facilitator of a team")[2].Messages[1:] {
		heard = append(heard, m.Content)
	}
	require.Equal(t, []string{"In Kyoto: Where to eat?", "At Ippudo.", "Thanks", "You're welcome.", "In Nara: And there?"}, heard)
}

// Proves the edge case "long-running orchestration": the user sees who is still at work, and
// after the limit the main agent answers without them.
func TestEdgeLongRunning(t *testing.T) {
	model := newModelServer(t)
	model.hangs[knowledge] = true
	quick, err := team.Builtin("skill-builder")
	require.NoError(t, err)
	quick.Limits.SpecialistTimeout = time.Second
	d := newDesk(t, model, map[string]*team.Team{"quick": quick})
	c := newChat(t, d.served)
	c.say("How do I configure rate limiting for my agent?", `"team":"quick"`)
	require.Eventually(t, func() bool {
		view := c.context()
		return slices.ContainsFunc(view.Active, func(a web.ActiveAgent) bool { return a.Agent == "knowledge" }) || view.Status.Over()
	}, time.Minute, 5*time.Millisecond)
	view := c.rests()
	require.Equal(t, events.StatusDegraded, view.Status)
	require.Equal(t, events.OutcomeTimedOut, d.ended(t, c, "knowledge").Status)
	require.Contains(t, last(c.said()), "Assistant: ")
}

// A question of the facilitator's waits for the user, with no process at work, and the next
// message answers it.
func TestQuestionOverHTTP(t *testing.T) {
	log := events.NewMemory()
	ask := llmtest.Call("ask_user", map[string]any{"question": "By train or by car?", "choices": []string{"train", "car"}})
	client := llmtest.Script(t, llmtest.Agent("the facilitator of a team", llmtest.Calls("", ask), llmtest.Says("By train, then.")))
	server := serve(t, web.Config{Log: log, Runs: newRuns(t, log, oneClient{client})})
	c := newChat(t, server)
	c.say("Plan a day in Kyoto", `"team":"trip"`)
	view := c.rests()
	require.Equal(t, events.StatusAwaitingInput, view.Status)
	require.Equal(t, []thread.InputContext{
		{ID: "i1", For: events.InputQuestion, Agent: events.FacilitatorID, Question: "By train or by car?", Choices: []string{"train", "car"}},
	}, view.Inputs)
	asked := c.messages("").Messages
	require.Equal(t, []string{"train", "car"}, asked[len(asked)-1].Choices)
	var page struct{ Threads []web.ThreadLine }
	status, _, body := server.get(t, "/api/v1/threads?waiting=question")
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, json.Unmarshal([]byte(body), &page))
	require.Len(t, page.Threads, 1)
	require.Equal(t, []events.Ask{{InputID: "i1", For: events.InputQuestion, Question: "By train or by car?"}}, page.Threads[0].Asks)

	receipt := c.say("train", `"message_id":"m2"`)
	require.Equal(t, events.DeliveryAnswer, receipt.Delivery)
	require.Equal(t, events.StatusCompleted, c.rests().Status)
	require.Equal(t, "By train, then.", c.messages("").Messages[3].Content)
	var again web.Receipt
	c.call(http.MethodPost, "/messages", message("train", `"message_id":"m2"`), http.StatusOK, &again)
	require.True(t, again.Duplicate)
	c.call(http.MethodPost, "/messages", message("car", `"delivery":"answer","input_id":"i1"`), http.StatusConflict, nil)
}

// Proves R49 over HTTP: a conversation that was handed to a person waits at the desk, a person
// answers in their own name, and releases it.
func TestHumanDeskOverHTTP(t *testing.T) {
	d := newDesk(t, newModelServer(t), nil)
	c := newChat(t, d.served)
	c.say("I want to speak to a human about my invoice", `"team":"support"`)
	view := c.rests()
	require.Equal(t, events.HumanID, view.Agent)
	require.Equal(t, events.StatusAwaitingInput, view.Status)
	require.Len(t, view.Inputs, 1)
	require.Equal(t, events.InputHuman, view.Inputs[0].For)
	var page struct{ Threads []web.ThreadLine }
	_, _, body := d.get(t, "/api/v1/threads?waiting=human")
	require.NoError(t, json.Unmarshal([]byte(body), &page))
	require.Len(t, page.Threads, 1)
	require.Equal(t, c.thread, page.Threads[0].Thread)

	more := c.say("Is anybody there?")
	require.Equal(t, events.DeliveryQueue, more.Delivery, "the user's message is no answer")
	c.say("It is on its way.", `"delivery":"answer","input_id":"i1","user_id":"operator-1"`)
	require.Eventually(t, func() bool { return c.context().Status == events.StatusAwaitingInput && len(c.context().Queued) == 0 }, time.Minute, 10*time.Millisecond)
	messages := c.messages("").Messages
	var said []string
	for _, m := range messages {
		if m.Role != thread.RoleNotice {
			said = append(said, string(m.Role)+" "+string(m.Agent)+" "+m.UserID+": "+m.Content)
		}
	}
	require.Equal(t, []string{
		"user  : I want to speak to a human about my invoice", "user  : Is anybody there?", "assistant human operator-1: It is on its way.",
	}, said, "each once")

	c.call(http.MethodDelete, "/handoff?user_id=operator-1", "", http.StatusAccepted, nil)
	require.Equal(t, events.FacilitatorID, c.rests().Agent)
	require.Empty(t, c.context().Inputs)
	require.Len(t, d.logged(t, c, events.KindHandoffReturned), 1)
	d.model.of(t, "facilitator")
}

// Proves R49, "all may answer", over HTTP: the agents answer while a person is asked, the
// thread is listed as one that waits for a person until the person has answered or left.
func TestAllMayAnswerOverHTTP(t *testing.T) {
	tm, err := team.Builtin("support")
	require.NoError(t, err)
	for i := range tm.Handoff.Targets {
		tm.Handoff.Targets[i].AllMayAnswer = tm.Handoff.Targets[i].Agent == events.HumanID
	}
	d := newDesk(t, newModelServer(t), map[string]*team.Team{"support": tm})
	c := newChat(t, d.served)
	waiting := func() (asks []events.Ask) {
		var page struct{ Threads []web.ThreadLine }
		_, _, body := d.get(t, "/api/v1/threads?waiting=human")
		require.NoError(t, json.Unmarshal([]byte(body), &page))
		for _, line := range page.Threads {
			asks = append(asks, line.Asks...)
		}
		return asks
	}
	c.say("I want to speak to a human about my invoice", `"team":"support"`)
	view := c.rests()
	require.Equal(t, events.StatusCompleted, view.Status, "an agent answered")
	require.NotEqual(t, events.HumanID, view.Agent)
	require.Equal(t, events.HandoffID("h1"), view.Person.ID)
	require.Equal(t, []events.Ask{{InputID: "i1", For: events.InputHuman, Question: "I want to speak to a human about my invoice", Handoff: "h1"}}, waiting())

	c.say("Is anybody there?")
	require.Equal(t, events.StatusCompleted, c.rests().Status)
	require.Equal(t, "Is anybody there?", waiting()[0].Question)
	c.call(http.MethodPost, "/messages", message("Too late", `"delivery":"answer","input_id":"i1"`), http.StatusConflict, nil)
	c.say("It is on its way.", `"delivery":"answer","input_id":"i2","user_id":"operator-1"`)
	require.Equal(t, events.StatusCompleted, c.rests().Status)
	require.Empty(t, waiting())
	messages := c.messages("").Messages
	last := messages[len(messages)-1]
	require.Equal(t, []any{events.RoleAssistant, events.HumanID, "operator-1", "It is on its way."}, []any{last.Role, last.Agent, last.UserID, last.Content})

	c.say("Thanks")
	c.rests()
	require.Len(t, waiting(), 1)
	c.call(http.MethodDelete, "/handoff?handoff_id=h9", "", http.StatusConflict, nil)
	c.call(http.MethodDelete, "/handoff?handoff_id=h1&user_id=operator-1", "", http.StatusAccepted, nil)
	require.Nil(t, c.rests().Person)
	require.Empty(t, waiting())
}
