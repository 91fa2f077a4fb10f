package wire_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/messages"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/responses"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/llm/wire/wiretest"
)

// doors are the adapters, each with a reply in its API.
var doors = map[string]struct {
	client func(wire.Config) llm.Client
	reply  string
}{
	"chat completions": {
		func(c wire.Config) llm.Client { return openai.New(openai.Config{Config: c}) },
		`{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`,
	},
	"responses": {
		func(c wire.Config) llm.Client { return responses.New(responses.Config{Config: c}) },
		`{"object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}]}`,
	},
	"messages": {
		func(c wire.Config) llm.Client { return messages.New(messages.Config{Config: c}) },
		`{"type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
	},
}

// Facts 15 and 28: what a reply's headers say of the limits of its endpoint is told with
// the reply, or the refusal, whatever API it is of and however its times are written.
//
// Proves R74.
func TestRepliesTellLimits(t *testing.T) {
	for name, c := range map[string]struct {
		header map[string]string
		want   *llm.RateLimits
	}{
		"nothing": {nil, nil},
		"15: OpenAI": {map[string]string{
			"x-ratelimit-limit-requests": "5000", "x-ratelimit-remaining-requests": "4999", "x-ratelimit-reset-requests": "12ms",
			"x-ratelimit-limit-tokens": "2000000", "x-ratelimit-remaining-tokens": "1999417", "x-ratelimit-reset-tokens": "17ms",
		}, &llm.RateLimits{Requests: &llm.RateLimit{Limit: 5000, Remaining: 4999, Reset: 12 * time.Millisecond}, Tokens: &llm.RateLimit{Limit: 2_000_000, Remaining: 1_999_417, Reset: 17 * time.Millisecond}}},
		"15: minutes": {map[string]string{
			"x-ratelimit-limit-requests": "14400", "x-ratelimit-remaining-requests": "14370", "x-ratelimit-reset-requests": "2m59.56s",
		}, &llm.RateLimits{Requests: &llm.RateLimit{Limit: 14400, Remaining: 14370, Reset: 179560 * time.Millisecond}}},
		"15: Azure, seconds": {map[string]string{
			"x-ratelimit-limit-requests": "600", "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "26",
			"x-ratelimit-limit-tokens": "1000", "x-ratelimit-remaining-tokens": "1", "x-ratelimit-reset-tokens": "0.25",
		}, &llm.RateLimits{Requests: &llm.RateLimit{Limit: 600, Reset: 26 * time.Second}, Tokens: &llm.RateLimit{Limit: 1000, Remaining: 1, Reset: 250 * time.Millisecond}}},
		"15: xAI, no reset": {map[string]string{
			"x-ratelimit-limit-tokens": "10000000", "x-ratelimit-remaining-tokens": "9999999",
		}, &llm.RateLimits{Tokens: &llm.RateLimit{Limit: 10_000_000, Remaining: 9_999_999}}},
		"28: Anthropic, by its own clock": {map[string]string{
			"date":                               "Wed, 19 Aug 2026 14:34:40 GMT",
			"anthropic-ratelimit-requests-limit": "10000", "anthropic-ratelimit-requests-remaining": "9999", "anthropic-ratelimit-requests-reset": "2026-08-19T14:34:45Z",
			"anthropic-ratelimit-tokens-limit": "12000000", "anthropic-ratelimit-tokens-remaining": "11000000", "anthropic-ratelimit-tokens-reset": "2026-08-19T16:34:45+02:00",
			"anthropic-ratelimit-input-tokens-limit": "10000000", "anthropic-ratelimit-input-tokens-remaining": "9000000", "anthropic-ratelimit-input-tokens-reset": "2026-08-19T14:34:46Z",
			"anthropic-ratelimit-output-tokens-limit": "2000000", "anthropic-ratelimit-output-tokens-remaining": "2000000", "anthropic-ratelimit-output-tokens-reset": "2026-08-19T14:34:30Z",
		}, &llm.RateLimits{
			Requests:     &llm.RateLimit{Limit: 10_000, Remaining: 9_999, Reset: 5 * time.Second},
			Tokens:       &llm.RateLimit{Limit: 12_000_000, Remaining: 11_000_000, Reset: 5 * time.Second},
			InputTokens:  &llm.RateLimit{Limit: 10_000_000, Remaining: 9_000_000, Reset: 6 * time.Second},
			OutputTokens: &llm.RateLimit{Limit: 2_000_000, Remaining: 2_000_000},
		}},
		"no numbers": {map[string]string{
			"x-ratelimit-limit-requests": "many", "x-ratelimit-remaining-requests": "4999",
			"x-ratelimit-limit-tokens": "0", "x-ratelimit-remaining-tokens": "0",
		}, nil},
		"half of it": {map[string]string{"x-ratelimit-limit-requests": "5000", "x-ratelimit-reset-requests": "12ms"}, nil},
		"a reset that is none, more left than there is": {map[string]string{
			"x-ratelimit-limit-requests": "50", "x-ratelimit-remaining-requests": "60", "x-ratelimit-reset-requests": "soon",
		}, &llm.RateLimits{Requests: &llm.RateLimit{Limit: 50, Remaining: 50}}},
	} {
		for api, door := range doors {
			t.Run(name+"/"+api, func(t *testing.T) {
				header := http.Header{"Content-Type": {"application/json"}}
				for key, value := range c.header {
					header.Set(key, value)
				}
				client := door.client(wire.Config{Provider: "test", BaseURL: wiretest.Serve(t, http.StatusOK, header, []byte(door.reply)) + "/v1"})
				got := wiretest.Collect(t, client, llm.Request{Model: "m", Messages: []events.Message{{Role: events.RoleUser, Content: "hi"}}})
				require.NoError(t, got.Err)
				require.Equal(t, "hi", got.Text)
				require.Equal(t, c.want, got.Done.Limits)

				refusing := door.client(wire.Config{Provider: "test", BaseURL: wiretest.Serve(t, http.StatusTooManyRequests, header, []byte(`{"error":{"message":"slow"}}`)) + "/v1"})
				got = wiretest.Collect(t, refusing, llm.Request{Model: "m", Messages: []events.Message{{Role: events.RoleUser, Content: "hi"}}})
				var refused *llm.Error
				require.ErrorAs(t, got.Err, &refused)
				require.Equal(t, c.want, refused.Limits, "a refusal tells them too")
			})
		}
	}
}

// Whatever headers say, the limits that are read from them make sense.
func FuzzRateLimits(f *testing.F) {
	f.Add("5000", "4999", "12ms", "2026-08-19T14:34:45Z", "Wed, 19 Aug 2026 14:34:40 GMT")
	f.Add("-1", "9223372036854775808", "9e300", "9999-12-31T23:59:59Z", "0")
	f.Add("9223372036854775807", "0", "NaN", "0000-01-01T00:00:00Z", "")
	f.Add("1", "1", "9223372036s", "", "")
	f.Fuzz(func(t *testing.T, limit, remaining, reset, at, date string) {
		for _, header := range []map[string]string{
			{"X-Ratelimit-Limit-Requests": limit, "X-Ratelimit-Remaining-Requests": remaining, "X-Ratelimit-Reset-Requests": reset},
			{"Anthropic-Ratelimit-Requests-Limit": limit, "Anthropic-Ratelimit-Requests-Remaining": remaining, "Anthropic-Ratelimit-Requests-Reset": at, "Date": date},
		} {
			h := http.Header{}
			for key, value := range header {
				h[key] = []string{value}
			}
			found := wire.RateLimitsForTest(h, time.Unix(1_800_000_000, 0))
			if found == nil {
				continue
			}
			r := found.Requests
			require.Positive(t, r.Limit)
			require.GreaterOrEqual(t, r.Remaining, int64(0))
			require.LessOrEqual(t, r.Remaining, r.Limit)
			require.GreaterOrEqual(t, r.Reset, time.Duration(0))
			require.LessOrEqual(t, r.Reset, 365*24*time.Hour)
		}
	})
}
