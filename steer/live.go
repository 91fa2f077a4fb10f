package steer

import (
	"strings"
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// Live implements [web.Runs].
func (s *Runs) Live(key events.ThreadKey) ([]web.LiveAgent, bool) {
	run := s.config.Runner.Driven(key) // a batch's too
	if run == nil {
		return nil, false
	}
	var agents []web.LiveAgent
	for _, live := range run.Live() {
		agents = append(agents, liveAgent(live))
	}
	return agents, true
}

func liveAgent(live *agent.Live) web.LiveAgent {
	state, pieces := live.Stream()
	a := web.LiveAgent{
		Speaks: live.Dispatch == "" || strings.HasPrefix(string(live.Dispatch), "h"), // or is it a specialist's dispatch, d1?
		Agent:  live.Agent, DisplayName: live.DisplayName, Dispatch: live.Dispatch, Phase: string(state.Phase),
		Since: state.Since.UTC(), Heard: state.Heard.UTC(), Call: state.Call, Attempt: state.Attempt,
		RetryReason: state.RetryReason, RetryAt: moment(state.RetryAt), GiveUpAt: moment(state.GiveUpAt), Progress: state.Progress,
	}
	for _, piece := range pieces {
		a.Stream = append(a.Stream, web.LivePiece(piece))
	}
	return a
}

// moment gives the time in UTC, nil for none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
