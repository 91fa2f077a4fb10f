package web_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// broken is a log whose events cannot be read behind some seq.
type broken struct {
	events.Log
	behind events.Seq
}

func (b broken) ReadEncoded(ctx context.Context, key events.ThreadKey, after events.Seq, limit int, kinds ...events.Kind) ([]events.Encoded, error) {
	if after >= b.behind {
		return nil, errors.New("the disk is gone")
	}
	return b.Log.ReadEncoded(ctx, key, after, min(limit, 1), kinds...)
}

// An export that fails on the way breaks off: nobody takes the part for the whole.
func TestExportBreaksOff(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("a run")
	s.add(events.WorkflowFinished{Status: events.StatusCompleted})
	server := serve(t, web.Config{Log: broken{log, 1}})
	for _, format := range []string{"jsonl", "html"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url("/api/v1/runs/"+string(s.run)+"/export?format="+format), nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		if err == nil { // else it broke off before anything was sent
			_, err = io.ReadAll(response.Body)
			_ = response.Body.Close()
		}
		require.Error(t, err, format)
	}
}
