package batch_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/messages"
	"github.com/convene-run/convene/llm/responses"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// tariff is what a token costs, in millionths of a millionth of a dollar: the prices
// that providers publish are whole numbers then.
type tariff struct{ input, read, write5m, write1h, output int64 }

// The published prices, by model and then tier, up to and above 272,000 tokens of input
// where that makes a difference.
var (
	tariffs = map[string]map[string]tariff{
		"gpt-5.6-terra": {
			"default": {2_500_000, 250_000, 3_125_000, 0, 15_000_000},
			"flex":    {1_250_000, 125_000, 1_562_500, 0, 7_500_000},
		},
		"gpt-5.4": {
			"default":  {2_500_000, 250_000, 0, 0, 15_000_000},
			"flex":     {1_250_000, 125_000, 0, 0, 7_500_000},
			"priority": {5_000_000, 500_000, 0, 0, 30_000_000},
		},
		"claude-opus-5": {
			"standard": {5_000_000, 500_000, 6_250_000, 10_000_000, 25_000_000},
		},
	}
	longTariffs = map[string]map[string]tariff{
		"gpt-5.6-terra": {
			"default": {5_000_000, 500_000, 6_250_000, 0, 22_500_000},
			"flex":    {2_500_000, 250_000, 3_125_000, 0, 11_250_000},
		},
	}
)

const longInput = 272_000

// metered is what one request is billed for.
type metered struct {
	tier                                  string
	fresh, read, write5m, write1h, output int64
}

// biller is a provider of several models that bills each request by a price list of its
// own, failed ones included. Of the bill it tells nothing: it reports usage and tier.
type biller struct {
	simulated http.Handler

	mu       sync.Mutex // guards all below
	requests map[string]int64
	failed   map[string]int
	seen     map[string]int // what was billed at which rate
	billed   int64
}

func newBiller() *biller {
	return &biller{simulated: sim.NewServer(sim.Options{EarlyDispatch: true, Bench: true}), requests: map[string]int64{}, failed: map[string]int{}, seen: map[string]int{}}
}

func (b *biller) usd() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return float64(b.billed) / 1e12
}

// meter makes up what the next request of a model uses, and bills it. fails is set for
// one that breaks off.
func (b *biller) meter(model string) (m metered, fails bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.requests[model]
	b.requests[model]++
	fails = n%5 == 2
	m.tier = slices.Sorted(func(yield func(string) bool) {
		for tier := range tariffs[model] {
			if !yield(tier) {
				return
			}
		}
	})[n%int64(len(tariffs[model]))]
	input := []int64{1_201, 40_003, longInput, longInput + 1, 401_000}[n%5]
	if model == "gpt-5.4" {
		input = min(input, 40_003) // of which all tiers have one price
	}
	m.read = input * (n % 3) / 4
	if tariffs[model][m.tier].write5m > 0 {
		m.write5m = input / 7
	}
	if model == "claude-opus-5" {
		m.write1h = input / 11
	}
	m.fresh = input - m.read - m.write5m - m.write1h
	m.output = []int64{1, 777, 12_345}[n%3]
	if fails {
		m.output = 1
		b.failed[model]++
	}
	rate, long := tariffs[model][m.tier], ""
	if above, stepped := longTariffs[model][m.tier]; stepped && input > longInput {
		rate, long = above, " long"
	}
	b.billed += m.fresh*rate.input + m.read*rate.read + m.write5m*rate.write5m + m.write1h*rate.write1h + m.output*rate.output
	b.seen[model+" "+m.tier+long]++
	return m, fails
}

func (b *biller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Model string }
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &asked)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	answer := httptest.NewRecorder()
	b.simulated.ServeHTTP(answer, r)
	if answer.Code != http.StatusOK {
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
		return
	}
	m, fails := b.meter(asked.Model)
	w.Header().Set("Content-Type", "text/event-stream")
	if strings.HasSuffix(r.URL.Path, "/messages") {
		_, _ = io.WriteString(w, m.messages(answer.Body.String(), fails))
		return
	}
	_, _ = io.WriteString(w, m.responses(answer.Body.String(), fails))
}

// responses puts the usage into a reply of the Responses API, or ends it before it says
// anything.
func (m metered) responses(reply string, fails bool) string {
	usage := fmt.Sprintf(`"service_tier":%q,"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"output_tokens":%d}}}`+"\n\n",
		m.tier, m.fresh+m.read+m.write5m, m.read, m.write5m, m.output)
	if fails {
		return "event: response.failed\n" + `data: {"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Please try again in 1ms."},` + usage
	}
	return reply[:strings.LastIndex(reply, `"usage":`)] + usage
}

