package steer

import (
	"context"
	"fmt"
	"net/http"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/web"
)

// Batches steers the batches of a runner's log. It is safe for concurrent use if Again is.
type Batches struct {
	Runner *runner.Runner
	// Again continues a batch whose files were given to this process, in the background;
	// retry has its failed and degraded rows run again. It reports false for every other
	// batch. Defaults to one that has no batch: files that only a log names are neither read
	// nor written.
	Again func(batch events.BatchID, retry bool) bool
}

var _ web.Batches = (*Batches)(nil)

// Stop implements [web.Batches]: whichever process runs the batch stops it.
func (b *Batches) Stop(ctx context.Context, by access.Identity, batch events.BatchID) error {
	key := events.ThreadKey{Tenant: by.Tenant, Thread: events.ThreadID(batch)}
	_, err := b.Runner.Log().Post(ctx, key, events.Envelope{By: by.Actor(), Data: events.CancelRequested{Reason: "stopped from the dashboard"}})
	return err
}

// Continue implements [web.Batches].
func (b *Batches) Continue(_ context.Context, _ access.Identity, batch events.BatchSummary, retry bool) error {
	if b.Again != nil && b.Again(batch.Batch, retry) {
		return nil
	}
	return &web.Refusal{Status: http.StatusConflict, Detail: elsewhere(batch, retry)}
}

// elsewhere says where the batch can be continued.
func elsewhere(batch events.BatchSummary, retry bool) string {
	const why = "the files of this batch belong to the process that was started with them, which is gone or busy"
	command := batch.Continues(retry)
	if command == "" {
		return why + ": run the program that started the batch again"
	}
	return fmt.Sprintf("%s. Run in %s: %s", why, batch.Folder, command)
}
