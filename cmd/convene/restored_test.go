package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

// Proves R62: show --restore reads values in place of placeholders in all that agents wrote,
// and JSON stays JSON; the log stays as it is.
func TestRestoredLog(t *testing.T) {
	log := events.NewMemory()
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: "7b2c5a60-93f0-4d7e-8f43-8c1a0c1f3e55"}
	epoch, err := log.Claim(t.Context(), key, "test", false)
	require.NoError(t, err)
	run := events.RunID("019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b")
	require.NoError(t, log.Append(t.Context(), key, epoch, 0, []events.Envelope{
		{Run: run, Data: events.WorkflowStarted{Message: "About [EMAIL_1]", Team: "trip"}},
		{Run: run, Data: events.ValuesReplaced{Values: []events.ReplacedValue{{Placeholder: "[PASSWORD_1]", What: "password", Original: `a"b\c`}}}},
		{Run: run, Agent: events.FacilitatorID, Data: events.FinalAnswer{Content: `{"secret":"[PASSWORD_1]","n":12345678901234567890}`, Structured: true}},
	}))
	summary, err := log.FindRun(t.Context(), key.Tenant, string(run))
	require.NoError(t, err)
	for want, reader := range map[string]func() (events.Log, error){
		`{"secret":"[PASSWORD_1]","n":12345678901234567890}`: func() (events.Log, error) { return log, nil },
		`{"n":12345678901234567890,"secret":"a\"b\\c"}`:      func() (events.Log, error) { return restoredLog(t.Context(), log, summary) },
	} {
		from, err := reader()
		require.NoError(t, err)
		loaded, err := loadRun(t.Context(), from, summary)
		require.NoError(t, err)
		require.Equal(t, want, loaded.FinalAnswer.Content)
		require.Equal(t, "About [EMAIL_1]", loaded.Started.Message)
	}
}
