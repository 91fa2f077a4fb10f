package sqlite_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/eventstest"
	"github.com/convene-run/convene/events/sqlite"
)

// encodedSamples are events of every kind in their wire form.
func encodedSamples(t *testing.T) (bodies [][]byte) {
	t.Helper()
	seq := events.Seq(0)
	for _, kind := range events.Kinds() {
		seq++
		body, err := events.Encode(events.Envelope{
			Tenant: events.LocalTenant, Thread: "thread", Run: "run", Seq: seq, Time: time.Unix(1_700_000_000, int64(seq)).UTC(),
			Data: eventstest.Samples()[kind],
		})
		require.NoError(t, err)
		bodies = append(bodies, body)
	}
	return bodies
}

// A block gives back the bytes that went into it, whatever they are and however they were
// split into appends, with and without a part that is kept elsewhere.
func TestBlocksGiveBackTheBytes(t *testing.T) {
	samples := encodedSamples(t)
	rapid.Check(t, func(r *rapid.T) {
		body := rapid.OneOf(
			rapid.SampledFrom(samples),
			rapid.Map(rapid.StringMatching(`[^\n]{0,200}`), func(s string) []byte { return []byte("{" + s) }),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 3000), func(b []byte) []byte {
				return append([]byte{'{'}, bytes.ReplaceAll(b, []byte{'\n'}, []byte{' '})...)
			}),
		)
		bodies := rapid.SliceOfN(body, 1, 40).Draw(r, "bodies")
		var shared []byte
		if rapid.Bool().Draw(r, "shares") {
			of := bodies[rapid.IntRange(0, len(bodies)-1).Draw(r, "of")]
			from := rapid.IntRange(0, len(of)-1).Draw(r, "from")
			shared = of[from:rapid.IntRange(from, len(of)).Draw(r, "to")]
		}
		before := make([][]byte, len(bodies))
		for i := range bodies {
			before[i] = bytes.Clone(bodies[i])
		}
		block, cut := sqlite.Pack(bodies, shared)
		require.Equal(r, len(shared) > 0, cut)
		require.Equal(r, before, bodies, "they are not written to")
		again, err := sqlite.Unpack(block, shared)
		require.NoError(r, err)
		require.Equal(r, bodies, again)
	})
}

// Blocks of every kind of event are less than half of their text.
func TestBlocksAreSmall(t *testing.T) {
	samples := encodedSamples(t)
	block, _ := sqlite.Pack(samples, nil)
	require.Less(t, len(block), len(bytes.Join(samples, nil))/2)
}

// What a flipped bit makes of a block is an error or other events: no panic, and no memory
// without end for a length that is none.
func TestDamagedBlocks(t *testing.T) {
	samples := encodedSamples(t)[:8]
	shared := samples[3][20:60]
	block, cut := sqlite.Pack(samples, shared)
	require.True(t, cut)
	for at := range block {
		for bit := range 8 {
			flipped := bytes.Clone(block)
			flipped[at] ^= 1 << bit
			again, err := sqlite.Unpack(flipped, shared)
			if err == nil {
				require.NotEqual(t, samples, again, "byte %d bit %d", at, bit)
			}
		}
	}
	for cut := range block {
		again, err := sqlite.Unpack(block[:cut], shared)
		if err == nil {
			require.NotEqual(t, samples, again, "%d bytes", cut)
		}
	}
}

// Stores depend on the bytes of the dictionary: a better one is a new one.
func TestDictionaryStays(t *testing.T) {
	require.Equal(t, "c08d420a5e4494a8814be644d3546723ac89084d657c16418b349a33e5bb1be4", fmt.Sprintf("%x", sha256.Sum256(sqlite.Dictionary1())))
	block, err := sqlite.Unpack([]byte("\x01Q\x15\x00\x14\x15;\x04r\"vs\x00\x15)\bs\"}"), nil) // as written by the first build that had it
	require.NoError(t, err)
	require.Equal(t, []string{`{"v":1,"tenant_id":"local","run_id":"r"}`, `{"v":1,"tenant_id":"local","run_id":"s"}`},
		[]string{string(block[0]), string(block[1])})
}

// What no one wrote as a block is none, or events.
func FuzzUnpack(f *testing.F) {
	bodies := [][]byte{[]byte(`{"v":1,"tenant_id":"local"}`), []byte(`{"v":1,"tenant_id":"local","thread_id":"t"}`)}
	shared := bodies[1][8:20]
	block, _ := sqlite.Pack(bodies, nil)
	f.Add(block)
	block, _ = sqlite.Pack(bodies, shared)
	f.Add(block)
	f.Add(bodies[0])
	f.Fuzz(func(t *testing.T, block []byte) {
		again, err := sqlite.Unpack(block, shared)
		if err == nil {
			require.NotEmpty(t, again)
		}
	})
}
