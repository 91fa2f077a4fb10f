package web_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// encoded gives a thread as it stands in the log.
func encoded(t testing.TB, log events.Log, key events.ThreadKey) []string {
	t.Helper()
	all, err := log.ReadEncoded(t.Context(), key, 0, 0)
	require.NoError(t, err)
	bodies := make([]string, len(all))
	for i, e := range all {
		bodies[i] = string(e.Body)
	}
	return bodies
}

// Proves R12, R71: a viewer who joins late, in the middle or from the start gets
// exactly what the log has after his place, and then what comes.
func TestSocketGivesWhatIsThereAndThenWhatComes(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("long")
	server := serve(t, web.Config{Log: log})
	join := func(after events.Seq) {
		conn := server.dial(t, s.key.Thread, after)
		got := take(t, conn, after, s.seq)
		s.fill(3)
		got = append(got, take(t, conn, s.seq-3, s.seq)...)
		want, err := log.ReadEncoded(t.Context(), s.key, after, 0)
		require.NoError(t, err)
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, string(want[i].Body), got[i])
		}
		require.NoError(t, conn.Close())
	}
	s.fill(1200)
	for _, after := range []events.Seq{0, 255, 256, 1023, s.seq} {
		join(after)
	}
	s.fill(50_500)
	join(50_000)
}

// Proves R71: a viewer whose connection is cut a hundred times has in the end what
// one has who was never cut.
func TestSocketCutAHundredTimes(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("cut")
	server := serve(t, web.Config{Log: log})
	const cuts, perCut = 100, 40
	var got []string
	for range cuts {
		after := events.Seq(len(got))
		conn := server.dial(t, s.key.Thread, after)
		s.fill(perCut)
		got = append(got, take(t, conn, after, after+1+events.Seq(rand.IntN(perCut)))...)
		require.NoError(t, conn.Close()) // in the middle of what is on its way
	}
	conn := server.dial(t, s.key.Thread, events.Seq(len(got)))
	got = append(got, take(t, conn, events.Seq(len(got)), s.seq)...)
	require.Equal(t, encoded(t, log, s.key), got)
}

// Proves R71: server-sent events bring the same, by Last-Event-ID.
func TestServerSentEvents(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("sse")
	s.fill(700)
	server := serve(t, web.Config{Log: log})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.url("/api/v1/threads/"+string(s.key.Thread)+"/events"), nil)
	require.NoError(t, err)
	request.Header.Set("Last-Event-ID", "300")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer http.DefaultClient.CloseIdleConnections()
	defer response.Body.Close()
	require.Equal(t, "text/event-stream; charset=utf-8", response.Header.Get("Content-Type"))
	s.fill(5)
	var got []string
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() && len(got) < 406 {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			require.Equal(t, fmt.Sprint(301+len(got)), id)
			require.True(t, lines.Scan())
			got = append(got, strings.TrimPrefix(lines.Text(), "data: "))
			if len(got) == 406 {
				break
			}
		}
	}
	require.Equal(t, encoded(t, log, s.key)[300:], got)
}

// countingLog counts the reads, and the events that are encoded for them.
type countingLog struct {
	events.Log
	encoded, reads atomic.Int64
}

func (l *countingLog) ReadEncoded(ctx context.Context, key events.ThreadKey, after events.Seq, limit int, kinds ...events.Kind) ([]events.Encoded, error) {
	all, err := l.Log.ReadEncoded(ctx, key, after, limit, kinds...)
	l.encoded.Add(int64(len(all)))
	l.reads.Add(1)
	return all, err
}

// Proves R71: a thousand viewers of one run, and each event is read and encoded once,
// however many there are.
func TestAThousandViewersEncodeOnce(t *testing.T) {
	log := &countingLog{Log: events.NewMemory()}
	s := newScript(t, log)
	s.start("popular")
	s.fill(99)
	server := serve(t, web.Config{Log: log})
	const viewers = 1000
	conns := make([]*websocket.Conn, viewers)
	for i := range conns {
		conns[i] = server.dial(t, s.key.Thread, 0)
	}
	require.Equal(t, viewers, server.Viewers())
	for _, conn := range conns {
		require.NoError(t, drain(conn, s.seq))
	}
	before := log.reads.Load()
	s.fill(100)
	var all sync.WaitGroup
	failed := make(chan error, viewers)
	for _, conn := range conns {
		all.Go(func() { failed <- drain(conn, s.seq) })
	}
	all.Wait()
	for range conns {
		require.NoError(t, <-failed)
	}
	require.Equal(t, int64(200), log.encoded.Load())
	require.Less(t, log.reads.Load()-before, int64(viewers/2), "viewers who have what the follower has seen ask the log for nothing")
	_, _, metrics := server.get(t, "/metrics")
	require.Contains(t, metrics, "convene_events_sent_total 200000")
	for _, conn := range conns {
		require.NoError(t, conn.Close())
	}
	require.Eventually(t, func() bool { return server.Viewers() == 0 }, time.Minute, 10*time.Millisecond)
}

// drain reads until the event with that seq.
func drain(conn *websocket.Conn, until events.Seq) error {
	last := fmt.Sprintf(`"seq":%d,`, until)
	for {
		if err := conn.SetReadDeadline(time.Now().Add(60 * time.Second)); err != nil {
			return err
		}
		_, message, err := conn.ReadMessage()
		if err != nil || strings.Contains(string(message), last) {
			return err
		}
	}
}

// Proves R71: a viewer who reads nothing delays neither the run nor another viewer.
func TestStalledViewerDelaysNobody(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("stalled")
	server := serve(t, web.Config{Log: log})
	server.dial(t, s.key.Thread, 0) // never reads
	live := server.dial(t, s.key.Thread, 0)
	take(t, live, 0, s.seq)
	// More than all buffers of a connection hold: sixteen megabytes.
	long := strings.Repeat("x", 8<<10)
	for range 10 {
		before := s.seq
		begun := time.Now()
		for range 200 {
			s.add(events.Warning{Code: "test", Message: long})
		}
		take(t, live, before, s.seq)
		require.Less(t, time.Since(begun), patience)
	}
}

// Proves R71: what agents do now comes marked as lossy, beside the events.
func TestLiveMomentsAreMarkedLossy(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("live")
	server := serve(t, web.Config{Log: log, Runs: fakeLive{}})
	conn := server.dial(t, s.key.Thread, s.seq)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	_, message, err := conn.ReadMessage()
	require.NoError(t, err)
	require.Contains(t, string(message), `{"lossy":true,"now":"`)
	require.Contains(t, string(message), `"driven":true,"agents":[{"agent":"food","display_name":"Food","phase":"writing"`)
}

type fakeLive struct{ web.Runs }

func (fakeLive) Live(events.ThreadKey) ([]web.LiveAgent, bool) {
	return []web.LiveAgent{{Agent: "food", DisplayName: "Food", Phase: "writing", Stream: []web.LivePiece{{Text: "the tofu house on"}}}}, true
}
