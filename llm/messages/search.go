package messages

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/wire"
)

// maxCited bounds the pages that a reply cites.
const maxCited = 200

// search begins the tool that the provider runs itself.
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
func (w *writer) search(tool llm.Tool) {
	w.add(`{"type":"web_search_20250305","name":"web_search","max_uses":`).add(strconv.Itoa(tool.Search.MaxUses))
	if len(tool.Search.Allow) > 0 {
		w.add(`,"allowed_domains":`)
		w.dst = wire.AppendStrings(w.dst, tool.Search.Allow)
	}
}

// cite takes a citation of a text: it goes back with the text, and the page into the reply.
func (s *stream) cite(b *block, citation gjson.Result) error {
	if b.kind != kindText || !citation.IsObject() {
		return nil
	}
	b.citations = append(b.citations, json.RawMessage(citation.Raw))
	if url := citation.Get("url").Str; url != "" && len(s.cited) < maxCited {
		s.cited = append(s.cited, events.CitedPage{
			URL: strings.Clone(url), Title: strings.Clone(citation.Get("title").Str), Quote: strings.Clone(citation.Get("cited_text").Str),
		})
	}
	return s.Grow(2 * len(citation.Raw))
}

// searches are the queries of the provider's searches, in order.
func (s *stream) searches() (queries []string) {
	for _, b := range s.blocks {
		if b.raw == nil || b.kind != "server_tool_use" || gjson.GetBytes(b.raw, "name").Str != "web_search" {
			continue
		}
		input := b.args.String()
		if input == "" {
			input = gjson.GetBytes(b.raw, "input").Raw
		}
		if query := gjson.Get(input, "query").Str; query != "" {
			queries = append(queries, strings.Clone(query))
		}
	}
	return queries
}
