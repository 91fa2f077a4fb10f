package sim_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/messages"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/responses"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/llm/wire/wiretest"
)

// With tell-limits a reply says what is left of the requests a minute, in the headers of
// its API, and with retry-after=none a refusal does not say when to come again.
func TestRepliesTellOfTheLimit(t *testing.T) {
	for name, adapter := range map[string]func(wire.Config) llm.Client{
		"chat completions": func(c wire.Config) llm.Client { return openai.New(openai.Config{Config: c}) },
		"responses":        func(c wire.Config) llm.Client { return responses.New(responses.Config{Config: c}) },
		"messages":         func(c wire.Config) llm.Client { return messages.New(messages.Config{Config: c}) },
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(sim.NewServer(faulty(t, "rpm=2,tell-limits,retry-after=none")))
			t.Cleanup(server.Close)
			client := adapter(wire.Config{Provider: "sim", BaseURL: server.URL + "/v1", APIKey: "k"})
			ask := func() wiretest.Result {
				return wiretest.Collect(t, client, llm.Request{Model: "sim", Messages: []events.Message{{Role: events.RoleUser, Content: "hi"}}})
			}
			for _, left := range []int64{1, 0} {
				got := ask()
				require.NoError(t, got.Err)
				told := got.Done.Limits.Requests
				require.Equal(t, []int64{2, left}, []int64{told.Limit, told.Remaining})
				require.InDelta(t, 30*(2-left), told.Reset.Seconds(), 5)
			}
			var refused *llm.Error
			require.ErrorAs(t, ask().Err, &refused)
			require.Equal(t, llm.ErrRateLimited, refused.Kind)
			require.Equal(t, time.Duration(0), refused.RetryAfter)
		})
	}
}
