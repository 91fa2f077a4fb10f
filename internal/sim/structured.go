package sim

import (
	"encoding/json"
	"strings"

	"github.com/convene-run/convene/internal/sim/fill"
)

// answerStructured answers with JSON where the system prompt asks for an answer that
// fits a schema, and reports whether it did. A schema that nothing fits, or nothing that
// could be found, is answered in words.
func (p *part) answerStructured() bool {
	at := answerSchema.FindStringIndex(p.system)
	if at == nil {
		return false
	}
	var schema json.RawMessage
	if json.NewDecoder(strings.NewReader(p.system[at[1]:])).Decode(&schema) != nil {
		return false
	}
	value, ok := fill.Value(schema, "Simulated answer about "+topic(p.request), p.options.Seed)
	if !ok {
		return false
	}
	text, err := json.Marshal(value)
	if err != nil {
		return false
	}
	p.reply.Text, p.structured = string(text), true
	return true
}
