package builtin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
)

const (
	// queryTimeout bounds one query, its connection included.
	queryTimeout = 20 * time.Second
	// queriesAtOnce bounds those of a team that run at the same time, over all its runs: a
	// PostgreSQL takes a hundred connections in all.
	queriesAtOnce = 8
	// maxRows bounds the rows of a result; a model that needs more should have the database
	// count.
	maxRows = 500
)

type querySQLArgs struct {
	Query    string `json:"query" jsonschema:"One query that only reads: SELECT, WITH, VALUES or EXPLAIN."`
	Database string `json:"database,omitempty" jsonschema:"Name of the database. Needed where there are several."`
}

// querySQL queries the databases of a team.
func (k *Kit) querySQL(settings team.QuerySQLTool, most int) (agent.Tool, error) {
	databases := map[string]database{}
	for _, name := range slices.Sorted(maps.Keys(settings.Databases)) {
		where, err := team.Expand(settings.Databases[name], k.lookup)
		if err == nil {
			databases[name], err = databaseAt(where)
		}
		if err != nil {
			return agent.Tool{}, fmt.Errorf("tools.query_sql.databases.%s: %w", name, err)
		}
	}
	names := strings.Join(slices.Sorted(maps.Keys(databases)), ", ")
	places := make(chan struct{}, queriesAtOnce)
	return agent.Func(llm.Tool{
		Name: team.ToolQuerySQL,
		Description: fmt.Sprintf("Runs a query that only reads on a database (%s) and gives its rows as CSV, at most %d. "+
			"The tables are in sqlite_master in SQLite, in information_schema in PostgreSQL.", names, maxRows),
	}, events.EffectPure, func(ctx context.Context, _ agent.Invocation, args querySQLArgs) (agent.Result, error) {
		db, known := databases[args.Database]
		if args.Database == "" && len(databases) == 1 {
			for _, only := range databases {
				db, known = only, true
			}
		}
		if !known {
			return agent.Result{}, fmt.Errorf("there is no database %q: name one of %s", args.Database, names)
		}
		if err := checkStatement(args.Query); err != nil {
			return agent.Result{}, err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, queryTimeout, fmt.Errorf("the query took longer than %s: ask for less", queryTimeout))
		defer cancel()
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		case <-ctx.Done():
			return agent.Result{}, context.Cause(ctx)
		}
		text, err := query(ctx, db, args.Query, most)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return agent.Result{Text: text}, err
	}), nil
}
