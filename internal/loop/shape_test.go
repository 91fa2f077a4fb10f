package loop

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/llm"
)

// place is the schema of a tool that uses all that a shape can say.
const place = `{"type":"object","properties":{
	"day":{"type":"integer","minimum":0,"maximum":60,"description":"Day."},
	"slot":{"type":"string","enum":["morning","night","\\u0061"]}, "slo\\u0074":{"type":"boolean"},
	"content":{"type":"string"}, "final":{"type":"boolean"},
	"tasks":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}}},
	"required":["day","content"]}`

func tool(t require.TestingT, schema string) compiled {
	c, err := compile(agent.Tool{Tool: llm.Tool{Name: "tool", Parameters: json.RawMessage(schema)}})
	require.NoError(t, err)
	_, err = c.schema()
	require.NoError(t, err, "what has a shape is a schema")
	return c
}

// Ordinary arguments are seen to fit without the library.
func TestShapeTakesOrdinaryArguments(t *testing.T) {
	c := tool(t, place)
	for _, arguments := range []string{
		`{"day":0,"content":""}`,
		`{"day": 60, "slot":"night", "content":"A \"quoted\"\nline, très long", "final":true, "tasks":[]}`,
		`{"content":"x","tasks":[{"id":1},{"id":-20}],"day":7}`,
	} {
		require.True(t, c.shape.takes(arguments), arguments)
	}
	require.True(t, tool(t, `{"type":"object","properties":{}}`).shape.takes(argumentsOf(" ")))
}

// A schema that says more than a shape can is left to the library.
func TestSchemasWithoutAShape(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"string","maxLength":2}}}`,
		`{"type":"object","properties":{"a":{"type":["string","null"]}}}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}]}}}`,
		`{"type":"object","properties":{"a":{"type":"integer","enum":[1]}}}`,
	} {
		require.Nil(t, tool(t, schema).shape, schema)
	}
}

// What is no schema has no shape that could hide it.
func TestWhatIsNoSchemaIsRefusedAtOnce(t *testing.T) {
	for _, parameters := range []string{
		``, `{`, `{"type":"object"} x`, `{"type":"object","properties":{"a":null}}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"properties":{"b":null}}}}}`,
	} {
		_, err := NewToolset([]agent.Tool{{Tool: llm.Tool{Name: "tool", Parameters: json.RawMessage(parameters)}, Handler: Pure(nil)}})
		require.ErrorContains(t, err, "tool tool: parameters: ", parameters)
	}
}

// Whatever a shape takes, the library takes, however the arguments are written.
func TestShapeIsAsStrictAsItsSchema(t *testing.T) {
	c := tool(t, place)
	slow := compiled{schema: c.schema}
	starts := []string{"{", `{"day":1,`, `{"day":1,"content":"x"`, `{"day":1,"content":"x",`, " [", `"`}
	names := []string{`"day"`, `"content"`, `"slot"`, `"slo\u0074"`, `"final"`, `"tasks"`, `"d\u0061y"`, `"Day"`, `"other"`, `day`}
	values := []string{
		`0`, `-0`, `7`, `61`, `-1`, `1.0`, `1.5`, `1e1`, `1e999`, `123456789012345678`, `01`, `true`, `null`, `"morning"`, `"noon"`, `"m\u006frning"`, `"\u0061"`,
		"\"\xff\"", "\"a\nb\"", `"\ud800"`, `"7"`, `""`, `[]`, `[7]`, `[{"id":1}]`, `[{"id":1},{}]`, `[{"id":"1"}]`, `[{"id":1,"id":"1"}]`, `{}`, `{"id":1}`, `[`, ``,
	}
	taken := 0
	for _, start := range starts {
		for _, name := range names {
			for _, value := range values {
				for _, end := range []string{"}", "", "}}", " } ", `,"content":"\\"}`, `,"day":60.5}`, ",}"} {
					arguments := start + name + ":" + value + end
					if c.shape.takes(arguments) {
						taken++
						require.NoError(t, slow.takes(arguments), arguments)
					}
				}
			}
		}
	}
	require.Greater(t, taken, 50)
}
