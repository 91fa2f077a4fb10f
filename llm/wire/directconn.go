package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// maxHeadBytes bounds the head of an answer.
	maxHeadBytes = 1 << 20
	// maxInformational bounds the answers of 100 to 199 before the one that counts.
	maxInformational = 5
)

// directConn is a connection of [direct]. It belongs to one call, or to nobody.
type directConn struct {
	net.Conn
	way     *direct
	address string
	since   time.Time // when it became idle
	// in is what is read through, nil before an answer has begun.
	in *bufio.Reader
	// left is how much of a head may still be read, and negative behind one.
	left int
	// broken is set once writing to it failed.
	broken bool
}

var (
	requests = sync.Pool{New: func() any { return new(bytes.Buffer) }}
	readers  = sync.Pool{New: func() any { return bufio.NewReader(nil) }}
)

var (
	errHeadTooLong   = errors.New("the head of the answer is too long")
	errInformational = errors.New("too many informational answers")
)

// Read implements [net.Conn].
func (c *directConn) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, errHeadTooLong
	}
	if c.left > 0 {
		p = p[:min(len(p), c.left)]
	}
	n, err := c.Conn.Read(p)
	if c.left > 0 {
		c.left -= n
	}
	return n, err
}

func (c *directConn) abort() { _ = c.Close() }

// ask sends the request, in one write, and reads the head of the answer. Where the server took
// only a part of the request its answer says why.
func (c *directConn) ask(request *http.Request) (*http.Response, error) {
	out := requests.Get().(*bytes.Buffer)
	out.Reset()
	err := request.Write(out)
	if err == nil {
		_, err = c.Conn.Write(out.Bytes())
		c.broken = err != nil
	}
	if out.Cap() <= maxPooledBodyBytes {
		requests.Put(out)
	}
	if err != nil && !c.broken {
		return nil, err
	}
	response, failure := c.answer(request)
	if failure != nil {
		return nil, cmp.Or(err, failure)
	}
	return response, nil
}

// answer waits for the answer and reads its head. Who waits holds nothing to read it with.
func (c *directConn) answer(request *http.Request) (*http.Response, error) {
	if err := arrival(c.Conn); err != nil {
		return nil, err
	}
	c.in = readers.Get().(*bufio.Reader)
	c.in.Reset(c)
	c.left = maxHeadBytes
	if _, err := c.in.Peek(1); err != nil {
		return nil, err // the end, rather than an answer that ends unexpectedly
	}
	for range maxInformational {
		response, err := http.ReadResponse(c.in, request)
		if err != nil {
			return nil, err
		}
		if code := response.StatusCode; code < 100 || code >= 200 || code == http.StatusSwitchingProtocols {
			c.left = -1
			return response, nil
		}
	}
	return nil, errInformational
}

// directBody is the body of an answer, for one goroutine. Read to its end it gives the
// connection back.
type directBody struct {
	io.Reader
	ctx  context.Context
	conn *directConn
	stop func() bool
	// keep says that the connection may be used again; ended, that it is not this body's any
	// more.
	keep, ended bool
}

// Read implements [io.Reader].
func (b *directBody) Read(p []byte) (int, error) {
	if b.ended {
		return 0, io.EOF
	}
	n, err := b.Reader.Read(p)
	switch {
	case err == io.EOF: //nolint:errorlint // as io.Reader has it
		b.end(b.keep)
	case err != nil:
		err = b.failed(err)
	}
	return n, err
}

// Close implements [io.Closer]. A body that was not read to its end costs the connection.
func (b *directBody) Close() error {
	b.end(b.keep && b.Reader == http.NoBody)
	return nil
}

// failed ends the call with an error: that of its context, if that is over.
func (b *directBody) failed(err error) error {
	b.end(false)
	if b.ctx.Err() != nil {
		return context.Cause(b.ctx)
	}
	return err
}

func (b *directBody) end(keep bool) {
	if b.ended {
		return
	}
	b.ended = true
	conn := b.conn
	keep = b.stop() && keep && conn.in.Buffered() == 0
	if conn.in != nil {
		conn.in.Reset(nil)
		readers.Put(conn.in)
		conn.in = nil
	}
	if keep {
		conn.way.put(conn)
		return
	}
	_ = conn.Close()
}
