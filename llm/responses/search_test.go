package responses_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/wire/wiretest"
)

// A search and the pages that the answer cites are in the reply; the search goes back
// between the reasoning and the answer, without its id.
func TestWebSearch(t *testing.T) {
	const action = `{"type":"search","query":"latest stable Ruby version"}`
	body := sse(created, reasoned,
		`{"type":"response.output_item.added","output_index":1,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress"}}`,
		`{"type":"response.web_search_call.searching","output_index":1,"item_id":"ws_1"}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"id":"ws_1","type":"web_search_call","status":"completed","action":`+action+`}}`,
		`{"type":"response.output_text.delta","output_index":2,"delta":"It is 4.0.6."}`,
		`{"type":"response.output_item.done","output_index":2,"item":{"type":"message","content":[{"type":"output_text","text":"It is 4.0.6.","annotations":[`+
			`{"type":"file_citation","file_id":"f"},{"type":"url_citation","url":"https://ruby.example/","title":"Ruby","start_index":0,"end_index":12}]}]}}`, completed)
	e := serve(t, func(string) (int, []byte) { return 200, body })
	req := ask("Which Ruby?")
	req.Tools = []llm.Tool{{Name: "web_search", Search: &llm.WebSearch{Allow: []string{"a.example", "b.example"}, MaxUses: 3}}}
	first := wiretest.Collect(t, e, req)
	require.NoError(t, first.Err)
	require.Equal(t, `[{"type":"web_search","filters":{"allowed_domains":["a.example","b.example"]}}]`, gjson.Get(e.bodies[0], "tools").Raw)
	require.EqualValues(t, 3, gjson.Get(e.bodies[0], "max_tool_calls").Int())
	reply := first.Done.Reply
	require.Equal(t, "It is 4.0.6.", reply.Text)
	require.Equal(t, []string{"latest stable Ruby version"}, reply.Searches)
	require.Equal(t, []events.CitedPage{{URL: "https://ruby.example/", Title: "Ruby"}}, reply.Cited)

	req.Messages = append(req.Messages, reply.Message(), events.Message{Role: events.RoleUser, Content: "Sure?"})
	require.NoError(t, wiretest.Collect(t, e, req).Err)
	require.Equal(t, []string{"user", "reasoning", "web_search_call", "message", "user"}, kinds(e.bodies[1]))
	require.JSONEq(t, `{"type":"web_search_call","status":"completed","action":`+action+`}`, gjson.Get(e.bodies[1], "input.2").Raw)
}
