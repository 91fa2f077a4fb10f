package files

import "fmt"

// quotes follows the quotes of a CSV record (RFC 4180): a line's end inside of them
// belongs to a value. A quote opens only at the beginning of a value; amid one it is a
// mistake of that row, and must not take the rows behind it.
type quotes struct {
	state quoteState
	// opened is the line of the newest quote that opened a value.
	opened int
}

type quoteState int

const (
	atValue quoteState = iota // at the beginning of a value
	plain                     // in a value without quotes
	quoted                    // in quotes
	closing                   // behind a quote that closes, unless another one follows
)

// read goes through a part of the line with that number.
func (q *quotes) read(part []byte, line int) {
	for _, c := range part {
		switch {
		case q.state == quoted:
			if c == '"' {
				q.state = closing
			}
		case c == ',':
			q.state = atValue
		case c == '"' && q.state == atValue:
			q.state, q.opened = quoted, line
		case c == '"' && q.state == closing:
			q.state = quoted
		default:
			q.state = plain
		}
	}
}

func (q *quotes) open() bool { return q.state == quoted }

// unclosedError is a quote that would take the rest of the file for one value.
type unclosedError struct{ line int }

func (e *unclosedError) Error() string {
	return fmt.Sprintf("line %d: a quote is never closed, so the rest of the file would be one value; nothing was started. "+
		"Close it, and double the quotes inside of values", e.line)
}
