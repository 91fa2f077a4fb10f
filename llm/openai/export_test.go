package openai

import (
	"bytes"
	"io"
	"net/http"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

type fixedBody struct {
	contentType string
	body        []byte
}

func (f fixedBody) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {f.contentType}}, Body: io.NopCloser(bytes.NewReader(f.body)),
	}, nil
}

// NewForTest makes a client that is answered from memory.
func NewForTest(cfg Config, contentType string, body []byte) *Client {
	c := New(cfg)
	c.SetTransport(fixedBody{contentType, body})
	return c
}

// EncodeForTest gives the body of a request.
func EncodeForTest(req *llm.Request) []byte {
	cfg := Config{}.withDefaults()
	return appendRequest(nil, req, nil, &cfg, llm.KeptFrom(events.APIChat, "test", req.Model), 0)
}
