package batch

import (
	"errors"
	"iter"
	"strconv"
)

// placed gives rows that have no Index the place at which they come, and rows that have
// no ID that for a name. Whoever numbers rows numbers all of them: once a row has an
// Index above 0, a 0 is meant.
func placed(rows iter.Seq2[Row, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		place, numbered := 0, false
		for row, err := range rows {
			id, index := &row.ID, &row.Index
			var bad *RowError
			if errors.As(err, &bad) {
				own := *bad
				err, id, index = &own, &own.ID, &own.Index
			}
			if numbered = numbered || *index != 0; !numbered {
				*index = place
			}
			if *id == "" {
				*id = strconv.Itoa(*index)
			}
			if !yield(row, err) {
				return
			}
			place++
		}
	}
}
