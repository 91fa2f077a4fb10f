package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/convene-run/convene/events"
)

// Runs implements [events.Log].
func (l *Log) Runs(ctx context.Context, query events.RunQuery) (found []events.RunSummary, err error) {
	sql, args := runsQuery(query)
	err = l.projected(ctx, func(c *conn) error {
		found, err = l.summaries(c, c.queryOnce, sql, args)
		return err
	})
	return found, err
}

// asItIs reports whether the file is read as it is, with what is damaged in it: neither it nor a
// copy can be repaired.
func (l *Log) asItIs() bool { return l.readOnly != nil && l.temp == "" }

// projected reads from a projection. One that is damaged is made again from the events,
// and read once more.
func (l *Log) projected(ctx context.Context, read func(*conn) error) error {
	err := l.read(ctx, read)
	if !errors.Is(err, errProjection) {
		return err
	}
	if l.asItIs() {
		return storeError("read from", l.path, fmt.Errorf("%w: %w", ErrDamaged, err))
	}
	err = l.committer.submit(&request{apply: func(tx *transaction) (refusal, failure error) {
		changed, err := repairProjections(tx.conn)
		tx.changed = tx.changed || changed
		clear(tx.threads)
		return err, nil
	}})
	if err != nil {
		return storeError("repair", l.path, err)
	}
	return l.read(ctx, read)
}

func runsQuery(query events.RunQuery) (sql string, args []any) {
	order := "run_id DESC"
	if query.OldestFirst {
		order = "run_id"
	}
	return runsListing(query).sql("SELECT "+runColumns+" FROM runs", order, query.Limit)
}

// Totals implements [events.Log]. Rows of runs that are not under way are summed up where
// they are: they do not lag.
func (l *Log) Totals(ctx context.Context, query events.RunQuery) (totals events.RunTotals, err error) {
	still, going := runsListing(query), runsListing(query)
	still.narrow("status <> ?", string(events.StatusRunning))
	going.narrow("status = ?", string(events.StatusRunning))
	err = l.projected(ctx, func(c *conn) error {
		totals = events.RunTotals{}
		sql, args := still.sql(sumOfRuns, "1", 1)
		err := c.queryOnce(sql, args, func(row []driver.Value) (bool, error) {
			totals = readTotals(row)
			return false, nil
		})
		if err != nil {
			return err
		}
		sql, args = going.sql("SELECT "+runColumns+" FROM runs", "run_id", math.MaxInt32)
		under, err := l.summaries(c, c.queryOnce, sql, args)
		for i := range under {
			totals.Add(&under[i])
		}
		return err
	})
	return totals, err
}

// sumOfRuns adds up rows. One whose summary is no JSON is damaged, which whoever reads it
// finds out.
var sumOfRuns = "SELECT count(*), count(batch), CAST(total(" + ofSummary("$.usage.input_tokens") + ") + total(" + ofSummary("$.usage.output_tokens") +
	") AS INTEGER), total(" + ofSummary("$.cost_usd") + "), count(*) - count(" + ofSummary("$.cost_usd") + ") FROM runs"

func ofSummary(path string) string {
	return "CASE WHEN json_valid(CAST(summary AS TEXT)) THEN json_extract(CAST(summary AS TEXT), '" + path + "') END"
}

func readTotals(row []driver.Value) events.RunTotals {
	number := func(i int) int64 {
		n, _ := row[i].(int64)
		return n
	}
	usd, _ := row[3].(float64)
	return events.RunTotals{Runs: int(number(0)), Rows: int(number(1)), Tokens: number(2), CostUSD: usd, Unpriced: int(number(4))}
}

