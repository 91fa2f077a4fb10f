package wire

import (
	"errors"
	"io"
	"sync"
)

// encoder writes a request.
type encoder interface {
	// Encode appends what the request says, the same each time. It is called when the request is
	// sent, and once more where the transport has to send it again on another connection.
	Encode(dst []byte) []byte
}

// maxPooledBodyBytes keeps a giant history's buffer from staying in memory.
const maxPooledBodyBytes = 1 << 20

var bodies = sync.Pool{New: func() any { return new([]byte) }}

// errBodyClosed is what a transport reads that closed the body.
var errBodyClosed = errors.New("request body is closed")

// body has the bytes of a request until the transport has sent them: while thousands of calls
// wait for an answer, nobody holds what they asked. A transport may close it while it reads.
type body struct {
	mu   sync.Mutex
	data *[]byte // nil once closed
	read int
}

func newBody(of encoder) *body {
	data := bodies.Get().(*[]byte)
	*data = of.Encode((*data)[:0])
	return &body{data: data}
}

func (b *body) Read(dst []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.data == nil {
		return 0, errBodyClosed
	}
	n := copy(dst, (*b.data)[b.read:])
	b.read += n
	if n == 0 && len(dst) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (b *body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.data != nil && cap(*b.data) <= maxPooledBodyBytes {
		bodies.Put(b.data)
	}
	b.data = nil
	return nil
}
