package runner_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/facilitator"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
)

// hangs is far longer than any bound of these tests.
const hangs = 3 * time.Hour

// heeds hangs until its context ends, ignores hangs whatever happens.
func heeds(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func ignores(context.Context) error {
	time.Sleep(hangs)
	return nil
}

// fetching is a tool of the specialists.
func fetching(effect events.Effect, call func(context.Context, agent.Invocation) (string, error)) agent.Tool {
	return agent.Func(llm.Tool{Name: "fetch", Description: "Fetches."}, effect, func(ctx context.Context, in agent.Invocation, _ struct{}) (agent.Result, error) {
		text, err := call(ctx, in)
		return agent.Result{Text: text}, err
	})
}

// gaveUp are the facilitator's last turns where the task stays open.
var gaveUp = []llmtest.Step{llmtest.Says("It is not done"), llmtest.Says("It is still not done")}

// scene is a runner with a run of the pair that is to be.
type scene struct {
	runner.Config
	functions runner.Functions
}

func (s scene) start(t testing.TB, limits ...func(*team.Limits)) *runner.Run {
	t.Helper()
	job := job
	job.Team, job.Functions = pair(limits...), s.functions
	run, err := newWith(t, s.Config).Start(t.Context(), job)
	require.NoError(t, err)
	return run
}

func (s scene) play(t testing.TB, limits ...func(*team.Limits)) played {
	t.Helper()
	return ended(t, s.Log, s.start(t, limits...))
}

// stuck is a run in which Alpha calls a tool, or is a function, that hangs. last are the
// facilitator's turns behind that.
func stuck(t testing.TB, function bool, hang func(context.Context) error, last ...llmtest.Step) scene {
	config := scene{Config: runner.Config{Log: events.NewMemory()}}
	parts := []llmtest.Part{llmtest.Agent(boss,
		append([]llmtest.Step{llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1))}, last...)...)}
	if function {
		config.functions = runner.Functions{
			"alpha": func(ctx context.Context, work specialists.Assignment) (specialists.Contribution, error) {
				err := hang(ctx)
				work.Progress() // to whom it may concern
				return specialists.Contribution{Entries: []specialists.Entry{{Place: args{"section": "a"}, Content: "too late"}}}, err
			},
		}
	} else {
		config.Tools = []agent.Tool{
			fetching(events.EffectPure, func(ctx context.Context, in agent.Invocation) (string, error) {
				err := hang(ctx)
				in.Progress() // to whom it may concern
				return "too late", err
			}),
		}
		parts = append(parts, llmtest.Agent(alpha, llmtest.Calls("", llmtest.Call("fetch", args{}))))
	}
	config.Models = oneClient{llmtest.Script(t, parts...)}
	return config
}

// eachWay has a test for a tool and for a function, that heed their context or do not.
func eachWay(t *testing.T, test func(t *testing.T, function, left bool, hang func(context.Context) error)) {
	for kind, function := range map[string]bool{"tool": false, "function": true} {
		for how, hang := range map[string]func(context.Context) error{"heeds": heeds, "ignores": ignores} {
			t.Run(kind+" that "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { test(t, function, how == "ignores", hang) })
			})
		}
	}
}

// silentFor lets time pass that those left behind come back in, and checks that the
// run's log stays as it is.
func silentFor(t testing.TB, log events.Log, p played) {
	t.Helper()
	time.Sleep(2 * hangs)
	envs, err := log.Read(t.Context(), p.key, 0, 0)
	require.NoError(t, err)
	require.Len(t, envs, len(p.envs), "who was left behind writes nothing")
}

// leftBehind checks whether the log says that somebody was left behind.
func leftBehind(t testing.TB, p played, want bool) {
	t.Helper()
	count := 0
	for _, code := range p.warnings() {
		if code == events.WarnLeftBehind {
			count++
		}
	}
	require.Equal(t, map[bool]int{true: 1}[want], count)
}

