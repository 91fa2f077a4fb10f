package team

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/internal/chars"
)

// maxAnswerSchemaChars bounds an answer's schema, which every turn of the
// facilitator carries.
const maxAnswerSchemaChars = 32 << 10

// Answer reads the text of an answer under AnswerSchema: JSON, either alone or in
// one code fence. It gives the JSON compact, or says what is wrong with it, in words
// that a model can act on.
func (t *Team) Answer(text string) (json.RawMessage, error) {
	schema, err := compileSchema(t.AnswerSchema)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal([]byte(unfenced(text)), &value); err != nil {
		return nil, fmt.Errorf("the answer is not JSON: %w", err)
	}
	if err := schema.Validate(value); err != nil {
		return nil, fmt.Errorf("the answer does not fit the schema: %w", err)
	}
	return json.Marshal(value)
}

func compileSchema(text json.RawMessage) (*jsonschema.Resolved, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	return schema.Resolve(nil)
}

// unfenced takes off the code fence that models like to put around JSON.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	rest, fenced := strings.CutPrefix(text, "```")
	if !fenced {
		return text
	}
	_, rest, _ = strings.Cut(rest, "\n")
	return strings.TrimSuffix(strings.TrimSpace(rest), "```")
}

func (t *Team) checkAnswerSchema(found *problems) {
	if len(t.AnswerSchema) == 0 {
		return
	}
	if schema := string(t.AnswerSchema); chars.Over(schema, maxAnswerSchemaChars) {
		found.add("answer_schema", "the schema has %d characters; at most %d are allowed", chars.Count(schema), maxAnswerSchemaChars)
		return
	}
	if _, err := compileSchema(t.AnswerSchema); err != nil {
		found.add("answer_schema", "answer_schema is no JSON Schema: %v", err)
	}
}

// json gives the node as JSON.
func (n *node) json() any {
	switch n.kind {
	case kindMapping:
		object := make(map[string]any, len(n.pairs))
		for _, p := range n.pairs {
			object[p.key] = p.value.json()
		}
		return object
	case kindList:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			list[i] = item.json()
		}
		return list
	case kindNumber:
		return n.num
	case kindBool:
		return strings.EqualFold(n.text, "true")
	case kindText:
		return n.text
	}
	return nil
}
