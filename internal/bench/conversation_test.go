package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/procusage"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/steer"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
	"github.com/convene-run/convene/web"
)

// BenchmarkConversation measures what a long thread costs: from Send to the first model
// request of its run in a thread of 10,000 messages, from a handoff to the specialist's, and
// what folding that thread from the log takes. Beside each it does the same in a thread of a
// few messages, and a durable commit in the same store: on a machine that others load, those
// tell the thread's part of the time. The CPU time is that of the whole process, whose garbage
// collector and store are part of it, up to the request.
func BenchmarkConversation(b *testing.B) {
	const exchanges, sends = 5_000, 200
	log, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "store.db"))
	require.NoError(b, err)
	defer func() { require.NoError(b, log.Close()) }()
	model := &stopwatch{}
	r, err := runner.New(runner.Config{Log: log, Models: model, Owner: "bench"})
	require.NoError(b, err)
	long, short := longThread(b, r, log, exchanges), longThread(b, r, log, 1)
	for b.Loop() {
		before, begun := procusage.Time(), time.Now()
		th, err := thread.Load(b.Context(), log, long, 0)
		require.NoError(b, err)
		b.ReportMetric(time.Since(begun).Seconds()*1000, "ms-cold-open")
		b.ReportMetric((procusage.Time()-before).Seconds()*1000, "cpu-ms-cold-open")
		require.NotNil(b, th.Current())

		ask(b, r, model, long, "The first message to a thread that this runner has not read yet?")
		var asked, small, bare timings
		commit := committer(b, log)
		for i := range sends {
			request := fmt.Sprintf("And question %d?", i)
			asked.add(ask(b, r, model, long, request))
			small.add(ask(b, r, model, short, request))
			bare.add(commit())
		}
		asked.report(b, "to-request")
		small.report(b, "to-request-short")
		bare.report(b, "commit")
		for name, key := range map[string]events.ThreadKey{"": long, "-short": short} {
			handed, answered := handOffs(b, r, model, key, 50)
			handed.report(b, "handoff-to-request"+name)
			answered.report(b, "handed-to-request"+name)
		}
		seen := firstTokens(b, r, model, long, 20)
		b.ReportMetric(percentile(seen, 95).Seconds()*1000, "ms-handed-to-seen-p95")
	}
}

// timings are the times and the CPU times of one thing done again and again.
type timings struct{ wall, cpu []time.Duration }

func (m *timings) add(wall, cpu time.Duration) {
	m.wall, m.cpu = append(m.wall, wall), append(m.cpu, cpu)
}

func (m *timings) report(b *testing.B, name string) {
	b.ReportMetric(percentile(m.wall, 50).Seconds()*1000, "ms-"+name+"-p50")
	b.ReportMetric(percentile(m.wall, 99).Seconds()*1000, "ms-"+name+"-p99")
	b.ReportMetric(percentile(m.cpu, 50).Seconds()*1000, "cpu-ms-"+name+"-p50")
	b.ReportMetric(percentile(m.cpu, 99).Seconds()*1000, "cpu-ms-"+name+"-p99")
}

// ask sends a message, and gives the time up to the first model request and the CPU time in it.
func ask(b *testing.B, r *runner.Runner, model *stopwatch, key events.ThreadKey, request string) (wall, cpu time.Duration) {
	return model.time(func() {
		receipt, err := r.Send(b.Context(), runner.Job{Thread: key.Thread, Request: request})
		require.NoError(b, err)
		_, err = receipt.Run.Wait()
		require.NoError(b, err)
	})
}

// handOffs are the times from a handoff to the specialist's first request, and from a message
// to a specialist who has the conversation to the request that answers it.
func handOffs(b *testing.B, r *runner.Runner, model *stopwatch, key events.ThreadKey, n int) (handed, answered timings) {
	for range n {
		handed.add(model.time(func() { handOff(b, r, key) }))
		answered.add(ask(b, r, model, key, "And this?"))
		require.NoError(b, r.Leave(b.Context(), key.Tenant, key.Thread, "", conversation.Caller{}))
		rest(b, r, key)
	}
	return handed, answered
}

func handOff(b *testing.B, r *runner.Runner, key events.ThreadKey) {
	_, err := r.HandOff(b.Context(), key.Tenant, key.Thread, conversation.Handoff{Target: "one", Reason: "It knows it.", Summary: "The user wants to know."})
	require.NoError(b, err)
	rest(b, r, key)
}

// rest waits for the run that is under way.
func rest(b *testing.B, r *runner.Runner, key events.ThreadKey) {
	if run := r.Driven(key); run != nil {
		_, err := run.Wait()
		require.NoError(b, err)
	}
}

