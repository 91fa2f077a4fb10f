package team

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// WebSearchTool sets the web search of the models' providers.
type WebSearchTool struct {
	// Allow are the domains, with those below them, in which is searched. Empty is all.
	Allow []string `json:"allow,omitempty" jsonschema:"Domains in which is searched, such as example.com, with those below them. Defaults to all."`
	// MaxUses bounds the searches of one reply. Defaults to [DefaultSearches].
	MaxUses int `json:"max_uses,omitempty" jsonschema:"Most searches in one reply of a model. Defaults to 5."`
}

// DefaultSearches is how often a model searches in one reply, unless the team says.
const DefaultSearches = 5

const (
	// maxSearchDomains is the most that both providers take.
	maxSearchDomains = 100
	// maxSearches is far more than a reply needs.
	maxSearches = 100
)

// Uses is how often a model may search in one reply.
func (w *WebSearchTool) Uses() int { return cmp.Or(w.MaxUses, DefaultSearches) }

// CheckSearch refuses web_search for specialists whose model has no search of its provider,
// as lacks says: with what lacks it, "" for a model that has one. It gives a *[FileError]
// with all of them.
func (t *Team) CheckSearch(lacks func(Specialist) string) error {
	var found problems
	if t.Tools == nil || t.Tools.WebSearch == nil {
		return nil
	}
	for i, s := range t.Specialists {
		j := slices.IndexFunc(s.Tools, func(name string) bool { return names(name, ToolWebSearch) })
		if j < 0 {
			continue
		}
		if model := lacks(s); model != "" {
			found.add(fmt.Sprintf("specialists[%d].tools[%d]", i, j), "%s is asked by chat completions, which have no search: give the specialist a model of OpenAI (api: responses) or Anthropic (api: messages), or take %s from its tools", clip(model), ToolWebSearch)
		}
	}
	return found.err(t.file, t.places)
}

func (w *WebSearchTool) said() string {
	where := "every domain"
	if len(w.Allow) > 0 {
		where = join(w.Allow)
	}
	return fmt.Sprintf("%s, at most %d in one reply", where, w.Uses())
}

func (w *WebSearchTool) check(found *problems) {
	if w.MaxUses < 0 || w.MaxUses > maxSearches {
		found.add("tools.web_search.max_uses", "%d is not between 1 and %d", w.MaxUses, maxSearches)
	}
	if len(w.Allow) > maxSearchDomains {
		found.add("tools.web_search.allow", "%d domains, %d is the most that providers take", len(w.Allow), maxSearchDomains)
		return
	}
	for i, domain := range w.Allow {
		if !hostName.MatchString(domain) || strings.HasPrefix(domain, "*") {
			found.add(fmt.Sprintf("tools.web_search.allow[%d]", i), "%q is no domain; write one such as example.com, which has those below it", clip(domain))
		}
	}
}
