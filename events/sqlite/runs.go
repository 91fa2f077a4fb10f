package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"strings"

	"github.com/convene-run/convene/events"
)

// Runs implements [events.Log].
func (l *Log) Runs(ctx context.Context, query events.RunQuery) (found []events.RunSummary, err error) {
	sql, args := runsQuery(query)
	err = l.read(ctx, func(c *conn) error {
		found, err = summaries(c, sql, args)
		return err
	})
	return found, err
}

func runsQuery(query events.RunQuery) (sql string, args []any) {
	where := []string{"TRUE"}
	narrow := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if query.Tenant != "" {
		narrow("tenant = ?", string(query.Tenant))
	}
	if query.Thread != "" {
		narrow("thread_no IN (SELECT thread_no FROM threads WHERE thread = ?)", string(query.Thread))
	}
	if len(query.Status) > 0 {
		var statuses []any
		for _, status := range query.Status {
			statuses = append(statuses, string(status))
		}
		narrow("status IN (?"+strings.Repeat(", ?", len(statuses)-1)+")", statuses...)
	}
	if query.Search != "" {
		narrow("instr(search, ?) > 0", strings.ToLower(query.Search))
	}
	if query.Before != "" {
		narrow("run_id < ?", string(query.Before))
	}
	limit := query.Limit
	if limit <= 0 {
		limit = events.DefaultRunsLimit
	}
	sql = "SELECT thread_no, summary FROM runs WHERE " + strings.Join(where, " AND ") + " ORDER BY run_id DESC LIMIT ? + 0"
	return sql, append(args, int64(limit))
}

// FindRun implements [events.Log]. Two rows settle it: ids sort, and the one that
// is just the prefix comes first.
func (l *Log) FindRun(ctx context.Context, tenant events.TenantID, idOrPrefix string) (events.RunSummary, error) {
	var found []events.RunSummary
	err := l.read(ctx, func(c *conn) (err error) {
		found, err = summaries(c, `SELECT thread_no, summary FROM runs
			WHERE tenant = ? AND run_id >= ? AND substr(run_id, 1, length(?2)) = ?2
			ORDER BY run_id LIMIT 2`, []any{string(tenant), idOrPrefix})
		return err
	})
	if err != nil {
		return events.RunSummary{}, err
	}
	return events.PickRun(found, idOrPrefix)
}

// summaries reads rows of runs and folds the events that they lag behind, both as
// of one moment.
func summaries(c *conn, query string, args []any) (found []events.RunSummary, err error) {
	if err := c.exec("BEGIN"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.exec("ROLLBACK")) }()
	var threads []int64
	err = c.queryOnce(query, args, func(row []driver.Value) (bool, error) {
		var run events.RunSummary
		err := json.Unmarshal(row[1].([]byte), &run)
		threads, found = append(threads, row[0].(int64)), append(found, run)
		return true, err
	})
	for i := range found {
		if err != nil {
			return nil, err
		}
		err = catchUp(c, threads[i], &found[i])
	}
	return found, err
}
