package sqlite

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
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

// packBuffer is what packing takes beside its result.
type packBuffer struct{ text, packed []byte }

// packBuffers keeps buffers for those who pack next.
var packBuffers = sync.Pool{New: func() any { return new(packBuffer) }}

// maxPooledBytes keeps a rare huge block from pinning its buffer for good.
const maxPooledBytes = 128 << 10

func (b *packBuffer) free() {
	if cap(b.text)+cap(b.packed) <= maxPooledBytes {
		b.text = b.text[:0]
		packBuffers.Put(b)
	}
}

// pack gives the block of events that stand in a text, one a line, of which [unpack] makes the
// same bytes. Where shared, nil for none, stands in the text it is cut out, for which the text
// is written to: cut says so.
func (b *packBuffer) pack(text []byte, events int, shared []byte) (block []byte, cut bool) {
	head := []byte{formLines}
	if at := bytes.Index(text, shared); len(shared) > 0 && at >= 0 {
		cut = true
		head = binary.AppendUvarint([]byte{formShared}, uint64(at))
		text = slices.Delete(text, at, at+len(shared))
	}
	b.packed = dictionary1().Encode(b.packed[:cap(b.packed)], text)
	if events == 1 && !cut && len(b.packed) >= len(text) {
		return bytes.Clone(text), false
	}
	return slices.Concat(head, b.packed), cut
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

// encode packs the wire form of the events of one append, chained behind a place. A block has
// some of them where they are large.
func encode(envs []events.Envelope, at chain) (blocks []block, err error) {
	buffers := packBuffers.Get().(*packBuffer)
	defer buffers.free()
	ends := make([]int, len(envs))
	for i := range envs {
		if i > 0 {
			buffers.text = append(buffers.text, '\n')
		}
		start := len(buffers.text)
		text, err := events.AppendEncoded(buffers.text, envs[i])
		if err != nil {
			return nil, err
		}
		buffers.text, ends[i] = text, len(text)
		if size := len(text) - start; size > MaxEventBytes {
			return nil, fmt.Errorf("append event type=%s thread=%s: %d bytes are more than the %d of an event at most",
				envs[i].Data.Kind(), envs[i].Thread, size, MaxEventBytes)
		}
	}
	for first, start := 0, 0; first < len(envs); {
		b := block{last: at}
		end := start
		for n := first; n == first || n < len(envs) && ends[n]-start < blockBytes; n++ {
			if b.part == nil {
				b.part = sharedPart(envs[n].Data)
			}
			body := buffers.text[end:ends[n]]
			if n > first {
				body = body[1:] // behind the newline
			}
			b.last, end = chain{b.last.seq + 1, b.last.sum.Next(body)}, ends[n]
			b.events++
		}
		b.pack(buffers, buffers.text[start:end])
		blocks, at = append(blocks, b), b.last
		first, start = first+b.events, end+1
	}
	return blocks, nil
}

// pack makes the body of a text, less its part where that stands in it.
func (b *block) pack(buffers *packBuffer, text []byte) {
	var shared []byte
	if b.part != nil {
		shared = b.part.text
	}
	var cut bool
	if b.body, cut = buffers.pack(text, b.events, shared); !cut {
		b.part = nil
	}
}

// packBlock packs events that stand by themselves, less a part where that stands in them.
func packBlock(bodies [][]byte, shared *part) block {
	buffers := packBuffers.Get().(*packBuffer)
	defer buffers.free()
	for i, body := range bodies {
		if i > 0 {
			buffers.text = append(buffers.text, '\n')
		}
		buffers.text = append(buffers.text, body...)
	}
	b := block{events: len(bodies), part: shared}
	b.pack(buffers, buffers.text)
	return b
}
