package runner_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/eventstest"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

// process is a runner with a store of its own handle, which can die.
type process struct {
	t     testing.TB
	path  string
	model *thinker
	log   *sqlite.Log
	r     *runner.Runner
	// left counts the appends until it dies; below 0 it does not.
	left *atomic.Int64
	// read counts the messages that were found in its fold, where they only grow at the end.
	read tally
}

// tally counts messages up to a place in a thread.
type tally struct {
	through       events.Seq
	said, answers int
}

func (p *process) begin() {
	log, err := sqlite.Open(context.Background(), p.path)
	require.NoError(p.t, err)
	left := &atomic.Int64{}
	left.Store(-1)
	mortal := eventstest.NewFailpoint(log, func(at eventstest.Point) error {
		if left.Load() == 0 || !at.After && left.Load() > 0 && left.Add(-1) == 0 {
			return errDied
		}
		return nil
	})
	p.log, p.left, p.r, p.read = log, left, newRunner(p.t, mortal, p.model), tally{}
}

func (p *process) end() {
	_ = p.r.Shutdown(context.Background()) // one that died cannot say how its run was parked
	require.NoError(p.t, p.log.Close())
}

// say has the message answered, or takes up the run that was to answer it.
func (p *process) say(job runner.Job) error {
	run, err := p.r.Start(context.Background(), job)
	var answered *runner.AnsweredError
	if errors.As(err, &answered) {
		run, err = p.r.Resume(context.Background(), "", answered.Run, runner.Terms{})
	}
	if errors.Is(err, events.ErrRunOver) {
		return nil
	}
	if err == nil {
		_, err = run.Wait()
	}
	return err
}

// Over random handoffs in one thread, by two processes with one store that die at random
// moments and begin again: every message is readable afterwards, once and in order, and what
// each process keeps of the thread in memory is what the log gives. CONVENE_HANDOFFS and
// CONVENE_RESTARTS set how many.
func TestHandoffsAndRestarts(t *testing.T) {
	handoffs, restarts := number(t, "CONVENE_HANDOFFS", 12), number(t, "CONVENE_RESTARTS", 4)
	path, model, tm := filepath.Join(t.TempDir(), "convene.db"), &thinker{t: t}, talkers()
	processes := []*process{{t: t, path: path, model: model}, {t: t, path: path, model: model}}
	for _, p := range processes {
		p.begin()
		defer func() { p.end() }()
	}
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: "7b2c5a60-93f0-4d7e-8f43-8c1a0c1f3e55"}
	random := rand.New(rand.NewPCG(1, uint64(handoffs)))
	var texts []string
	handed, died := 0, 0
	for handed < handoffs || died < restarts {
		p, text := processes[random.IntN(2)], []string{"create skill", "more", "done", "cancel", "hello"}[random.IntN(5)]
		job := runner.Job{Request: text, Team: tm, Thread: key.Thread, Message: &runner.Message{ID: events.MessageID(fmt.Sprint("m", len(texts)))}}
		texts = append(texts, text)
		if died < restarts && random.IntN(max(1, (handoffs-handed)/(restarts-died))) == 0 {
			p.left.Store(int64(1 + random.IntN(4)))
		}
		if err := p.say(job); err != nil {
			require.ErrorIs(t, err, errDied)
			died++
			p.end()
			p.begin()
			require.NoError(t, processes[random.IntN(2)].say(job))
		}
		p.left.Store(-1)
		handed = stands(t, p, key, texts)
	}
	t.Logf("%d messages, %d handoffs, %d deaths", len(texts), handed, died)
	for _, p := range processes {
		p.read = tally{}
		stands(t, p, key, texts)
		fresh, err := thread.Load(t.Context(), p.log, key, 0)
		require.NoError(t, err)
		require.NoError(t, p.r.Kept().Use(t.Context(), key, func(th *thread.Thread) error {
			require.True(t, reflect.DeepEqual(fresh.Messages(0, 0), th.Messages(0, 0)))
			require.Equal(t, fresh.Context(), th.Context())
			require.Equal(t, fresh.Current().Facilitator.AppendEarlier(nil), th.Current().Facilitator.AppendEarlier(nil))
			return nil
		}))
	}
}

// stands checks that the thread has what was said, once and in order, and counts its handoffs.
// It looks at the messages that came since the last time: all of them each time would take
// longer than everything else.
func stands(t *testing.T, p *process, key events.ThreadKey, texts []string) (handoffs int) {
	t.Helper()
	require.NoError(t, p.r.Kept().Use(t.Context(), key, func(th *thread.Thread) error {
		handoffs = th.Context().Handoffs
		for _, m := range th.Messages(p.read.through, 0) {
			switch m.Role {
			case events.RoleUser:
				require.Less(t, p.read.said, len(texts))
				require.Equal(t, texts[p.read.said], m.Content)
				require.EqualValues(t, fmt.Sprint("m", p.read.said), m.ID)
				p.read.said++
			case events.RoleAssistant:
				p.read.answers++
			}
			p.read.through = m.Seq
		}
		require.Equal(t, len(texts), p.read.said)
		require.GreaterOrEqual(t, p.read.answers, p.read.said, "each is answered")
		return nil
	}))
	return handoffs
}

func number(t *testing.T, name string, unset int) int {
	text := os.Getenv(name)
	if text == "" {
		return unset
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}
