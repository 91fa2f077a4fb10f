package webhook_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/pipenet"
	"github.com/convene-run/convene/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret = "whsec_MfKQ9r8GKYqTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqT="
	thread = events.ThreadID("6ba7b810-9dad-41d1-80b4-00c04fd430c8")
	run    = events.RunID("01900000-0000-7000-8000-000000000001")
)

// sent is what a receiver got.
type sent struct {
	id, stamp, body string
	signatures      []string
	header          http.Header
}

// inbox is a receiver. answer, where it is set, chooses the status of the nth request.
type inbox struct {
	answer func(n int) int

	mu  sync.Mutex // guards got and n
	got []sent
	n   int
}

func (b *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	status := http.StatusNoContent
	if b.answer != nil {
		status = b.answer(b.n)
	}
	if status < 300 {
		b.got = append(b.got, sent{
			id: r.Header.Get("webhook-id"), stamp: r.Header.Get("webhook-timestamp"), body: string(body),
			signatures: strings.Fields(r.Header.Get("webhook-signature")), header: r.Header,
		})
	}
	if status/100 == 3 {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(status)
}

func (b *inbox) all() []sent {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]sent(nil), b.got...)
}

func (b *inbox) ids() (ids []string) {
	for _, s := range b.all() {
		ids = append(ids, s.id)
	}
	return ids
}

func (b *inbox) requests() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}

// writer appends to a thread.
type writer struct {
	t     *testing.T
	log   events.Log
	key   events.ThreadKey
	epoch events.Epoch
	last  events.Seq
}

func write(t *testing.T, log events.Log, key events.ThreadKey) *writer {
	epoch, err := log.Claim(t.Context(), key, "test", false)
	require.NoError(t, err)
	w := &writer{t: t, log: log, key: key, epoch: epoch}
	w.add(events.WorkflowStarted{Message: "a request", Team: "trip"})
	return w
}

func (w *writer) add(facts ...events.Event) {
	w.t.Helper()
	envs := make([]events.Envelope, len(facts))
	for i, fact := range facts {
		envs[i] = events.Envelope{Run: run, Data: fact}
	}
	require.NoError(w.t, w.log.Append(w.t.Context(), w.key, w.epoch, w.last, envs))
	w.last += events.Seq(len(facts))
}

func phase(i int) events.Event {
	return events.PhaseChanged{To: events.Phase(fmt.Sprintf("phase %d", i)), ToAgent: "a", Reason: "it is time"}
}

// begin starts a sender.
func begin(t *testing.T, log webhook.Log, transport http.RoundTripper, logs io.Writer, receivers ...webhook.Receiver) (s *webhook.Sender, stop func()) {
	t.Helper()
	logger := zerolog.New(logs)
	s, err := webhook.New(webhook.Config{Log: log, Receivers: receivers, Logger: &logger})
	require.NoError(t, err)
	if transport != nil {
		s.SetTransport(transport)
	}
	require.NoError(t, s.Start(t.Context()))
	t.Cleanup(s.Stop)
	return s, s.Stop
}

func key(tenant events.TenantID) events.ThreadKey {
	return events.ThreadKey{Tenant: tenant, Thread: thread}
}

// A receiver that is down for a minute gets every event once it is back, in order, signed;
// each once.
//
// Proves R52.
func TestAReceiverThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		in := &inbox{}
		up := pipenet.Serve(t, in)
		var down atomic.Bool
		down.Store(true)
		door := func(r *http.Request) (*http.Response, error) {
			if down.Load() {
				return nil, errors.New("connection refused")
			}
			return up.RoundTrip(r)
		}
		var logs syncBuffer
		sender, stop := begin(t, log, roundTrip(door), &logs, webhook.Receiver{URL: "http://hooks.example/secret-path", PrivateHost: "hooks.example", Secrets: []string{secret}})
		w := write(t, log, key("local"))
		for i := range 60 {
			w.add(phase(i), events.Warning{Code: "x", Message: "of no concern"})
			time.Sleep(time.Second)
		}
		require.Empty(t, in.all())
		down.Store(false)
		time.Sleep(time.Minute)
		var want []string
		for i := range 60 {
			want = append(want, fmt.Sprintf("%s:%d", thread, 2+2*i))
		}
		require.Equal(t, want, in.ids())
		for i, s := range in.all() {
			env, err := events.Decode([]byte(s.body))
			require.NoError(t, err)
			require.Equal(t, phase(i), env.Data)
			require.Equal(t, []string{signature(t, secret, s)}, s.signatures)
			require.Equal(t, "application/json", s.header.Get("Content-Type"))
		}
		require.Contains(t, logs.String(), "connection refused")
		require.Contains(t, logs.String(), "the receiver is back")
		require.Equal(t, 1, strings.Count(logs.String(), "did not take the event"), "once, not for each attempt")
		require.NotContains(t, logs.String(), "secret-path")
		require.NotContains(t, logs.String(), secret)
		require.Contains(t, gathered(t, sender), `convene_webhook_attempts_total host=hooks.example outcome=delivered 60`)
		stop()
	})
}