// firstTokens are the times from a message to a specialist who has the conversation, sent over
// HTTP, until whoever follows the thread over HTTP sees the first token of the answer. The
// model writes it at once, and the rest only when that was seen.
func firstTokens(b *testing.B, r *runner.Runner, model *stopwatch, key events.ThreadKey, n int) (took []time.Duration) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	server, err := web.New(web.Config{Log: r.Log(), Kept: r.Kept(), Runs: steer.New(steer.Config{Runner: r}), Address: listener.Addr().String()})
	require.NoError(b, err)
	ctx, stop := context.WithCancel(b.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	defer func() {
		stop()
		require.NoError(b, <-served)
	}()
	handOff(b, r, key)
	address := fmt.Sprintf("http://%s/api/v1/threads/%s/", listener.Addr(), key.Thread)
	var head events.Seq
	require.NoError(b, r.Kept().Use(b.Context(), key, func(th *thread.Thread) error {
		head = th.Seq
		return nil
	}))
	stream := call(b, http.MethodGet, fmt.Sprintf("%sevents?after=%d", address, head), "")
	defer stream.Close()
	live := bufio.NewScanner(stream)
	live.Buffer(nil, 1<<20)
	for i := range n {
		token := fmt.Sprintf("This is token %d.", i)
		model.begins, model.goOn = token, make(chan struct{})
		began := time.Now()
		require.NoError(b, call(b, http.MethodPost, address+"messages", `{"content":"And this?"}`).Close())
		for live.Scan() && !strings.Contains(live.Text(), token) {
		}
		took = append(took, time.Since(began))
		require.NoError(b, live.Err())
		close(model.goOn)
		rest(b, r, key)
	}
	return took
}

// call sends a request and gives the body of the answer.
func call(b *testing.B, method, address, body string) io.ReadCloser {
	request, err := http.NewRequestWithContext(b.Context(), method, address, strings.NewReader(body))
	require.NoError(b, err)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(b, err)
	require.Less(b, answer.StatusCode, 300, answer.Status)
	return answer.Body
}

func talkers() *team.Team {
	return &team.Team{Name: "talkers", Handoff: &team.Handoff{Targets: []team.HandoffTarget{{Agent: "one"}}}, Specialists: []team.Specialist{{ID: "one", Description: "Knows it.", Prompt: "Say it."}}}
}

// stopwatch answers at once, and notes when it was asked. Where goOn is set it begins its answer
// with begins, and ends it once goOn is closed.
type stopwatch struct {
	asked  time.Time
	cpu    time.Duration
	begins string
	goOn   chan struct{}
}

// time gives the time and the CPU time from the beginning of do until the model was asked.
func (s *stopwatch) time(do func()) (wall, taken time.Duration) {
	before, began := procusage.Time(), time.Now()
	do()
	return s.asked.Sub(began), s.cpu - before
}

func (s *stopwatch) Resolve(...string) (llm.Route, error) {
	return llm.Route{{Endpoint: &llm.Endpoint{Name: "sim", Simulated: true, Client: s}, Model: "sim"}}, nil
}

func (s *stopwatch) Stream(context.Context, llm.Request) iter.Seq2[llm.Delta, error] {
	s.asked, s.cpu = time.Now(), procusage.Time()
	begins, goOn := s.begins, s.goOn
	return func(yield func(llm.Delta, error) bool) {
		text := "The answer to it, as far as anybody knows."
		if goOn != nil {
			if !yield(llm.Delta{Text: begins}, nil) {
				return
			}
			<-goOn
		}
		if yield(llm.Delta{Text: text}, nil) {
			reply := events.Reply{Text: begins + text, FinishReason: events.FinishStop}
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
	earlier, last := run.ID(), events.Seq(len(model))
	var page []events.Envelope
	for i := range exchanges - 1 {
		id := events.RunID(uuid.Must(uuid.NewV7()).String())
		page = append(page, again(model, earlier, id, events.MessageID(fmt.Sprintf("m%d", i+1)))...)
		earlier = id
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

// committer gives a durable commit of one event, and the times that it takes.
func committer(b *testing.B, log events.Log) (commit func() (wall, taken time.Duration)) {
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(uuid.NewString())}
	epoch, err := log.Claim(b.Context(), key, "bench", false)
	require.NoError(b, err)
	run, last := events.RunID(uuid.Must(uuid.NewV7()).String()), events.Seq(0)
	appends := func(data events.Event) {
		require.NoError(b, log.Append(b.Context(), key, epoch, last, []events.Envelope{{Run: run, Data: data}}))
		last++
	}
	appends(events.WorkflowStarted{Message: "a request", Team: "talkers"})
	return func() (wall, taken time.Duration) {
		before, began := procusage.Time(), time.Now()
		appends(events.Warning{Code: "bench", Message: "an event"})
		return time.Since(began), procusage.Time() - before
	}
}

func percentile(took []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}