// Proves R23, R74: a tool or a function that hangs ends with the bounds of its
// specialist, whether it heeds its context or not.
func TestHangingWorkEndsWithItsSpecialist(t *testing.T) {
	for bound, limit := range map[events.Limit]func(*team.Limits){
		events.LimitSpecialistTimeout: func(l *team.Limits) {
			l.SpecialistTimeout, l.SilenceTimeout, l.ToolTimeout = time.Minute, time.Hour, time.Hour
		},
		events.LimitSilenceTimeout: func(l *team.Limits) {
			l.SpecialistTimeout, l.SilenceTimeout, l.ToolTimeout = time.Hour, time.Minute, time.Hour
		},
	} {
		t.Run(string(bound), func(t *testing.T) {
			eachWay(t, func(t *testing.T, function, left bool, hang func(context.Context) error) {
				config := stuck(t, function, hang, gaveUp...)
				p := config.play(t, limit)
				p.met(t, bound)
				require.InDelta(t, 60, p.Driven.Seconds(), 1)
				require.Equal(t, []events.Outcome{events.OutcomeTimedOut}, p.outcomes())
				require.Equal(t, "It is still not done", p.Answer, "the facilitator goes on")
				require.Contains(t, p.results("call_alpha")[0], string(bound))
				leftBehind(t, p, left)
				silentFor(t, config.Log, p)
			})
		})
	}
}

// Proves R74: max_time ends what hangs in time for the last turn.
func TestMaxTimeWhileWorkHangs(t *testing.T) {
	eachWay(t, func(t *testing.T, function, left bool, hang func(context.Context) error) {
		config := stuck(t, function, hang, llmtest.Says("Done"))
		p := config.play(t, func(l *team.Limits) {
			l.MaxTime, l.SpecialistTimeout, l.SilenceTimeout, l.ToolTimeout = 100*time.Second, time.Hour, time.Hour, time.Hour
		})
		p.met(t, events.LimitMaxTime)
		require.Equal(t, []events.Outcome{events.OutcomeLimit}, p.outcomes())
		require.Equal(t, "Done", p.Answer, "the share kept for it is enough for the last turn")
		require.InDelta(t, 91, p.Driven.Seconds(), 1)
		leftBehind(t, p, left)
		silentFor(t, config.Log, p)
	})
}

// Proves R73: a run is cancelled while its work hangs.
func TestCancelWhileWorkHangs(t *testing.T) {
	eachWay(t, func(t *testing.T, function, left bool, hang func(context.Context) error) {
		config := stuck(t, function, hang)
		run := config.start(t)
		time.Sleep(10 * time.Second)
		require.NoError(t, run.Cancel("enough"))
		p := ended(t, config.Log, run)
		require.Equal(t, events.StatusCancelled, p.Status)
		require.InDelta(t, 10, p.Driven.Seconds(), 1)
		require.Equal(t, []events.Outcome{events.OutcomeCancelled}, p.outcomes())
		leftBehind(t, p, left)
		silentFor(t, config.Log, p)
	})
}

func newWith(t testing.TB, config runner.Config) *runner.Runner {
	t.Helper()
	r, err := runner.New(config)
	require.NoError(t, err)
	return r
}

// Proves R73: a run is parked while its work hangs. Suspend waits for the call as for a
// model's, within its bounds; Halt gives it up at once.
func TestSuspendAndHaltWhileWorkHangs(t *testing.T) {
	eachWay(t, func(t *testing.T, function, left bool, hang func(context.Context) error) {
		config := stuck(t, function, hang)
		run := config.start(t)
		time.Sleep(10 * time.Second)
		run.Halt()
		p := parked(t, config.Log, run)
		require.Equal(t, events.StatusSuspended, p.Status)
		require.InDelta(t, 10, p.Driven.Seconds(), 1)
		require.Empty(t, p.outcomes())
		require.Empty(t, p.results("fetch"), "a resume judges the call")
		leftBehind(t, p, left)
		silentFor(t, config.Log, p)
	})
	synctest.Test(t, func(t *testing.T) {
		config := stuck(t, false, ignores)
		run := config.start(t)
		time.Sleep(10 * time.Second)
		run.Suspend()
		p := parked(t, config.Log, run)
		require.Equal(t, events.StatusSuspended, p.Status)
		require.InDelta(t, 61, p.Driven.Seconds(), 1, "the default of tool_timeout")
		require.Contains(t, p.results("fetch")[0], "tool_timeout")
		silentFor(t, config.Log, p)
	})
}

