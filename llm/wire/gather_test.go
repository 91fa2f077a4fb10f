package wire_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/llm/wire"
)

// counting counts the writes to its connections.
type counting struct{ writes atomic.Int64 }

type countedConn struct {
	net.Conn
	to *counting
}

func (c countedConn) Write(p []byte) (int, error) {
	c.to.writes.Add(1)
	return c.Conn.Write(p)
}

func (c *counting) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return countedConn{conn, c}, err
}

// echo answers with what came whole.
func echo(w http.ResponseWriter, r *http.Request) {
	if body, err := io.ReadAll(r.Body); err == nil {
		_, _ = w.Write(body)
	}
}

// A request goes out in one write up to the bound, and is the same bytes whatever its size, on
// one connection after another request, over TLS too.
func TestARequestIsWrittenAtOnce(t *testing.T) {
	var connections atomic.Int64
	handler := http.HandlerFunc(echo)
	for name, start := range map[string]func(*httptest.Server){"http": (*httptest.Server).Start, "https": (*httptest.Server).StartTLS} {
		t.Run(name, func(t *testing.T) {
			connections.Store(0)
			server := httptest.NewUnstartedServer(handler)
			server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					connections.Add(1)
				}
			}
			start(server)
			defer server.Close()
			roots := x509.NewCertPool()
			if name == "https" {
				roots.AddCert(server.Certificate())
			}
			var count counting
			transport := wire.TransportForTest(wire.Config{RootCAs: roots}, count.dial)
			defer transport.CloseIdleConnections()
			for _, size := range []int{0, 1, 700, 800, 900, 1000, 1100, 5 << 10, 100 << 10, 1 << 20, 128 << 10, 3 << 10} {
				body := bytes.Repeat([]byte("POST x\r\n\r\n"), size/10+1)[:size]
				before := count.writes.Load()
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, io.NopCloser(bytes.NewReader(body)))
				require.NoError(t, err)
				request.ContentLength = int64(size)
				response, err := transport.RoundTrip(request)
				require.NoError(t, err)
				got, err := io.ReadAll(response.Body)
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				require.True(t, bytes.Equal(body, got), "%d bytes", size)
				if name == "http" && size < 127<<10 {
					require.EqualValues(t, 1, count.writes.Load()-before, "writes of %d bytes", size)
				}
			}
			require.EqualValues(t, 1, connections.Load())
		})
	}
}

// A body that breaks off, is shorter or longer than it says, or belongs to a head that is too
// long to be looked at, ends as it does without gathering, and the next request is whole.
func TestABodyThatBreaksOff(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(echo))
	defer server.Close()
	transport := wire.TransportForTest(wire.Config{}, (&net.Dialer{}).DialContext)
	defer transport.CloseIdleConnections()
	send := func(body io.Reader, length int64, key string) (string, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, io.NopCloser(body))
		require.NoError(t, err)
		request.ContentLength = length
		request.Header.Set("Authorization", key)
		response, err := transport.RoundTrip(request)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		got, err := io.ReadAll(response.Body)
		return string(got), err
	}
	text := strings.Repeat("0123456789", 1000)
	broken := errors.New("broken")
	for range 2 {
		_, err := send(io.MultiReader(strings.NewReader(text), &failing{broken}), 20_000, "k")
		require.Error(t, err)
		_, err = send(strings.NewReader(text), 20_000, "k")
		require.Error(t, err)
		_, _ = send(strings.NewReader(text), 5_000, "k") // which the server may answer first
		got, err := send(strings.NewReader(text), 10_000, strings.Repeat("k", 5000))
		require.NoError(t, err)
		require.Equal(t, text, got)
		got, err = send(strings.NewReader(text), 10_000, "k")
		require.NoError(t, err)
		require.Equal(t, text, got)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }
