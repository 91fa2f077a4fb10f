package openai_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/llm/wire/wiretest"
)

// Images of a user's message go out behind its text. A model that takes none is sent the text,
// whatever its server answers, and from then on at once; PDFs are none.
func TestMessageWithImages(t *testing.T) {
	for model, refusal := range map[string]struct {
		status  int
		message string
	}{
		"sees":      {},
		"llama.cpp": {500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"},
		"router":    {404, "No endpoints found that support image input"},
		"deepseek":  {400, "Failed to deserialize the JSON body: messages[0]: unknown variant `image_url`, expected `text`"},
		"strings":   {400, "'messages.0' : content must be a string"},
	} {
		t.Run(model, func(t *testing.T) {
			var bodies []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				require.NoError(t, err)
				bodies = append(bodies, string(body))
				if refusal.status != 0 && strings.Contains(string(body), "image_url") {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(refusal.status)
					_, _ = io.WriteString(w, `{"error":{"message":"`+refusal.message+`"}}`)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = w.Write(chunks(delta(`{"content":"x"}`), finished))
			}))
			defer server.Close()
			c := client(t, openai.Config{Config: wire.Config{Provider: "test", BaseURL: server.URL + "/v1"}})
			req := ask("look")
			req.Messages[0].Parts = []events.Part{
				{Type: events.PartImage, MediaType: "image/png", Bytes: []byte("png"), SizeBytes: 3}, {Type: events.PartDocument, MediaType: "application/pdf", Bytes: []byte("%PDF")},
			}
			require.NoError(t, wiretest.Collect(t, c, req).Err)
			require.JSONEq(t, `[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]`, gjson.Get(bodies[0], "messages.0.content").Raw)
			if refusal.status == 0 {
				require.Len(t, bodies, 1)
				return
			}
			require.NoError(t, wiretest.Collect(t, c, req).Err)
			require.Len(t, bodies, 3)
			for _, body := range bodies[1:] {
				require.Equal(t, "look", gjson.Get(body, "messages.0.content").Str)
			}
		})
	}
}
