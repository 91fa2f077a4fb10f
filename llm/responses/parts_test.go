package responses_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/wire/wiretest"
)

// looked is a history in which a tool has shown an image.
func looked() llm.Request {
	req := ask("look")
	req.Messages = append(req.Messages,
		events.Message{Role: events.RoleAssistant, ToolCalls: []events.ToolCall{tool("a", "shoot", "{}")}},
		events.Message{Role: events.RoleTool, ToolCallID: "a", Content: "A map:\n[image, image/png, 0.0 kB]", Parts: []events.Part{
			{Type: events.PartText, Text: "A map:"}, {Type: events.PartImage, MediaType: "image/png", Bytes: []byte("png"), SizeBytes: 3},
			{Type: events.PartArtifact, MediaType: "text/csv", Name: "a.csv", SizeBytes: 1500},
		}})
	return req
}

// An image in a result goes out as one, all else as text. A model that takes none is
// sent the result's text, from then on.
func TestResultsInParts(t *testing.T) {
	e := serve(t, func(body string) (int, []byte) {
		if strings.Contains(body, "input_image") && strings.Contains(body, `"model":"blind"`) {
			return 400, []byte(`{"error":{"message":"Invalid content type. image_url is only supported by certain models.","type":"invalid_request_error","param":"input"}}`)
		}
		return ok(body)
	})
	require.NoError(t, wiretest.Collect(t, e, looked()).Err)
	require.JSONEq(t, `{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"A map:"},
		{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,cG5n"},
		{"type":"input_text","text":"[artifact, a.csv, text/csv, 1.5 kB]"}]}`, gjson.Get(e.bodies[0], "input.2").Raw)

	blind := looked()
	blind.Model = "blind"
	for range 2 {
		require.NoError(t, wiretest.Collect(t, e, blind).Err)
	}
	require.Len(t, e.bodies, 4, "refused once")
	for _, body := range e.bodies[2:] {
		require.Equal(t, "A map:\n[image, image/png, 0.0 kB]", gjson.Get(body, "input.2.output").Str)
	}
}

// Images of a user's message go out behind its text; a model that takes none is sent the text.
func TestMessageWithImages(t *testing.T) {
	e := serve(t, func(body string) (int, []byte) {
		if strings.Contains(body, "input_image") && strings.Contains(body, `"model":"blind"`) {
			return 400, []byte(`{"error":{"message":"Invalid content type. image_url is only supported by certain models.","type":"invalid_request_error","param":"input"}}`)
		}
		return ok(body)
	})
	req := ask("look")
	req.Messages[len(req.Messages)-1].Parts = []events.Part{{Type: events.PartImage, MediaType: "image/png", Bytes: []byte("png"), SizeBytes: 3}}
	require.NoError(t, wiretest.Collect(t, e, req).Err)
	require.JSONEq(t, `{"role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,cG5n"}]}`,
		gjson.Get(e.bodies[0], "input.0").Raw)

	req.Model = "blind"
	require.NoError(t, wiretest.Collect(t, e, req).Err)
	require.JSONEq(t, `{"role":"user","content":[{"type":"input_text","text":"look"}]}`, gjson.Get(e.bodies[2], "input.0").Raw)
}

// PDFs go as files to models of OpenAI; others, and one that refuses them, are sent the text.
func TestMessageWithPDF(t *testing.T) {
	e := serve(t, func(body string) (int, []byte) {
		if strings.Contains(body, "input_file") && strings.Contains(body, `"model":"gpt-3"`) {
			return 400, []byte(`{"error":{"message":"Invalid value: 'input_file'.","type":"invalid_request_error","param":"input[0].content[1]"}}`)
		}
		return ok(body)
	})
	req := ask("read")
	req.Messages[len(req.Messages)-1].Parts = []events.Part{{Type: events.PartDocument, MediaType: "application/pdf", Name: "a.pdf", Bytes: []byte("%PDF"), SizeBytes: 4}}
	for _, model := range []string{"gpt-5", "grok-4", "gpt-3"} {
		req.Model = model
		require.NoError(t, wiretest.Collect(t, e, req).Err)
	}
	require.Len(t, e.bodies, 4)
	require.JSONEq(t, `{"role":"user","content":[{"type":"input_text","text":"read"},{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERg=="}]}`,
		gjson.Get(e.bodies[0], "input.0").Raw)
	for _, i := range []int{1, 3} {
		require.JSONEq(t, `{"role":"user","content":[{"type":"input_text","text":"read"}]}`, gjson.Get(e.bodies[i], "input.0").Raw)
	}
}
