package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// gated holds the first call of an agent back until it is opened.
type gated struct {
	llm.Client
	match string
	// entered is closed when the call has come, open lets it go on.
	entered, open chan struct{}
	held          atomic.Bool
}

func gate(client llm.Client, match string) *gated {
	return &gated{Client: client, match: match, entered: make(chan struct{}), open: make(chan struct{})}
}

func (g *gated) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if strings.Contains(req.Messages[0].Content, g.match) && g.held.CompareAndSwap(false, true) {
			close(g.entered)
			select {
			case <-g.open:
			case <-ctx.Done():
				yield(llm.Delta{}, ctx.Err())
				return
			}
		}
		g.Client.Stream(ctx, req)(yield)
	}
}

func owned(t testing.TB, log events.Log, client llm.Client, owner events.Owner) *runner.Runner {
	t.Helper()
	r, err := runner.New(runner.Config{Log: log, Models: oneClient{client}, Owner: owner})
	require.NoError(t, err)
	return r
}

var job = runner.Job{Request: "Write about both halves"}

func start(t testing.TB, r *runner.Runner) *runner.Run {
	t.Helper()
	job := job
	job.Team = pair()
	run, err := r.Start(t.Context(), job)
	require.NoError(t, err)
	return run
}

// untouched are the turns of the ordinary run whose specialist never comes to speak.
func untouched() []llmtest.Part { return []llmtest.Part{interrupted()} }

func interrupted() llmtest.Part {
	return llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)))
}

// cancelled checks a run that was cancelled while Alpha was at work.
func cancelled(t *testing.T, p played) {
	t.Helper()
	require.Equal(t, events.StatusCancelled, p.Status)
	require.Equal(t, "enough", strings.Split(p.Reason, ";")[0])
	require.Equal(t, []events.TaskID{1}, p.MissingTasks)
	require.Equal(t, []events.Outcome{events.OutcomeCancelled}, p.outcomes())
	at := slices.IndexFunc(p.envs, func(e events.Envelope) bool { return e.Data.Kind() == events.KindRunCancelled })
	require.GreaterOrEqual(t, at, 0)
	for _, env := range p.envs[at+1:] {
		require.Contains(t, []events.Kind{events.KindAgentFinished, events.KindWorkflowFinished, events.KindModelCalled}, env.Data.Kind())
	}
}

// Proves R12, R73: a run is cancelled by whoever asks, and only closing facts follow.
func TestCancel(t *testing.T) {
	for name, cancel := range map[string]func(*testing.T, *events.Memory, *runner.Runner, *runner.Run){
		"by its handle": func(t *testing.T, _ *events.Memory, _ *runner.Runner, run *runner.Run) {
			require.NoError(t, run.Cancel("enough"))
		},
		"by its runner": func(t *testing.T, _ *events.Memory, r *runner.Runner, run *runner.Run) {
			require.NoError(t, r.Cancel(t.Context(), "", run.ID(), "enough"))
		},
		"by another process": func(t *testing.T, log *events.Memory, _ *runner.Runner, run *runner.Run) {
			other := owned(t, log, nil, "other")
			require.NoError(t, other.Cancel(t.Context(), "", run.ID(), "enough"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := events.NewMemory()
				client := gate(llmtest.Script(t, untouched()...), alpha)
				r := owned(t, log, client, "driver")
				begun := time.Now()
				run := start(t, r)
				<-client.entered
				cancel(t, log, r, run)
				cancelled(t, ended(t, log, run))
				require.Less(t, time.Since(begun), 3*time.Second)
			})
		})
	}
}

func TestCancelOfRunThatNobodyDrives(t *testing.T) {
	log := events.NewMemory()
	client := gate(llmtest.Script(t, untouched()...), alpha)
	run := start(t, owned(t, log, client, "driver"))
	<-client.entered
	run.Halt()
	require.Equal(t, events.StatusSuspended, parked(t, log, run).Status)
	require.NoError(t, owned(t, log, nil, "other").Cancel(t.Context(), "", run.ID(), "enough"))
	summary, err := log.FindRun(t.Context(), events.LocalTenant, string(run.ID()))
	require.NoError(t, err)
	require.Equal(t, events.StatusCancelled, summary.Status)
	require.ErrorIs(t, owned(t, log, nil, "other").Cancel(t.Context(), "", run.ID(), "again"), events.ErrRunOver)
}

