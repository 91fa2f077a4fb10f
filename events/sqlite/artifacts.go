package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/convene-run/convene/events"
)

const (
	// pieceBytes is how much of an artifact stands in one row, and is read and checked at once.
	// The layout of stores depends on it.
	pieceBytes = 256 << 10
	// piecesAtOnce bounds what one commit writes of an artifact, so that the appends of runs
	// wait no more than some milliseconds for it; droppedAtOnce what one commit deletes.
	piecesAtOnce  = 4
	droppedAtOnce = 64
)

// PutArtifact implements [events.Artifacts]. A large one takes several commits, between
// which runs append; until the last it is not there.
func (l *Log) PutArtifact(ctx context.Context, key events.ThreadKey, epoch events.Epoch, data []byte) (events.ArtifactID, error) {
	if len(data) > events.MaxArtifactBytes {
		return "", fmt.Errorf("keep %d bytes for thread=%s: %w", len(data), key.Thread, events.ErrArtifactSize)
	}
	id := events.ArtifactOf(data)
	for place, whole := 0, false; !whole; {
		err := l.send(ctx, &request{patient: true, apply: func(tx *transaction) (refusal, failure error) {
			state, err := tx.thread(key)
			if err != nil {
				return nil, err
			}
			if state == nil || state.owner == "" || state.epoch != epoch {
				return fmt.Errorf("keep artifact %s for thread=%s epoch=%d: %w", id.Short(), key.Thread, epoch, events.ErrFenced), nil
			}
			place, whole, err = tx.putPieces(state.no, id, data, place)
			return nil, err
		}})
		if err != nil {
			return "", err
		}
	}
	return id, nil
}

// putPieces writes the next pieces of an artifact, and says how far it came. It belongs to
// the thread from the first piece on, so that nobody deletes it meanwhile.
func (tx *transaction) putPieces(thread int64, id events.ArtifactID, data []byte, place int) (next int, whole bool, err error) {
	tx.changed = true
	if err := tx.conn.exec(`INSERT INTO artifacts (sha256, size, whole) VALUES (?, ?, 0) ON CONFLICT DO NOTHING`, string(id), int64(len(data))); err != nil {
		return 0, false, err
	}
	var no int64
	err = tx.conn.query(`SELECT artifact_no, whole FROM artifacts WHERE sha256 = ?`, []any{string(id)}, func(row []driver.Value) (bool, error) {
		no, whole = row[0].(int64), row[1] == int64(1)
		return false, nil
	})
	if err == nil {
		err = tx.conn.exec(`INSERT INTO artifact_threads (thread_no, artifact_no, named) VALUES (?, ?, 0) ON CONFLICT DO NOTHING`, thread, no)
	}
	if err != nil || whole {
		return place, whole, err
	}
	for range piecesAtOnce {
		from := place * pieceBytes
		if from >= len(data) {
			break
		}
		piece := data[from:min(from+pieceBytes, len(data))]
		err := tx.conn.exec(`INSERT INTO artifact_pieces (artifact_no, place, sum, data) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			no, int64(place), pieceSum(id, place, piece), piece)
		if err != nil {
			return place, false, err
		}
		place++
	}
	if place*pieceBytes < len(data) {
		return place, false, nil
	}
	return place, true, tx.conn.exec(`UPDATE artifacts SET whole = 1 WHERE artifact_no = ?`, no)
}

// pieceSum is the checksum of a piece at its place: one that stands elsewhere shows.
func pieceSum(id events.ArtifactID, place int, piece []byte) []byte {
	hash := sha256.New()
	hash.Write(binary.AppendUvarint([]byte(id), uint64(place)))
	hash.Write(piece)
	return hash.Sum(nil)[:len(events.Checksum{})]
}

// nameArtifacts gives a thread what its event names, as far as the store has it.
func (tx *transaction) nameArtifacts(thread int64, event events.Event) error {
	for _, id := range events.Named(event) {
		err := tx.conn.exec(`INSERT INTO artifact_threads (thread_no, artifact_no, named)
			SELECT ?1, artifact_no, 1 FROM artifacts WHERE sha256 = ?2 AND whole = 1
			ON CONFLICT DO UPDATE SET named = 1`, thread, string(id))
		if err != nil {
			return err
		}
	}
	return nil
}

// OpenArtifact implements [events.Artifacts].
func (l *Log) OpenArtifact(ctx context.Context, key events.ThreadKey, id events.ArtifactID) (*io.SectionReader, error) {
	size := int64(-1)
	err := l.read(ctx, func(c *conn) error {
		return c.query(`SELECT a.size FROM threads t JOIN artifact_threads USING (thread_no) JOIN artifacts a USING (artifact_no)
			WHERE t.tenant = ? AND t.thread = ? AND a.sha256 = ? AND a.whole = 1`,
			[]any{string(key.Tenant), string(key.Thread), string(id)}, func(row []driver.Value) (bool, error) {
				size, _ = row[0].(int64)
				return false, nil
			})
	})
	switch {
	case err != nil:
		return nil, err
	case size < 0:
		return nil, fmt.Errorf("artifact %s of thread=%s: %w", id.Short(), key.Thread, events.ErrNotFound)
	case size > events.MaxArtifactBytes:
		return nil, &events.DamagedArtifactError{Artifact: id, Problem: fmt.Sprintf("it is said to have %d bytes", size)}
	}
	return io.NewSectionReader(&artifactReader{ctx: ctx, log: l, id: id, size: size, place: -1}, 0, size), nil
}
