package runner_test

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/llm/messages"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/responses"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// strictServer gives a server that speaks each API as strictly as its provider.
func strictServer(t testing.TB, options sim.Options) (*sim.Server, string) {
	t.Helper()
	served := sim.NewServer(options)
	server := httptest.NewServer(served)
	t.Cleanup(server.Close)
	return served, server.URL
}

// A team comes to its end on each API, over real HTTP, and a strict server takes every
// request.
//
// Proves R78.
func TestATeamOnEachAPI(t *testing.T) {
	for _, api := range endpoint.APIs() {
		t.Run(api, func(t *testing.T) {
			served, url := strictServer(t, sim.Options{EarlyDispatch: true})
			log := events.NewMemory()
			env := func(name string) string { return map[string]string{"OPENAI_API_KEY": "a-key-of-the-test"}[name] }
			r, err := runner.New(runner.Config{Log: log, Models: endpoint.New(endpoint.Config{Env: env, BaseURL: url, API: events.API(api)})})
			require.NoError(t, err)
			run, err := r.Start(t.Context(), runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip"), Model: "sim"})
			require.NoError(t, err)
			result, err := run.Wait()
			require.NoError(t, err)
			require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
			report := served.Report()
			require.Zero(t, report.Refused, "%v", report.Faults)
			envs, err := log.Read(context.Background(), run.Key(), 0, 0)
			require.NoError(t, err)
			for _, env := range envs {
				called, ok := env.Data.(events.ModelCalled)
				if !ok {
					continue
				}
				require.Equal(t, events.API(api), called.API)
				require.Equal(t, api != "chat", len(called.Reply.Extra) > 0)
			}
		})
	}
}

// vanishing is a client of a model that stops to exist after some calls.
type vanishing struct {
	llm.Client
	calls, after atomic.Int64
}

func (f *vanishing) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	if f.calls.Add(1) <= f.after.Load() {
		return f.Client.Stream(ctx, req)
	}
	return func(yield func(llm.Delta, error) bool) {
		yield(llm.Delta{}, &llm.Error{Kind: llm.ErrModelNotFound, Provider: "gone", Model: req.Model, Message: "gone"})
	}
}

// families are models of three families, each on an API of its own.
type families struct {
	gpt, claude, other *llm.Endpoint
}

// newFamilies gives the families; the one named is gone after five calls.
func newFamilies(url, gone string) *families {
	config := func(provider string) wire.Config {
		return wire.Config{Provider: provider, BaseURL: url + "/v1", APIKey: "a-key-of-" + provider}
	}
	vanish := func(name string, client llm.Client) llm.Client {
		if name != gone {
			return client
		}
		v := &vanishing{Client: client}
		v.after.Store(5)
		return v
	}
	return &families{
		gpt:    &llm.Endpoint{Name: "first", Client: vanish("gpt", responses.New(responses.Config{Config: config("first")}))},
		claude: &llm.Endpoint{Name: "second", Client: vanish("claude", messages.New(messages.Config{Config: config("second")}))},
		other:  &llm.Endpoint{Name: "third", Client: openai.New(openai.Config{Config: config("third")})},
	}
}

func (f *families) Resolve(specs ...string) (llm.Route, error) {
	gpt, claude, other := llm.Target{Endpoint: f.gpt, Model: "gpt-sim"}, llm.Target{Endpoint: f.claude, Model: "claude-sim"}, llm.Target{Endpoint: f.other, Model: "llama-sim"}
	switch specs[0] {
	case "gpt":
		return llm.Route{gpt, claude}, nil
	case "claude":
		return llm.Route{claude, gpt}, nil
	}
	return llm.Route{other}, nil
}

// mixed is a team whose agents are asked by different APIs.
func mixed(t testing.TB, facilitator string) *team.Team {
	tm := *builtin(t, "trip")
	tm.Facilitator.Model = facilitator
	tm.Specialists = slices.Clone(tm.Specialists)
	for i := range tm.Specialists {
		tm.Specialists[i].Model = []string{"claude", "other", "gpt"}[i%3]
	}
	return &tm
}