// What people abbreviate is looked up where they are: a runner drives the run of just
// that id, also where only one begins so.
func TestTheBeginningOfAnIDIsNoRun(t *testing.T) {
	log := events.NewMemory()
	run := start(t, owned(t, log, llmtest.Script(t, ordinary()...), "driver"))
	_, err := run.Wait()
	require.NoError(t, err)
	r := owned(t, log, nil, "other")
	for _, id := range []events.RunID{run.ID()[:8], ""} {
		_, err := r.Outcome(t.Context(), "", id)
		require.ErrorIs(t, err, events.ErrNotFound)
		_, err = r.Resume(t.Context(), "", id, runner.Terms{})
		require.ErrorIs(t, err, events.ErrNotFound)
		_, err = r.Fork(t.Context(), "", id, runner.Change{At: 1})
		require.ErrorIs(t, err, events.ErrNotFound)
		require.ErrorIs(t, r.Cancel(t.Context(), "", id, "enough"), events.ErrNotFound)
	}
}

// A cancellation that crosses the end of its run comes too late, and the thread goes on.
func TestCancelThatComesTooLate(t *testing.T) {
	log := events.NewMemory()
	p := playWith(t, runner.Config{Log: log, Models: oneClient{llmtest.Script(t, ordinary()...)}}, pair())
	_, err := log.Post(t.Context(), p.key, events.Envelope{Run: p.Run, Data: events.CancelRequested{Reason: "late"}})
	require.ErrorIs(t, err, events.ErrRunOver)
	err = owned(t, log, nil, "other").Cancel(t.Context(), "", p.Run, "late")
	require.ErrorIs(t, err, events.ErrRunOver)
	again := job
	again.Team, again.Thread = pair(), p.Thread
	run, err := owned(t, log, llmtest.Script(t, ordinary()...), "driver").Start(t.Context(), again)
	require.NoError(t, err)
	result, err := run.Wait()
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
}

// What a person says to a run under way reaches its facilitator with the next turn.
func TestMessageToARunUnderWay(t *testing.T) {
	log := events.NewMemory()
	script := llmtest.Script(t, ordinary()...)
	client := gate(script, alpha)
	run := start(t, owned(t, log, client, "driver"))
	<-client.entered
	_, err := log.Post(t.Context(), run.Key(), events.Envelope{Run: run.ID(), Data: events.UserMessage{Content: "And sushi"}})
	require.NoError(t, err)
	close(client.open)
	ended(t, log, run).completed(t)
	messages := script.Requests(boss)[2].Messages
	require.Equal(t, "And sushi", messages[len(messages)-1].Content)
	require.Equal(t, "Did it", messages[len(messages)-2].Content)
}

// A fork does not inherit that its run was asked to end.
func TestForkOfRunThatWasAskedToEnd(t *testing.T) {
	log := events.NewMemory()
	client := gate(llmtest.Script(t, untouched()...), alpha)
	run := start(t, owned(t, log, client, "driver"))
	<-client.entered
	run.Halt()
	parked(t, log, run)
	seq, err := log.Post(t.Context(), run.Key(), events.Envelope{Run: run.ID(), Data: events.CancelRequested{Reason: "enough"}})
	require.NoError(t, err)
	_, err = owned(t, log, llmtest.Script(t), "other").Fork(t.Context(), "", run.ID(), runner.Change{At: seq})
	var input *runner.InputError
	require.ErrorAs(t, err, &input)
	require.ErrorContains(t, err, "earlier event")
}

// A cancellation that came while nobody drove the run is the first thing a resume
// heeds: no model is asked.
func TestResumeHeedsCancellation(t *testing.T) {
	log := events.NewMemory()
	client := gate(llmtest.Script(t, untouched()...), alpha)
	run := start(t, owned(t, log, client, "driver"))
	<-client.entered
	run.Halt()
	parked(t, log, run)
	_, err := log.Post(t.Context(), run.Key(), events.Envelope{Run: run.ID(), Data: events.CancelRequested{Reason: "enough"}})
	require.NoError(t, err)
	resumed, err := owned(t, log, llmtest.Script(t), "other").Resume(t.Context(), "", run.ID(), runner.Terms{})
	require.NoError(t, err)
	p := ended(t, log, resumed)
	require.Equal(t, events.StatusCancelled, p.Status)
	require.Equal(t, "enough", strings.Split(p.Reason, ";")[0])
}

