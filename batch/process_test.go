package batch_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/team"
)

// workEnv asks the test binary to run a batch and to print its report.
const workEnv = "CONVENE_TEST_BATCH"

// work is what a process is asked to do.
type work struct {
	Dir, BaseURL, Input string
	Team                string
	Solo                bool
	Concurrency         int
	Unordered           bool
	RetryFailed         bool
	MaxCostUSD          float64
	Limit               int
	// Offline plays the model in the process itself; SlowFirst has it answer the row "r0"
	// only after all others.
	Offline, SlowFirst bool
	Rows               int
}

func (w work) store() string  { return filepath.Join(w.Dir, "store.db") }
func (w work) output() string { return filepath.Join(w.Dir, "out.jsonl") }

func workAsAsked(encoded string) int {
	var w work
	err := json.Unmarshal([]byte(encoded), &w)
	if err == nil {
		err = w.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (w work) run() error {
	ctx := context.Background()
	log, err := sqlite.Open(ctx, w.store())
	if err != nil {
		return err
	}
	config, err := w.config(log)
	if err != nil {
		return err
	}
	job, err := batch.Open(ctx, batch.Files{
		Input: w.Input, Output: w.output(), Unordered: w.Unordered, RetryFailed: w.RetryFailed, Limit: w.Limit,
	}, config)
	if err != nil {
		return err
	}
	report, err := job.Run(ctx)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		return err
	}
	return log.Close()
}

func (w work) config(log events.Log) (batch.Config, error) {
	t, err := team.Parse("team.yaml", []byte(w.Team))
	if err != nil {
		return batch.Config{}, err
	}
	var client llm.Client = openai.New(openai.Config{Config: wire.Config{Provider: "sim", BaseURL: w.BaseURL, APIKey: "key"}})
	if w.Offline {
		client = &offline{Client: sim.New(sim.Options{}), slowFirst: w.SlowFirst, others: make(chan struct{}), rows: int64(w.Rows)}
	}
	r, err := newRunnerOf(log, oneClient{client: client})
	return batch.Config{
		Runner: r, Team: t, Solo: w.Solo, Concurrency: w.Concurrency, MaxCostUSD: w.MaxCostUSD,
	}, err
}

// offline is a model in the process itself.
type offline struct {
	llm.Client
	slowFirst bool
	rows      int64
	asked     atomic.Int64
	others    chan struct{} // closed once all other rows have been asked about
}

func (o *offline) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	if o.slowFirst {
		if strings.HasSuffix(req.Messages[len(req.Messages)-1].Content, "day 0") {
			<-o.others
		} else if o.asked.Add(1) == o.rows-1 {
			close(o.others)
		}
	}
	return o.Client.Stream(ctx, req)
}

// start starts a process that does the work, with a file as its standard input.
func (w work) start(t testing.TB, stdin string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	encoded, err := json.Marshal(w)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workEnv+"="+string(encoded))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if stdin != "" {
		in, err := os.Open(stdin)
		require.NoError(t, err)
		defer func() { require.NoError(t, in.Close()) }()
		cmd.Stdin = in
	}
	require.NoError(t, cmd.Start())
	return cmd, &stdout, &stderr
}

// finish does the work to its end and gives the report.
func (w work) finish(t testing.TB) batch.Report {
	t.Helper()
	cmd, stdout, stderr := w.start(t, "")
	require.NoError(t, cmd.Wait(), "%s", stderr)
	var report batch.Report
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &report))
	return report
}

// counter counts the replies that a simulated model served whole, by request.
type counter struct {
	*sim.Server
	mu     sync.Mutex // guards served
	served map[[sha256.Size]byte]int
}

func serve(t testing.TB, options sim.Options) (*counter, string) {
	t.Helper()
	c := &counter{Server: sim.NewServer(options), served: map[[sha256.Size]byte]int{}}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return c, server.URL + "/v1"
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client was killed
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	ok := &okWriter{ResponseWriter: w}
	c.Server.ServeHTTP(ok, r)
	if r.Context().Err() == nil && ok.code < 300 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.served[sha256.Sum256(body)]++
	}
}

// okWriter remembers the status.
type okWriter struct {
	http.ResponseWriter
	code int
}

func (w *okWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

func (w *okWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// counts gives how many different requests were served whole, and how many were
// served again.
func (c *counter) counts() (distinct, again int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.served {
		distinct++
		again += n - 1
	}
	return distinct, again
}

// all waits until so many distinct calls were served, and gives how many were made again. A
// call counts once its handler has returned, which may be after its reply was read.
func (c *counter) all(t testing.TB, calls int) (again int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var served int
		served, again = c.counts()
		return served == calls
	}, time.Minute, 5*time.Millisecond)
	return again
}
