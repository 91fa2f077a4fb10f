package responses

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

// search writes the tool that the provider runs itself.
// https://developers.openai.com/api/docs/guides/tools-web-search
func (w *writer) search(settings *llm.WebSearch) {
	w.add(`{"type":"web_search"`)
	if len(settings.Allow) > 0 {
		w.add(`,"filters":{"allowed_domains":`)
		w.dst = wire.AppendStrings(w.dst, settings.Allow)
		w.add(`}`)
	}
	w.add(`}`)
}

// maxSearches bounds the searches of the reply: here that is a field of the request.
func (w *writer) maxSearches() {
	for _, tool := range w.req.Tools {
		if tool.Search != nil {
			w.add(`,"max_tool_calls":`).add(strconv.Itoa(tool.Search.MaxUses))
		}
	}
}

// searched takes a search of the provider that is over. It goes back without its id, which
// names what is stored nowhere.
func (s *stream) searched(it *item, object gjson.Result) error {
	action := object.Get("action")
	if !action.IsObject() {
		return nil
	}
	it.kept = []byte(`{"type":"web_search_call","status":"completed","action":` + action.Raw + `}`)
	s.Content = true
	if query := action.Get("query").Str; query != "" {
		s.searches = append(s.searches, strings.Clone(query))
	}
	if charges(action) {
		s.paidSearches++
	}
	return s.Grow(len(it.kept))
}

// charges reports whether the provider charges for a step of its search: for searches, not
// for opening what they found.
func charges(action gjson.Result) bool { return action.Get("type").Str == "search" }

// charged counts the searches of a reply that has ended. Usage does not say; a whole response
// has items that did not stream.
func (s *stream) charged(response gjson.Result) int64 {
	whole := int64(0)
	for _, item := range response.Get("output").Array() {
		if item.Get("type").Str == kindSearch && charges(item.Get("action")) {
			whole++
		}
	}
	return max(whole, s.paidSearches)
}

// cite takes the pages that a message cites. The API says where in the message, and nothing
// of what stands on the page.
func (s *stream) cite(message gjson.Result) error {
	for _, part := range message.Get("content").Array() {
		for _, a := range part.Get("annotations").Array() {
			if a.Get("type").Str != "url_citation" || a.Get("url").Str == "" || len(s.cited) == maxCited {
				continue
			}
			s.cited = append(s.cited, events.CitedPage{URL: strings.Clone(a.Get("url").Str), Title: strings.Clone(a.Get("title").Str)})
			if err := s.Grow(len(a.Raw)); err != nil {
				return err
			}
		}
	}
	return nil
}

// isSearch reports whether a kept item is a search, which stands without an item behind it.
func isSearch(item json.RawMessage) bool { return gjson.GetBytes(item, "type").Str == kindSearch }
