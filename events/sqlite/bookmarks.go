package sqlite

import (
	"context"
	"database/sql/driver"
	"strconv"

	"github.com/convene-run/convene/events"
)

// Bookmark implements [events.Log].
func (l *Log) Bookmark(ctx context.Context, name string) (cursor events.Cursor, err error) {
	err = l.submit(ctx, func(tx *transaction) (refusal, failure error) {
		known := false
		err := tx.conn.query(`SELECT cursor FROM bookmarks WHERE name = ?`, []any{name}, func(row []driver.Value) (bool, error) {
			text, _ := row[0].(string)
			cursor, known = events.Cursor(text), true
			return false, nil
		})
		if known || err != nil {
			return nil, err
		}
		end, err := tx.conn.number(`SELECT max(pos) FROM blocks`)
		if err != nil {
			return nil, err
		}
		cursor = events.Cursor(strconv.FormatInt(end, 10))
		return nil, tx.setBookmark(name, cursor)
	})
	return cursor, err
}

// SetBookmark implements [events.Log].
func (l *Log) SetBookmark(ctx context.Context, name string, cursor events.Cursor) error {
	return l.submit(ctx, func(tx *transaction) (refusal, failure error) { return nil, tx.setBookmark(name, cursor) })
}

func (tx *transaction) setBookmark(name string, cursor events.Cursor) error {
	tx.changed = true
	return tx.conn.exec(`INSERT INTO bookmarks (name, cursor) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET cursor = excluded.cursor`, name, string(cursor))
}