// Proves R73: a call that a stop cut off is made again on resume where that does no
// harm; of any other the model is told that nobody knows what came of it.
func TestResumeAfterStopInAHangingTool(t *testing.T) {
	for effect, again := range map[events.Effect]bool{events.EffectPure: true, events.EffectIdempotent: true, events.EffectEffectful: false, "": false} {
		for how, hang := range map[string]func(context.Context) error{"heeds": heeds, "ignores": ignores} {
			t.Run(string(effect)+" "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var mu sync.Mutex // a call that was left behind is ordered before nothing
					var keys []events.CallID
					called := func(id events.CallID) (times int) {
						mu.Lock()
						defer mu.Unlock()
						keys = append(keys, id)
						return len(keys)
					}
					tool := fetching(effect, func(ctx context.Context, in agent.Invocation) (string, error) {
						if called(in.Ref.CallID) == 1 {
							return "too late", hang(ctx)
						}
						return "fetched", nil
					})
					script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha,
						llmtest.Calls("", llmtest.Call("fetch", args{})), llmtest.Calls("", write("a", "A"), complete(1)), llmtest.Says("Did it")))
					config := runner.Config{Log: events.NewMemory(), Models: oneClient{script}, Tools: []agent.Tool{tool}}
					run := start(t, newWith(t, config))
					time.Sleep(10 * time.Second)
					run.Halt()
					p := parked(t, config.Log, run)
					time.Sleep(8 * time.Hour)
					resumed, err := newWith(t, config).Resume(t.Context(), "", p.Run, runner.Terms{})
					require.NoError(t, err)
					p = ended(t, config.Log, resumed)
					require.Equal(t, events.StatusCompleted, p.Status, p.Reason)
					require.InDelta(t, 10, p.Driven.Seconds(), 2, "the night does not count")
					mu.Lock()
					defer mu.Unlock()
					if again {
						require.Equal(t, []string{"fetched"}, p.results("fetch"))
						require.Len(t, keys, 2)
						require.Equal(t, keys[0], keys[1], "the call id is the key")
					} else {
						require.Contains(t, p.results("fetch")[0], "Outcome unknown")
						require.Len(t, keys, 1)
						require.Contains(t, p.warnings(), events.WarnOutcomeUnknown)
					}
				})
			})
		}
	}
}

// A call that comes to its end although the run was stopped has its result: nobody
// needs to ask what came of it.
func TestCallThatEndsWhileTheRunStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool := fetching(events.EffectEffectful, func(ctx context.Context, _ agent.Invocation) (string, error) {
			<-ctx.Done()
			time.Sleep(200 * time.Millisecond)
			return "paid", nil
		})
		script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha,
			llmtest.Calls("", llmtest.Call("fetch", args{})), llmtest.Calls("", write("a", "A"), complete(1)), llmtest.Says("Did it")))
		config := runner.Config{Log: events.NewMemory(), Models: oneClient{script}, Tools: []agent.Tool{tool}}
		run := start(t, newWith(t, config))
		time.Sleep(10 * time.Second)
		run.Halt()
		require.Equal(t, []string{"paid"}, parked(t, config.Log, run).results("fetch"))
		resumed, err := newWith(t, config).Resume(t.Context(), "", run.ID(), runner.Terms{})
		require.NoError(t, err)
		ended(t, config.Log, resumed).completed(t)
	})
}

// working is a run in which Alpha calls a tool once and then does its task.
func working(t *testing.T, effect events.Effect, limit func(*team.Limits), call func(context.Context, agent.Invocation) (string, error)) (p played) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha,
			llmtest.Calls("", llmtest.Call("fetch", args{})), llmtest.Calls("", write("a", "A"), complete(1)), llmtest.Says("Did it")))
		p = playWith(t, runner.Config{Log: events.NewMemory(), Models: oneClient{script}, Tools: []agent.Tool{fetching(effect, call)}}, pair(limit))
		time.Sleep(2 * hangs) // who was left behind comes back
	})
	require.Equal(t, events.StatusCompleted, p.Status, p.Reason)
	return p
}

