package sqlite

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"

	"github.com/convene-run/convene/events"
)

// The forms of a block, by its first byte. One event in its wire form begins with a brace.
// A form that was released is read forever.
const (
	// formLines are events in their wire form, one a line, compressed with dictionary 1.
	formLines = 1
	// formShared is formLines less a part that stands elsewhere. The place that it was cut
	// from comes first, as a uvarint.
	formShared = 2
)

const (
	// blockBytes bounds the text of a block of several events: whoever wants one reads all.
	blockBytes = 1 << 20
	// maxBlockBytes bounds the text of any block, so that a flipped bit in a length
	// allocates no memory without end.
	maxBlockBytes = MaxEventBytes + blockBytes
)

// dictionaryText is what events look like: their members in the order of the wire form, the
// most frequent kinds last. Blocks depend on its bytes. A better one gets a form of its own.
//
//go:embed dictionary_1.txt
var dictionaryText []byte

// dictionary1 compresses by s2, at a hundredth of the price of an append; what deflates
// better (zstd) takes ten times as long for a quarter less.
var dictionary1 = sync.OnceValue(func() *s2.Dict { return s2.MakeDict(dictionaryText, nil) })

// errUnpack is for a block that is none. It does not leave the package: it is damaged.
var errUnpack = errors.New("a block cannot be unpacked")

// packBuffers keeps buffers between calls of [pack].
var packBuffers = sync.Pool{New: func() any { return new([2][]byte) }}

// maxPooledBytes keeps a rare huge block from pinning its buffer for good.
const maxPooledBytes = 128 << 10

// pack gives the block of some events, without a newline in any, of which [unpack] makes the
// same bytes. Where shared, nil for none, stands in them it is cut out: cut says so.
func pack(bodies [][]byte, shared []byte) (block []byte, cut bool) {
	buffers := packBuffers.Get().(*[2][]byte)
	text := buffers[0][:0]
	for i, body := range bodies {
		if i > 0 {
			text = append(text, '\n')
		}
		text = append(text, body...)
	}
	head := []byte{formLines}
	if at := bytes.Index(text, shared); len(shared) > 0 && at >= 0 {
		cut = true
		head = binary.AppendUvarint([]byte{formShared}, uint64(at))
		text = slices.Delete(text, at, at+len(shared))
	}
	encoded := dictionary1().Encode(buffers[1][:cap(buffers[1])], text)
	switch {
	case len(bodies) == 1 && !cut && len(encoded) >= len(bodies[0]):
		block = bodies[0]
	default:
		block = slices.Concat(head, encoded)
	}
	if cap(text)+cap(encoded) <= maxPooledBytes {
		*buffers = [2][]byte{text, encoded}
		packBuffers.Put(buffers)
	}
	return block, cut
}

// unpack gives the events of a block. shared gives what was cut out of it. The events are
// proven by their checksums alone.
func unpack(block []byte, shared func() ([]byte, error)) ([][]byte, error) {
	if len(block) == 0 {
		return nil, errUnpack
	}
	var part []byte
	at, rest := uint64(0), block[1:]
	switch block[0] {
	case '{':
		return [][]byte{block}, nil
	case formLines:
	case formShared:
		var n int
		if at, n = binary.Uvarint(rest); n <= 0 {
			return nil, errUnpack
		}
		rest = rest[n:]
		var err error
		if part, err = shared(); err != nil {
			return nil, err
		}
	default:
		return nil, errUnpack
	}
	text, err := decompress(rest)
	if err != nil || at > uint64(len(text)) {
		return nil, errUnpack
	}
	return bytes.Split(slices.Insert(text, int(at), part...), []byte{'\n'}), nil //nolint:gosec // it is within the text
}

// decompress gives the text that was compressed with dictionary 1.
func decompress(data []byte) ([]byte, error) {
	size, err := s2.DecodedLen(data)
	if err != nil || size > maxBlockBytes {
		return nil, errUnpack
	}
	text, err := dictionary1().Decode(nil, data)
	if err != nil {
		return nil, errUnpack
	}
	return text, nil
}

// block is a row of the table.
type block struct {
	// last is its last event.
	last chain
	// events is how many it has.
	events int
	body   []byte
	// part was cut out of it, nil where nothing was.
	part *part
}

// blocksOf packs the events of one append, chained behind a place. A block has some of them
// where they are large.
func blocksOf(at chain, envs []events.Envelope, bodies [][]byte) (blocks []block) {
	for first := 0; first < len(bodies); {
		n, size := 0, 0
		var shared *part
		for n == 0 || first+n < len(bodies) && size+len(bodies[first+n]) < blockBytes {
			size += len(bodies[first+n])
			if shared == nil {
				shared = sharedPart(envs[first+n].Data)
			}
			at = chain{at.seq + 1, at.sum.Next(bodies[first+n])}
			n++
		}
		b := packBlock(bodies[first:first+n], shared)
		b.last, b.events = at, n
		blocks = append(blocks, b)
		first += n
	}
	return blocks
}

// packBlock packs events, less a part where that stands in them.
func packBlock(bodies [][]byte, shared *part) (b block) {
	if shared == nil {
		b.body, _ = pack(bodies, nil)
		return b
	}
	body, cut := pack(bodies, shared.text)
	if b.body = body; cut {
		b.part = shared
	}
	return b
}
