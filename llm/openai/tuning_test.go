package openai_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
)

// Each endpoint is told how much to think in the field that it reads, in the word that
// the model takes.
func TestEffortByEndpoint(t *testing.T) {
	for _, c := range []struct {
		way          openai.Thinking
		model, level string
		want         string
	}{
		{"", "gpt-5.4", "max", `{"reasoning_effort":"xhigh"}`},
		{"", "gpt-4.1", "none", `{}`},
		{"", "qwen3", "max", `{"reasoning_effort":"max"}`},
		{"", "qwen3", "", `{}`},
		{openai.ThinkingObject, "anthropic/claude-sonnet-5", "low", `{"reasoning":{"effort":"low"}}`},
		{openai.ThinkingSwitch, "deepseek-v4-pro", "none", `{"thinking":{"type":"disabled"}}`},
		{openai.ThinkingSwitch, "deepseek-v4-pro", "max", `{"reasoning_effort":"max"}`},
		{openai.ThinkingSwitch, "glm-4.7", "max", `{"thinking":{"type":"enabled"}}`},
		{openai.ThinkingSwitch, "glm-4.7", "", `{}`},
	} {
		r := newRecorder(t)
		req := llm.Request{Model: c.model, Effort: c.level, Messages: ask("x").Messages}
		require.NoError(t, collect(t, client(t, openai.Config{Config: wire.Config{BaseURL: r.URL}, Thinking: c.way}), req).err)
		got := `{`
		for _, field := range []string{"reasoning_effort", "reasoning", "thinking"} {
			if v := gjson.Get(r.bodies[0], field); v.Exists() {
				got += `"` + field + `":` + v.Raw
			}
		}
		require.Equal(t, c.want, got+`}`, "%s %s", c.model, c.level)
	}
}

// A family that refuses a temperature together with reasoning is not sent one.
func TestTemperatureBesideEffort(t *testing.T) {
	half := 0.5
	for level, sent := range map[string]bool{"low": false, "none": true, "": true} {
		r := newRecorder(t)
		req := llm.Request{Model: "gpt-5.4", Effort: level, Temperature: &half, Messages: ask("x").Messages}
		require.NoError(t, collect(t, client(t, openai.Config{Config: wire.Config{BaseURL: r.URL}}), req).err)
		require.Equal(t, sent, gjson.Get(r.bodies[0], "temperature").Exists(), level)
	}
}

// A tier goes out where the provider has it, in its own word.
func TestTier(t *testing.T) {
	tiers := map[llm.Tier]string{llm.TierFlex: "flex", llm.TierStandard: "default"}
	for tier, want := range map[llm.Tier]string{llm.TierFlex: "flex", llm.TierStandard: "default", llm.TierPriority: "", "": ""} {
		r := newRecorder(t)
		req := llm.Request{Model: "m", Tier: tier, Messages: ask("x").Messages}
		require.NoError(t, collect(t, client(t, openai.Config{Config: wire.Config{BaseURL: r.URL, Tiers: tiers}}), req).err)
		require.Equal(t, want, gjson.Get(r.bodies[0], "service_tier").Str)
	}
}

// An effort that the endpoint refuses is not left out in silence: the error says what to
// do. Nothing is asked a second time.
func TestRefusedEffort(t *testing.T) {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":{"message":"Unsupported value: 'reasoning_effort' does not support 'max' with this model.","param":"reasoning_effort","code":"unsupported_value"}}`))
	}))
	t.Cleanup(server.Close)
	req := llm.Request{Model: "new", Effort: "max", Messages: ask("x").Messages}
	got := collect(t, client(t, openai.Config{Config: wire.Config{BaseURL: server.URL + "/v1"}}), req)
	require.Equal(t, llm.ErrBadRequest, llm.KindOf(got.err))
	require.ErrorContains(t, got.err, `(the effort "max" was requested: set another, or leave it out)`)
	require.Equal(t, 1, calls)
}

// What a request allows of silence counts before what the endpoint's client does.
func TestSilenceOfARequest(t *testing.T) {
	const short = 30 * time.Millisecond
	req := ask("x")
	req.Silence.First = short
	c := slow(t, openai.Config{}, func(_ http.ResponseWriter, _ func(), over <-chan struct{}) { <-over })
	require.ErrorContains(t, collect(t, c, req).err, "no answer within 30ms while waiting for the first byte")

	req = ask("x")
	req.Silence.Next = short
	c = slow(t, openai.Config{}, func(w http.ResponseWriter, flush func(), over <-chan struct{}) {
		_, _ = w.Write([]byte(": PROCESSING\n\n"))
		flush()
		<-over
	})
	require.ErrorContains(t, collect(t, c, req).err, "no answer within 30ms while waiting for the next byte")
}