// The facilitator is asked by one API and its specialists by others, its model goes away
// in mid-run so that one of another family goes on, and the process is killed at every
// append and resumed: strict endpoints take every request.
//
// Proves R22, R73, R78.
func TestAPIsMixedKilledAtEveryAppend(t *testing.T) {
	for name, gone := range map[string]string{
		"all models stay":                       "",
		"from Responses to Messages in mid-run": "gpt",
		"from Messages to Responses in mid-run": "claude",
	} {
		t.Run(name, func(t *testing.T) { mixedKilledAtEveryAppend(t, gone) })
	}
}

func mixedKilledAtEveryAppend(t *testing.T, gone string) {
	served, url := strictServer(t, sim.Options{EarlyDispatch: true})
	job := runner.Job{Request: "Plan three days in Kyoto for two", Team: mixed(t, cmp.Or(gone, "gpt"))}
	start := func(log events.Log, models runner.Models) *runner.Run {
		r, err := runner.New(runner.Config{Log: log, Models: models})
		require.NoError(t, err)
		run, err := r.Start(t.Context(), job)
		require.NoError(t, err)
		return run
	}
	log := dying(0, false)
	run := start(log, newFamilies(url, gone))
	_, err := run.Wait()
	require.NoError(t, err)
	require.Zero(t, served.Report().Refused, "%v", served.Report().Faults)
	require.Equal(t, gone != "", len(facilitatorAsked(t, log.Log, run)) == 2, "another API continues the conversation of the facilitator")

	from, step := race.Every(8, 2)
	for at := from; at <= log.Appends(); at += step {
		log := dying(at, at%2 == 0)
		models := newFamilies(url, gone)
		run := start(log, models)
		if _, err = run.Wait(); err == nil && log.Appends() < at {
			continue
		}
		require.ErrorIs(t, err, errDied)
		r, err := runner.New(runner.Config{Log: log.Log, Models: models})
		require.NoError(t, err)
		resumed, err := r.Resume(t.Context(), "", run.ID(), runner.Terms{})
		if errors.Is(err, events.ErrRunOver) {
			continue
		}
		require.NoError(t, err)
		result, err := resumed.Wait()
		require.NoError(t, err)
		require.Equal(t, events.StatusCompleted, result.Status, "append %d: %s", at, result.Reason)
		require.Zero(t, served.Report().Faults["strict"], "append %d", at) // a request that died with its process is none
	}
}

// facilitatorAsked gives the providers that the facilitator asked, in turn.
func facilitatorAsked(t *testing.T, log events.Log, run *runner.Run) (providers []string) {
	envs, err := log.Read(context.Background(), run.Key(), 0, 0)
	require.NoError(t, err)
	for _, env := range envs {
		if called, ok := env.Data.(events.ModelCalled); ok && env.Dispatch == "" {
			providers = append(providers, called.Provider)
		}
	}
	return slices.Compact(providers)
}

