package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/thread"
)

// killsEnv says how often TestKill kills; `make soak` asks for 200.
const killsEnv = "CONVENE_KILLS"

const killRequest = "Plan three days in Kyoto for two"

// killed is what one process left behind.
type killed struct {
	store string
	run   *thread.Run
	// inFlight are the calls that the server was asked for and that are not in the log.
	inFlight int
	// together is set where at least two specialists were at work.
	together bool
}

// Proves R73, R25: the real process, killed at random moments and resumed, comes to
// the same tasks and the same document, and repeats only calls that were in flight.
func TestKill(t *testing.T) {
	race.Processes(t)
	kills := 10
	if asked, err := strconv.Atoi(os.Getenv(killsEnv)); err == nil {
		kills = asked
	}
	wantTasks, wantDocument, wantCalls, took := unkilled(t)
	together := 0
	for i := range kills {
		server := sim.NewServer(killOptions())
		served := httptest.NewServer(server)
		k := kill(t, served.URL+"/v1", server, i%4 != 0, took)
		if k.together {
			together++
		}
		out, err := convene(k.store, served.URL+"/v1", "resume", string(k.run.ID), "--json").Output()
		where := fmt.Sprintf("kill %d at seq %d", i, k.run.LastSeq)
		require.NoError(t, err, "%s: %s", where, tail(out))
		tasks, document := after(t, k.store, k.run.RunSummary)
		require.Equal(t, wantTasks, tasks, where)
		require.Equal(t, wantDocument, document, where)
		require.LessOrEqual(t, server.Report().Requests, wantCalls+k.inFlight, where)
		served.Close()
	}
	t.Logf("%d kills, %d of them while specialists worked at once", kills, together)
	require.GreaterOrEqual(t, 2*together, kills)
}

func killOptions() sim.Options {
	return sim.Options{FirstToken: 8 * time.Millisecond, PerChunk: time.Millisecond, ChunkBytes: 64}
}

func convene(store, baseURL string, args ...string) *exec.Cmd {
	cmd := exec.Command("convene", append(args, "--store", store, "--base-url", baseURL, "--team", "trip", "--model", "openai/sim")...)
	if args[0] == "resume" {
		cmd = exec.Command("convene", append(args, "--store", store, "--base-url", baseURL)...)
	}
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=none")
	cmd.Stderr = nil
	return cmd
}

// unkilled gives what a run that is left alone comes to.
func unkilled(t *testing.T) (tasks []events.Task, document []string, calls int, took time.Duration) {
	t.Helper()
	server := sim.NewServer(killOptions())
	served := httptest.NewServer(server)
	defer served.Close()
	store := filepath.Join(t.TempDir(), "whole.db")
	begun := time.Now()
	out, err := convene(store, served.URL+"/v1", "run", "--json", killRequest).Output()
	require.NoError(t, err, tail(out))
	took = time.Since(begun)
	summary := onlyRun(t, store)
	tasks, document = after(t, store, summary)
	require.NotEmpty(t, document)
	return tasks, document, server.Report().Requests, took
}

// kill starts a run and kills its process: at any moment, or at one at which
// specialists are at work at once.
func kill(t *testing.T, baseURL string, server *sim.Server, amongSpecialists bool, took time.Duration) killed {
	t.Helper()
	for {
		server.Reset()
		store := filepath.Join(t.TempDir(), fmt.Sprintf("%d.db", rand.Int()))
		cmd := convene(store, baseURL, "run", "--json", killRequest)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		wait := rand.N(took)
		if amongSpecialists {
			waitForLines(out, `"type":"agent_started"`, 3)
			wait = rand.N(took / 4)
		}
		time.Sleep(wait)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		if k, ok := left(t, store, server); ok && (k.together || !amongSpecialists) {
			return k
		}
	}
}

func waitForLines(out io.Reader, part string, n int) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<22)
	for n > 0 && lines.Scan() {
		if strings.Contains(lines.Text(), part) {
			n--
		}
	}
}

// left reads what the process left behind; not ok if that is no run, or one that
// was over.
func left(t *testing.T, store string, server *sim.Server) (killed, bool) {
	t.Helper()
	if _, err := os.Stat(store); err != nil {
		return killed{}, false
	}
	log, err := sqlite.Open(context.Background(), store)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	runs, err := log.Runs(context.Background(), events.RunQuery{Tenant: events.LocalTenant})
	require.NoError(t, err)
	if len(runs) == 0 || runs[0].Status.Over() {
		return killed{}, false
	}
	run := fold(t, log, runs[0])
	open := 0
	for _, d := range run.Dispatches {
		if d.Finish == nil {
			open++
		}
	}
	return killed{
		store: store, run: run, together: open > 1,
		inFlight: server.Report().Requests - run.ModelCalls,
	}, true
}

func onlyRun(t *testing.T, store string) events.RunSummary {
	t.Helper()
	log, err := sqlite.Open(context.Background(), store)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	runs, err := log.Runs(context.Background(), events.RunQuery{Tenant: events.LocalTenant})
	require.NoError(t, err)
	require.Len(t, runs, 1)
	return runs[0]
}

func fold(t *testing.T, log events.Log, summary events.RunSummary) *thread.Run {
	t.Helper()
	envs, err := log.Read(context.Background(), events.ThreadKey{Tenant: summary.Tenant, Thread: summary.Thread}, 0, 0)
	require.NoError(t, err)
	th := thread.New()
	for _, env := range envs {
		require.NoError(t, th.Apply(env))
	}
	return th.Current()
}

// after gives the tasks and the entries of the document, by place, agent and text.
func after(t *testing.T, store string, summary events.RunSummary) (tasks []events.Task, document []string) {
	t.Helper()
	log, err := sqlite.Open(context.Background(), store)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	run := fold(t, log, summary)
	require.Equal(t, events.StatusCompleted, run.Status, run.Reason)
	for _, version := range run.Document.Versions() {
		entry, _ := run.Document.Entry(events.EntryID(version.Version))
		document = append(document, fmt.Sprintf("%s/%s %s: %s", entry.Section, entry.Slot, entry.Author, entry.Content))
	}
	slices.Sort(document)
	return run.Board.Tasks(), document
}

func tail(out []byte) string {
	return string(out[max(0, len(out)-2000):])
}
