package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/convene-run/convene/internal/procusage"
)

// bench starts processes of the programs that are compared.
type bench struct {
	self, convene, dir string
	script             map[string][]reply
}

// cost is what a whole process took for its rows, its start included.
type cost struct {
	rows  int
	cpu   time.Duration
	wall  time.Duration
	peak  int64 // bytes of resident memory
	store int64 // bytes of the store's files
	usage usage
}

// perRow is milliseconds of CPU.
func (c cost) perRow() float64 { return c.cpu.Seconds() * 1000 / float64(c.rows) }

// chunks are those of a row.
func (c cost) chunks() float64 { return float64(c.usage.Chunks) / float64(c.rows) }

// on gives a command on a core of its own, where there are two and taskset.
func on(ctx context.Context, core int, name string, args ...string) *exec.Cmd {
	if taskset, err := exec.LookPath("taskset"); err == nil && runtime.NumCPU() > 1 {
		name, args = taskset, append([]string{"-c", strconv.Itoa(core), name}, args...)
	}
	return exec.CommandContext(ctx, name, args...)
}

// serve starts the server in a process of its own. It ends with the function that is returned.
func (b *bench) serve(ctx context.Context, tokensPerChunk int, p pace) (address string, stop func(), err error) {
	cmd := on(ctx, 1, b.self, "serve", strconv.Itoa(tokensPerChunk), string(p))
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return "", nil, fmt.Errorf("start the server: %w", err)
	}
	address, err = bufio.NewReader(out).ReadString('\n')
	return "http://" + strings.TrimSpace(address), func() { _ = in.Close(); _ = cmd.Wait() }, err
}

// asked reads what a server was asked for so far.
func asked(ctx context.Context, address string) (u usage, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/usage", nil)
	if err != nil {
		return u, err
	}
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		return u, err
	}
	defer resp.Body.Close()
	return u, json.NewDecoder(resp.Body).Decode(&u)
}

// rows writes the input of a batch.
func (b *bench) rows(n int) (string, error) {
	file, err := os.Create(filepath.Join(b.dir, fmt.Sprintf("in-%d.jsonl", n)))
	if err != nil {
		return "", err
	}
	out := bufio.NewWriter(file)
	for i := range n {
		fmt.Fprintf(out, `{"id":"r%d","request":"Plan three days in Kyoto for two, %s"}`+"\n", i, number(i))
	}
	return file.Name(), errors.Join(out.Flush(), file.Close())
}

func number(i int) string { return fmt.Sprintf("#%05d", i+1) }

// batch measures `convene batch` with a durable store of its own.
func (b *bench) batch(ctx context.Context, address string, n, width int) (cost, error) {
	home, err := os.MkdirTemp(b.dir, "convene-")
	if err != nil {
		return cost{}, err
	}
	in, err := b.rows(n)
	if err != nil {
		return cost{}, err
	}
	store := filepath.Join(home, "store.db")
	cmd := on(ctx, 0, b.convene, "batch", in, "-o", filepath.Join(home, "out.jsonl"), "--store", store, "--team", "trip",
		"--base-url", address+"/v1", "--api", "chat", "--model", "bench", "--concurrency", strconv.Itoa(width))
	cmd.Env = append(environment(), "HOME="+home, "OPENAI_API_KEY=key")
	c, err := b.run(ctx, cmd, address, n)
	files, _ := filepath.Glob(store + "*") // a pattern without errors
	for _, name := range files {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			c.store += info.Size()
		}
	}
	return c, err
}

// environment is that of the process without what would change a run.
func environment() (kept []string) {
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "CONVENE_") && !strings.HasPrefix(variable, "OPENAI_") && !strings.HasPrefix(variable, "OTEL_") {
			kept = append(kept, variable)
		}
	}
	return kept
}

// loop measures the bare loop.
func (b *bench) loop(ctx context.Context, address string, n, width int) (cost, error) {
	in, err := b.rows(n)
	if err != nil {
		return cost{}, err
	}
	return b.run(ctx, on(ctx, 0, b.self, "bare", address+"/v1", in, strconv.Itoa(width)), address, n)
}

func (b *bench) run(ctx context.Context, cmd *exec.Cmd, address string, n int) (cost, error) {
	before, err := asked(ctx, address)
	if err != nil {
		return cost{}, err
	}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = io.Discard, &said
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, said.String())
	}
	wall := time.Since(began)
	after, err := asked(ctx, address)
	c := cost{rows: n, wall: wall, cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), peak: procusage.Peak(cmd.ProcessState), usage: usage{
		after.Calls - before.Calls, after.Chunks - before.Chunks, after.PromptTokens - before.PromptTokens, after.UncachedTokens - before.UncachedTokens,
	}}
	if calls := int64(n) * callsPerRow; err == nil && c.usage.Calls != calls {
		err = fmt.Errorf("%s made %d model calls, not %d", cmd.Args[0], c.usage.Calls, calls)
	}
	return c, err
}

// callsPerRow are those of the job.
const callsPerRow = 16
