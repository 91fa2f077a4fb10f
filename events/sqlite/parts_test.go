package sqlite_test

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// begin appends a run that is over, with a configuration, to a thread of that name.
func begin(t *testing.T, log events.Log, thread events.ThreadID, config string) {
	t.Helper()
	epoch, err := log.Claim(t.Context(), key(thread), "tester", false)
	require.NoError(t, err)
	run := events.RunID("run-" + thread)
	require.NoError(t, log.Append(t.Context(), key(thread), epoch, 0, []events.Envelope{
		{Run: run, Data: events.WorkflowStarted{Message: "request of " + string(thread), Config: json.RawMessage(config)}},
		{Run: run, Data: events.WorkflowFinished{Status: events.StatusCompleted}},
	}))
	require.NoError(t, log.Release(t.Context(), key(thread), epoch))
}

// config is one of a team: as large as what nothing compresses.
func config(t *testing.T, size int) string {
	t.Helper()
	body, err := json.Marshal(map[string][]byte{"prompt": random(size)})
	require.NoError(t, err)
	return string(body)
}

// requireConfig reads the configuration of the run in a thread of that name.
func requireConfig(t *testing.T, log events.Log, thread events.ThreadID, config string) {
	t.Helper()
	envs, err := log.Read(t.Context(), key(thread), 0, 0)
	require.NoError(t, err)
	require.Len(t, envs, 2)
	require.Equal(t, config, string(envs[0].Data.(events.WorkflowStarted).Config))
}

// number gives what the query answers.
func number(t *testing.T, path, query string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	require.NoError(t, db.QueryRow(query).Scan(&n))
	require.NoError(t, db.Close())
	return n
}

// What many runs share stands in the store once, until the last of them is removed.
func TestConfigurationsAreKeptOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	one, other := config(t, 20_000), config(t, 20_000)
	for thread, config := range map[events.ThreadID]string{"a": one, "b": one, "c": one, "d": other} {
		begin(t, log, thread, config)
	}
	require.Equal(t, 2, number(t, path, "SELECT count(*) FROM parts"))
	require.Less(t, number(t, path, "SELECT sum(length(body)) FROM blocks"), 4*500)
	for thread, config := range map[events.ThreadID]string{"a": one, "b": one, "c": one, "d": other} {
		requireConfig(t, log, thread, config)
	}
	_, found := findings(t, log)
	require.Empty(t, found)
	backup := filepath.Join(t.TempDir(), "backup.db")
	require.NoError(t, log.Backup(t.Context(), backup))

	for _, thread := range []events.ThreadID{"a", "d", "b"} {
		require.NoError(t, log.Remove(t.Context(), key(thread)))
	}
	require.Equal(t, 1, number(t, path, "SELECT count(*) FROM parts"))
	requireConfig(t, log, "c", one)
	require.NoError(t, log.Erase(t.Context(), key("c")))
	require.Zero(t, number(t, path, "SELECT count(*) FROM parts"))
	begin(t, log, "e", one)
	requireConfig(t, log, "e", one)

	copied := open(t, backup)
	requireConfig(t, copied, "a", one)
	require.NoError(t, copied.Close())
}

// A number that another process gave to another part meanwhile is not taken for the one that
// was removed.
func TestConfigurationsOfProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log, other := open(t, path), open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	defer func() { require.NoError(t, other.Close()) }()
	first, second := config(t, 2000), config(t, 2000)
	begin(t, log, "a", first)
	require.NoError(t, other.Remove(t.Context(), key("a")))
	begin(t, other, "b", second)
	begin(t, log, "c", first)
	requireConfig(t, log, "b", second)
	requireConfig(t, other, "c", first)
}

// A damaged configuration is named as damage of each run that has it, and mended by the next
// run of the team that a process starts.
func TestDamagedConfigurationIsMended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	text := config(t, 2000)
	begin(t, log, "a", text)
	begin(t, log, "b", text)
	for n, spoil := range []string{"UPDATE parts SET data = x'00'", "UPDATE parts SET data = (SELECT body FROM blocks LIMIT 1)", "UPDATE parts SET data = zeroblob(length(data))"} {
		execute(t, path, spoil)
		_, err := log.Read(t.Context(), key("a"), 0, 0)
		requireDamaged(t, err, "a", 1)
		_, found := findings(t, log)
		require.Len(t, found, 2+n, spoil)
		require.NoError(t, log.Close())
		log = open(t, path)
		begin(t, log, events.ThreadID(spoil), text)
		requireConfig(t, log, "a", text)
		_, found = findings(t, log)
		require.Empty(t, found)
	}
	execute(t, path, "DELETE FROM parts")
	_, err := log.Read(t.Context(), key("b"), 0, 0)
	requireDamaged(t, err, "b", 1)
	require.NoError(t, log.Close())
}

// A tail goes on within what was appended at once, and a page ends there.
func TestWithinABlock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	epoch, err := log.Claim(t.Context(), key("t"), "tester", false)
	require.NoError(t, err)
	envs := []events.Envelope{{Run: "r", Data: events.WorkflowStarted{}}}
	for range 7 {
		envs = append(envs, events.Envelope{Run: "r", Data: events.Warning{Message: "step"}})
	}
	require.NoError(t, log.Append(t.Context(), key("t"), epoch, 0, envs[:3]))
	require.NoError(t, log.Append(t.Context(), key("t"), epoch, 3, envs[3:]))
	truth, err := log.ReadEncoded(t.Context(), key("t"), 0, 0)
	require.NoError(t, err)
	require.Len(t, truth, 8)
	for after := range 9 {
		for limit := 1; limit < 9; limit++ {
			page, err := log.ReadEncoded(t.Context(), key("t"), events.Seq(after), limit)
			require.NoError(t, err)
			require.Equal(t, truth[after:min(after+limit, 8)], append([]events.Encoded{}, page...), "%d after %d", limit, after)
		}
	}
	var cursors []events.Cursor
	for item, err := range log.Tail(t.Context(), events.TailFilter{Past: true}, "") {
		require.NoError(t, err)
		if item.Envelope.Data != nil {
			cursors = append(cursors, item.Cursor)
		}
	}
	require.Len(t, cursors, 8)
	for n, cursor := range cursors {
		seq := events.Seq(n + 1)
		for item, err := range log.Tail(t.Context(), events.TailFilter{Past: true}, cursor) {
			require.NoError(t, err)
			if item.Envelope.Data == nil {
				break
			}
			seq++
			require.Equal(t, seq, item.Envelope.Seq)
		}
		require.Equal(t, events.Seq(8), seq)
	}
}

// An append that is larger than a block is several, and one event may be larger.
func TestLargeAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	epoch, err := log.Claim(t.Context(), key("t"), "tester", false)
	require.NoError(t, err)
	envs := []events.Envelope{{Run: "r", Data: events.WorkflowStarted{}}}
	for _, size := range []int{300_000, 300_000, 3_000_000, 10} {
		envs = append(envs, events.Envelope{Run: "r", Data: events.Warning{Message: config(t, size)}})
	}
	require.NoError(t, log.Append(t.Context(), key("t"), epoch, 0, envs))
	require.Equal(t, 3, number(t, path, "SELECT count(*) FROM blocks"))
	require.NoError(t, log.Close())
	log, err = sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	again, err := log.Read(t.Context(), key("t"), 0, 0)
	require.NoError(t, err)
	require.Equal(t, envs, again)
	require.NoError(t, log.Close())
}
