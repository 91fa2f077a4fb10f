package otel_test

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	colmetric "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/otel"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// collector takes OTLP over HTTP.
type collector struct {
	*httptest.Server

	mu      sync.Mutex // guards what follows
	spans   []*tracepb.Span
	metrics []*metricpb.Metric
	raw     strings.Builder
}

// startCollector has the variables name a collector.
func startCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(r.Body)
	}
	content, _ := io.ReadAll(body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(content)
	switch r.URL.Path {
	case "/v1/traces":
		var request coltrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(content, &request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	case "/v1/metrics":
		var request colmetric.ExportMetricsServiceRequest
		if err := proto.Unmarshal(content, &request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
		for _, resource := range request.ResourceMetrics {
			for _, scope := range resource.ScopeMetrics {
				c.metrics = append(c.metrics, scope.Metrics...)
			}
		}
	default:
		http.NotFound(w, r)
	}
}

// total sums a metric over its labels.
func (c *collector) total(name string) (sum float64, count uint64) {
	for _, m := range c.metrics {
		if m.Name != name {
			continue
		}
		for _, p := range m.GetHistogram().GetDataPoints() {
			sum, count = sum+p.GetSum(), count+p.Count
		}
		for _, p := range m.GetSum().GetDataPoints() {
			sum += p.GetAsDouble()
		}
	}
	return sum, count
}

func text(s *tracepb.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			if v, ok := a.Value.Value.(*commonpb.AnyValue_StringValue); ok {
				return v.StringValue
			}
		}
	}
	return ""
}

// export plays events to an exporter, as the hooks of a runner do.
func export(t *testing.T, log events.Reader, envs []events.Envelope) {
	exporter, err := otel.New(t.Context(), otel.Config{Log: log, OnError: func(err error) { t.Error(err) }})
	require.NoError(t, err)
	for _, env := range envs {
		exporter.OnEvent(env)
	}
	require.NoError(t, exporter.Shutdown(t.Context()))
}

const request = "Plan three days in Kyoto for two"

// run is a whole run with the exporter as its hook, and its events.
func run(t *testing.T, traceparent string) (events.Log, runner.Result, []events.Envelope) {
	log := events.NewMemory()
	t.Cleanup(func() { _ = log.Close() })
	config := runner.Config{Log: log, Models: endpoint.New(endpoint.Config{Default: "sim"})}
	var exporter *otel.Exporter
	if otel.Enabled(os.Getenv) {
		var err error
		exporter, err = otel.New(t.Context(), otel.Config{Log: log, OnError: func(err error) { t.Log(err) }})
		require.NoError(t, err)
		config.Hooks.OnEvent = exporter.OnEvent
	}
	r, err := runner.New(config)
	require.NoError(t, err)
	trip, err := team.Builtin("trip")
	require.NoError(t, err)
	result, err := r.Run(t.Context(), runner.Job{Request: request, Team: trip, Traceparent: traceparent})
	require.NoError(t, err)
	require.Equal(t, events.StatusCompleted, result.Status)
	require.NoError(t, r.Shutdown(t.Context()))
	if exporter != nil {
		require.NoError(t, exporter.Shutdown(t.Context()))
	}
	envs, err := log.Read(t.Context(), events.ThreadKey{Tenant: events.LocalTenant, Thread: result.Thread}, 0, 0)
	require.NoError(t, err)
	return log, result, envs
}

// tree checks that the spans are one tree below root, and gives them by id.
func tree(t *testing.T, spans []*tracepb.Span) (byID map[string]*tracepb.Span, root *tracepb.Span) {
	byID = map[string]*tracepb.Span{}
	for _, s := range spans {
		require.NotContains(t, byID, string(s.SpanId), s.Name)
		byID[string(s.SpanId)] = s
	}
	for _, s := range spans {
		require.Equal(t, spans[0].TraceId, s.TraceId)
		require.LessOrEqual(t, s.StartTimeUnixNano, s.EndTimeUnixNano, s.Name)
		parent := byID[string(s.ParentSpanId)]
		if parent == nil {
			require.Nil(t, root, "%s has no parent", s.Name)
			root = s
			continue
		}
		assert.LessOrEqual(t, parent.StartTimeUnixNano, s.StartTimeUnixNano, "%s in %s", s.Name, parent.Name)
		assert.GreaterOrEqual(t, parent.EndTimeUnixNano, s.EndTimeUnixNano, "%s in %s", s.Name, parent.Name)
	}
	return byID, root
}