// A process dies after a call has started early: the cut turn is sent back with the
// thinking that led to it, which a strict endpoint demands.
func TestACutTurnKeepsItsThinking(t *testing.T) {
	for _, api := range []events.API{events.APIResponses, events.APIMessages} {
		t.Run(string(api), func(t *testing.T) {
			served, url := strictServer(t, sim.Options{EarlyDispatch: true, Behaviour: sim.BehaveOnce})
			target := endpoint.New(endpoint.Config{Env: func(string) string { return "" }, BaseURL: url, API: api})
			route, err := target.Resolve("sim")
			require.NoError(t, err)
			route[0].Endpoint = &llm.Endpoint{Name: "sim", Simulated: true, Client: cutDispatches{route[0].Endpoint.Client}}
			log := events.NewMemory()
			r, err := runner.New(runner.Config{Log: log, Models: fixedRoute(route)})
			require.NoError(t, err)
			run, err := r.Start(t.Context(), runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip")})
			require.NoError(t, err)
			result, err := run.Wait()
			require.NoError(t, err)
			require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
			require.Zero(t, served.Report().Refused, "%v", served.Report().Faults)
			cut := 0
			envs, err := log.Read(context.Background(), run.Key(), 0, 0)
			require.NoError(t, err)
			for _, env := range envs {
				switch e := env.Data.(type) {
				case events.ModelCalled:
					if e.Interrupted && e.Purpose == "" {
						cut++
						require.True(t, gjson.GetBytes(e.Reply.Extra, "parts").Exists())
					}
				case events.AgentStarted:
					require.True(t, e.Early == nil || strings.Contains(string(e.Early.Extra), string(api)))
				}
			}
			require.Positive(t, cut, "turns were cut")
		})
	}
}

type fixedRoute llm.Route

func (f fixedRoute) Resolve(...string) (llm.Route, error) { return llm.Route(f), nil }

// The key changes between two runs of a process, so that what was kept is another
// account's: it is stripped, once, and the log says so.
func TestBlobsOfAnotherAccount(t *testing.T) {
	for _, api := range []events.API{events.APIResponses, events.APIMessages} {
		t.Run(string(api), func(t *testing.T) {
			served, url := strictServer(t, sim.Options{})
			keyed := func(key string) runner.Models {
				return endpoint.New(endpoint.Config{Env: func(name string) string { return map[string]string{"OPENAI_API_KEY": key}[name] }, BaseURL: url, API: api})
			}
			job := runner.Job{Request: "Plan three days in Kyoto for two", Team: builtin(t, "trip"), Model: "sim"}
			log := dying(5, true) // at times in the middle of the turn that dispatches
			r, err := runner.New(runner.Config{Log: log, Models: keyed("the-first-key")})
			require.NoError(t, err)
			run, err := r.Start(t.Context(), job)
			require.NoError(t, err)
			_, err = run.Wait()
			require.ErrorIs(t, err, errDied)
			require.Zero(t, served.Report().Refused)

			r, err = runner.New(runner.Config{Log: log.Log, Models: keyed("another-key")})
			require.NoError(t, err)
			resumed, err := r.Resume(t.Context(), "", run.ID(), runner.Terms{})
			require.NoError(t, err)
			result, err := resumed.Wait()
			require.NoError(t, err)
			require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
			dropped, warned := 0, 0
			envs, err := log.Log.Read(context.Background(), run.Key(), 0, 0)
			require.NoError(t, err)
			for _, env := range envs {
				switch e := env.Data.(type) {
				case events.ModelCalled:
					if e.KeptDropped {
						dropped++
					}
				case events.Warning:
					if e.Code == events.WarnKeptDropped {
						warned++
					}
				}
			}
			require.Positive(t, dropped)
			require.Equal(t, dropped, warned)
			require.Equal(t, dropped, served.Report().Refused, "each conversation is refused once: %v", served.Report().Faults)
		})
	}
}

// pausing is a model whose provider pauses its first turn.
type pausing struct{ requests []llm.Request }

func (p *pausing) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	p.requests = append(p.requests, req)
	reply := events.Reply{Text: "The whole answer.", FinishReason: events.FinishStop}
	if len(p.requests) == 1 {
		reply = events.Reply{Text: "Half.", Extra: []byte(`{"api":"messages","provider":"p","family":"m","parts":[]}`), FinishReason: events.FinishPaused}
	}
	return func(yield func(llm.Delta, error) bool) {
		_ = yield(llm.Delta{Text: reply.Text}, nil) && yield(llm.Delta{Done: &llm.Completion{Reply: reply, Attempts: 1}}, nil)
	}
}

// A turn that the provider paused is no answer: it is sent back as it is, and goes on.
func TestAPausedTurnGoesOn(t *testing.T) {
	model := &pausing{}
	run, err := newRunner(t, events.NewMemory(), model).Start(t.Context(), runner.Job{Request: "What is the capital of Norway?", Team: builtin(t, "trip"), Solo: true})
	require.NoError(t, err)
	result, err := run.Wait()
	require.NoError(t, err)
	require.Equal(t, "The whole answer.", result.Answer)
	require.Len(t, model.requests, 2)
	last := model.requests[1].Messages[len(model.requests[1].Messages)-1]
	require.Equal(t, events.RoleAssistant, last.Role)
	require.Equal(t, "Half.", last.Content)
	require.NotEmpty(t, last.Extra)
}
