package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/procusage"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// The work of one run: 16 calls of 25 chunks.
const (
	callsPerRun   = 16
	chunksPerCall = 25
	request       = "Plan three days in Kyoto for two"
)

// serveEnv makes the test binary the model server, so that its CPU is not counted.
const serveEnv = "CONVENE_BENCH_SERVE"

func TestMain(m *testing.M) {
	if options := os.Getenv(serveEnv); options != "" {
		serve(options)
		return
	}
	os.Exit(m.Run())
}

func serve(encoded string) {
	var options sim.Options
	if err := json.Unmarshal([]byte(encoded), &options); err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	mux := http.NewServeMux()
	mux.Handle("/", sim.NewServer(options))
	mux.HandleFunc("/otlp/", func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	server := &http.Server{Handler: mux} //nolint:gosec // talks to its parent alone
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString(0) // ends with the parent
		_ = server.Close()
	}()
	_ = server.Serve(listener)
}

// startServer runs the simulated model in another process and gives its base URL.
func startServer(tb testing.TB, options sim.Options) string {
	tb.Helper()
	encoded, err := json.Marshal(options)
	require.NoError(tb, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveEnv+"="+string(encoded), "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(tb, err)
	out, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	tb.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(tb, err)
	return "http://" + strings.TrimSpace(address) + "/v1"
}

func httpClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8192}}
}

// models resolves every name to one endpoint, without a limiter: what is measured
// is the run.
type models struct{ endpoint *llm.Endpoint }

func (m models) Resolve(...string) (llm.Route, error) {
	return llm.Route{{Endpoint: m.endpoint, Model: "sim"}}, nil
}

func newRunner(tb testing.TB, baseURL string, log events.Log) *runner.Runner {
	tb.Helper()
	return newHookedRunner(tb, baseURL, log, runner.Hooks{})
}

func newHookedRunner(tb testing.TB, baseURL string, log events.Log, hooks runner.Hooks) *runner.Runner {
	tb.Helper()
	r, err := runner.New(runner.Config{
		Log: log, Hooks: hooks,
		Models: models{&llm.Endpoint{Name: "sim", Simulated: true, Client: openai.New(openai.Config{Config: wire.Config{Provider: "sim", BaseURL: baseURL, APIKey: "key"}})}},
	})
	require.NoError(tb, err)
	return r
}

func tripTeam(tb testing.TB) *team.Team {
	tb.Helper()
	tm, err := team.Builtin("trip")
	require.NoError(tb, err)
	return tm
}

// load runs count jobs, at most width at once, and gives the CPU time of one.
func load(tb testing.TB, count, width int, job func(context.Context) error) time.Duration {
	tb.Helper()
	before := procusage.Time()
	next := make(chan struct{}, count)
	for range count {
		next <- struct{}{}
	}
	close(next)
	var wg sync.WaitGroup
	for range width {
		wg.Go(func() {
			for range next {
				if err := job(context.Background()); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return (procusage.Time() - before) / time.Duration(count)
}

// wholeRun runs the job to its end.
func wholeRun(ctx context.Context, r *runner.Runner, tm *team.Team) (runner.Result, error) {
	run, err := r.Start(ctx, runner.Job{Request: request, Team: tm})
	if err != nil {
		return runner.Result{}, err
	}
	result, err := run.Wait()
	if err == nil && result.Status != events.StatusCompleted {
		err = fmt.Errorf("status=%s reason=%q", result.Status, result.Reason)
	}
	return result, err
}

func runnerJob(r *runner.Runner, tm *team.Team) func(context.Context) error {
	return func(ctx context.Context) error {
		result, err := wholeRun(ctx, r, tm)
		if err == nil && result.ModelCalls != callsPerRun {
			err = fmt.Errorf("%d model calls", result.ModelCalls)
		}
		return err
	}
}

// BenchmarkOverhead compares the CPU of a run, user and system, with that of a bare
// loop: alternating rounds against the same server in another process, the median
// of the ratios. The bars: at 64 at once 0.7 in memory and 0.9 durable, at 1 at
// once 1.2 durable.
func BenchmarkOverhead(b *testing.B) {
	for _, width := range []int{1, 64} {
		b.Run(fmt.Sprintf("runs=%d", width), func(b *testing.B) {
			for range b.N {
				overhead(b, width)
			}
		})
	}
}

func overhead(b *testing.B, width int) {
	const rounds = 7
	count := max(3*width, 60)
	baseURL := startServer(b, sim.Options{Bench: true, Chunks: chunksPerCall})
	tm := tripTeam(b)
	plain, err := newBare(tm, baseURL)
	require.NoError(b, err)
	bareJob := func(ctx context.Context) error { return plain.run(ctx, request) }
	var memory, durable, bareMS []float64
	for round := range rounds {
		bareCPU := load(b, count, width, bareJob)
		log := events.NewMemory()
		memoryCPU := load(b, count, width, runnerJob(newRunner(b, baseURL, log), tm))
		require.NoError(b, log.Close())
		store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), fmt.Sprintf("%d.db", round)))
		require.NoError(b, err)
		durableCPU := load(b, count, width, runnerJob(newRunner(b, baseURL, store), tm))
		require.NoError(b, store.Close())
		if round == 0 {
			continue // warms up connections and caches
		}
		bareMS = append(bareMS, float64(bareCPU.Microseconds())/1000)
		memory = append(memory, float64(memoryCPU)/float64(bareCPU))
		durable = append(durable, float64(durableCPU)/float64(bareCPU))
	}
	b.ReportMetric(median(bareMS), "bare-cpu-ms/run")
	b.ReportMetric(median(memory), "memory/bare")
	b.ReportMetric(median(durable), "sqlite/bare")
	b.ReportMetric(0, "ns/op")
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
