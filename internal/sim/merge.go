package sim

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// consolidate merges the slots with several entries that are not merged yet. It
// reports whether there was any.
func (p *part) consolidate(dispatched int) bool {
	text, read := p.result(toolReadDocument, dispatched)
	if text == "" || !p.offered(toolConsolidate) || p.options.Bench && dispatched > 1 {
		return false // in the bench profile there is no turn left for it
	}
	s := p.schema(toolConsolidate)
	calls := 0
	for _, sl := range parseDocument(text) {
		if len(sl.entries) < 2 || calls == maxConsolidations {
			continue
		}
		args := addressArguments(s, sl.address)
		if p.consolidated(args, read) {
			continue
		}
		args[contentName(s)] = mergedText(sl)
		p.call(toolConsolidate, args)
		calls++
	}
	return calls > 0
}

// consolidated reports whether a slot is done with since the document was read.
func (p *part) consolidated(address map[string]any, read int) bool {
	tries := 0
	for _, e := range p.exchanges {
		if e.name != toolConsolidate || e.turn <= read || !e.valid || !covers(e.args, address) {
			continue
		}
		if e.fine() {
			return true
		}
		tries++
	}
	return tries >= maxTries
}

func covers(args, address map[string]any) bool {
	for name, value := range address {
		if jsonText(args[name]) != jsonText(value) {
			return false
		}
	}
	return true
}

// contentName gives the parameter that takes text and says nothing of the place.
func contentName(s *schema) string {
	if s.Properties["content"] != nil {
		return "content"
	}
	name := s.property(func(name string, q *schema) bool {
		return q.is("string") && len(q.Enum) == 0 && (strings.Contains(name, "text") || strings.Contains(name, "content"))
	})
	if name == "" {
		return "content"
	}
	return name
}

// addressArguments turns an address read from the document into typed arguments.
func addressArguments(s *schema, address map[string]string) map[string]any {
	args := map[string]any{}
	for name, value := range address {
		q := s.Properties[name]
		if q == nil {
			continue
		}
		args[name] = value
		if n, err := strconv.Atoi(value); err == nil && !q.is("string") {
			args[name] = n
		}
	}
	return args
}

// mergedText joins a slot's entries by reference, ordered by who wrote what, so
// that it does not matter who came first.
func mergedText(sl slot) string {
	entries := slices.Clone(sl.entries)
	sort.SliceStable(entries, func(i, j int) bool {
		if entries[i].agent != entries[j].agent {
			return entries[i].agent < entries[j].agent
		}
		return entries[i].text < entries[j].text
	})
	references := make([]string, len(entries))
	for i, e := range entries {
		references[i] = fmt.Sprintf("{{entry:%d}}", e.id)
	}
	return strings.Join(references, "\n\n")
}
