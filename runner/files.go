package runner

import (
	"context"
	"io"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
)

// files keeps files for a thread that is claimed.
type files struct {
	log   events.Artifacts
	key   events.ThreadKey
	epoch events.Epoch
}

var _ loop.Files = files{}

// Put implements [loop.Files].
func (f files) Put(ctx context.Context, data []byte) (events.ArtifactID, error) {
	return f.log.PutArtifact(ctx, f.key, f.epoch, data)
}

// Open implements [loop.Files].
func (f files) Open(ctx context.Context, id events.ArtifactID) (*io.SectionReader, error) {
	return f.log.OpenArtifact(ctx, f.key, id)
}

// files keeps what the run's agents make and are given.
func (r *Run) files() files { return files{r.runner.config.Log, r.key, r.epoch} }
