package wire_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
)

// body answers with itself, and counts how often it is read.
type body struct {
	io.Reader
	reads int
}

func (b *body) Read(p []byte) (int, error) {
	b.reads++
	return b.Reader.Read(p)
}

func (b *body) Close() error { return nil }

func (b *body) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: b}, nil
}

// A stream that has more than a buffer holds is read in larger pieces, and says the same as one
// of which a byte comes at a time, with lines of any length.
func TestABusyStreamIsReadInLargerPieces(t *testing.T) {
	var stream, text strings.Builder
	for i := range 403 {
		part := strings.Repeat("x", 100)
		if i >= 400 {
			part = strings.Repeat("y", []int{5 << 10, 17 << 10, 100 << 10}[i-400])
		}
		text.WriteString(part)
		stream.WriteString(`data: {"choices":[{"index":0,"delta":{"content":"` + part + "\"}}]}\n\n")
	}
	stream.WriteString("data: [DONE]\n\n")
	read := func(r io.Reader) (said string, reads int) {
		b := &body{Reader: r}
		client := openai.New(openai.Config{Config: wire.Config{Provider: "test", BaseURL: "http://test/v1"}})
		client.SetTransport(b)
		for delta, err := range client.Stream(t.Context(), llm.Request{Model: "m"}) {
			require.NoError(t, err)
			said += delta.Text
		}
		return said, b.reads
	}
	said, reads := read(strings.NewReader(stream.String()))
	require.True(t, text.String() == said)
	require.Less(t, reads, stream.Len()/(10<<10))
	said, _ = read(iotest.OneByteReader(strings.NewReader(stream.String())))
	require.True(t, text.String() == said)
}
