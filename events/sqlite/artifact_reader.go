package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"io"
	"sync"

	"github.com/convene-run/convene/events"
)

// artifactReader reads an artifact by whole pieces, and keeps the last.
type artifactReader struct {
	ctx  context.Context //nolint:containedctx // of who opened it: see [events.Artifacts]
	log  *Log
	id   events.ArtifactID
	size int64

	mu    sync.Mutex // guards what follows
	place int        // -1 for none
	piece []byte
}

// ReadAt implements [io.ReaderAt].
func (r *artifactReader) ReadAt(p []byte, offset int64) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n < len(p) {
		at := offset + int64(n)
		if at >= r.size {
			return n, io.EOF
		}
		if err := r.load(int(at / pieceBytes)); err != nil {
			return n, err
		}
		n += copy(p[n:], r.piece[at%pieceBytes:])
	}
	return n, nil
}

// load reads a piece and checks it.
func (r *artifactReader) load(place int) error {
	if r.place == place {
		return nil
	}
	var sum, piece []byte
	err := r.log.read(r.ctx, func(c *conn) error {
		return c.query(`SELECT p.sum, p.data FROM artifacts a JOIN artifact_pieces p USING (artifact_no) WHERE a.sha256 = ? AND p.place = ?`,
			[]any{string(r.id), int64(place)}, func(row []driver.Value) (bool, error) {
				sum, _ = row[0].([]byte)
				piece, _ = row[1].([]byte)
				return false, nil
			})
	})
	if err != nil {
		return err
	}
	offset := int64(place) * pieceBytes
	damaged := &events.DamagedArtifactError{Artifact: r.id, Offset: offset}
	switch {
	case sum == nil:
		damaged.Problem = "the bytes are missing"
		return damaged
	case !bytes.Equal(sum, pieceSum(r.id, place, piece)), int64(len(piece)) != min(pieceBytes, r.size-offset):
		damaged.Problem = "the bytes do not match their checksum"
		return damaged
	}
	r.place, r.piece = place, piece
	return nil
}
