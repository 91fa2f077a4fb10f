package messages_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/wire/wiretest"
)

// What a real search brought is in the reply, and goes back with its encrypted parts.
func TestWebSearch(t *testing.T) {
	_, _, body := wiretest.Recorded(t, "messages_web_search_citations.sse")
	e := serve(t, func(string) (int, []byte) { return 200, body })
	req := ask("Which Ruby?")
	req.Tools = []llm.Tool{{Name: "web_search", Search: &llm.WebSearch{Allow: []string{"ruby-lang.org"}, MaxUses: 3}}}
	first := wiretest.Collect(t, e, req)
	require.NoError(t, first.Err)
	require.JSONEq(t, `{"type":"web_search_20250305","name":"web_search","max_uses":3,"allowed_domains":["ruby-lang.org"],"cache_control":{"type":"ephemeral"}}`,
		gjson.Get(e.bodies[0], "tools.0").Raw)
	reply := first.Done.Reply
	require.Equal(t, []string{"latest stable Ruby version"}, reply.Searches)
	require.Equal(t, []events.CitedPage{
		{URL: "https://www.ruby-lang.org/en/downloads/", Title: "Download Ruby | Ruby", Quote: "The current stable version is 4.0.6. "},
		{URL: "https://www.ruby-lang.org/en/news/2026/07/14/ruby-4-0-6-released/", Title: "Ruby 4.0.6 Released | Ruby", Quote: "Ruby 4.0.6 has been released.\n\n"},
	}, reply.Cited)

	req.Messages = append(req.Messages, reply.Message(), events.Message{Role: events.RoleUser, Content: "Sure?"})
	require.NoError(t, wiretest.Collect(t, e, req).Err)
	back := gjson.Get(e.bodies[1], "messages.1.content")
	require.Equal(t, []string{"server_tool_use", "web_search_tool_result", "text", "text", "text", "text"}, texts(back.Get("#.type")))
	require.NotEmpty(t, back.Get("1.content.0.encrypted_content").Str)
	require.NotEmpty(t, back.Get("2.citations.0.encrypted_index").Str)
	require.Equal(t, "4.0.6", back.Get("2.text").Str[len(back.Get("2.text").Str)-5:])
	require.False(t, back.Get("3.citations").Exists())
}

func texts(list gjson.Result) (all []string) {
	for _, item := range list.Array() {
		all = append(all, item.Str)
	}
	return all
}