func testToolTimeout(t *testing.T) {
	limit := func(l *team.Limits) { l.ToolTimeout = 30 * time.Second }
	last := func(d time.Duration) func(context.Context, agent.Invocation) (string, error) {
		return func(ctx context.Context, _ agent.Invocation) (string, error) {
			select {
			case <-time.After(d):
				return "fetched", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
	}
	below := working(t, events.EffectPure, limit, last(29*time.Second))
	below.completed(t)
	require.Equal(t, []string{"fetched"}, below.results("fetch"))

	over := working(t, events.EffectPure, limit, last(31*time.Second))
	over.met(t, events.LimitToolTimeout)
	require.InDelta(t, 30, over.Driven.Seconds(), 0.1)
	require.Equal(t, []string{"Error: fetch was given up: it reported no progress for 30s (tool_timeout)."}, over.results("fetch"))
	require.Empty(t, over.warnings())
	require.Empty(t, over.Limit, "the bound is the call's, not the run's")

	effectful := working(t, events.EffectEffectful, limit, func(context.Context, agent.Invocation) (string, error) { return "", ignores(t.Context()) })
	require.InDelta(t, 31, effectful.Driven.Seconds(), 0.1)
	require.Contains(t, effectful.results("fetch")[0], "Its outcome is unknown: check before repeating it.")
	require.Equal(t, []string{events.WarnLeftBehind, events.WarnOutcomeUnknown}, effectful.warnings())
}

// A call that says that it gets on has all the time that its specialist has, and one
// that stops saying so a minute more.
func TestProgressRenewsTheTimeOfACall(t *testing.T) {
	steps := func(n int) func(context.Context, agent.Invocation) (string, error) {
		return func(ctx context.Context, in agent.Invocation) (string, error) {
			for range n {
				select {
				case <-time.After(50 * time.Second):
					in.Progress()
				case <-ctx.Done():
					return "", ctx.Err()
				}
			}
			<-ctx.Done()
			return "", ctx.Err()
		}
	}
	p := working(t, events.EffectPure, func(*team.Limits) {}, func(ctx context.Context, in agent.Invocation) (string, error) {
		for range 8 {
			time.Sleep(50 * time.Second)
			in.Progress()
		}
		return "fetched", ctx.Err()
	})
	p.completed(t)
	require.Equal(t, []string{"fetched"}, p.results("fetch"))

	p = working(t, events.EffectPure, func(*team.Limits) {}, steps(4))
	p.met(t, events.LimitToolTimeout)
	require.InDelta(t, 260, p.Driven.Seconds(), 0.1)

	synctest.Test(t, func(t *testing.T) { // progress has no say over specialist_timeout
		script := llmtest.Script(t, llmtest.Agent(boss, append([]llmtest.Step{llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1))}, gaveUp...)...),
			llmtest.Agent(alpha, llmtest.Calls("", llmtest.Call("fetch", args{}))))
		p := playWith(t, runner.Config{Log: events.NewMemory(), Models: oneClient{script}, Tools: []agent.Tool{fetching(events.EffectPure, steps(1000))}}, pair())
		p.met(t, events.LimitSpecialistTimeout)
		require.InDelta(t, 600, p.Driven.Seconds(), 1)
	})
}

// A function that says that it gets on is not silent.
func TestProgressOfAFunction(t *testing.T) {
	for progress, outcome := range map[bool]events.Outcome{true: events.OutcomeOK, false: events.OutcomeTimedOut} {
		synctest.Test(t, func(t *testing.T) {
			config := stuck(t, true, nil, map[bool][]llmtest.Step{true: {llmtest.Says("Done")}, false: gaveUp}[progress]...)
			config.functions["alpha"] = func(ctx context.Context, work specialists.Assignment) (specialists.Contribution, error) {
				for range 3 {
					time.Sleep(100 * time.Second)
					if progress {
						work.Progress()
					}
				}
				return specialists.Contribution{Summary: "Done"}, ctx.Err()
			}
			p := config.play(t)
			require.Equal(t, []events.Outcome{outcome}, p.outcomes())
			silentFor(t, config.Log, p)
		})
	}
}

