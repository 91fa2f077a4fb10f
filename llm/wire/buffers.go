package wire

import "sync"

// buffers are what a reply is read with. They serve one reply after another, and whoever waits
// for an answer has none: thousands do.
type buffers struct {
	// parsed is what was found in the newest document.
	parsed  document
	pattern pattern
	// fragment is text in the arguments of a call that the consumer has not got yet.
	fragment []byte
}

var readBuffers = sync.Pool{New: func() any { return new(buffers) }}

// empty forgets what was read.
func (b *buffers) empty() {
	*b = buffers{
		parsed: document{nodes: Again(b.parsed.nodes)}, fragment: Again(b.fragment),
		pattern: pattern{doc: Again(b.pattern.doc), holes: Again(b.pattern.holes), plain: Again(b.pattern.plain)},
	}
}

// maxKeptItems bounds a buffer that is kept for the next reply: most replies need far less.
const maxKeptItems = 4 << 10

// Again gives a buffer without what was in it, none where it has grown too large to be kept.
func Again[T any](buffer []T) []T {
	if cap(buffer) > maxKeptItems {
		return nil
	}
	return buffer[:0]
}