// A whole run is one tree: run, agents, model calls, tools, with the times of the log and
// nothing of what was said. Metrics come to what the run says it used.
//
// Proves R76.
func TestRunIsOneTrace(t *testing.T) {
	c := startCollector(t)
	_, result, envs := run(t, "")
	byID, root := tree(t, c.spans)
	require.Equal(t, "invoke_workflow trip", root.Name)
	require.Equal(t, "completed", text(root, "convene.status"))
	require.Equal(t, string(result.Run), text(root, "convene.run.id"))
	require.Equal(t, string(result.Thread), text(root, "gen_ai.conversation.id"))
	require.Equal(t, uint64(envs[0].Time.UnixNano()), root.StartTimeUnixNano)
	require.Equal(t, uint64(envs[len(envs)-1].Time.UnixNano()), root.EndTimeUnixNano)

	want := map[events.Kind]int{}
	for _, env := range envs {
		want[env.Data.Kind()]++
	}
	got := map[string]int{}
	for _, s := range c.spans {
		operation := text(s, "gen_ai.operation.name")
		got[operation]++
		parent := byID[string(s.ParentSpanId)]
		switch operation {
		case "invoke_agent":
			if text(s, "gen_ai.agent.id") == "facilitator" {
				assert.Equal(t, root, parent)
			} else {
				assert.Equal(t, "invoke_agent Facilitator", parent.Name)
			}
		case "chat", "execute_tool":
			assert.Equal(t, "invoke_agent", text(parent, "gen_ai.operation.name"), s.Name)
		}
	}
	require.Equal(t, map[string]int{
		"invoke_workflow": 1, "invoke_agent": 1 + want[events.KindAgentStarted],
		"chat": want[events.KindModelCalled], "execute_tool": want[events.KindToolCall],
	}, got)

	tokens, _ := c.total("gen_ai.client.token.usage")
	require.InDelta(t, result.Usage.Total(), tokens, 0.5)
	_, calls := c.total("gen_ai.client.operation.duration")
	require.Equal(t, uint64(want[events.KindModelCalled]), calls)
	cost, _ := c.total("convene.client.cost")
	require.InDelta(t, *result.CostUSD, cost, 1e-9)
	require.NotContains(t, c.raw.String(), "Kyoto")
}

func TestContentOnRequest(t *testing.T) {
	c := startCollector(t)
	t.Setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
	_, result, _ := run(t, "")
	_, root := tree(t, c.spans)
	require.Contains(t, text(root, "gen_ai.input.messages"), request)
	require.Contains(t, text(root, "gen_ai.output.messages"), `"role":"assistant"`)
	require.NotEmpty(t, result.Answer)
	for _, s := range c.spans {
		switch text(s, "gen_ai.operation.name") {
		case "chat":
			assert.NotEmpty(t, text(s, "gen_ai.output.messages"))
		case "execute_tool":
			assert.NotEmpty(t, text(s, "gen_ai.tool.call.result"))
		}
	}
}

// The same log gives the same trace, also where the exporter sees it from the middle on.
func TestReplayIsTheSameTrace(t *testing.T) {
	log, _, envs := run(t, "")
	spans := func(from int) map[string]string {
		c := startCollector(t)
		export(t, log, envs[from:])
		all := map[string]string{}
		for _, s := range c.spans {
			body, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
			require.NoError(t, err)
			all[hex.EncodeToString(s.SpanId)] = string(body)
		}
		return all
	}
	whole := spans(0)
	require.Greater(t, len(whole), 20)
	require.Equal(t, whole, spans(0))
	require.Equal(t, whole, spans(len(envs)/2), "the process that began the run died: what it may not have sent is sent again")
}

// What was parked in good order has been exported: whoever resumes it exports the rest, and
// counts nothing twice.
func TestResumedRunGoesOn(t *testing.T) {
	_, result, envs := run(t, "")
	middle := len(envs) / 2
	at, first := envs[middle-1], envs[:middle:middle]
	parked := append(first, events.Envelope{Run: at.Run, Time: at.Time, Data: events.RunSuspended{}}, events.Envelope{Run: at.Run, Time: at.Time, Data: events.RunResumed{}})
	log := events.NewMemory()
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: result.Thread}
	epoch, err := log.Claim(t.Context(), key, "test", false)
	require.NoError(t, err)
	require.NoError(t, log.Append(t.Context(), key, epoch, 0, append(parked, envs[middle:]...)))
	envs, err = log.Read(t.Context(), key, 0, 0)
	require.NoError(t, err)

	c := startCollector(t)
	export(t, log, envs[:middle+1])
	export(t, log, envs[middle+1:])
	_, root := tree(t, c.spans)
	require.Len(t, root.Events, 2)
	tokens, _ := c.total("gen_ai.client.token.usage")
	require.InDelta(t, result.Usage.Total(), tokens, 0.5)
}

