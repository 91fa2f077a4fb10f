package sqlite

import (
	"context"
	"fmt"
)

// artifactsOf are those that a thread has.
func (tx *transaction) artifactsOf(thread int64) (numbers []int64, err error) {
	return tx.conn.numbers(`SELECT artifact_no FROM artifact_threads WHERE thread_no = ?`, thread)
}

// dropArtifacts deletes those of the artifacts that no thread has.
func (l *Log) dropArtifacts(ctx context.Context, numbers []int64) error {
	for _, no := range numbers {
		for more := true; more; {
			err := l.submit(ctx, func(tx *transaction) (refusal, failure error) {
				var err error
				more, err = tx.dropPieces(no)
				return nil, err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// dropPieces deletes some pieces of an artifact that no thread has, with the last of them
// the artifact.
func (tx *transaction) dropPieces(no int64) (more bool, err error) {
	free, err := tx.conn.number(`SELECT count(*) FROM artifacts a WHERE artifact_no = ?
		AND NOT EXISTS (SELECT 1 FROM artifact_threads t WHERE t.artifact_no = a.artifact_no)`, no)
	if err != nil || free == 0 {
		return false, err
	}
	tx.changed = true
	for _, statement := range []string{
		`UPDATE artifacts SET whole = 0 WHERE artifact_no = ?1`,
		fmt.Sprintf(`DELETE FROM artifact_pieces WHERE piece_no IN
			(SELECT piece_no FROM artifact_pieces WHERE artifact_no = ?1 LIMIT %d)`, droppedAtOnce),
	} {
		if err := tx.conn.exec(statement, no); err != nil {
			return false, err
		}
	}
	left, err := tx.conn.number(`SELECT EXISTS (SELECT 1 FROM artifact_pieces WHERE artifact_no = ?)`, no)
	if err != nil || left == 1 {
		return true, err
	}
	return false, tx.conn.exec(`DELETE FROM artifacts WHERE artifact_no = ?`, no)
}

// dropOrphans deletes what was put for an event that never came, where nobody holds the
// thread any more, and all that no thread has.
func (l *Log) dropOrphans(ctx context.Context) error {
	var orphans []int64
	err := l.submit(ctx, func(tx *transaction) (refusal, failure error) {
		tx.changed = true
		err := tx.conn.exec(`DELETE FROM artifact_threads WHERE named = 0
			AND thread_no IN (SELECT thread_no FROM threads WHERE owner_file = '')`)
		if err == nil {
			orphans, err = tx.conn.numbers(`SELECT artifact_no FROM artifacts a
				WHERE NOT EXISTS (SELECT 1 FROM artifact_threads t WHERE t.artifact_no = a.artifact_no)`)
		}
		return nil, err
	})
	if err != nil {
		return err
	}
	return l.dropArtifacts(ctx, orphans)
}
