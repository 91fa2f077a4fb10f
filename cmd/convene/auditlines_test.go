package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/events"
)

// Proves R63: what is done is written as log lines with the same attributes as an entry, without
// personal data in its words; refusals are warnings, and what the store does not take is told of
// whatever the level.
func TestAuditLines(t *testing.T) {
	log := events.NewMemory()
	key := events.ThreadKey{Tenant: "acme", Thread: "7b2c5a60-93f0-4d7e-8f43-8c1a0c1f3e55"}
	epoch, err := log.Claim(t.Context(), key, "test", false)
	require.NoError(t, err)
	envs := []events.Envelope{
		{Run: "r1", Data: events.WorkflowStarted{Team: "trip", UserID: "ann"}, By: &events.Actor{UserID: "ann", TokenID: "k3xq7wd2ba", Door: events.DoorREST, Remote: "192.0.2.7"}},
		{Run: "r1", Data: events.TasksCreated{}},
		{Run: "r1", Data: events.PermissionDenied{Permission: "skill:create", What: "hand over to mail of ann@example.org"}},
	}
	require.NoError(t, log.Append(t.Context(), key, epoch, 0, envs))
	failed := audit.Entry{Time: time.Now(), Tenant: "acme", Action: "signed_in"}
	for level, want := range map[zerolog.Level][]string{
		zerolog.InfoLevel:  {"info", "warn", "error"},
		zerolog.WarnLevel:  {"warn", "error"},
		zerolog.ErrorLevel: {"error"},
		zerolog.Disabled:   {"error"},
	} {
		var out bytes.Buffer
		lines := (&app{err: &out}).auditLines(level)
		if told := lines.events(t.Context(), log); told != nil {
			for _, env := range envs {
				told(env)
			}
		}
		lines.entry(failed, errors.New("disk full"))
		var levels []string
		for decoder := json.NewDecoder(&out); decoder.More(); {
			var line struct {
				Level, Message string
				Audit          map[string]any
			}
			require.NoError(t, decoder.Decode(&line))
			levels = append(levels, line.Level)
			require.Equal(t, "acme", line.Audit["tenant_id"])
			require.NotEmpty(t, line.Audit["time"])
			delete(line.Audit, "time")
			switch line.Level {
			case "info":
				require.Equal(t, map[string]any{
					"tenant_id": "acme", "thread_id": string(key.Thread), "run_id": "r1", "action": "run_started", "what": "team trip",
					"user_id": "ann", "token_id": "k3xq7wd2ba", "door": "rest", "remote": "192.0.2.7", "owner": "ann",
				}, line.Audit)
			case "warn":
				require.Equal(t, "refused", line.Audit["action"])
				require.NotContains(t, line.Audit["what"], "example.org")
			case "error":
				require.Contains(t, line.Message, "disk full")
			}
		}
		require.Equal(t, want, levels, level)
	}
}