// A run that is part of a trace of others goes on from there.
func TestTraceparent(t *testing.T) {
	for name, test := range map[string]struct{ given, trace, parent string }{
		"valid":       {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"},
		"not sampled": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", "", ""},
		"nonsense":    {"00-zz\n", "new", ""},
		"zeros":       {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "new", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := startCollector(t)
			run(t, test.given)
			if test.trace == "" {
				require.Empty(t, c.spans)
				return
			}
			_, root := tree(t, c.spans)
			require.Equal(t, test.parent, hex.EncodeToString(root.ParentSpanId))
			if test.trace != "new" {
				require.Equal(t, test.trace, hex.EncodeToString(root.TraceId))
			}
		})
	}
}

// What a call of a tool takes along is the span that is exported of it, with the sampler's
// decision.
func TestTraceparentOfACall(t *testing.T) {
	for above, sampled := range map[string]string{"": "01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": "01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00": "00"} {
		c := startCollector(t)
		log, _, envs := run(t, above)
		exporter, err := otel.New(t.Context(), otel.Config{Log: log})
		require.NoError(t, err)
		var given, exported []string
		for _, env := range envs {
			if call, ok := env.Data.(events.ToolCallDone); ok {
				given = append(given, exporter.Traceparent(env.Run, above, call.CallRef))
			}
		}
		for _, s := range c.spans {
			if text(s, "gen_ai.operation.name") == "execute_tool" {
				exported = append(exported, "00-"+hex.EncodeToString(s.TraceId)+"-"+hex.EncodeToString(s.SpanId)+"-01")
			}
		}
		require.NoError(t, exporter.Shutdown(t.Context()))
		if sampled == "00" {
			require.Empty(t, exported)
			require.Regexp(t, "^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-00$", given[0])
			continue
		}
		require.ElementsMatch(t, exported, given)
	}
}

// A collector that is down, or refuses, costs the run nothing, and is told of once.
func TestCollectorDown(t *testing.T) {
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusForbidden)
	}))
	t.Cleanup(refuses.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, address := range map[string]string{"refuses": refuses.URL, "gone": strings.Replace(gone.URL, "http://", "http://user:hidden@", 1)} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
			t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
			_, _, envs := run(t, "")
			var mu sync.Mutex
			var told []string
			exporter, err := otel.New(t.Context(), otel.Config{Log: events.NewMemory(), OnError: func(err error) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, err.Error())
			}})
			require.NoError(t, err)
			for _, env := range envs {
				exporter.OnEvent(env)
			}
			require.NoError(t, exporter.Shutdown(t.Context()))
			require.Len(t, told, 2, "traces and metrics: %v", told)
			require.NotContains(t, strings.Join(told, " "), "hidden")
		})
	}
}

// Whoever waits for a collector that never answers waits as long as they want.
func TestCollectorHangs(t *testing.T) {
	hold := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
	defer hangs.Close()
	defer close(hold)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	_, _, envs := run(t, "")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", hangs.URL)
	exporter, err := otel.New(t.Context(), otel.Config{Log: events.NewMemory()})
	require.NoError(t, err)
	for _, env := range envs {
		exporter.OnEvent(env)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.Error(t, exporter.Shutdown(ctx))
}

func TestVariables(t *testing.T) {
	for name, test := range map[string]struct {
		set     map[string]string
		enabled bool
		wrong   string
	}{
		"nothing":      {nil, false, ""},
		"endpoint":     {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1"}, true, ""},
		"traces alone": {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:1"}, true, ""},
		"disabled":     {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_SDK_DISABLED": "true"}, false, ""},
		"none":         {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, false, ""},
		"grpc":         {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, true, ""},
		"protocol": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/json"}, true,
			"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"},
	} {
		t.Run(name, func(t *testing.T) {
			get := func(key string) string { return test.set[key] }
			require.Equal(t, test.enabled, otel.Enabled(get))
			exporter, err := otel.New(t.Context(), otel.Config{Log: events.NewMemory(), Env: get})
			if test.wrong != "" {
				require.ErrorContains(t, err, test.wrong)
				return
			}
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = exporter.Shutdown(ctx)
		})
	}
}