// Dispatches and questions to specialists are no external tools: their bounds are those
// of the specialists.
func TestToolTimeoutIsNotForSpecialists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := llmtest.Script(t,
			llmtest.Agent(boss,
				llmtest.Calls("", llmtest.Call("ask_specialists", args{"question": "How?", "specialists": []string{"beta"}})),
				llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Done")),
			llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"), complete(1)).After(100*time.Second), llmtest.Says("Did it")),
			llmtest.Agent(beta, llmtest.Says("So.").After(100*time.Second)))
		p := playWith(t, runner.Config{Log: events.NewMemory(), Models: oneClient{script}}, pair())
		p.completed(t)
		require.Contains(t, p.results("ask_specialists")[0], "So.")
	})
}

// Proves R23: to wait for an endpoint's turn counts towards the time of one who is asked
// no more than towards that of a dispatch.
func TestWaitingForTheLimiterIsNotTheTimeOfOneAsked(t *testing.T) {
	for answer, success := range map[time.Duration]bool{4 * time.Second: true, 6 * time.Second: false} {
		synctest.Test(t, func(t *testing.T) {
			script := llmtest.Script(t, llmtest.Agent(alpha, llmtest.Says("So.").After(answer)))
			r := newWith(t, runner.Config{Log: events.NewMemory(), Models: crowded{script, time.Minute}})
			_, replies, err := r.Delegate(t.Context(), runner.Job{Team: pair()}, facilitator.Delegation{
				Question: "How?", Specialists: []events.AgentID{"alpha"}, TimeoutSeconds: 5,
			})
			require.NoError(t, err)
			require.Equal(t, success, replies[0].Success, replies[0].Error)
		})
	}
}

// A tool that hangs is a silent agent: whoever waits is told.
func TestSignalsOfASilentTool(t *testing.T) {
	var seen []time.Duration
	synctest.Test(t, func(t *testing.T) {
		script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha,
			llmtest.Calls("", llmtest.Call("fetch", args{})), llmtest.Calls("", write("a", "A"), complete(1)), llmtest.Says("Did it")))
		config := runner.Config{
			Log: events.NewMemory(), Models: oneClient{script},
			Tools: []agent.Tool{fetching(events.EffectPure, func(context.Context, agent.Invocation) (string, error) {
				time.Sleep(35 * time.Second)
				return "fetched", nil
			})},
			OnSignal: func(s runner.Signal) {
				require.Equal(t, events.AgentID("alpha"), s.Agent)
				seen = append(seen, s.Silent.Round(time.Second))
			},
		}
		playWith(t, config, pair()).completed(t)
	})
	require.Equal(t, []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}, seen)
}

// A run whose log was written before tool_timeout existed is resumed under its default.
func TestResumeUnderABoundThatTheLogLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := stuck(t, false, heeds)
		run := config.start(t)
		time.Sleep(10 * time.Second)
		run.Halt()
		p := parked(t, config.Log, run)
		started := p.envs[0].Data.(events.WorkflowStarted)
		require.Contains(t, string(started.Config), `"tool_timeout":"1m",`)
		started.Config = []byte(strings.Replace(string(started.Config), `"tool_timeout":"1m",`, "", 1))
		p.envs[0].Data = started

		log := events.NewMemory()
		epoch, err := log.Claim(t.Context(), p.key, "earlier", false)
		require.NoError(t, err)
		require.NoError(t, log.Append(t.Context(), p.key, epoch, 0, p.envs))
		require.NoError(t, log.Release(t.Context(), p.key, epoch))
		config.Log = log
		config.Models = oneClient{llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Done")),
			llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"), complete(1)), llmtest.Says("Did it")))}
		resumed, err := newWith(t, config.Config).Resume(t.Context(), "", p.Run, runner.Terms{})
		require.NoError(t, err)
		again := ended(t, log, resumed)
		require.Equal(t, events.StatusCompleted, again.Status, again.Reason)
		require.InDelta(t, 70, again.Driven.Seconds(), 1)
		again.met(t, events.LimitToolTimeout)
	})
}
