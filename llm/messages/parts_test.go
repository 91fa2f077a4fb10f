package messages_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/wire/wiretest"
)

// An image in a result goes out as one, all else as text that is not blank, and the mark
// of the cache stands behind it. A model that takes none is sent the result's text.
func TestResultsInParts(t *testing.T) {
	e := serve(t, func(body string) (int, []byte) {
		if strings.Contains(body, `"image"`) && strings.Contains(body, `"model":"blind"`) {
			return 400, []byte(`{"type":"error","error":{"type":"invalid_request_error","message":"messages.2.content.0: image blocks are not supported by this model"}}`)
		}
		return ok(body)
	})
	req := ask("look")
	req.Messages = append(req.Messages,
		events.Message{Role: events.RoleAssistant, ToolCalls: []events.ToolCall{tool("a", "shoot", "{}")}},
		events.Message{Role: events.RoleTool, ToolCallID: "a", Content: "the text of it", Parts: []events.Part{
			{Type: events.PartText, Text: " "}, {Type: events.PartImage, MediaType: "image/png", Bytes: []byte("png"), SizeBytes: 3},
			{Type: events.PartArtifact, MediaType: "text/csv", Name: "a.csv", SizeBytes: 1500},
		}})
	require.NoError(t, wiretest.Collect(t, e, req).Err)
	require.JSONEq(t, `{"type":"tool_result","tool_use_id":"a","content":[
		{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}},
		{"type":"text","text":"[artifact, a.csv, text/csv, 1.5 kB]"}],"cache_control":{"type":"ephemeral"}}`, gjson.Get(e.bodies[0], "messages.2.content.0").Raw)

	req.Model = "blind"
	require.NoError(t, wiretest.Collect(t, e, req).Err)
	require.Equal(t, "the text of it", gjson.Get(e.bodies[2], "messages.2.content.0.content").Str)
}

// Images of a user's message go out behind its text; a model that takes none is sent the text.
func TestMessageWithImages(t *testing.T) {
	e := serve(t, func(body string) (int, []byte) {
		if strings.Contains(body, `"image"`) && strings.Contains(body, `"model":"blind"`) {
			return 400, []byte(`{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.1: image blocks are not supported by this model"}}`)
		}
		return ok(body)
	})
	req := ask("look")
	user := &req.Messages[len(req.Messages)-1]
	user.Parts = []events.Part{
		{Type: events.PartImage, MediaType: "image/png", Bytes: []byte("png"), SizeBytes: 3}, {Type: events.PartText, Text: "[image, b.png: left out]"},
	}
	require.NoError(t, wiretest.Collect(t, e, req).Err)
	require.True(t, gjson.Valid(e.bodies[0]), e.bodies[0])
	content := gjson.Get(e.bodies[0], "messages.0.content").Array()
	require.Len(t, content, 3)
	require.Equal(t, "look", content[0].Get("text").Str)
	require.JSONEq(t, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}}`, content[1].Raw)
	require.JSONEq(t, `{"type":"text","text":"[image, b.png: left out]","cache_control":{"type":"ephemeral"}}`, content[2].Raw)

	req.Model = "blind"
	require.NoError(t, wiretest.Collect(t, e, req).Err)
	require.Len(t, e.bodies, 3)
	require.Equal(t, int64(1), gjson.Get(e.bodies[2], "messages.0.content.#").Int())
}

// PDFs go as documents to Claude; others, and one that refuses them, are sent the text.
func TestMessageWithPDF(t *testing.T) {
	e := serve(t, func(body string) (int, []byte) {
		if strings.Contains(body, `"document"`) && strings.Contains(body, `"model":"claude-2"`) {
			return 400, []byte(`{"type":"error","error":{"type":"invalid_request_error","message":"'claude-2' does not support PDF input."}}`)
		}
		return ok(body)
	})
	req := ask("read")
	req.Messages[len(req.Messages)-1].Parts = []events.Part{{Type: events.PartDocument, MediaType: "application/pdf", Name: "a.pdf", Bytes: []byte("%PDF"), SizeBytes: 4}}
	for _, model := range []string{"claude-sonnet-5", "glm-5", "claude-2"} {
		req.Model = model
		require.NoError(t, wiretest.Collect(t, e, req).Err)
	}
	require.Len(t, e.bodies, 4)
	require.JSONEq(t, `{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"JVBERg=="},"cache_control":{"type":"ephemeral"}}`,
		gjson.Get(e.bodies[0], "messages.0.content.1").Raw)
	for _, i := range []int{1, 3} {
		require.EqualValues(t, 1, gjson.Get(e.bodies[i], "messages.0.content.#").Int())
	}
}
