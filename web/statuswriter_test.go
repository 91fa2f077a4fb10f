package web_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// leaver is a caller who is gone once the answer is on its way.
type leaver struct {
	http.ResponseWriter
	leave    func()
	statuses []int
}

func (l *leaver) WriteHeader(status int) { l.statuses = append(l.statuses, status) }

func (l *leaver) Write([]byte) (int, error) {
	l.leave()
	return 0, errors.New("broken pipe")
}

// A caller who leaves in the middle of an answer is logged as one; the answer has its status
// already, and is sent no other.
func TestStatusIsSentOnceToACallerWhoLeaves(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := zerolog.New(&log)
	server, err := web.New(web.Config{Log: events.NewMemory(), Address: "127.0.0.1:1", Logger: &logger})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	caller := &leaver{ResponseWriter: httptest.NewRecorder(), leave: cancel}
	server.ServeHTTP(caller, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:1/api/v1/runs", nil))
	require.Equal(t, []int{http.StatusOK}, caller.statuses)
	require.Contains(t, log.String(), `"status":499`)
}
