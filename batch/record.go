package batch

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

// record is one row of a file as it stands there.
type record struct {
	// line is where it begins, from 1.
	line int
	// data is valid until the next record; without the line's end.
	data []byte
	// size is its length, above MaxRowBytes where data is cut.
	size int
	// digest is of all of it.
	digest [sha256.Size]byte
}

func (r *record) tooLong() bool { return r.size > MaxRowBytes }

// records splits a file into records without ever holding more than one.
type records struct {
	in *bufio.Reader
	// quoted lets a record go on over the end of a line inside of quotes, as CSV does.
	quoted bool
	line   int // of the next byte
	data   []byte
	hash   hash.Hash
}

var byteOrderMark = []byte("\ufeff")

func newRecords(in io.Reader, quoted bool) *records {
	r := &records{in: bufio.NewReaderSize(in, 64<<10), quoted: quoted, line: 1, hash: sha256.New()}
	if mark, _ := r.in.Peek(len(byteOrderMark)); bytes.Equal(mark, byteOrderMark) {
		_, _ = r.in.Discard(len(byteOrderMark)) // was just seen
	}
	return r
}

// next gives the next record that is not blank, or io.EOF.
func (r *records) next() (record, error) {
	for {
		rec, err := r.read()
		if err != nil {
			return rec, err
		}
		if rec.tooLong() || len(bytes.TrimSpace(rec.data)) > 0 {
			return rec, nil
		}
	}
}

func (r *records) read() (record, error) {
	rec := record{line: r.line}
	r.data = r.data[:0]
	r.hash.Reset()
	quotes, ends := 0, 0
	for {
		part, err := r.in.ReadSlice('\n')
		if len(part) > 0 {
			quotes += bytes.Count(part, []byte{'"'})
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
			r.line++
			// A quote that is never closed must not swallow the whole file.
			if r.quoted && quotes%2 == 1 && rec.size <= MaxRowBytes {
				continue
			}
		case !errors.Is(err, io.EOF) || rec.size == 0:
			return rec, err
		}
		break
	}
	rec.data = bytes.TrimRight(r.data, "\r\n")
	if rec.size <= MaxRowBytes+2 {
		// The line's end is not content: the last line may lack it.
		rec.size = len(rec.data)
		rec.digest = sha256.Sum256(rec.data)
	} else {
		rec.size -= ends
		r.hash.Sum(rec.digest[:0])
	}
	return rec, nil
}