var usageObject = regexp.MustCompile(`"usage":\{(?:[^{}]|\{[^{}]*\})*\}`)

// messages puts the usage into a reply of the Messages API, or ends it behind its first
// event, which has it already.
func (m metered) messages(reply string, fails bool) string {
	usage := func(output int64) string {
		return fmt.Sprintf(`"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":%d},"output_tokens":%d,"service_tier":%q}`,
			m.fresh, m.read, m.write5m+m.write1h, m.write5m, m.write1h, output, m.tier)
	}
	output := int64(1)
	reply = usageObject.ReplaceAllStringFunc(reply, func(string) string {
		defer func() { output = m.output }()
		return usage(output)
	})
	if fails {
		first, _, _ := strings.Cut(reply, "\n\n")
		return first + "\n\n" + `data: {"type":"error","error":{"type":"rate_limit_error","message":"Please try again in 1ms."}}` + "\n\n"
	}
	return reply
}

// Resolve implements [runner.Models]: providers at the biller.
type atBiller map[string]llm.Route

func (m atBiller) Resolve(specs ...string) (llm.Route, error) { return m[specs[0]], nil }

func billed(t *testing.T) (*biller, runner.Models) {
	b := newBiller()
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	config := func(provider string) wire.Config {
		return wire.Config{Provider: provider, BaseURL: server.URL + "/v1", APIKey: "a-key-of-" + provider}
	}
	openAI := &llm.Endpoint{Name: "openai", Client: responses.New(responses.Config{Config: config("openai")}), Limiter: llm.NewLimiter(llm.LimiterConfig{})}
	anthropic := &llm.Endpoint{Name: "anthropic", Client: messages.New(messages.Config{Config: config("anthropic")}), Limiter: llm.NewLimiter(llm.LimiterConfig{})}
	return b, atBiller{
		"terra": {{Endpoint: openAI, Model: "gpt-5.6-terra"}}, "gpt": {{Endpoint: openAI, Model: "gpt-5.4"}}, "opus": {{Endpoint: anthropic, Model: "claude-opus-5"}},
	}
}

// dear is a team that asks all models of the biller.
func dear(t *testing.T) *team.Team {
	builtin, err := team.Builtin("trip")
	require.NoError(t, err)
	dear := *builtin
	dear.Limits.MaxTokens, dear.Limits.MaxSpecialistTokens = 1e9, 1e9
	dear.Facilitator.Model = "terra"
	dear.Specialists = slices.Clone(dear.Specialists)
	for i := range dear.Specialists {
		dear.Specialists[i].Model = []string{"opus", "gpt", "terra"}[i%3]
	}
	return &dear
}

func requireBilled(t *testing.T, b *biller, costUSD *float64) {
	t.Helper()
	require.NotNil(t, costUSD)
	t.Logf("billed $%.6f, reported $%.6f; %v, failed %v", b.usd(), *costUSD, b.seen, b.failed)
	require.InDelta(t, b.usd(), *costUSD, 1e-9, "to far less than a cent")
	require.Greater(t, b.usd(), 1.0)
	for _, rate := range []string{"gpt-5.6-terra default", "gpt-5.6-terra flex", "gpt-5.6-terra default long", "gpt-5.6-terra flex long", "gpt-5.4 flex", "gpt-5.4 priority", "claude-opus-5 standard"} {
		require.Positive(t, b.seen[rate], rate)
	}
	require.Len(t, b.failed, 3, "attempts at each model failed and were billed")
}

// The cost in the report of a run, and in that of a batch, is what the providers bill:
// with what was read from caches and written to them, for five minutes and for an hour,
// tiers, sizes that change the price of the whole request, and attempts that failed.
//
// Proves R74, R78.
func TestTheReportIsTheBill(t *testing.T) {
	t.Parallel()
	t.Run("run", func(t *testing.T) {
		b, models := billed(t)
		log := events.NewMemory()
		r, err := newRunnerOf(log, models)
		require.NoError(t, err)
		run, err := r.Start(t.Context(), runner.Job{Request: "Plan three days in Kyoto for two", Team: dear(t)})
		require.NoError(t, err)
		result, err := run.Wait()
		require.NoError(t, err)
		require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
		requireBilled(t, b, result.CostUSD)
	})
	t.Run("batch", func(t *testing.T) {
		b, models := billed(t)
		log := events.NewMemory()
		r, err := newRunnerOf(log, models)
		require.NoError(t, err)
		files := batch.Files{Input: write(t, "in.jsonl", requests(3)...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
		report, err := run(t, files, batch.Config{Runner: r, Team: dear(t), Concurrency: 3})
		require.NoError(t, err)
		require.Equal(t, 3, report.Completed, report.Causes)
		requireBilled(t, b, report.CostUSD)
	})
}
