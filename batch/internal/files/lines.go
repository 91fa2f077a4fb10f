package files

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

// Lines writes outputs as JSON lines: in the order of the rows, or as they come. It
// is safe for concurrent use.
type Lines struct {
	to io.Writer

	mu sync.Mutex // guards what follows
	// next is the position whose turn it is.
	next int
	// waiting keeps the lines whose turn has not come; nil where order does not matter.
	waiting *spill
	encoded bytes.Buffer
}

// NewLines continues behind the first next lines.
func NewLines(to io.Writer, dir string, next int, ordered bool) (*Lines, error) {
	l := &Lines{to: to, next: next}
	var err error
	if ordered {
		l.waiting, err = newSpill(dir)
	}
	return l, err
}

// Write encodes the output of the row at that position.
func (l *Lines) Write(position int, output any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.encoded.Reset()
	encoder := json.NewEncoder(&l.encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(output); err != nil {
		return err
	}
	return l.put(position, l.encoded.Bytes())
}

// Copy writes a line that an earlier call made.
func (l *Lines) Copy(position int, line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.put(position, line)
}

func (l *Lines) put(position int, line []byte) error {
	if l.waiting != nil && position != l.next {
		return l.waiting.put(position, line)
	}
	for {
		if _, err := l.to.Write(line); err != nil {
			return err
		}
		l.next++
		if l.waiting == nil {
			return nil
		}
		var err error
		if line, err = l.waiting.take(l.next); err != nil || line == nil {
			return err
		}
	}
}

// Close removes what it keeps on disk.
func (l *Lines) Close() error {
	if l.waiting == nil {
		return nil
	}
	return l.waiting.close()
}
