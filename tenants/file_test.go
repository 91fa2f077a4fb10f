package tenants_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/tenants"
)

const day = 24 * time.Hour

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", []byte(text), 0o600))
	require.NoError(t, os.Rename(path+".new", path)) // as a whole
}

func TestWhatATenantDoesNotSayIsTheDefaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tenants.yaml")
	write(t, path, `
default: {runs_at_once: 5, dollars_per_day: 10.5, retention: {runs_days: 90, conversations_days: 365}}
tenants:
  acme: {runs_at_once: 20, tokens_per_day: 5000000000, dollars_per_day: 0, retention: {runs_days: 0, batches_days: 7, saved_state_days: 3}}
  local: {}
`)
	file, err := tenants.Open(path)
	require.NoError(t, err)
	require.Equal(t, tenants.Limits{
		RunsAtOnce: 20, TokensPerDay: 5_000_000_000,
		Retention: tenants.Retention{Batches: 7 * day, Conversations: 365 * day, SavedState: 3 * day},
	}, file.Of("acme"))
	others := tenants.Limits{
		RunsAtOnce: 5, DollarsPerDay: 10.5,
		Retention: tenants.Retention{Runs: 90 * day, Conversations: 365 * day, SavedState: tenants.DefaultSavedState},
	}
	require.Equal(t, others, file.Of("globex"))
	require.Equal(t, others, file.Of(""))
	require.Len(t, file.Names(), 2)
}

func TestWrongFilesSayWhatWouldBeAccepted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tenants.yaml")
	_, err := tenants.Open(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	for text, want := range map[string]string{
		"tenants: {acme: {runs_at_onec: 3}}":                      `tenants.yaml:1:18: unknown key "runs_at_onec" in tenants.acme; did you mean "runs_at_once"?`,
		"tenant: {acme: {}}":                                      `did you mean "tenants"?`,
		"default: {runs_at_once: -1}":                             "runs_at_once is -1: write how many there may be, or 0 for no bound",
		"default: {tokens_per_day: 1.5}":                          "must be a whole number",
		"default: {dollars_per_day: -0.5}":                        "dollars_per_day is -0.5",
		"default: {dollars_per_day: .inf}":                        ".inf is not used here",
		"\n":                                                      "is empty: write default: {}",
		"default: {retention: {runs_days: -3}}":                   "write 1 to 36500 days, or 0 to keep",
		"default: {retention: {saved_state: 3}}":                  `did you mean "saved_state_days"?`,
		"tenants: {\" acme\": {}}":                                "begins or ends with a space",
		"tenants: {acme: 5}":                                      "tenants.acme must be a mapping",
		"tenants: {acme: {runs_at_once: 5}, acme: {}}":            "twice",
		"tenants: [acme]":                                         "tenants must be a mapping",
		"tenants: {a: {runs_at_once: -1, tokens_per_day: twice}}": "tokens_per_day must be a number",
	} {
		write(t, path, text)
		_, err := tenants.Open(path)
		require.ErrorContains(t, err, want, text)
	}
}

// A file that changes counts within a second; with a mistake in it, what held before does,
// and the mistake is told once.
func TestAFileThatChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "tenants.yaml")
		write(t, path, "default: {runs_at_once: 1}")
		file, err := tenants.Open(path)
		require.NoError(t, err)
		told := make(chan error, 10)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			file.Follow(ctx, func(err error) { told <- err })
		}()
		then := func(change func(), runs int) error {
			change()
			time.Sleep(5 * time.Second)
			require.Equal(t, runs, file.Of("acme").RunsAtOnce)
			require.Len(t, told, 1)
			return <-told
		}
		require.NoError(t, then(func() { write(t, path, "default: {runs_at_once: 12}") }, 12))
		require.ErrorContains(t, then(func() { write(t, path, "default: {runs_at_onc: 345}") }, 12), "runs_at_once")
		require.True(t, errors.Is(then(func() { require.NoError(t, os.Remove(path)) }, 12), os.ErrNotExist))
		require.NoError(t, then(func() { write(t, path, "default: {runs_at_once: 6789}") }, 6789))
		cancel()
		<-ended
	})
}

// The schema takes what a file may say, and refuses what it may not.
func TestJSONSchema(t *testing.T) {
	committed, err := os.ReadFile(filepath.Join("schema", "tenants.schema.json"))
	require.NoError(t, err)
	require.Equal(t, string(tenants.JSONSchema()), string(committed), "run go generate ./tenants")
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(tenants.JSONSchema(), &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	for text, right := range map[string]bool{
		`{"default":{"runs_at_once":5},"tenants":{"acme":{"dollars_per_day":0.5,"retention":{"runs_days":90}}}}`: true,
		`{"default":{"runs_at_once":-5}}`:                   false,
		`{"default":{"retention":{"runs":5}}}`:              false,
		`{"tenants":{"acme":{"tokens_per_day":"5000000"}}}`: false,
	} {
		var value any
		require.NoError(t, json.Unmarshal([]byte(text), &value))
		require.Equal(t, right, resolved.Validate(value) == nil, text)
	}
}
