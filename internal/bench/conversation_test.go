package bench

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// BenchmarkConversation measures what a long thread costs: from Send to the first model
// request of its run in a thread of 10,000 messages, beside a durable commit of the same
// store, and what folding that thread from the log takes.
func BenchmarkConversation(b *testing.B) {
	const exchanges, sends = 5_000, 200
	log, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "store.db"))
	require.NoError(b, err)
	defer func() { require.NoError(b, log.Close()) }()
	model := &stopwatch{}
	r, err := runner.New(runner.Config{Log: log, Models: model, Owner: "bench"})
	require.NoError(b, err)
	key := longThread(b, r, log, exchanges)
	for b.Loop() {
		begun := time.Now()
		th, err := thread.Load(b.Context(), log, key, 0)
		require.NoError(b, err)
		b.ReportMetric(time.Since(begun).Seconds()*1000, "ms-cold-open")
		require.NotNil(b, th.Current())

		var first []time.Duration
		for i := range sends {
			began := time.Now()
			receipt, err := r.Send(b.Context(), runner.Job{Thread: key.Thread, Request: fmt.Sprintf("And question %d?", i)})
			require.NoError(b, err)
			_, err = receipt.Run.Wait()
			require.NoError(b, err)
			first = append(first, model.asked.Sub(began))
		}
		first = first[1:] // the first message is sent to a thread that this runner has not read yet
		handed, answered := handOffs(b, r, model, key, 50)
		commits := commits(b, log, 100)
		b.ReportMetric(p99(handed).Seconds()*1000, "ms-handoff-to-request-p99")
		b.ReportMetric(percentile(answered, 95).Seconds()*1000, "ms-handed-to-request-p95")
		b.ReportMetric(p99(first).Seconds()*1000, "ms-to-request-p99")
		b.ReportMetric(slices.Max(first).Seconds()*1000, "ms-to-request-worst")
		b.ReportMetric(percentile(first, 50).Seconds()*1000, "ms-to-request-p50")
		b.ReportMetric(p99(commits).Seconds()*1000, "ms-commit-p99")
	}
}

// handOffs are the times from a handoff to the specialist's first request, and from a message
// to a specialist who has the conversation to the request that answers it: the first token
// comes as long behind as the model takes.
func handOffs(b *testing.B, r *runner.Runner, model *stopwatch, key events.ThreadKey, n int) (handed, answered []time.Duration) {
	rest := func() {
		if run := r.Driven(key); run != nil {
			_, err := run.Wait()
			require.NoError(b, err)
		}
	}
	for range n {
		began := time.Now()
		_, err := r.HandOff(b.Context(), key.Tenant, key.Thread, conversation.Handoff{Target: "one", Reason: "It knows it.", Summary: "The user wants to know."})
		require.NoError(b, err)
		rest()
		handed = append(handed, model.asked.Sub(began))
		began = time.Now()
		receipt, err := r.Send(b.Context(), runner.Job{Thread: key.Thread, Request: "And this?"})
		require.NoError(b, err)
		_, err = receipt.Run.Wait()
		require.NoError(b, err)
		answered = append(answered, model.asked.Sub(began))
		require.NoError(b, r.Leave(b.Context(), key.Tenant, key.Thread, conversation.Caller{}))
		rest()
	}
	return handed, answered
}

func talkers() *team.Team {
	return &team.Team{Name: "talkers", Handoff: &team.Handoff{Targets: []team.HandoffTarget{{Agent: "one"}}}, Specialists: []team.Specialist{{ID: "one", Description: "Knows it.", Prompt: "Say it."}}}
}

// stopwatch answers at once, and notes when it was asked.
type stopwatch struct{ asked time.Time }

func (s *stopwatch) Resolve(...string) (llm.Route, error) {
	return llm.Route{{Endpoint: &llm.Endpoint{Name: "sim", Simulated: true, Client: s}, Model: "sim"}}, nil
}

func (s *stopwatch) Stream(context.Context, llm.Request) iter.Seq2[llm.Delta, error] {
	s.asked = time.Now()
	return func(yield func(llm.Delta, error) bool) {
		reply := events.Reply{Text: "The answer to it, as far as anybody knows.", FinishReason: events.FinishStop}
		if yield(llm.Delta{Text: reply.Text}, nil) {
			yield(llm.Delta{Done: &llm.Completion{Reply: reply, Model: "sim", Provider: "sim", Usage: events.Usage{InputTokens: 1, OutputTokens: 1}}}, nil)
		}
	}
}

// longThread makes a thread of so many exchanges, each as the runner writes one.
func longThread(b *testing.B, r *runner.Runner, log events.Log, exchanges int) events.ThreadKey {
	run, err := r.Start(b.Context(), runner.Job{Request: "What of this?", Team: talkers(), Message: &runner.Message{ID: "m0"}})
	require.NoError(b, err)
	_, err = run.Wait()
	require.NoError(b, err)
	key := run.Key()
	model, err := log.Read(b.Context(), key, 0, 0)
	require.NoError(b, err)
	epoch, err := log.Claim(b.Context(), key, "bench", false)
	require.NoError(b, err)
	before, last := run.ID(), events.Seq(len(model))
	var page []events.Envelope
	for i := range exchanges - 1 {
		id := events.RunID(uuid.Must(uuid.NewV7()).String())
		page = append(page, again(model, before, id, events.MessageID(fmt.Sprintf("m%d", i+1)))...)
		before = id
		if len(page) >= 512 || i == exchanges-2 {
			require.NoError(b, log.Append(b.Context(), key, epoch, last, page))
			last, page = last+events.Seq(len(page)), nil
		}
	}
	require.NoError(b, log.Release(b.Context(), key, epoch))
	return key
}

// again is an exchange once more, with other ids.
func again(model []events.Envelope, before, run events.RunID, message events.MessageID) []events.Envelope {
	envs := slices.Clone(model)
	for i := range envs {
		if envs[i].Run != "" {
			envs[i].Run = run
		}
		envs[i].Time = time.Time{}
		switch data := envs[i].Data.(type) {
		case events.UserMessage:
			data.MessageID = message
			envs[i].Data = data
		case events.WorkflowStarted:
			data.MessageID, data.Follows = message, before
			envs[i].Data = data
		case events.MessageRouted:
			data.MessageID = message
			envs[i].Data = data
		}
	}
	return envs
}

// commits are the times of durable commits of one event.
func commits(b *testing.B, log events.Log, n int) (took []time.Duration) {
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(uuid.NewString())}
	epoch, err := log.Claim(b.Context(), key, "bench", false)
	require.NoError(b, err)
	run := events.RunID(uuid.Must(uuid.NewV7()).String())
	for i := range n {
		var data events.Event = events.Warning{Code: "bench", Message: "an event"}
		if i == 0 {
			data = events.WorkflowStarted{Message: "a request", Team: "talkers"}
		}
		begun := time.Now()
		require.NoError(b, log.Append(b.Context(), key, epoch, events.Seq(i), []events.Envelope{{Run: run, Data: data}}))
		took = append(took, time.Since(begun))
	}
	return took
}

func p99(took []time.Duration) time.Duration { return percentile(took, 99) }

func percentile(took []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}
