//go:build browser

package web_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/steer"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/web"
)

// steered is a batch that its page stops, continues and retries, as `convene batch --linger`
// has it.
type steered struct {
	t      *testing.T
	files  batch.Files
	config batch.Config
	// ended has one for each time that the batch was driven.
	ended chan batch.Report
}

// drive runs the batch in the background, and holds its files as long.
func (s *steered) drive(retry bool) events.BatchID {
	s.files.RetryFailed = retry
	job, err := batch.Open(s.t.Context(), s.files, s.config)
	require.NoError(s.t, err)
	go func() {
		report, err := job.Run(s.t.Context())
		if err == nil {
			err = job.Close()
		}
		if err != nil {
			s.t.Errorf("the batch: %v", err)
		}
		s.ended <- report
	}()
	return job.ID()
}

// Proves R71: a batch is stopped, continued and retried from its page, each once and with what
// came of it; rows without an id are named by the line on which they stand.
func TestBatchIsSteeredFromItsPage(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	soon := make(chan struct{})
	r, err := runner.New(runner.Config{Log: log, Models: oneEndpoint{gatedModel(t, map[string]func() <-chan struct{}{"for soon": until(soon)})}})
	require.NoError(t, err)
	trip, err := team.Builtin("trip")
	require.NoError(t, err)
	dir := t.TempDir()
	s := &steered{
		t: t, files: batch.Files{Input: filepath.Join(dir, "asked.txt"), Output: filepath.Join(dir, "answered.jsonl")},
		config: batch.Config{Runner: r, Team: trip, Solo: true, Concurrency: 1}, ended: make(chan batch.Report, 9),
	}
	require.NoError(t, os.WriteFile(s.files.Input, []byte("Plan a day\nPlan the impossible\nPlan a day, for soon\nPlan a third day\n"), 0o600))
	again := func(_ events.BatchID, retry bool) bool {
		<-s.ended
		s.drive(retry)
		return true
	}
	server := serve(t, web.Config{Log: log, Batches: &steer.Batches{Runner: r, Again: again}})
	id := s.drive(false)
	b := browse(t)
	b.open(server.url("/batches/" + string(id)))
	const buttons = `[...document.querySelectorAll('.head .actions button')].map((e) => e.innerText).join()`
	done := func(rows string) string {
		return `document.querySelector('.head .done').innerText === '` + rows + `/4 rows'`
	}
	b.wait(done("2") + ` && document.querySelectorAll('#batch-rows .row').length === 3`)
	require.Equal(t, "Stop", js[string](b, buttons))
	require.Equal(t, "line 1 line 2 line 3", js[string](b, `[...document.querySelectorAll('#batch-rows .row .id')].map((e) => e.innerText).join(' ')`))
	b.wait(`document.querySelector('.under-way a')?.innerText === 'line 3' && document.querySelector('.causes .first')?.innerText === 'first line 2'`)
	b.click(".head .actions button")
	b.wait(buttons + ` === ''`) // it stops once the row's call has ended
	close(soon)
	b.wait(`(` + batchState + `).includes('suspended') && ` + buttons + `.startsWith('Resume')`)
	require.Contains(t, b.text(".notice"), "Stopped from the dashboard. 1 row is left.")
	b.shot("batch-stopped")
	b.click(".head .actions button")
	b.wait(`(` + batchState + `).includes('degraded') && ` + done("4") + ` && ` + buttons + `.startsWith('Retry 1 row')`)
	b.click(".head .actions button")
	b.wait(`document.querySelector('.head').innerText.includes('retry 1') && (` + batchState + `).includes('degraded')`)
	b.wait(`[...document.querySelectorAll('#batch-rows .row .retry')].some((e) => e.innerText === '1')`)
	b.shot("batch-retried")
	<-s.ended
	require.Contains(t, b.text(".notice"), "1 row failed. The same command with --retry-failed retries it.")
	b.click("#batch-rows .row a")
	b.wait(`document.querySelector('.head .of')?.innerText.startsWith('line 1 of batch')`)
	b.clean()
}
