package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"io"

	"github.com/convene-run/convene/events"
)

// keptArtifact is an artifact as the store says it is.
type keptArtifact struct {
	id   events.ArtifactID
	size int64
	// thread is one of those that have it, 0 for none.
	thread int64
}

// artifacts checks every artifact against its checksums and its name.
func (k *check) artifacts(ctx context.Context) error {
	var kept []keptArtifact
	err := k.log.read(ctx, func(c *conn) error {
		return k.orFound(c.query(`SELECT a.sha256, a.size, coalesce(min(t.thread_no), 0) FROM artifacts a
			LEFT JOIN artifact_threads t USING (artifact_no) WHERE a.whole = 1 GROUP BY a.artifact_no`, nil, func(row []driver.Value) (bool, error) {
			id, _ := row[0].(string)
			size, _ := row[1].(int64)
			thread, _ := row[2].(int64)
			kept = append(kept, keptArtifact{events.ArtifactID(id), max(0, min(size, events.MaxArtifactBytes)), thread})
			return true, nil
		}))
	})
	for _, a := range kept {
		if err != nil {
			return err
		}
		k.report.Artifacts++
		err = k.artifact(ctx, a)
	}
	return err
}

// artifact checks one, unless it is dropped meanwhile.
func (k *check) artifact(ctx context.Context, a keptArtifact) error {
	err := k.log.hashed(ctx, a)
	if err == nil || !isCorrupt(err) && !errors.Is(err, events.ErrDamaged) {
		return err
	}
	return k.log.read(ctx, func(c *conn) error {
		there, counted := c.number(`SELECT count(*) FROM artifacts WHERE sha256 = ? AND whole = 1`, string(a.id))
		if counted != nil || there == 0 {
			return k.orFound(counted)
		}
		key, _ := threadKey(c, a.thread) // for a hint only
		k.found(Damage{Tenant: key.Tenant, Thread: key.Thread, Problem: err.Error(), Lost: true})
		return nil
	})
}

// hashed reads an artifact and compares it with its name.
func (l *Log) hashed(ctx context.Context, a keptArtifact) error {
	reader := &artifactReader{ctx: ctx, log: l, id: a.id, size: a.size, place: -1}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(reader, 0, a.size)); err != nil {
		return err
	}
	if hex.EncodeToString(hash.Sum(nil)) != string(a.id) {
		return &events.DamagedArtifactError{Artifact: a.id, Problem: "the bytes do not match its name"}
	}
	return nil
}
