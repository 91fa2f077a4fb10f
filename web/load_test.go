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
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// Proves R71: clients that misbehave take nothing from the others: a thousand
// connects, oversize and fragmented frames, slow headers; the server answers all the
// while, its memory stays bounded and nothing of them is left.
func TestHostileClients(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("hostile clients")
	s.fill(50)
	server := serve(t, web.Config{Log: log})
	healthy := func() {
		begun := time.Now()
		status, _, _ := server.get(t, "/healthz")
		require.Equal(t, http.StatusOK, status)
		require.Less(t, time.Since(begun), 5*time.Second)
	}
	healthy()
	goroutines := runtime.NumGoroutine()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)

	const connects, atOnce = 1000, 100
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range connects {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			misbehave(i, server, s.key.Thread)
		})
		if i%250 == 0 {
			healthy()
		}
	}
	all.Wait()
	healthy()
	runtime.ReadMemStats(&after)
	const ceiling = 200 << 20 // the cache of events and the buffers of a thousand connections
	require.Less(t, after.HeapAlloc, before.HeapAlloc+ceiling)
	require.Eventually(t, func() bool { return server.Viewers() == 0 && runtime.NumGoroutine() <= goroutines+5 }, 20*time.Second, 50*time.Millisecond,
		"goroutines: %d before", goroutines)
	healthy()
}

// misbehave is one bad client, each time another kind.
func misbehave(kind int, server *served, thread events.ThreadID) {
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(context.Background(), "tcp", server.address)
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	upgrade := fmt.Sprintf("GET /ws?thread_id=%s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", thread, server.address)
	switch kind % 6 {
	case 0: // and is gone
		_, _ = io.WriteString(conn, upgrade)
		return
	case 1: // a frame that says it is a gigabyte
		_, _ = io.WriteString(conn, upgrade+"\x81\xff\x00\x00\x00\x00\x40\x00\x00\x00abcd")
	case 2: // fragments without an end
		_, _ = io.WriteString(conn, upgrade)
		for range 200 {
			if _, err := io.WriteString(conn, "\x00\x84abcdwxyz"); err != nil {
				return
			}
		}
	case 3: // no mask, reserved bits
		_, _ = io.WriteString(conn, upgrade+"\xf1\x05hello")
	case 4: // half a header
		_, _ = io.WriteString(conn, upgrade[:60])
		time.Sleep(20 * time.Millisecond)
		return
	case 5: // a header without end
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+server.address+"\r\nX: "+strings.Repeat("x", 100_000))
	}
	_, _ = io.Copy(io.Discard, bufio.NewReader(conn)) // until the server ends it, or two seconds
}