// Proves R73: Suspend lets the calls in flight end and records them, Halt gives them
// up; either way the run ends as if it had never been stopped.
func TestSuspendAndHalt(t *testing.T) {
	whole := play(t, llmtest.Script(t, ordinary()...), pair())
	for name, drain := range map[string]bool{"suspend": true, "stop": false} {
		t.Run(name, func(t *testing.T) {
			log := events.NewMemory()
			script := llmtest.Script(t, ordinary()...)
			client := gate(script, alpha)
			run := start(t, owned(t, log, client, "driver"))
			<-client.entered
			if drain {
				run.Suspend()
				close(client.open)
			} else {
				run.Halt()
			}
			p := parked(t, log, run)
			require.Equal(t, events.StatusSuspended, p.Status)
			require.Len(t, p.of(events.KindRunSuspended), 1)
			require.Empty(t, p.of(events.KindWorkflowFinished))
			require.Equal(t, drain, strings.Contains(p.Document, "A"), "calls in flight are recorded by Suspend alone")

			resumed, err := owned(t, log, script, "other").Resume(t.Context(), "", run.ID(), runner.Terms{})
			require.NoError(t, err)
			after := ended(t, log, resumed)
			require.Equal(t, events.StatusCompleted, after.Status, after.Reason)
			require.Equal(t, whole.Document, after.Document)
			require.Equal(t, whole.Tasks, after.Tasks)
			require.Equal(t, whole.ModelCalls, after.ModelCalls)
		})
	}
}

// Proves R73: the context of Start ends the driving, never the run.
func TestEndOfContextParksTheRun(t *testing.T) {
	for range 50 {
		log := &cancelling{Memory: events.NewMemory()}
		ctx, cancel := context.WithCancel(t.Context())
		log.cancel = cancel
		job := job
		job.Team = pair()
		run, err := owned(t, log, gate(llmtest.Script(t), boss), "driver").Start(ctx, job)
		require.NoError(t, err)
		require.Equal(t, events.StatusSuspended, parked(t, log, run).Status)
	}
}

// cancelling ends a context as soon as the first event is durable.
type cancelling struct {
	*events.Memory
	cancel context.CancelFunc
}

func (c *cancelling) AppendFirst(ctx context.Context, key events.ThreadKey, owner events.Owner, envs []events.Envelope) (events.Epoch, error) {
	epoch, err := c.Memory.AppendFirst(ctx, key, owner, envs)
	c.cancel()
	return epoch, err
}

// Proves R73: of two that resume a run, one has it.
func TestResumeOfRunThatIsDriven(t *testing.T) {
	log := events.NewMemory()
	script := llmtest.Script(t, ordinary()...)
	client := gate(script, alpha)
	r := owned(t, log, client, "driver")
	run := start(t, r)
	<-client.entered
	for _, other := range []*runner.Runner{owned(t, log, script, "other"), r} {
		_, err := other.Resume(t.Context(), "", run.ID(), runner.Terms{})
		var held *events.HeldError
		require.ErrorAs(t, err, &held)
		require.Equal(t, events.Owner("driver"), held.Owner)

		again := job
		again.Team, again.Thread = pair(), run.Key().Thread
		_, err = other.Start(t.Context(), again)
		require.ErrorAs(t, err, &held)
	}
	close(client.open)
	ended(t, log, run).completed(t)
}

// A run that was taken over stops at once: it neither writes nor waits for what it
// asked.
func TestTakenOverRunStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		client := gate(llmtest.Script(t, untouched()...), alpha)
		run := start(t, owned(t, log, client, "driver"))
		<-client.entered
		epoch, err := log.Claim(t.Context(), run.Key(), "thief", true)
		require.NoError(t, err)
		envs, err := log.Read(t.Context(), run.Key(), 0, 0)
		require.NoError(t, err)
		require.NoError(t, log.Append(t.Context(), run.Key(), epoch, envs[len(envs)-1].Seq,
			[]events.Envelope{{Run: run.ID(), Data: events.RunResumed{Owner: "thief"}}}))
		begun := time.Now()
		_, err = run.Wait()
		require.ErrorIs(t, err, events.ErrFenced)
		require.Less(t, time.Since(begun), 3*time.Second)
		after, err := log.Read(t.Context(), run.Key(), 0, 0)
		require.NoError(t, err)
		require.Len(t, after, len(envs)+1, "the old driver wrote nothing more")
	})
}

