package endpoint_test

import (
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/endpoint"
)

// Every call gets through an endpoint that fails as real ones do, over HTTP: 60
// runs at once, each of three agents.
//
// Proves R74.
func TestCallsSurviveABadEndpoint(t *testing.T) {
	for _, text := range []string{
		"503=10%",
		"429-above=8,retry-after=100ms",
		"cut=5%",
		"503=10%,429-above=8,retry-after=100ms,cut=5%,reset=2%,error-event=2%,html=2%",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel() // mostly waiting
			faults, err := sim.ParseFaults(text)
			require.NoError(t, err)
			server := httptest.NewServer(sim.NewServer(sim.Options{PerChunk: time.Millisecond, Faults: faults}))
			t.Cleanup(server.Close)
			route := resolve(t, endpoint.Config{Env: env(), BaseURL: server.URL + "/v1"}, "sim")
			caller := &llm.Caller{}
			var group sync.WaitGroup
			for agent := range 180 {
				group.Go(func() {
					for turn := range 2 {
						req := llm.Request{Run: events.RunID(fmt.Sprintf("%03d", agent/3)), Messages: []events.Message{
							{Role: events.RoleUser, Content: fmt.Sprintf("What is the capital of country %d.%d?", agent, turn)}}}
						var done *llm.Completion
						for d, err := range caller.Stream(t.Context(), route, req) {
							if err != nil {
								t.Errorf("agent %d turn %d: %v", agent, turn, err)
								return
							}
							if d.Done != nil {
								done = d.Done
							}
						}
						if done == nil || done.Reply.Text == "" {
							t.Errorf("agent %d turn %d: no reply", agent, turn)
						}
					}
				})
			}
			group.Wait()
			state := route[0].Endpoint.Limiter.(*llm.LocalLimiter).State()
			require.Zero(t, state.InFlight)
			require.Zero(t, state.Waiting)
		})
	}
}
