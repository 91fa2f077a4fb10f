package runner_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// aMinute is the ordinary run, with a turn of Alpha that takes a minute.
func aMinute(t *testing.T, log events.Log) *runner.Run {
	t.Helper()
	job := job
	job.Team = pair(func(l *team.Limits) { l.MaxTime = 10 * time.Minute })
	script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha,
		llmtest.Calls("", write("a", "A"), complete(1)).After(time.Minute), llmtest.Says("Did it").After(time.Second)))
	run, err := owned(t, log, script, "driver").Start(t.Context(), job)
	require.NoError(t, err)
	return run
}

// Proves R74: a step of the wall clock is no time that a run was driven, whichever way
// it goes, and the events stand as far apart as they happened.
func TestStepOfTheWallClock(t *testing.T) {
	for name, by := range map[string]time.Duration{"an hour forward": time.Hour, "an hour back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				step := runner.WallClock(t)
				log := events.NewMemory()
				run := aMinute(t, log)
				time.Sleep(10 * time.Second)
				step(by)
				p := ended(t, log, run)
				p.completed(t)
				require.Equal(t, 61*time.Second, p.Driven)
				require.Equal(t, int64(61_000), p.of(events.KindWorkflowFinished)[0].Data.(events.WorkflowFinished).DrivenMS)
				require.Equal(t, int64(61_000), p.of(events.KindAgentFinished)[0].Data.(events.AgentFinished).ElapsedMS)
				require.Equal(t, 61*time.Second, p.envs[len(p.envs)-1].Time.Sub(p.envs[0].Time))
			})
		})
	}
}

// A clock that was ahead, and was set right before the run was resumed, stops nothing.
func TestResumeBeforeTheTimeOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		step := runner.WallClock(t)
		step(2 * time.Hour)
		config := stuck(t, false, heeds)
		config.Log = log
		run := config.start(t)
		time.Sleep(10 * time.Second)
		run.Halt()
		parked(t, log, run)
		step(-2 * time.Hour)
		time.Sleep(time.Minute)
		script := llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Done").After(10*time.Second)), llmtest.Agent(alpha,
			llmtest.Calls("", write("a", "A"), complete(1)).After(20*time.Second), llmtest.Says("Did it")))
		config.Models, config.Tools = oneClient{script}, nil
		resumed, err := newWith(t, config.Config).Resume(t.Context(), "", run.ID(), runner.Terms{})
		require.NoError(t, err)
		p := ended(t, log, resumed)
		require.Equal(t, events.StatusCompleted, p.Status, p.Reason)
		require.Equal(t, 40*time.Second, p.Driven)
	})
}

// What another process posts has the time of that one's clock. Where it is ahead the
// run's events go on from there.
func TestPostOfAClockThatIsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		run := aMinute(t, log)
		time.Sleep(20 * time.Second)
		posted := time.Now().Add(time.Hour)
		_, err := log.Post(t.Context(), run.Key(), events.Envelope{Run: run.ID(), Time: posted, Data: events.UserMessage{Content: "And sushi"}})
		require.NoError(t, err)
		p := ended(t, log, run)
		p.completed(t)
		require.InDelta(t, 1, p.Driven.Seconds(), 0.1, "how long Alpha's turn took until then nobody can tell from the log")
		require.Equal(t, time.Second, p.envs[len(p.envs)-1].Time.Sub(posted.UTC()))
	})
}

// Proves R74: the night between a stop and the resume is not driven, whoever wrote into
// the thread meanwhile and however the process ended.
func TestNightThatNobodyDrove(t *testing.T) {
	for name, post := range map[string]events.Event{"nothing": nil, "a message": events.UserMessage{Content: "And sushi"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := stuck(t, false, heeds)
				run := config.start(t)
				time.Sleep(10 * time.Second)
				run.Halt()
				parked(t, config.Log, run)
				time.Sleep(8 * time.Hour)
				if post != nil {
					_, err := config.Log.Post(t.Context(), run.Key(), events.Envelope{Run: run.ID(), Data: post})
					require.NoError(t, err)
				}
				time.Sleep(time.Hour)
				config.Tools = nil
				config.Models = oneClient{llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Done").After(5*time.Second)), llmtest.Agent(alpha,
					llmtest.Calls("", write("a", "A"), complete(1)), llmtest.Says("Did it")))}
				resumed, err := newWith(t, config.Config).Resume(t.Context(), "", run.ID(), runner.Terms{})
				require.NoError(t, err)
				p := ended(t, config.Log, resumed)
				require.Equal(t, events.StatusCompleted, p.Status, p.Reason)
				require.Equal(t, 15*time.Second, p.Driven)
				require.Equal(t, int64(10_000), p.of(events.KindRunSuspended)[0].Data.(events.RunSuspended).DrivenMS)
				require.Equal(t, int64(15_000), p.of(events.KindWorkflowFinished)[0].Data.(events.WorkflowFinished).DrivenMS)
			})
		})
	}
}

// A run is cancelled the day after it was parked, or after its process was killed.
func TestCancelTheDayAfter(t *testing.T) {
	for name, killed := range map[string]bool{"parked": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := stuck(t, false, heeds)
				run := config.start(t)
				time.Sleep(10 * time.Second)
				run.Halt()
				p := parked(t, config.Log, run)
				want := 10 * time.Second
				if killed { // what a process that was killed leaves: the log without its end
					for p.envs[len(p.envs)-1].Data.Kind() != events.KindToolStarted {
						p.envs = p.envs[:len(p.envs)-1]
					}
					config.Log, want = events.NewMemory(), 0
					epoch, err := config.Log.Claim(t.Context(), p.key, "killed", false)
					require.NoError(t, err)
					require.NoError(t, config.Log.Append(t.Context(), p.key, epoch, 0, p.envs))
					require.NoError(t, config.Log.Release(t.Context(), p.key, epoch))
				}
				time.Sleep(24 * time.Hour)
				require.NoError(t, newWith(t, config.Config).Cancel(t.Context(), "", p.Run, "enough"))
				result, err := newWith(t, config.Config).Outcome(t.Context(), "", p.Run)
				require.NoError(t, err)
				require.Equal(t, events.StatusCancelled, result.Status)
				require.Equal(t, want, result.Driven)
			})
		})
	}
}
