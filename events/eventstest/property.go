package eventstest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/events"
)

// model is what a thread must hold after the calls so far.
type model struct {
	key    events.ThreadKey
	epoch  events.Epoch
	owner  events.Owner
	run    events.RunID
	facts  []events.Event
	epochs []events.Epoch // all that were ever given
}

// testInterleavings makes random calls on a few threads: each is granted or
// refused as the model says, and the log reads back as what was granted.
func testInterleavings(t *testing.T, f *fixture) {
	rapid.Check(t, func(r *rapid.T) {
		models := []*model{{key: newKey(), run: newRun()}, {key: newKey(), run: newRun()}}
		pick := func(r *rapid.T) *model { return rapid.SampledFrom(models).Draw(r, "thread") }
		r.Repeat(map[string]func(*rapid.T){
			"claim":   func(r *rapid.T) { pick(r).claim(r, f) },
			"release": func(r *rapid.T) { pick(r).release(r, f) },
			"append":  func(r *rapid.T) { pick(r).append(r, f) },
			"post":    func(r *rapid.T) { pick(r).post(r, f) },
		})
		for _, m := range models {
			m.check(r, f)
		}
	})
}

func (m *model) claim(r *rapid.T, f *fixture) {
	owner := rapid.SampledFrom([]events.Owner{"alice", "bob"}).Draw(r, "owner")
	takeOver := rapid.Bool().Draw(r, "take over")
	epoch, err := f.Claim(f.ctx, m.key, owner, takeOver)
	if m.owner != "" && m.owner != owner && !takeOver {
		require.ErrorIs(r, err, events.ErrHeld)
		return
	}
	require.NoError(r, err)
	require.Greater(r, epoch, m.epoch)
	m.owner, m.epoch = owner, epoch
	m.epochs = append(m.epochs, epoch)
}

func (m *model) drawEpoch(r *rapid.T) events.Epoch {
	return rapid.SampledFrom(append([]events.Epoch{0, m.epoch}, m.epochs...)).Draw(r, "epoch")
}

func (m *model) release(r *rapid.T, f *fixture) {
	epoch := m.drawEpoch(r)
	require.NoError(r, f.Release(f.ctx, m.key, epoch))
	if epoch == m.epoch {
		m.owner = ""
	}
}

func (m *model) append(r *rapid.T, f *fixture) {
	epoch := m.drawEpoch(r)
	last := events.Seq(len(m.facts))
	after := last + events.Seq(rapid.SampledFrom([]int{0, 0, 0, -1, 1}).Draw(r, "off"))
	facts := rapid.SliceOfN(rapid.Custom(drawFact), 1, 3).Draw(r, "facts")
	envs := make([]events.Envelope, len(facts))
	for i, fact := range facts {
		envs[i] = events.Envelope{Run: m.run, Data: fact}
	}
	err := f.Append(f.ctx, m.key, epoch, after, envs)
	switch {
	case m.owner == "" || epoch != m.epoch:
		require.ErrorIs(r, err, events.ErrFenced)
	case after != last:
		require.ErrorIs(r, err, events.ErrConflict)
	default:
		require.NoError(r, err)
		m.facts = append(m.facts, facts...)
	}
}

func (m *model) post(r *rapid.T, f *fixture) {
	fact := events.UserMessage{Content: rapid.String().Draw(r, "content")}
	seq, err := f.Post(f.ctx, m.key, events.Envelope{Run: m.run, Data: fact})
	if len(m.facts) == 0 {
		require.ErrorIs(r, err, events.ErrNotFound)
		return
	}
	require.NoError(r, err)
	m.facts = append(m.facts, fact)
	require.Equal(r, events.Seq(len(m.facts)), seq)
}

func drawFact(r *rapid.T) events.Event {
	text := rapid.String().Draw(r, "text")
	return rapid.SampledFrom([]events.Event{
		events.WorkflowStarted{Message: text}, events.Warning{Message: text}, events.FinalAnswer{Content: text},
		events.ModelCalled{Model: text, Usage: events.Usage{OutputTokens: 1}}, events.TaskUpdated{Task: events.Task{Finished: true}},
	}).Draw(r, "fact")
}

func (m *model) check(r *rapid.T, f *fixture) {
	envs, err := f.Read(f.ctx, m.key, 0, 0)
	require.NoError(r, err)
	require.Len(r, envs, len(m.facts))
	for i, env := range envs {
		require.Equal(r, events.Seq(i+1), env.Seq)
		require.Equal(r, m.facts[i], env.Data)
		require.False(r, i > 0 && env.Time.Before(envs[i-1].Time))
	}
	started := false
	var summary events.RunSummary
	for _, env := range envs {
		if _, ok := env.Data.(events.WorkflowStarted); ok || started {
			started = true
			require.NoError(r, summary.Apply(env))
		}
	}
	got, err := f.FindRun(f.ctx, m.key.Tenant, string(m.run))
	if !started {
		require.ErrorIs(r, err, events.ErrNotFound)
		return
	}
	require.NoError(r, err)
	require.Equal(r, summary, got)
}