// Proves R61: personal data is masked in what receivers get, and what a placeholder stands for
// left out, unless the operator has events sent as they are.
func TestReceiversGetNoPersonalData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, masked, whole := events.NewMemory(), &inbox{}, &inbox{}
		kinds := []events.Kind{events.KindInputRequested, events.KindValuesReplaced}
		for in, host := range map[*inbox]string{masked: "masked.example", whole: "whole.example"} {
			_, stop := begin(t, log, pipenet.Serve(t, in), io.Discard, webhook.Receiver{
				URL: "http://" + host + "/x", PrivateHost: host, Secrets: []string{secret}, Kinds: kinds, Unsanitized: in == whole,
			})
			defer stop()
		}
		write(t, log, key("local")).add(
			events.InputRequested{InputID: "i1", For: events.InputQuestion, Question: "Is ann@example.org right, \"ann\"?"},
			events.ValuesReplaced{Values: []events.ReplacedValue{{Placeholder: "[EMAIL_1]", What: "email", Original: "ann@example.org"}}})
		time.Sleep(time.Minute)
		question := func(in *inbox) string {
			env, err := events.Decode([]byte(in.all()[0].body))
			require.NoError(t, err)
			require.NotContains(t, in.all()[1].body, "ann@")
			return env.Data.(events.InputRequested).Question
		}
		require.Equal(t, `Is [EMAIL] right, "ann"?`, question(masked))
		require.Equal(t, `Is ann@example.org right, "ann"?`, question(whole))
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// signature is what Standard Webhooks asks for.
func signature(t *testing.T, secret string, s sent) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	require.NoError(t, err)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(s.id + "." + s.stamp + "." + s.body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func gathered(t *testing.T, s *webhook.Sender) (lines string) {
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(s.Metrics()[0]))
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			lines += family.GetName()
			for _, label := range m.GetLabel() {
				lines += " " + label.GetName() + "=" + label.GetValue()
			}
			lines += fmt.Sprintf(" %v\n", m.GetCounter().GetValue()+m.GetGauge().GetValue())
		}
	}
	return lines
}

// What is refused is sent again; a redirect is not followed; 410 ends it.
func TestAnswersThatAreNotTwoHundred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		in := &inbox{answer: func(n int) int {
			return map[int]int{1: 500, 2: 302, 3: 400, 4: 200, 5: 410}[n]
		}}
		var logs syncBuffer
		_, stop := begin(t, log, pipenet.Serve(t, in), &logs, webhook.Receiver{URL: "http://hooks.example", PrivateHost: "hooks.example", Secrets: []string{secret}})
		w := write(t, log, key("local"))
		w.add(phase(1), phase(2), phase(3))
		time.Sleep(time.Hour)
		require.Equal(t, []string{string(thread) + ":2"}, in.ids())
		require.Equal(t, 5, in.requests(), "what is gone is asked no more")
		require.Contains(t, logs.String(), "410 Gone")
		require.NotContains(t, logs.String(), "elsewhere")
		stop()
	})
}

// Tenants and kinds that are not asked for are not sent, and several secrets all sign.
func TestWhatIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		in := &inbox{}
		other := "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
		_, stop := begin(t, log, pipenet.Serve(t, in), io.Discard, webhook.Receiver{
			URL: "http://hooks.example", PrivateHost: "hooks.example", Secrets: []string{secret, other}, Tenants: []events.TenantID{"a"}, Kinds: []events.Kind{events.KindModelCalled, events.KindWarning},
		})
		write(t, log, key("b")).add(events.Warning{Code: "x", Message: "of b"})
		w := write(t, log, key("a"))
		w.add(
			phase(1),
			events.ModelCalled{ID: "f.1", Provider: "p", Model: "m", Attempts: 1, Reply: events.Reply{Text: "kept", Extra: []byte(`{"api":"responses"}`), FinishReason: events.FinishStop}},
			events.Warning{Code: "x", Message: strings.Repeat("x", webhook.MaxBodyBytes)},
		)
		time.Sleep(time.Second)
		got := in.all()
		require.Len(t, got, 2)
		require.Contains(t, got[0].body, `"extra":{"kept":true}`)
		require.Contains(t, got[0].body, `"tenant_id":"a"`)
		require.Less(t, len(got[1].body), 1000)
		require.Regexp(t, `"seq":4,.*"type":"warning","data":\{"_clipped":"\d+ bytes"\}\}$`, got[1].body)
		require.Equal(t, []string{signature(t, secret, got[0]), signature(t, other, got[0])}, got[0].signatures)
		stop()
	})
}

// A sender that ends goes on where it was, with what happened meanwhile.
func TestOnceAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	log := open(t, path)
	in := &inbox{}
	server := httptest.NewServer(in)
	defer server.Close()
	receiver := webhook.Receiver{URL: server.URL, Secrets: []string{secret}, PrivateHost: "127.0.0.1"}
	moved := make(chan struct{}, 10)
	_, stop := begin(t, told{log, moved}, nil, io.Discard, receiver)
	w := write(t, log, key("local"))
	w.add(phase(1))
	<-moved
	stop()
	w.add(phase(2), phase(3))
	require.NoError(t, log.Close())

	log = open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	_, stop = begin(t, told{log, moved}, nil, io.Discard, receiver)
	defer stop()
	for range 2 {
		<-moved
	}
	require.Equal(t, []string{string(thread) + ":2", string(thread) + ":3", string(thread) + ":4"}, in.ids())
}

