package sarif_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/cmd/internal/sarif"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/evidence"
)

// written gives the one run of the document for reviews, which fits the specification.
func written(t *testing.T, reviews ...sarif.Review) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "essential.json"))
	require.NoError(t, err)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(text, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, sarif.Write(&out, reviews, "1.2.3"))
	var document map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &document))
	require.NoError(t, resolved.Validate(document), "%s", out.String())
	require.Len(t, document["runs"], 1)
	return document["runs"].([]any)[0].(map[string]any)
}

// at follows members and places into a JSON value.
func at(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			value = value.(map[string]any)[step]
		case int:
			value = value.([]any)[step]
		}
	}
	return value
}

func TestFindingsBecomeResults(t *testing.T) {
	findings, err := sarif.Read([]byte(`{"findings": [
		{"rule": "injection", "level": "error", "message": "<b> & all", "file": "a b/c:d.go", "line": 7, "end_line": 9, "code": "x := 1"},
		{"message": "No rule.", "level": "fatal", "file": "a.go"},
		{"rule": "injection", "level": "note", "message": "Again.", "file": "./sub/../a.go", "line": 1, "end_line": 1}
	]}`))
	require.NoError(t, err)
	basis := evidence.Basis{Field: "/findings/0/code", Source: events.Source{File: "a b/c:d.go"}, Quote: "x := 1"}
	other := evidence.Basis{Field: "/findings/1/code", Quote: "y"}
	run := written(t, sarif.Review{Name: "one", Status: events.StatusCompleted, Run: "r1", Findings: findings, Basis: []evidence.Basis{basis, basis, other}})

	require.Equal(t, "convene", at(run, "tool", "driver", "name"))
	require.Equal(t, []any{map[string]any{"id": "injection"}, map[string]any{"id": "finding"}}, at(run, "tool", "driver", "rules"))
	require.Equal(t, true, at(run, "invocations", 0, "executionSuccessful"))
	require.Len(t, at(run, "results"), 3)
	require.Equal(t, "<b> & all", at(run, "results", 0, "message", "text"))
	require.Equal(t, "a%20b/c:d.go", at(run, "results", 0, "locations", 0, "physicalLocation", "artifactLocation", "uri"))
	require.Equal(t, map[string]any{"startLine": 7.0, "endLine": 9.0, "snippet": map[string]any{"text": "x := 1"}}, at(run, "results", 0, "locations", 0, "physicalLocation", "region"))
	require.Equal(t, map[string]any{"review": "one", "run": "r1", "quotes": []any{map[string]any{"file": "a b/c:d.go", "quote": "x := 1"}}}, at(run, "results", 0, "properties"))
	require.Equal(t, []any{"finding", 1.0, "warning"}, []any{at(run, "results", 1, "ruleId"), at(run, "results", 1, "ruleIndex"), at(run, "results", 1, "level")})
	require.Nil(t, at(run, "results", 1, "locations", 0, "physicalLocation", "region"))
	require.Equal(t, "a.go", at(run, "results", 2, "locations", 0, "physicalLocation", "artifactLocation", "uri"))
	require.Equal(t, 0.0, at(run, "results", 2, "ruleIndex"))
}

// A model may write anything: no path leads out of the repository, and what is left out, was
// simulated or did not come to its end is told.
func TestWhatCannotBeSaidIsTold(t *testing.T) {
	var findings []sarif.Finding
	for _, file := range []string{"../a", "/etc/passwd", "..", "a/../../b", `..\a`, ".", "a\x00"} {
		findings = append(findings, sarif.Finding{Message: "m", File: file, Line: 1})
	}
	run := written(t,
		sarif.Review{Name: "one", Status: events.StatusCompleted, Simulated: true, Findings: append(findings, sarif.Finding{Message: "m", Line: -1})},
		sarif.Review{Name: "two", Status: events.StatusFailed, Simulated: true, Reason: "no key"})
	require.Equal(t, "convene (simulated)", at(run, "tool", "driver", "name"))
	require.Equal(t, false, at(run, "invocations", 0, "executionSuccessful"))
	require.Len(t, at(run, "results"), 8)
	for i := range 8 {
		require.NotContains(t, at(run, "results", i), "locations")
		require.Equal(t, true, at(run, "results", i, "properties", "simulated"))
	}
	notes := at(run, "invocations", 0, "toolExecutionNotifications")
	require.Len(t, notes, 9, "simulated once, seven files, one failure")
	require.Contains(t, at(notes, 1, "message", "text"), `findings[0] of the review one names "../a"`)
	require.Equal(t, "The review two is failed: no key", at(notes, 8, "message", "text"))

	require.Empty(t, at(written(t), "results"), "no reviews are a document, too")
}

func TestAnswersWithoutFindings(t *testing.T) {
	findings, err := sarif.Read([]byte(`{"findings": []}`))
	require.NoError(t, err)
	require.Empty(t, findings)
	for answer, complaint := range map[string]string{
		`{}`: `no "findings"`, `null`: `no "findings"`, `{"findings": {}}`: "cannot be read", ``: "cannot be read",
		`{"findings": [{"message": "m"}, {"message": " "}]}`: "findings[1] has no message", `{"findings": [{"line": "7"}]}`: "cannot be read",
	} {
		_, err := sarif.Read([]byte(answer))
		require.ErrorContains(t, err, complaint, answer)
	}
}
