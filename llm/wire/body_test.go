package wire

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// tapped tells when the transport has closed a request's body.
type tapped struct {
	next   http.RoundTripper
	sent   *http.Request
	body   *body
	closed chan struct{}
}

func (t *tapped) RoundTrip(request *http.Request) (*http.Response, error) {
	t.sent, t.body = request.Clone(request.Context()), request.Body.(*body)
	request.Body = closing{t.body, t.closed}
	return t.next.RoundTrip(request)
}

type closing struct {
	*body
	closed chan struct{}
}

func (c closing) Close() error {
	defer close(c.closed)
	return c.body.Close()
}

// always is a request that says this.
type always []byte

func (a always) Encode(dst []byte) []byte { return append(dst, a...) }

// Whoever waits for an answer holds no bytes of what was asked, however much that was. They
// arrive whole, and are the same when the transport asks for them again.
func TestWhatWasSentIsNotHeldWhileTheAnswerIsAwaited(t *testing.T) {
	arrived, answer := make(chan []byte, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		arrived <- got
		<-answer
	}))
	defer server.Close()
	release := sync.OnceFunc(func() { close(answer) })
	defer release()
	to, err := url.Parse(server.URL)
	require.NoError(t, err)
	c := NewConn(Config{BaseURL: server.URL})
	tap := &tapped{next: c.transport, closed: make(chan struct{})}
	c.transport = tap
	text := bytes.Repeat([]byte("what was said, and more of it. "), 3<<10)

	ended := make(chan error, 1)
	go func() {
		response, err := c.send(t.Context(), to, always(text))
		if err == nil {
			err = response.Body.Close()
		}
		ended <- err
	}()
	require.Equal(t, text, <-arrived)
	<-tap.closed
	require.True(t, tap.body.data == nil, "the bytes are given back")
	_, err = tap.body.Read(make([]byte, 1))
	require.ErrorIs(t, err, errBodyClosed)

	again, err := tap.sent.GetBody()
	require.NoError(t, err)
	got, err := io.ReadAll(again)
	require.NoError(t, err)
	require.Equal(t, text, got)
	require.EqualValues(t, len(text), tap.sent.ContentLength)
	require.NoError(t, again.Close())
	require.NoError(t, again.Close(), "closed twice, it is given back once")
	release()
	require.NoError(t, <-ended)
}
