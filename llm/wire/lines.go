package wire

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// Buffer sizes of a stream: the first fits nearly every chunk, so that thousands of open
// streams stay small, and beside the beginning of a line as much as net/http reads at once. A
// stream that brings more than that at once gets the second. Larger ones, for longer lines, are
// not worth keeping.
const (
	lineBufferBytes = 4<<10 + 768
	busyBufferBytes = 16 << 10
)

var errLineTooLong = errors.New("line too long")

var (
	lineBuffers = sync.Pool{New: func() any { b := make([]byte, lineBufferBytes); return &b }}
	busyBuffers = sync.Pool{New: func() any { b := make([]byte, busyBufferBytes); return &b }}
)

// lineReader cuts a body into lines without an allocation per line.
type lineReader struct {
	r      io.Reader
	waiter waiter
	pooled *[]byte
	buf    []byte
	// buf[start:end] is not handed out yet; buf[start:scanned] has no newline.
	start, scanned, end int
	// busy is set where the newest read filled the buffer: more is there already.
	busy bool
	max  int
	err  error
}

// waiter is who waits for lines.
type waiter interface {
	// wait is called before every read, which may take its time; its error ends the lines.
	wait() error
	// heard is called after every read that brought bytes.
	heard()
}

func newLineReader(r io.Reader, max int, waiter waiter) lineReader {
	pooled := lineBuffers.Get().(*[]byte)
	return lineReader{r: r, waiter: waiter, pooled: pooled, buf: *pooled, max: max}
}

// next gives the next line without its end; it is valid until the call after.
// A last line without newline counts where the body ended cleanly.
func (l *lineReader) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.scanned:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : l.scanned+i]
			l.start = l.scanned + i + 1
			l.scanned = l.start
			return bytes.TrimSuffix(line, []byte{'\r'}), nil
		}
		l.scanned = l.end
		if l.err != nil {
			line := l.buf[l.start:l.end]
			l.start, l.scanned = l.end, l.end
			if len(line) > 0 && errors.Is(l.err, io.EOF) {
				return line, nil
			}
			return nil, l.err
		}
		if l.end-l.start > l.max {
			return nil, errLineTooLong
		}
		l.fill()
	}
}

// rest reads everything up to the end of the body.
func (l *lineReader) rest() ([]byte, error) {
	for l.err == nil {
		if l.end-l.start > l.max {
			return nil, errLineTooLong
		}
		l.fill()
	}
	if !errors.Is(l.err, io.EOF) {
		return nil, l.err
	}
	return l.buf[l.start:l.end], nil
}

// peek gives the first byte that is no white space, without consuming it; none
// where the body begins with more of it than one buffer holds.
func (l *lineReader) peek() (byte, bool) {
	for {
		trimmed := bytes.TrimLeft(bytes.TrimPrefix(l.buf[l.start:l.end], byteOrderMark), " \t\r\n")
		if len(trimmed) > 0 {
			return trimmed[0], true
		}
		if l.err != nil || l.end-l.start >= lineBufferBytes {
			return 0, false
		}
		l.fill()
	}
}

func (l *lineReader) fill() {
	if l.start > 0 {
		n := copy(l.buf, l.buf[l.start:l.end])
		l.scanned -= l.start
		l.start, l.end = 0, n
	}
	if l.end == len(l.buf) || l.busy && len(l.buf) < busyBufferBytes {
		l.grow()
	}
	if l.err = l.waiter.wait(); l.err != nil {
		return
	}
	n, err := l.r.Read(l.buf[l.end:])
	l.end += n
	l.busy = l.end == len(l.buf)
	l.err = err
	if n > 0 {
		l.waiter.heard()
	}
}

// grow goes on in a larger buffer.
func (l *lineReader) grow() {
	var larger *[]byte
	if len(l.buf) < busyBufferBytes {
		larger = busyBuffers.Get().(*[]byte)
	} else {
		larger = new(make([]byte, 2*len(l.buf)))
	}
	copy(*larger, l.buf[:l.end])
	l.release()
	l.pooled, l.buf = larger, *larger
}

// drain reads on to the end of the body, which frees the connection for reuse.
func (l *lineReader) drain() {
	for n := 0; l.err == nil && n < lineBufferBytes; {
		l.start, l.scanned, l.end = 0, 0, 0
		l.fill()
		n += l.end
	}
}

func (l *lineReader) release() {
	switch len(l.buf) {
	case lineBufferBytes:
		lineBuffers.Put(l.pooled)
	case busyBufferBytes:
		busyBuffers.Put(l.pooled)
	}
	l.buf, l.pooled = nil, nil
}
