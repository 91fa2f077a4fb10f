package events_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/eventstest"
)

var update = flag.Bool("update", false, "write golden files that are missing; those that exist are never changed")

const goldenDir = "testdata/golden"

// goldenFile holds one event of a kind with all fields filled and one with none.
func goldenFile(kind events.Kind) string { return filepath.Join(goldenDir, string(kind)+".jsonl") }

// Proves R12: what was once released decodes forever, and to the same bytes.
func TestGolden(t *testing.T) {
	for _, kind := range events.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			if _, err := os.Stat(goldenFile(kind)); os.IsNotExist(err) && *update {
				writeGolden(t, kind)
			}
			file, err := os.ReadFile(goldenFile(kind))
			require.NoError(t, err, "a new kind needs a golden file: go test ./events -run TestGolden -update")
			lines := bytes.Split(bytes.TrimSuffix(file, []byte("\n")), []byte("\n"))
			require.GreaterOrEqual(t, len(lines), 2)
			for _, line := range lines {
				env, err := events.Decode(line)
				require.NoError(t, err)
				require.Equal(t, kind, env.Data.Kind())
				body, err := events.Encode(env)
				require.NoError(t, err)
				require.Equal(t, string(line), string(body))
			}
		})
	}
}

func writeGolden(t *testing.T, kind events.Kind) {
	full := events.Envelope{
		Tenant: events.LocalTenant, Thread: "7b2c5a60-93f0-4d7e-8f43-8c1a0c1f3e55", Run: "019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b",
		Seq: 17, Time: time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC), Agent: "food", Dispatch: "d3",
		By:   &events.Actor{UserID: "ann", TokenID: "k3xq7wd2ba", Issuer: "https://login.example.org", Door: events.DoorREST, Remote: "192.0.2.7"},
		Data: eventstest.Samples()[kind],
	}
	body, err := events.Encode(full)
	require.NoError(t, err)
	bare, err := events.Decode([]byte(`{"v":1,"tenant_id":"local","thread_id":"t","run_id":"r","seq":1,"time":"2026-01-02T03:04:05Z","type":"` +
		string(kind) + `","data":{}}`))
	require.NoError(t, err)
	minimal, err := events.Encode(bare)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(goldenDir, 0o755))
	require.NoError(t, os.WriteFile(goldenFile(kind), []byte(string(body)+"\n"+string(minimal)+"\n"), 0o644))
}

// The samples that logs are tested with are the golden events: no field is
// forgotten in either.
func TestSamplesAreGolden(t *testing.T) {
	samples := eventstest.Samples()
	require.Len(t, samples, len(events.Kinds()))
	for _, kind := range events.Kinds() {
		file, err := os.ReadFile(goldenFile(kind))
		require.NoError(t, err)
		line, _, _ := bytes.Cut(file, []byte("\n"))
		env, err := events.Decode(line)
		require.NoError(t, err)
		require.Equal(t, samples[kind], env.Data)
		requireFilled(t, string(kind), reflect.ValueOf(env.Data))
	}
}

// requireFilled insists that every exported field below v has a value.
func requireFilled(t *testing.T, path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		require.False(t, v.IsNil(), path)
		requireFilled(t, path, v.Elem())
	case reflect.Slice:
		require.NotZero(t, v.Len(), path)
		requireFilled(t, path, v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.IsExported() {
				requireFilled(t, path+"."+field.Name, v.Field(i))
			}
		}
	default:
		// The first span starts at 0.
		require.True(t, !v.IsZero() || path == "document_updated.Spans.Start", path)
	}
}

func TestGoldenFilesAreOfKinds(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(goldenDir, "*"))
	require.NoError(t, err)
	require.Len(t, files, len(events.Kinds()), "a kind that was released stays")
}
