package builtin

import (
	"context"
	"database/sql"
	"encoding/csv"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/convene-run/convene/internal/chars"
)

// maxCellChars bounds what is shown of a value.
const maxCellChars = 2_000

// query runs a query and gives its first rows, in at most most characters.
func query(ctx context.Context, db database, statement string, most int) (string, error) {
	tx, done, err := db.open(ctx)
	if err != nil {
		return "", db.plain(err)
	}
	defer done()
	rows, err := tx.QueryContext(ctx, statement)
	if err != nil {
		return "", db.plain(err)
	}
	defer func() { _ = rows.Close() }()
	text, err := asCSV(rows, most)
	if err != nil {
		return "", db.plain(err)
	}
	return text, nil
}

// asCSV writes rows as long as there is room.
func asCSV(rows *sql.Rows, most int) (string, error) {
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	count, length := 0, 0
	add := func(row []string) bool {
		var line strings.Builder
		w := csv.NewWriter(&line)
		_ = w.Write(row) // into memory
		w.Flush()
		if length += chars.Count(line.String()); length > most {
			return false
		}
		b.WriteString(line.String())
		return true
	}
	add(columns)
	values, places := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return "", err
		}
		if count == maxRows || !add(cells(values)) {
			fmt.Fprintf(&b, "[the first %d rows; more were not read: ask for them with OFFSET, or for less]", count)
			return b.String(), nil
		}
		count++
	}
	if err := rows.Err(); err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "[%d rows]", count)
	return b.String(), nil
}

// cells are the values of a row as text.
func cells(values []any) []string {
	row := make([]string, len(values))
	for i, value := range values {
		switch v := value.(type) {
		case nil:
			row[i] = "NULL"
		case []byte:
			row[i] = fmt.Sprintf("(%d bytes)", len(v))
			if utf8.Valid(v) {
				row[i] = string(v)
			}
		case time.Time:
			row[i] = v.Format(time.RFC3339Nano)
		default:
			row[i] = fmt.Sprint(v)
		}
		row[i] = chars.Clip(row[i], maxCellChars)
	}
	return row
}
