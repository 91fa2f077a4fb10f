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
	l := newListing(query.Tenant, query.Status, query.Search)
	if query.Thread != "" {
		l.narrow("thread_no IN (SELECT thread_no FROM threads WHERE thread = ?)", string(query.Thread))
	}
	order := "run_id DESC"
	if query.OldestFirst {
		order = "run_id"
	}
	if query.Batch != "" {
		l.narrow("batch = ?", string(query.Batch))
	}
	if query.Before != "" {
		l.narrow("run_id < ?", string(query.Before))
	}
	if query.After != "" {
		l.narrow("run_id > ?", string(query.After))
	}
	return l.sql("SELECT thread_no, summary FROM runs", order, query.Limit)
}

// listing is a query under way, for a page of a table of summaries.
type listing struct {
	where []string
	args  []any
}

func newListing(tenant events.TenantID, statuses []events.Status, search string) *listing {
	l := &listing{where: []string{"TRUE"}}
	if tenant != "" {
		l.narrow("tenant = ?", string(tenant))
	}
	if len(statuses) > 0 {
		var values []any
		for _, status := range statuses {
			values = append(values, string(status))
		}
		l.narrow("status IN (?"+strings.Repeat(", ?", len(values)-1)+")", values...)
	}
	if search != "" {
		l.narrow("instr(search, ?) > 0", strings.ToLower(search))
	}
	return l
}

func (l *listing) narrow(condition string, values ...any) {
	l.where, l.args = append(l.where, condition), append(l.args, values...)
}

func (l *listing) sql(from, order string, limit int) (sql string, args []any) {
	if limit <= 0 {
		limit = events.DefaultRunsLimit
	}
	return from + " WHERE " + strings.Join(l.where, " AND ") + " ORDER BY " + order + " LIMIT ? + 0", append(l.args, int64(limit))
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
