package sim

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
)

const (
	toolWebSearch = "web_search"
	// searchOfMessages is the type of the tool in the Messages API.
	searchOfMessages = "web_search_20250305"
	// madeUpHost is where pages are found unless the tool is kept to other domains.
	madeUpHost = "search.example"
)

// queries are what the specialist's prompt tells it to search the web for, no more than the
// tool allows: `web_search {"query": "apples in season"}`.
func (p *part) queries() (all []string) {
	tool := p.tool(toolWebSearch)
	if tool == nil || tool.Search == nil {
		return nil
	}
	for _, behind := range strings.Split(p.system, toolWebSearch+" {")[1:] {
		var args struct{ Query string }
		if json.NewDecoder(strings.NewReader("{"+behind)).Decode(&args) == nil && args.Query != "" && !slices.Contains(all, args.Query) {
			all = append(all, args.Query)
		}
	}
	return all[:min(len(all), tool.Search.MaxUses)]
}

// found are the pages that the searches find: made up, one for each, and always the same.
func (p *part) found() (pages []events.CitedPage) {
	for _, query := range p.queries() {
		host := madeUpHost
		if allow := p.tool(toolWebSearch).Search.Allow; len(allow) > 0 {
			host = allow[0]
		}
		pages = append(pages, events.CitedPage{
			URL: "https://" + host + "/" + url.PathEscape(query), Title: "Simulated page: " + query,
			Quote: fmt.Sprintf("This simulated page about %q was made up: the web was not searched.", query),
		})
	}
	return pages
}

// search does in the first reply what the prompt says of searching, and tells what was found.
func (p *part) search() {
	if p.turns > 0 {
		return
	}
	p.reply.Searches, p.reply.Cited = p.queries(), p.found()
	for _, page := range p.reply.Cited {
		p.reply.Text += page.Quote + "\n"
	}
}

// sources are what the specialist names as the sources of what it writes.
func (p *part) sources() (list []map[string]string) {
	for _, page := range p.found() {
		list = append(list, map[string]string{"url": page.URL, "quote": page.Quote})
	}
	return list
}

// searchItem is a search as Responses has it, annotations the pages that the text cites.
func searchItem(i int, query string) string {
	return fmt.Sprintf(`{"id":"ws_sim_%d","type":"web_search_call","status":"completed","action":{"type":"search","query":%s}}`, i, quoted(query))
}

func annotations(reply *events.Reply) string {
	var list []string
	for _, page := range reply.Cited {
		list = append(list, fmt.Sprintf(`{"type":"url_citation","url":%s,"title":%s,"start_index":0,"end_index":%d}`, quoted(page.URL), quoted(page.Title), len(reply.Text)))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// searchBlocks are the searches as Messages has them, citations the passages of what they
// found. sealed is what the provider wants back with both.
func searchBlocks(reply *events.Reply, sealed string) (blocks []string) {
	for i, query := range reply.Searches {
		page := reply.Cited[i]
		blocks = append(blocks, fmt.Sprintf(`{"type":"server_tool_use","id":"srvtoolu_sim%d","name":"web_search","input":{"query":%s}}`, i, quoted(query)),
			fmt.Sprintf(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_sim%d","content":[{"type":"web_search_result","title":%s,"url":%s,"encrypted_content":%s,"page_age":null}]}`,
				i, quoted(page.Title), quoted(page.URL), quoted(sealed)))
	}
	return blocks
}

func citations(reply *events.Reply, sealed string) (list []string) {
	for _, page := range reply.Cited {
		list = append(list, fmt.Sprintf(`{"type":"web_search_result_location","cited_text":%s,"url":%s,"title":%s,"encrypted_index":%s}`,
			quoted(page.Quote), quoted(page.URL), quoted(page.Title), quoted(sealed)))
	}
	return list
}

// checkSearch gives what is wrong with a search, or a citation of one, that was sent back.
func (d *messages) checkSearch(b messageBlock) string {
	for _, c := range b.Citations {
		if !d.by.opens(events.APIMessages, c.Encrypted) {
			return "Invalid `encrypted_index` in `citations`"
		}
	}
	if b.Type != "web_search_tool_result" {
		return ""
	}
	var found []struct {
		Encrypted string `json:"encrypted_content"`
	}
	if json.Unmarshal(b.Content, &found) != nil || b.ToolUseID == "" {
		return "web_search_tool_result: Input should be a valid list"
	}
	for _, page := range found {
		if !d.by.opens(events.APIMessages, page.Encrypted) {
			return "Invalid `encrypted_content` in `search_result` block"
		}
	}
	return ""
}
