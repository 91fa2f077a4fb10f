package builtin

import (
	"context"
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Proves R76 for PostgreSQL: a superuser's connection writes nothing. It needs a server, at
// the URL in CONVENE_TEST_POSTGRES.
func TestPostgresEscapes(t *testing.T) {
	where := os.Getenv("CONVENE_TEST_POSTGRES")
	if where == "" {
		t.Skip("CONVENE_TEST_POSTGRES names no server")
	}
	db, err := sql.Open("pgx", where)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "DROP TABLE IF EXISTS orders; CREATE TABLE orders (id int, who text, at timestamptz, cost numeric); INSERT INTO orders VALUES (1, 'Ann', '2026-01-02 03:04:05Z', 12.50), (2, NULL, NULL, NULL)")
	require.NoError(t, err)
	tool := querying(t, map[string]string{"orders": "${DB}"}, map[string]string{"DB": where})
	text, err := calls(t, tool, in{"query": "SELECT id, who, cost, at AT TIME ZONE 'UTC' AS at FROM orders ORDER BY id"})
	require.NoError(t, err)
	require.Equal(t, "id,who,cost,at\n1,Ann,12.50,2026-01-02T03:04:05Z\n2,NULL,NULL,NULL\n[2 rows]", text)
	for _, statement := range []string{
		"WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x", "WITH x AS (INSERT INTO orders VALUES (3) RETURNING *) SELECT * FROM x", "EXPLAIN ANALYZE DELETE FROM orders", "SELECT * INTO made FROM orders", "SELECT 1; DELETE FROM orders",
		"SET TRANSACTION READ WRITE", "COPY orders TO PROGRAM 'cat'", "DO $$ BEGIN DELETE FROM orders; END $$", "SELECT nothing", "SELECT $$;$$; DELETE FROM orders", "SELECT E'\\'; DELETE FROM orders; --'", "TABLE nothing", "SELECT * FROM orders FOR UPDATE",
	} {
		text, err := calls(t, tool, in{"query": statement})
		require.Error(t, err, "%s gave %s", statement, text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = callsIn(ctx, t, tool, in{"query": "SELECT pg_sleep(60)"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	// What stands behind the look at a statement holds by itself.
	config, err := databaseAt(where)
	require.NoError(t, err)
	for _, statement := range []string{"DELETE FROM orders", "SET TRANSACTION READ WRITE", "COMMIT; DELETE FROM orders"} {
		_, err = query(t.Context(), config, statement, 1000)
		require.Error(t, err, statement)
	}
	var rows int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM orders").Scan(&rows))
	require.Equal(t, 2, rows)
}