func open(t *testing.T, path string) *sqlite.Log {
	log, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	return log
}

// told says when a bookmark was moved.
type told struct {
	events.Log
	moved chan struct{}
}

func (l told) SetBookmark(ctx context.Context, name string, cursor events.Cursor) error {
	err := l.Log.SetBookmark(ctx, name, cursor)
	l.moved <- struct{}{}
	return err
}

// Two senders of one log: one sends, and when it ends the other does.
func TestTwoSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewMemory()
		in := &inbox{}
		transport := pipenet.Serve(t, in)
		senders := make([]func(), 2)
		for i := range senders {
			s, err := webhook.New(webhook.Config{Log: log, Owner: events.Owner(fmt.Sprint("process ", i)), Receivers: []webhook.Receiver{{URL: "http://hooks.example", PrivateHost: "hooks.example", Secrets: []string{secret}}}})
			require.NoError(t, err)
			s.SetTransport(transport)
			require.NoError(t, s.Start(t.Context()))
			senders[i] = s.Stop
			synctest.Wait()
		}
		w := write(t, log, key("local"))
		w.add(phase(1), phase(2))
		time.Sleep(time.Second)
		require.Len(t, in.all(), 2)
		senders[0]()
		w.add(phase(3))
		time.Sleep(time.Minute)
		require.Len(t, in.all(), 3)
		senders[1]()
	})
}

// Addresses of this machine, of local networks and of metadata services are refused when a
// connection is made, whatever the name was found to be before.
func TestPrivateAddressesAreRefused(t *testing.T) {
	in := &inbox{}
	server := httptest.NewTLSServer(in)
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "localhost"} {
		log := events.NewMemory()
		var logs syncBuffer
		sender, stop := begin(t, log, nil, &logs, webhook.Receiver{URL: "https://" + net.JoinHostPort(host, port), Secrets: []string{secret}})
		write(t, log, key("local")).add(phase(1))
		require.Eventually(t, func() bool { return strings.Contains(logs.String(), "is not a public address") }, time.Minute, time.Millisecond)
		stop()
		require.Contains(t, gathered(t, sender), "outcome=delivered 0")
	}
	require.Zero(t, in.requests())
}

// syncBuffer is a buffer for two goroutines.
type syncBuffer struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestReceiversThatCannotBe(t *testing.T) {
	good := webhook.Receiver{URL: "https://hooks.example/x", Secrets: []string{secret}}
	for says, change := range map[string]func(*webhook.Receiver){
		"url is no address":                           func(r *webhook.Receiver) { r.URL = "hooks.example" },
		"url has a user name":                         func(r *webhook.Receiver) { r.URL = "https://me:pass@hooks.example" },
		"begins with http://":                         func(r *webhook.Receiver) { r.URL = "http://hooks.example" },
		`private_host is "other"`:                     func(r *webhook.Receiver) { r.PrivateHost = "other" },
		`no events of the kind "handoff"`:             func(r *webhook.Receiver) { r.Kinds = []events.Kind{"handoff"} },
		"it has no secret":                            func(r *webhook.Receiver) { r.Secrets = nil },
		"a secret is whsec_ and 24 to 64":             func(r *webhook.Receiver) { r.Secrets = []string{"whsec_c2hvcnQ="} },
		"a secret is whsec_ and 24 to 64 random byte": func(r *webhook.Receiver) { r.Secrets = []string{strings.Repeat("x", 40)} },
	} {
		r := good
		change(&r)
		_, err := webhook.New(webhook.Config{Log: events.NewMemory(), Receivers: []webhook.Receiver{r}})
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "pass@")
		require.NotContains(t, err.Error(), "xxxx")
	}
	_, err := webhook.New(webhook.Config{Log: events.NewMemory(), Receivers: []webhook.Receiver{good, good}})
	require.ErrorContains(t, err, "another has the same URL")
	_, err = webhook.New(webhook.Config{Receivers: []webhook.Receiver{good}})
	require.ErrorContains(t, err, "Log is required")
	require.Subset(t, webhook.DefaultKinds(), []events.Kind{events.KindHandoffRequested, events.KindHandoffReturned, events.KindHandoffResumed, events.KindWorkflowFinished, events.KindInputRequested})
	require.NotContains(t, webhook.DefaultKinds(), events.KindModelCalled)
}

// A log that was closed ends the sending.
func TestAClosedLog(t *testing.T) {
	log := events.NewMemory()
	s, err := webhook.New(webhook.Config{Log: log, Receivers: []webhook.Receiver{{URL: "https://hooks.example", Secrets: []string{secret}}}})
	require.NoError(t, err)
	require.NoError(t, log.Close())
	require.ErrorIs(t, s.Start(t.Context()), events.ErrClosed)
	s.Stop()
	s.Stop()
}
