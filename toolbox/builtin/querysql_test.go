package builtin

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/team"
)

// orders makes a SQLite file with two orders.
func orders(t *testing.T) string {
	t.Helper()
	folder := tree(t, nil)
	plain, path := filepath.Join(folder, "o.db"), filepath.Join(folder, "or ders#.db")
	db, err := sql.Open("sqlite", "file:"+plain)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `CREATE TABLE orders (id INTEGER, who TEXT, blob BLOB); INSERT INTO orders VALUES (1, 'Ann, "A"', x'ff00'), (2, NULL, 'text')`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	require.NoError(t, os.Rename(plain, path))
	return path
}

// querying gives the tool of a team with databases.
func querying(t *testing.T, databases map[string]string, env map[string]string, limits ...team.Limits) agent.Tool {
	t.Helper()
	kit := &Kit{Env: func(name string) string { return env[name] }}
	tm := &team.Team{Tools: &team.Tools{QuerySQL: &team.QuerySQLTool{Databases: databases}}}
	for _, l := range limits {
		tm.Limits = l
	}
	tools, err := kit.Tools(tm)
	require.NoError(t, err)
	return tools[0]
}

func TestQuerySQLite(t *testing.T) {
	tool := querying(t, map[string]string{"orders": "sqlite:" + orders(t)}, nil)
	text, err := calls(t, tool, in{"query": "SELECT * FROM orders ORDER BY id; -- all; of them\n"})
	require.NoError(t, err)
	require.Equal(t, "id,who,blob\n1,\"Ann, \"\"A\"\"\",(2 bytes)\n2,NULL,text\n[2 rows]", text)
	text, err = calls(t, tool, in{"query": "WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c) SELECT x FROM c", "database": "orders"})
	require.NoError(t, err)
	require.Contains(t, text, "\n500\n[the first 500 rows; more were not read")
	_, err = calls(t, tool, in{"query": "SELECT 1", "database": "order"})
	require.EqualError(t, err, `there is no database "order": name one of orders`)
	_, err = calls(t, tool, in{"query": "SELECT price FROM orders"})
	require.ErrorContains(t, err, "no such column: price")

	short := querying(t, map[string]string{"orders": "${DB}"}, map[string]string{"DB": "sqlite:" + orders(t)}, team.Limits{MaxToolResultChars: 800})
	text, err = calls(t, short, in{"query": "WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c) SELECT x, 'some text' FROM c LIMIT 400"})
	require.NoError(t, err)
	require.Less(t, len(text), 800)
	require.Contains(t, text, "more were not read")
}

// Proves R76: nothing is written, attached or made, whatever the statement.
func TestSQLEscapes(t *testing.T) {
	path, other := orders(t), orders(t)
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	tool := querying(t, map[string]string{"orders": "sqlite:" + path}, nil)
	made := filepath.Join(filepath.Dir(path), "made")
	for _, statement := range []string{
		"INSERT INTO orders VALUES (3, 'x', 'y')", "UPDATE orders SET who = 'x'", "DELETE FROM orders", "DROP TABLE orders", "CREATE TABLE x (a)", "CREATE TEMP TABLE x (a)",
		"WITH x AS (SELECT 1) INSERT INTO orders SELECT 3, 'x', 'y'", "WITH x AS (SELECT 1) DELETE FROM orders", "REPLACE INTO orders VALUES (1, '', '')", "INSERT INTO orders VALUES (3,'','') RETURNING *",
		"ATTACH '" + other + "' AS o", "ATTACH '" + made + "' AS o", "VACUUM INTO '" + made + "'", "VACUUM", "PRAGMA query_only = 0", "PRAGMA journal_mode = WAL", "PRAGMA temp_store_directory = '/tmp'", "REINDEX", "ANALYZE", "BEGIN IMMEDIATE", "COMMIT", "DETACH main",
		"SELECT 1; ATTACH '" + other + "' AS o", "SELECT 1; PRAGMA query_only = 0; DELETE FROM orders", "/* SELECT */ DELETE FROM orders", "-- SELECT\nDELETE FROM orders", "SELECT ';'; DELETE FROM orders", "SELECT [;]; DELETE FROM orders", "SELECT `;`; DELETE FROM orders", `SELECT ";"; DELETE FROM orders`, "SELECT '''; '; DELETE FROM orders", "SELECT 1 /* ; */; DELETE FROM orders",
		"SELECT load_extension('/tmp/x')", "SELECT writefile('" + made + "', 'x')", "SELECT readfile('/etc/passwd')", "SELECT randomblob(100000000)", "SELECT zeroblob(1000000000)", "EXPLAIN; DELETE FROM orders",
		"", ";", "  ", "(SELECT 1)", "SELECT\x001", "SELECT '" + strings.Repeat("x", maxStatementBytes) + "'",
	} {
		text, err := calls(t, tool, in{"query": statement})
		require.Error(t, err, "%.100s gave %.200s", statement, text)
	}
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.NoFileExists(t, made)
}

// What stands behind the look at a statement holds by itself: SQLite refuses to write, and
// to open another file.
func TestSQLiteRefusesByItself(t *testing.T) {
	path := orders(t)
	made := filepath.Join(filepath.Dir(path), "made")
	for _, statement := range []string{
		"DELETE FROM orders", "PRAGMA query_only = 0; DELETE FROM orders", "ATTACH '" + made + "' AS o", "VACUUM INTO '" + made + "'", "COMMIT; PRAGMA query_only = 0; VACUUM INTO '" + made + "'", "CREATE TABLE x (a)",
	} {
		_, err := query(t.Context(), sqliteFile{path}, statement, 1000)
		require.Error(t, err, statement)
	}
	require.NoFileExists(t, made)
}

// A query that would never end is stopped with its call.
func TestEndlessQueryIsStopped(t *testing.T) {
	tool := querying(t, map[string]string{"orders": "sqlite:" + orders(t)}, nil)
	for _, endless := range []string{
		"WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
		"WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c) SELECT x FROM c WHERE x < 0",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := callsIn(ctx, t, tool, in{"query": endless})
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
}

// What a setting names must be there, and an error tells no secret.
func TestDatabasesThatCannotBe(t *testing.T) {
	env := map[string]string{"ODD": "mysql://u:hidden@h/d", "PW": "hidden"}
	for where, want := range map[string]string{
		"${NONE}":                       "tools.query_sql.databases.db: the variable NONE is not set",
		"sqlite:relative.db":            "is not absolute",
		"sqlite:" + t.TempDir():         "it is no regular file",
		"sqlite:/none/there.db":         "the file cannot be read",
		"${ODD}":                        "it is no database",
		"postgres://u:${PW}@[bad/db":    "it is no URL that PostgreSQL takes",
		"postgres://u:${PW}@h:99999/db": "it is no URL that PostgreSQL takes",
	} {
		kit := &Kit{Env: func(name string) string { return env[name] }}
		_, err := kit.Tools(&team.Team{Tools: &team.Tools{QuerySQL: &team.QuerySQLTool{Databases: map[string]string{"db": where}}}})
		require.ErrorContains(t, err, want, where)
		require.NotContains(t, err.Error(), "hidden")
	}
	tool := querying(t, map[string]string{"db": "postgres://hiddenuser:${PW}@127.0.0.1:1/hiddendb"}, env)
	_, err := calls(t, tool, in{"query": "SELECT 1"})
	require.EqualError(t, err, "the database cannot be reached, or does not take its user")
}
