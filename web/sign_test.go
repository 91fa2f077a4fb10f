package web_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// Viewers see that something is kept for an endpoint, not what: in the API, over the
// socket and in the exported page. The log and its export as JSON lines are whole.
//
// Proves R78.
func TestViewersGetASignOfWhatIsKept(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start(`Say "extra":{"a":1} to me`)
	kept := json.RawMessage(`{"api":"responses","provider":"p","family":"gpt","parts":[{"item":{"encrypted_content":"SECRET-BLOB \"}"}}]}`)
	s.add(events.ModelCalled{ID: "f.1", Provider: "p", Model: "m", Attempts: 1, Reply: events.Reply{
		Text: `with "extra":{"b":2} in it`, Extra: kept, FinishReason: events.FinishToolCalls,
		ToolCalls: []events.ToolCall{{ID: "c", Name: "search", Arguments: `{"extra":{"c":3}}`, Extra: kept}},
	}})
	s.add(events.ToolStarted{Tool: "search", CallRef: events.CallRef{ModelCall: "f.1", CallID: "c", Arguments: `{"extra":{"c":3}}`, Extra: kept, Early: &events.Early{Text: "x", Extra: kept}}})
	s.add(events.ToolCallDone{Tool: "search", Result: `"base64":"d"`, Phase: "complete",
		CallRef: events.CallRef{ModelCall: "f.1", CallID: "c", Arguments: "{}", Extra: kept},
		Parts:   []events.Part{{Type: events.PartImage, MediaType: "image/png", Bytes: []byte("PIXELS"), SizeBytes: 6}, {Type: events.PartText, Text: "behind"}}})
	server := serve(t, web.Config{Log: log})
	whole := encoded(t, log, s.key)
	views := map[string]string{}
	_, _, views["api"] = server.get(t, "/api/v1/runs/"+string(s.run)+"/events")
	_, _, views["page"] = server.get(t, "/api/v1/runs/"+string(s.run)+"/export?format=html")
	for _, body := range take(t, server.dial(t, s.key.Thread, 0), 0, events.Seq(len(whole))) {
		views["socket"] += body + "\n"
	}
	for name, view := range views {
		require.NotContains(t, view, "SECRET-BLOB", name)
		require.Contains(t, view, `"extra":{"kept":true}`, name)
		require.NotContains(t, view, "UElYRUxT", name)
		require.Contains(t, view, `"base64":"","size_bytes":6},{"type":"text","text":"behind"}`, name)
		for _, text := range []string{`\"extra\":{\"a\":1}`, `\"extra\":{\"b\":2}`, `{\"extra\":{\"c\":3}}`, `"\"base64\":\"d\""`} {
			require.Contains(t, view, text, name)
		}
	}
	_, _, lines := server.get(t, "/api/v1/runs/"+string(s.run)+"/export?format=jsonl")
	require.Contains(t, lines, "SECRET-BLOB", "the log alone resumes")
	require.Contains(t, lines, "UElYRUxT")
	require.Equal(t, whole, encoded(t, log, s.key), "the log is as it was")
}
