package runner_test

import (
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

// tuning is what a request says of how its model is to be asked.
type tuning struct {
	effort      string
	output      int
	temperature float64
	tier        llm.Tier
	silence     llm.Silence
}

func tuningsOf(requests []llm.Request) map[tuning]int {
	seen := map[tuning]int{}
	for _, r := range requests {
		of := tuning{effort: r.Effort, output: r.MaxOutputTokens, tier: r.Tier, silence: r.Silence}
		if r.Temperature != nil {
			of.temperature = *r.Temperature
		}
		seen[of]++
	}
	return seen
}

// Proves that each agent's models are asked as its team says, and in the same way by who
// resumes the run from its log alone.
func TestTuningReachesEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		script := llmtest.Script(t, ordinary()[0], llmtest.Agent(alpha,
			llmtest.Calls("", write("a", "A"), complete(1)).After(time.Minute), llmtest.Says("Did it")))
		tm, half := pair(), 0.5
		tm.Facilitator.Tuning = team.Tuning{Effort: "max", Tier: llm.TierFlex}
		tm.Specialists[0].Tuning = team.Tuning{Effort: "low", MaxOutputTokens: 900, Temperature: &half, SilenceTimeout: team.Duration(5 * time.Minute)}
		run, err := owned(t, log, script, "driver").Start(t.Context(), runner.Job{Request: "Write", Team: tm})
		require.NoError(t, err)
		time.Sleep(30 * time.Second)
		run.Suspend()
		require.Equal(t, events.StatusSuspended, parked(t, log, run).Status)
		resumed, err := owned(t, log, script, "other").Resume(t.Context(), "", run.ID(), runner.Terms{})
		require.NoError(t, err)
		ended(t, log, resumed).completed(t)
		require.Equal(t, map[tuning]int{{effort: "max", tier: llm.TierFlex}: 3}, tuningsOf(script.Requests(boss)))
		require.Equal(t, map[tuning]int{
			{effort: "low", output: 900, temperature: 0.5, silence: llm.Silence{First: 5 * time.Minute, Next: 5 * time.Minute}}: 2,
		}, tuningsOf(script.Requests(alpha)))
	})
}

// namedModel answers as whatever model it is told to be.
type namedModel struct {
	oneClient
	provider, model string
}

func (m namedModel) Resolve(...string) (llm.Route, error) {
	return llm.Route{{Endpoint: &llm.Endpoint{Name: m.provider, Client: m.client}, Model: m.model}}, nil
}

// Proves that an effort which a model is known not to take, and a tier without a price
// under a bound of cost, are refused before anything is asked or logged.
func TestTuningIsRefusedBeforeTheFirstCall(t *testing.T) {
	for _, c := range []struct {
		model  string
		tuning team.Tuning
		want   string
	}{
		{"gpt-5", team.Tuning{Effort: "none"}, `Alpha: model openai/gpt-5 does not accept the effort "none", only low, medium, high or max`},
		{"gpt-4.1", team.Tuning{Effort: "high"}, `Alpha: model openai/gpt-4.1 does not think`},
		{"gpt-5-nano", team.Tuning{Tier: llm.TierPriority}, `the price of model openai/gpt-5-nano in the tier priority is unknown`},
	} {
		log := events.NewMemory()
		r, err := runner.New(runner.Config{Log: log, Models: namedModel{oneClient{llmtest.Script(t)}, "openai", c.model}})
		require.NoError(t, err)
		tm := pair(func(l *team.Limits) { l.MaxCostUSD = 1 })
		tm.Specialists[0].Tuning = c.tuning
		_, err = r.Start(t.Context(), runner.Job{Request: "Write", Team: tm})
		var wrong *runner.InputError
		require.ErrorAs(t, err, &wrong)
		require.ErrorContains(t, err, c.want)
		runs, err := log.Runs(t.Context(), events.RunQuery{Tenant: events.LocalTenant})
		require.NoError(t, err)
		require.Empty(t, runs)
	}
}

// Proves that the time for which the flex tier lets calls wait ends no specialist: it is
// far above specialist_timeout here.
func TestTheFlexTierMayQueue(t *testing.T) {
	for tier, met := range map[llm.Tier]bool{llm.TierFlex: false, llm.TierStandard: true} {
		synctest.Test(t, func(t *testing.T) {
			parts := []llmtest.Part{ordinary()[0], llmtest.Agent(alpha,
				llmtest.Calls("", write("a", "A"), complete(1)).After(9*time.Minute), llmtest.Says("Did it").After(14*time.Minute))}
			if met {
				parts[0] = llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("It is not done"))
			}
			tm := pair(func(l *team.Limits) { l.SpecialistTimeout = 10 * time.Minute })
			tm.Specialists[0].Tuning = team.Tuning{Tier: tier}
			p := play(t, llmtest.Script(t, parts...), tm)
			if !met {
				p.completed(t)
				return
			}
			require.InDelta(t, 600, p.met(t, events.LimitSpecialistTimeout).Value, 0)
		})
	}
}

// Proves R20: an agent's own bound on silence takes the place of the limit.
func TestSilenceTimeoutOfAnAgent(t *testing.T) {
	limit := func(l *team.Limits) {
		l.SilenceNotice, l.SilenceSlow, l.SilenceTimeout = 2*time.Second, 4*time.Second, 20*time.Second
	}
	for own, met := range map[time.Duration]bool{time.Minute: false, 10 * time.Second: true} {
		synctest.Test(t, func(t *testing.T) {
			parts := []llmtest.Part{ordinary()[0], llmtest.Agent(alpha,
				llmtest.Calls("", write("a", "A"), complete(1)).After(30*time.Second), llmtest.Says("Did it"))}
			if met {
				parts[0] = llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)),
					llmtest.Says("It is not done"), llmtest.Says("It is still not done"))
				parts[1] = llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"), complete(1)).After(30*time.Second))
			}
			tm := pair(limit)
			tm.Specialists[0].SilenceTimeout = team.Duration(own)
			p := play(t, llmtest.Script(t, parts...), tm)
			if !met {
				p.completed(t)
				return
			}
			require.InDelta(t, 10, p.met(t, events.LimitSilenceTimeout).Value, 0)
		})
	}
}