// watchful counts how often a log is read or waited for.
type watchful struct {
	events.Log
	looks atomic.Int64
}

func (w *watchful) Read(ctx context.Context, key events.ThreadKey, after events.Seq, limit int, kinds ...events.Kind) ([]events.Envelope, error) {
	w.looks.Add(1)
	return w.Log.Read(ctx, key, after, limit, kinds...)
}

func (w *watchful) Wait(ctx context.Context, key events.ThreadKey, after events.Seq, kinds ...events.Kind) error {
	w.looks.Add(1)
	return w.Log.Wait(ctx, key, after, kinds...)
}

// A run that waits for a reply does not look into its log, and is woken by what somebody
// else posts.
func TestRunIsWokenByPosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &watchful{Log: events.NewMemory()}
		client := gate(llmtest.Script(t, untouched()...), alpha)
		run := start(t, owned(t, log, client, "driver"))
		<-client.entered
		synctest.Wait()
		before := log.looks.Load()
		time.Sleep(20 * time.Second)
		require.Equal(t, before, log.looks.Load())

		begun := time.Now()
		_, err := log.Post(t.Context(), run.Key(), events.Envelope{Run: run.ID(), Data: events.CancelRequested{Reason: "enough"}})
		require.NoError(t, err)
		result, err := run.Wait()
		require.NoError(t, err)
		require.Equal(t, events.StatusCancelled, result.Status)
		require.Zero(t, time.Since(begun))
	})
}

var errFull = errors.New("no space left on the device")

// failing is a log that takes nothing from a certain model call on.
type failing struct {
	*events.Memory
	at     events.ModelCallID
	failed atomic.Bool
}

func (f *failing) Append(ctx context.Context, key events.ThreadKey, epoch events.Epoch, after events.Seq, envs []events.Envelope) error {
	for _, env := range envs {
		if called, ok := env.Data.(events.ModelCalled); ok && called.ID == f.at {
			f.failed.Store(true)
		}
	}
	if f.failed.Load() {
		return errFull
	}
	return f.Memory.Append(ctx, key, epoch, after, envs)
}

func (f *failing) AppendLast(ctx context.Context, key events.ThreadKey, epoch events.Epoch, after events.Seq, envs []events.Envelope) error {
	if f.failed.Load() {
		return errFull
	}
	return f.Memory.AppendLast(ctx, key, epoch, after, envs)
}

// A store that fails ends the run at once, whatever is under way.
func TestFailingStoreStopsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &failing{Memory: events.NewMemory(), at: "d2.1"}
		script := llmtest.Script(t,
			llmtest.Agent(boss, llmtest.Calls("", create("alpha", "beta")), llmtest.Calls("", dispatch("alpha", 1), dispatch("beta", 2))),
			llmtest.Agent(beta, llmtest.Says("Did it").After(time.Second)))
		client := gate(script, alpha)
		begun := time.Now()
		run := start(t, owned(t, log, client, "driver"))
		_, err := run.Wait()
		require.ErrorIs(t, err, errFull)
		require.Less(t, time.Since(begun), 5*time.Second)
	})
}

// Proves R14: what a run started with is what it continues with.
func TestResumeUsesTheTeamOfTheLog(t *testing.T) {
	log := events.NewMemory()
	script := llmtest.Script(t, ordinary()...)
	client := gate(script, alpha)
	tm := pair()
	job := job
	job.Team = tm
	run, err := owned(t, log, client, "driver").Start(t.Context(), job)
	require.NoError(t, err)
	<-client.entered
	run.Halt()
	parked(t, log, run)
	tm.Facilitator.Prompt, tm.Limits = "Another prompt", team.Limits{MaxTasks: 1}
	tm.Specialists[0].Prompt = "Another prompt"
	resumed, err := owned(t, log, script, "other").Resume(t.Context(), "", run.ID(), runner.Terms{})
	require.NoError(t, err)
	ended(t, log, resumed).completed(t)
	requests := script.Requests(boss)
	first, _ := json.Marshal(requests[0].Messages[0])
	last, _ := json.Marshal(requests[len(requests)-1].Messages[0])
	require.JSONEq(t, string(first), string(last))
	require.Contains(t, script.Requests(alpha)[0].Messages[0].Content, "Write about the first half.")
}
