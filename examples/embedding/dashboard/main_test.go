package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// What is started from the page is a run of the program's tenant, which is at rest once
// the program has ended.
func TestDashboard(t *testing.T) {
	t.Setenv("CONVENE_MODEL", "sim")
	store := filepath.Join(t.TempDir(), "dashboard.db")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said, saying := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, saying, store, "acme", "127.0.0.1:0")
		saying.CloseWithError(err)
		ended <- err
	}()
	line := make([]byte, 100)
	n, err := said.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSpace(strings.TrimPrefix(string(line[:n]), "dashboard: "))
	response, err := http.Post(address+"api/v1/runs", "application/json", strings.NewReader(`{"request":"Plan a day in Faro"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var started struct {
		Run string `json:"run_id"`
	}
	if err := json.NewDecoder(response.Body).Decode(&started); err != nil || response.StatusCode != http.StatusCreated {
		t.Fatalf("%s: %+v, %v", response.Status, started, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}

	log, err := sqlite.Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	summary, err := log.FindRun(t.Context(), "acme", started.Run)
	if err != nil || summary.Status == events.StatusRunning {
		t.Errorf("the run is %q, %v", summary.Status, err)
	}
}
