package team_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/team"
)

func TestCommittedSchemaIsUpToDate(t *testing.T) {
	committed, err := os.ReadFile(filepath.Join("schema", "team.schema.json"))
	require.NoError(t, err)
	require.Equal(t, string(team.JSONSchema()), string(committed), "run go generate ./team")
}

func TestTeamFilesValidateAgainstTheSchema(t *testing.T) {
	files := map[string][]byte{"template": team.Template("new")}
	for _, name := range team.BuiltinNames() {
		src, err := team.BuiltinSource(name)
		require.NoError(t, err)
		files[name] = src
	}
	examples, err := filepath.Glob(filepath.Join("..", "examples", "teams", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, examples)
	for _, path := range examples {
		files[path], err = os.ReadFile(path)
		require.NoError(t, err)
	}
	for name, src := range files {
		_, err := team.Parse(name, src)
		require.NoError(t, err)
		require.NoError(t, validate(t, src), name)
	}
}

// What the schema refuses, Parse refuses too: an editor never marks a good file.
func TestSchemaRefusesWhatParseRefuses(t *testing.T) {
	for _, src := range []string{
		"name: n\n",
		"name: Big Name\nspecialists: [{id: a, description: d, prompt: p}]\n",
		"name: n\nspecialists: []\n",
		"name: n\nspecialists: [{id: user, description: d, prompt: p}]\n",
		"name: n\nspecialists: [{id: a, description: d, prompt: ' '}]\n",
		"name: n\nspecialists: [{id: a, description: d, promt: p}]\n",
		small + "colour: red\n",
		small + "request: no placeholder\n",
		small + "document: {}\n",
		small + "document: {layout: none}\n",
		small + "document: {layout: free, sections: [{id: a}]}\n",
		small + "document: {sections: [{id: a, slots: [x, x]}]}\n",
		small + "facilitator: {temperature: 3}\n",
		small + "facilitator: {model: a b}\n",
		"name: n\nspecialists: [{id: a, description: d, prompt: p, tools: [x, x]}]\n",
		small + "facilitator: {effort: most}\n",
		small + "facilitator: {tier: gold}\n",
		small + "facilitator: {max_output_tokens: 1.5}\n",
		small + "facilitator: {silence_timeout: 90}\n",
		small + "limits: {max_tasks: 0}\n",
		small + "limits: {max_tasks: 1.5}\n",
		small + "limits: {max_time: 90}\n",
		small + "limits: {max_time: soon}\n",
		small + "limits: {max_taks: 3}\n",
	} {
		_, err := team.Parse("f.yaml", []byte(src))
		require.Error(t, err, src)
		require.Error(t, validate(t, []byte(src)), src)
	}
}

func validate(t *testing.T, src []byte) error {
	t.Helper()
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(team.JSONSchema(), &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	text, err := yaml.YAMLToJSON(src)
	require.NoError(t, err)
	var value any
	require.NoError(t, json.Unmarshal(text, &value))
	return resolved.Validate(value)
}
