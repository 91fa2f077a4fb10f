package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

const (
	// hostileRate is how many bad clients come in a second; they come for two seconds.
	hostileRate    = 1000
	hostileClients = 2 * hostileRate
	// memoryCeiling is for all that a server holds while they do: the cache of events
	// is bounded at 64 MB, a connection by some tens of kilobytes.
	memoryCeiling = 128 << 20
)

// Proves R71: clients that misbehave take nothing from the others: a thousand
// connects a second, oversize and fragmented frames, headers without end; the server
// answers all the while, its memory stays bounded and nothing of them is left.
func TestHostileClients(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("hostile clients")
	s.fill(50)
	server := serve(t, web.Config{Log: log})
	healthy := func() time.Duration {
		begun := time.Now()
		status, _, _ := server.get(t, "/healthz")
		require.Equal(t, http.StatusOK, status)
		return time.Since(begun)
	}
	healthy()
	goroutines := runtime.NumGoroutine()
	runtime.GC()
	before := memory()

	var all sync.WaitGroup
	var connected atomic.Int64
	begun := time.Now()
	all.Go(func() {
		pace := time.NewTicker(10 * time.Millisecond)
		defer pace.Stop()
		for come := 0; come < hostileClients; {
			<-pace.C
			due := min(hostileClients, int(hostileRate*time.Since(begun).Seconds()))
			for kind := come; kind < due; kind++ {
				all.Go(func() {
					if misbehave(kind, server, s.key.Thread) {
						connected.Add(1)
					}
				})
			}
			come = max(come, due)
		}
	})
	ended := make(chan struct{})
	go func() {
		all.Wait()
		close(ended)
	}()
	var slowest time.Duration
	peak := before
	answers := 0
	for open := true; open; answers++ {
		slowest, peak = max(slowest, healthy()), max(peak, memory())
		select {
		case <-ended:
			open = false
		case <-time.After(20 * time.Millisecond):
		}
	}
	rate := float64(connected.Load()) / time.Since(begun).Seconds()
	t.Logf("%d connects, %.0f a second until the last was gone; %d answers of /healthz, the slowest after %v; memory %d MB before, at most %d MB",
		connected.Load(), rate, answers, slowest, before>>20, peak>>20)
	require.Greater(t, connected.Load(), int64(hostileClients*9/10), "a connect that fails is none")
	require.Less(t, slowest, patience)
	require.Less(t, peak, before+memoryCeiling)
	require.Eventually(t, func() bool { return server.Viewers() == 0 && runtime.NumGoroutine() <= goroutines+5 }, time.Minute, 50*time.Millisecond,
		"goroutines: %d before", goroutines)
	healthy()
}

// memory is what the heap and the stacks of this process take now.
func memory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// misbehave is one bad client, each time another kind. It says whether it connected.
func misbehave(kind int, server *served, thread events.ThreadID) bool {
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(context.Background(), "tcp", server.address)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	upgrade := fmt.Sprintf("GET /ws?thread_id=%s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", thread, server.address)
	switch kind % 6 {
	case 0: // and is gone
		_, _ = io.WriteString(conn, upgrade)
		return true
	case 1: // a frame that says it is a gigabyte
		_, _ = io.WriteString(conn, upgrade+"\x81\xff\x00\x00\x00\x00\x40\x00\x00\x00abcd")
	case 2: // fragments without an end
		_, _ = io.WriteString(conn, upgrade)
		for range 200 {
			if _, err := io.WriteString(conn, "\x00\x84abcdwxyz"); err != nil {
				break
			}
		}
	case 3: // no mask, reserved bits
		_, _ = io.WriteString(conn, upgrade+"\xf1\x05hello")
	case 4: // half a header
		_, _ = io.WriteString(conn, upgrade[:60])
		time.Sleep(20 * time.Millisecond)
		return true
	case 5: // a header without end
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+server.address+"\r\nX: "+strings.Repeat("x", 100_000))
	}
	_, _ = io.Copy(io.Discard, bufio.NewReader(conn)) // until the server ends it, or two seconds
	return true
}
