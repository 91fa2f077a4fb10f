package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// maxLineBytes bounds one event of a file: several times what the bounds of a run
// let one grow to.
const maxLineBytes = 64 << 20

// Encoded gives the events of a thread in the form of [events.Encode], up to that
// seq.
func Encoded(ctx context.Context, log events.Reader, key events.ThreadKey, through events.Seq) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for after := events.Seq(0); after < through; {
			batch, err := log.ReadEncoded(ctx, key, after, pageEvents)
			if err == nil && len(batch) == 0 {
				err = &events.DamagedError{Key: key, Seq: after + 1, Problem: "the store has the run, and not this event of it"}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range batch {
				if e.Seq > through || !yield(e.Body, nil) {
					return
				}
				after = e.Seq
			}
		}
	}
}

// writeJSONL writes events, one on a line; with restore, what placeholders stand for is among
// them.
func writeJSONL(w io.Writer, bodies iter.Seq2[[]byte, error], restore bool) error {
	if !restore {
		bodies = each(bodies, events.WithoutValues)
	}
	out := bufio.NewWriter(w)
	for body, err := range bodies {
		if err != nil {
			return err
		}
		_, _ = out.Write(body) // Flush gives the error
		_ = out.WriteByte('\n')
	}
	return out.Flush()
}

// ReadFile loads a log of one thread, as `convene export --jsonl` and `convene run
// --json` write it, into memory. name stands in errors, with the line.
func ReadFile(ctx context.Context, r io.Reader, name string) (*events.Memory, events.RunSummary, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLineBytes)
	th := thread.New()
	var envs []events.Envelope
	number := 0
	for lines.Scan() {
		number++
		if len(lines.Bytes()) == 0 {
			continue
		}
		env, err := events.Decode(lines.Bytes())
		if err == nil && len(envs) > 0 && env.Key() != envs[0].Key() {
			err = fmt.Errorf("the event is of thread %s, those before of %s", env.Thread, envs[0].Thread)
		}
		if err == nil {
			if len(envs) == 0 {
				th.Seq = env.Seq - 1 // a log of a later run of its thread
			}
			err = th.Apply(env)
		}
		if err != nil {
			return nil, events.RunSummary{}, fmt.Errorf("%s:%d: %w. The file is not a complete convene log", name, number, err)
		}
		envs = append(envs, env)
	}
	if err := lines.Err(); err != nil {
		return nil, events.RunSummary{}, fmt.Errorf("%s:%d: %w", name, number+1, err)
	}
	if len(envs) == 0 {
		return nil, events.RunSummary{}, fmt.Errorf("%s: %w", name, errEmptyFile)
	}
	if th.Current() == nil {
		return nil, events.RunSummary{}, fmt.Errorf("%s: %w", name, errNoRun)
	}
	log, err := inMemory(ctx, th.Key, envs)
	return log, th.Current().RunSummary, err
}

var errEmptyFile = errors.New("the file contains no events. `convene run --json REQUEST > FILE` and `convene export RUN --jsonl` write one")

var errNoRun = errors.New("the file contains events, but no run")

func inMemory(ctx context.Context, key events.ThreadKey, envs []events.Envelope) (*events.Memory, error) {
	log := events.NewMemory()
	epoch, err := log.Claim(ctx, key, "file", false)
	if err != nil {
		return nil, err
	}
	if err := log.Append(ctx, key, epoch, 0, envs); err != nil {
		return nil, err
	}
	return log, log.Release(ctx, key, epoch)
}
