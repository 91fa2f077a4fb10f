package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
)

const committed = "../../events/schema/events.schema.json"

func TestCommittedSchemaIsCurrent(t *testing.T) {
	want, err := generate()
	require.NoError(t, err)
	got, err := os.ReadFile(committed)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "%s is out of date: go generate ./events", committed)
}

// Proves R12: every released event is one by the published schema, and what is
// none is not.
func TestSchemaHoldsForGoldens(t *testing.T) {
	body, err := os.ReadFile(committed)
	require.NoError(t, err)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(body, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	validate := func(line string) error {
		var value any
		require.NoError(t, json.Unmarshal([]byte(line), &value))
		return resolved.Validate(value)
	}

	files, err := filepath.Glob("../../events/testdata/golden/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		file, err := os.ReadFile(name)
		require.NoError(t, err)
		for line := range bytes.Lines(file) {
			require.NoError(t, validate(string(line)), name)
			for _, broken := range []string{
				strings.Replace(string(line), `"type":"`, `"type":"un`, 1),
				strings.Replace(string(line), `"seq":`, `"seq":-`, 1),
				strings.Replace(string(line), `"data":{`, `"dota":{`, 1),
			} {
				require.Error(t, validate(broken), broken)
			}
		}
	}
	warning := `{"v":1,"tenant_id":"t","thread_id":"t","run_id":"r","seq":1,"time":"2026-01-01T00:00:00Z","type":"warning","data":`
	require.NoError(t, validate(warning+`{"code":"c","message":"m","later":1}}`), "a field that came later")
	require.Error(t, validate(warning+`{"code":"c"}}`), "a field is missing")
	require.Error(t, validate(warning+`{"code":"c","message":7}}`), "a field of another type")
}
