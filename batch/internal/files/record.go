package files

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
)

// MaxRowBytes bounds one row of a file: several times the longest request, so that
// escapes and other columns have room. What is longer is read past, not kept.
const MaxRowBytes = 8 << 20

// Record is one row of a file as it stands there.
type Record struct {
	// Line is where it begins, from 1, and last where it ends.
	Line, last int
	// Data is valid until the next record; without the line's end.
	Data []byte
	// size is its length, above MaxRowBytes where Data is cut.
	size int
	// digest is of all of it.
	digest [sha256.Size]byte
}

func (r *Record) tooLong() bool { return r.size > MaxRowBytes }

// Records splits a file into records without ever holding more than one.
type Records struct {
	in     *bufio.Reader
	quoted bool
	line   int // of the next byte
	data   []byte
	hash   hash.Hash
}

var byteOrderMark = []byte("\ufeff")

// NewRecords reads from in. quoted lets a record go on over the end of a line inside of
// quotes, as CSV does.
func NewRecords(in io.Reader, quoted bool) *Records {
	r := &Records{in: bufio.NewReaderSize(in, 64<<10), quoted: quoted, line: 1, hash: sha256.New()}
	if mark, _ := r.in.Peek(len(byteOrderMark)); bytes.Equal(mark, byteOrderMark) {
		_, _ = r.in.Discard(len(byteOrderMark)) // was just seen
	}
	return r
}

// Next gives the next record that is not blank, or io.EOF. A quote that is never closed
// is an [*unclosedError].
func (r *Records) Next() (Record, error) {
	for {
		rec, err := r.read()
		if err != nil {
			return rec, err
		}
		if rec.tooLong() || len(bytes.TrimSpace(rec.Data)) > 0 {
			return rec, nil
		}
	}
}

func (r *Records) read() (Record, error) {
	rec := Record{Line: r.line}
	r.data = r.data[:0]
	r.hash.Reset()
	in, ends := quotes{}, 0
	for {
		part, err := r.in.ReadSlice('\n')
		if len(part) > 0 {
			if r.quoted {
				in.read(part, r.line)
			}
			ends = len(part) - len(bytes.TrimRight(part, "\r\n"))
			rec.size += len(part)
			r.hash.Write(part)
			if room := MaxRowBytes + 2 - len(r.data); room > 0 { // 2 for the line's end
				r.data = append(r.data, part[:min(room, len(part))]...)
			}
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil:
			rec.last = r.line
			r.line++
			if in.open() {
				continue
			}
		case !errors.Is(err, io.EOF) || rec.size == 0:
			return rec, err
		default:
			rec.last = r.line
		}
		break
	}
	if in.open() {
		return rec, &unclosedError{in.opened}
	}
	rec.Data = bytes.TrimRight(r.data, "\r\n")
	if rec.size <= MaxRowBytes+2 {
		// The line's end is not content: the last line may lack it.
		rec.size = len(rec.Data)
		rec.digest = sha256.Sum256(rec.Data)
	} else {
		rec.size -= ends
		r.hash.Sum(rec.digest[:0])
	}
	return rec, nil
}
