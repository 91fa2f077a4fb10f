package wire

import (
	"bytes"
	"context"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
)

const (
	// requestHeadBytes is the buffer of a connection for writing: more than the head of a
	// request, with any key, needs. The rest of it is gathered here.
	requestHeadBytes = 1 << 10
	// maxGatheredBytes bounds a request that is gathered: one more write is nothing beside
	// the time that a larger one takes.
	maxGatheredBytes = 128 << 10
)

var (
	postMark   = []byte("POST ")
	lengthMark = []byte("\r\nContent-Length: ")
	headEnd    = []byte("\r\n\r\n")
)

// gathered are buffers for requests, each for as long as it takes to write one.
var gathered = sync.Pool{New: func() any { return new([]byte) }}

// gatherConn sends a request of HTTP/1.1 in one write. net/http writes what fits its buffer,
// and copies the rest through a buffer that it makes for each request. The bytes are the same;
// those of anything else, TLS too, go out as they come.
//
// One goroutine writes at a time, as net/http does.
type gatherConn struct {
	net.Conn
	// held is the beginning of a request, nil while nothing is held; missing is how many of
	// its bytes have not been written to this connection yet.
	held    *[]byte
	missing int
}

// gathering makes the connections that dial opens gather what is written.
func gathering(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &gatherConn{Conn: conn}, nil
	}
}

// Write implements [net.Conn]. An error of what is held shows at the write that completes
// the request.
func (c *gatherConn) Write(p []byte) (int, error) {
	if c.held == nil {
		all := requestBytes(p)
		if all <= len(p) || all > maxGatheredBytes {
			return c.Conn.Write(p)
		}
		c.held = gathered.Get().(*[]byte)
		*c.held, c.missing = append(slices.Grow((*c.held)[:0], all), p...), all-len(p)
		return len(p), nil
	}
	*c.held = append(*c.held, p...)
	c.missing -= len(p)
	return len(p), c.send()
}

// ReadFrom implements [io.ReaderFrom], by which net/http writes what its buffer does not hold.
func (c *gatherConn) ReadFrom(r io.Reader) (n int64, err error) {
	for c.held != nil {
		held := *c.held
		read, err := r.Read(held[len(held) : len(held)+c.missing])
		*c.held = held[:len(held)+read]
		c.missing -= read
		n += int64(read)
		if failure := c.send(); failure != nil {
			return n, failure
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	rest, err := io.Copy(struct{ io.Writer }{c}, r)
	return n + rest, err
}

// send writes the request once it is whole.
func (c *gatherConn) send() error {
	if c.missing > 0 {
		return nil
	}
	_, err := c.Conn.Write(*c.held)
	gathered.Put(c.held)
	c.held = nil
	return err
}

// requestBytes gives the length of the request that p begins, 0 where it begins none or its
// head does not say.
func requestBytes(p []byte) int {
	if !bytes.HasPrefix(p, postMark) {
		return 0
	}
	head := bytes.Index(p, headEnd)
	if head < 0 {
		return 0
	}
	_, length, _ := bytes.Cut(p[:head], lengthMark)
	length, _, _ = bytes.Cut(length, headEnd[:2])
	n, err := strconv.Atoi(string(length))
	if err != nil || n < 0 || n > maxGatheredBytes {
		return 0
	}
	return head + len(headEnd) + n
}