func runsListing(query events.RunQuery) *listing {
	tenant := query.Tenant
	if query.Thread != "" {
		tenant = "" // the thread says it, and SQLite would go through the runs of the whole tenant
	}
	l := newListing(tenant, query.Status, query.Search)
	switch {
	case query.Thread != "" && query.Tenant != "":
		// By its key, which there is an index on.
		l.narrow("thread_no = (SELECT thread_no FROM threads WHERE tenant = ? AND thread = ?)",
			string(query.Tenant), string(query.Thread))
	case query.Thread != "":
		l.narrow("thread_no IN (SELECT thread_no FROM threads WHERE thread = ?)", string(query.Thread))
	}
	if query.Own || query.Threads {
		l.narrow("batch IS NULL")
	}
	if query.UserID != "" {
		l.narrow(inSummary("json_extract(CAST(summary AS TEXT), '$.user_id') = ?"), query.UserID)
	}
	if query.Team != "" {
		l.narrow(inSummary("json_extract(CAST(summary AS TEXT), '$.team') = ?"), query.Team)
	}
	if query.Model != "" {
		l.narrow(inSummary("EXISTS (SELECT 1 FROM json_each(CAST(summary AS TEXT), '$.models') WHERE instr(lower(value), ?) > 0)"), strings.ToLower(query.Model))
	}
	if query.Threads {
		l.narrow("NOT EXISTS (SELECT 1 FROM runs AS later WHERE later.thread_no = runs.thread_no AND later.run_id > runs.run_id)")
	}
	if query.MinCostUSD > 0 {
		l.narrow(inSummary("json_extract(CAST(summary AS TEXT), '$.cost_usd') >= ?"), query.MinCostUSD)
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
	return l
}

// inSummary lets rows pass whose summary is no JSON: they are damaged, which whoever reads
// them finds out.
func inSummary(condition string) string {
	return "CASE WHEN json_valid(CAST(summary AS TEXT)) THEN " + condition + " ELSE TRUE END"
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
	sql, args := byPrefix("SELECT "+runColumns+" FROM runs", "run_id", tenant, idOrPrefix)
	var found []events.RunSummary
	err := l.projected(ctx, func(c *conn) (err error) {
		found, err = l.summaries(c, c.query, sql, args)
		return err
	})
	if err != nil {
		return events.RunSummary{}, err
	}
	run, err := events.PickRun(found, idOrPrefix)
	if err == nil && run.Damaged != nil {
		key := events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}
		return events.RunSummary{}, storeError("read from", l.path, run.Damaged.In(key))
	}
	return run, err
}

// byPrefix asks for the first two rows of a table whose id begins with prefix. The range
// ends where the prefix does: a condition on each row instead would be tried on every
// row behind the one that is sought.
func byPrefix(from, id string, tenant events.TenantID, prefix string) (sql string, args []any) {
	l := newListing("", nil, "")
	l.narrow("tenant = ?", string(tenant)) // none is no tenant, not all of them
	l.narrow(id+" >= ?", prefix)
	if end := behind(prefix); end != "" {
		l.narrow(id+" < ?", end)
	}
	return l.sql(from, id, 2)
}

// behind is the least text, byte by byte, above all that begin with prefix; "" where
// there is none.
func behind(prefix string) string {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == math.MaxUint8 {
		end = end[:len(end)-1]
	}
	if len(end) == 0 {
		return ""
	}
	end[len(end)-1]++
	return string(end)
}

// rowsOf is [conn.query] or [conn.queryOnce].
type rowsOf func(query string, args []any, use func(row []driver.Value) (more bool, err error)) error

// summaries reads rows of runs and folds the events that they lag behind, both as
// of one moment. One that is damaged says so, and keeps nobody from the others.
func (l *Log) summaries(c *conn, rows rowsOf, query string, args []any) (found []events.RunSummary, err error) {
	if err := c.exec("BEGIN"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.exec("ROLLBACK")) }()
	broken := map[int]brokenRow{}
	err = rows(query, args, func(row []driver.Value) (bool, error) {
		run, err := readRun(row)
		if errors.Is(err, errProjection) && l.asItIs() {
			broken[len(found)], err = brokenOf("runs", "run_no", row), nil
		}
		found = append(found, run)
		return true, err
	})
	for i, row := range broken {
		if err == nil {
			found[i], err = salvageRun(c, row)
		}
	}
	for i := range found {
		if err != nil {
			return nil, err
		}
		err = catchUp(c, events.ThreadKey{Tenant: found[i].Tenant, Thread: found[i].Thread}, &found[i])
		if damaged := (*events.DamagedError)(nil); errors.As(err, &damaged) {
			found[i].Damaged, err = damaged.Note(), nil
		}
	}
	return found, err
}
