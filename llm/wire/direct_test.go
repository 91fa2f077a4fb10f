package wire_test

import (
	"bufio"
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

// A request goes out in one write where it is not encrypted, and is the same bytes whatever its
// size, on one connection after another request, over TLS too.
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
				if name == "http" {
					require.EqualValues(t, 1, count.writes.Load()-before, "writes of %d bytes", size)
				}
			}
			require.EqualValues(t, 1, connections.Load())
		})
	}
}

// A body that breaks off, or is shorter or longer than it says, is an error, and the next
// request is whole.
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
		_, err = send(strings.NewReader(text), 5_000, "k")
		require.Error(t, err)
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

// raw answers each connection with what the test writes, once a request has come.
func raw(t *testing.T, answer func(net.Conn)) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				answer(conn)
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

// received takes one request in.
func received(in *bufio.Reader) bool {
	request, err := http.ReadRequest(in)
	if err == nil {
		_, err = io.Copy(io.Discard, request.Body)
	}
	return err == nil
}

func posted(ctx context.Context, t *testing.T, by http.RoundTripper, to, text string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(text))
	require.NoError(t, err)
	response, err := by.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	return string(got), err
}

// What is no answer is an error, and none of it is kept for the next request; what comes before
// an answer is passed over.
func TestAnswersOfAnySort(t *testing.T) {
	for name, c := range map[string]struct{ answer, want, failure string }{
		"nothing":            {"", "", "EOF"},
		"half a head":        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", "", "unexpected EOF"},
		"no HTTP":            {"SSH-2.0-OpenSSH_9\r\n", "", "malformed HTTP"},
		"an endless head":    {"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 2<<20), "", "head of the answer is too long"},
		"informational":      {"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", ""},
		"informational only": {strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 9), "", "too many informational"},
		"another protocol":   {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nxxx", "", ""},
		"HTTP/1.0":           {"HTTP/1.0 200 OK\r\n\r\nto the end", "to the end", ""},
		"more than it says":  {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and what nobody asked for", "ok", ""},
		"chunks":             {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nTrailer: x\r\n\r\n", "ok", ""},
		"half a chunk":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok", "ok", "unexpected EOF"},
		"no content":         {"HTTP/1.1 204 No Content\r\n\r\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			to := raw(t, func(conn net.Conn) {
				for in := bufio.NewReader(conn); received(in); {
					_, _ = io.WriteString(conn, c.answer)
					if c.failure != "" || strings.HasPrefix(c.answer, "HTTP/1.0") {
						return // which ends the answer; one that ends by itself may be followed by another
					}
				}
			})
			transport := wire.TransportForTest(wire.Config{}, (&net.Dialer{}).DialContext)
			defer transport.CloseIdleConnections()
			for range 2 {
				got, err := posted(t.Context(), t, transport, to, "x")
				require.Equal(t, c.want, got)
				if c.failure == "" {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, c.failure)
				}
			}
		})
	}
}

// A connection that its server has closed behind an answer is not used again.
func TestAConnectionThatWasClosedMeanwhile(t *testing.T) {
	closed := make(chan struct{}, 9)
	to := raw(t, func(conn net.Conn) {
		if received(bufio.NewReader(conn)) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
		_ = conn.Close()
		closed <- struct{}{}
	})
	transport := wire.TransportForTest(wire.Config{}, (&net.Dialer{}).DialContext)
	defer transport.CloseIdleConnections()
	for range 5 {
		got, err := posted(t.Context(), t, transport, to, "x")
		require.NoError(t, err)
		require.Equal(t, "ok", got)
		<-closed
	}
}

// A server that has read enough says so, and what it says arrives: whether it takes the rest of the
// request in, or leaves, so that writing the rest fails.
func TestAnAnswerBeforeTheWholeRequest(t *testing.T) {
	const answer = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig"
	for name, serve := range map[string]func(net.Conn){
		"it reads on": func(conn net.Conn) {
			_, _ = io.WriteString(conn, answer)
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
		},
		"it leaves": func(conn net.Conn) { _, _ = io.WriteString(conn, answer) },
	} {
		to := raw(t, func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 100))
			serve(conn)
		})
		transport := wire.TransportForTest(wire.Config{}, (&net.Dialer{}).DialContext)
		got, err := posted(t.Context(), t, transport, to, strings.Repeat("x", 32<<20)) // more than the system holds
		require.NoError(t, err, name)
		require.Equal(t, "big", got, name)
		transport.CloseIdleConnections()
	}
}

// The end of a call's context ends it with that cause, wherever it stands, and its connection.
func TestTheEndOfAContextEndsTheCall(t *testing.T) {
	cause := errors.New("enough")
	for name, begun := range map[string]string{"before the answer": "", "in the head": "HTTP/1.1 200", "in the body": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan error, 1)
			to := raw(t, func(conn net.Conn) {
				in := bufio.NewReader(conn)
				if received(in) {
					_, _ = io.WriteString(conn, begun)
					cancel(cause)
					_, err := in.ReadByte()
					ended <- err
				}
			})
			transport := wire.TransportForTest(wire.Config{}, (&net.Dialer{}).DialContext)
			defer transport.CloseIdleConnections()
			_, err := posted(ctx, t, transport, to, "x")
			require.ErrorIs(t, err, cause)
			require.Error(t, <-ended, "the connection is closed")
		})
	}
}

// A connection that is reset instead of an answer says so, whether that comes before somebody
// waits for it or while he does.
func TestAConnectionThatIsReset(t *testing.T) {
	to := raw(t, func(conn net.Conn) {
		if received(bufio.NewReader(conn)) {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}
	})
	transport := wire.TransportForTest(wire.Config{}, (&net.Dialer{}).DialContext)
	defer transport.CloseIdleConnections()
	for range 20 {
		_, err := posted(t.Context(), t, transport, to, "x")
		require.ErrorContains(t, err, "reset")
	}
}
