package sqlite

import (
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/convene-run/convene/events"
)

// errProjection says that a row of a projection is damaged. It does not leave the
// package: the projection is made again from the events.
var errProjection = errors.New("a row of a projection is damaged")

// rowSum is the checksum of a row of a projection.
func rowSum(values ...driver.Value) []byte {
	var buf []byte
	for _, value := range values {
		switch v := value.(type) {
		case nil:
			buf = append(buf, 'n')
		case int64:
			buf = binary.BigEndian.AppendUint64(append(buf, 'i'), uint64(v)) //nolint:gosec // its bits
		case string:
			buf = append(binary.AppendUvarint(append(buf, 's'), uint64(len(v))), v...)
		case []byte:
			buf = append(binary.AppendUvarint(append(buf, 'b'), uint64(len(v))), v...)
		}
	}
	sum := sha256.Sum256(buf)
	return sum[:len(events.Checksum{})]
}

// intact reports whether the last value of a row is the checksum of the others.
func intact(row []driver.Value) bool {
	last := len(row) - 1
	stored, isBlob := row[last].([]byte)
	return isBlob && string(stored) == string(rowSum(row[:last]...))
}

// runColumns are what the checksum of a run's row is made of, and that.
const runColumns = "thread_no, tenant, run_id, batch, status, search, summary, sum"

// rowBytes is about what a summary takes beside what is searched of it.
const rowBytes = 1 << 10

// runRow gives the row of a run in the order of runColumns. search is its text for searches.
func runRow(thread int64, s *events.RunSummary, search string) ([]any, error) {
	body, err := s.AppendJSON(make([]byte, 0, len(search)+rowBytes))
	if err != nil {
		return nil, fmt.Errorf("summarize run=%s: %w", s.Run, err)
	}
	var batch any
	if s.Batch != nil {
		batch = string(s.Batch.Batch)
	}
	row := []any{thread, string(s.Tenant), string(s.Run), batch, string(s.Status), search, body}
	return append(row, rowSum(asValues(row)...)), nil
}

// readRun reads a row of runColumns.
func readRun(row []driver.Value) (s events.RunSummary, err error) {
	if !intact(row) {
		return s, errProjection
	}
	return s, json.Unmarshal(row[6].([]byte), &s)
}

// batchColumns are what the checksum of a batch's row is made of, and that.
const batchColumns = "thread_no, tenant, batch_id, started_ns, status, search, summary, sum"

// batchRow gives the row of a batch in the order of batchColumns.
func batchRow(thread int64, s *events.BatchSummary) ([]any, error) {
	body, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("summarize batch=%s: %w", s.Batch, err)
	}
	row := []any{thread, string(s.Tenant), string(s.Batch), s.Start.UnixNano(), string(s.Status), searchText(s.Searched()), body}
	return append(row, rowSum(asValues(row)...)), nil
}

// readBatch reads a row of batchColumns.
func readBatch(row []driver.Value) (s events.BatchSummary, err error) {
	if !intact(row) {
		return s, errProjection
	}
	return s, json.Unmarshal(row[6].([]byte), &s)
}

func asValues(row []any) []driver.Value {
	values := make([]driver.Value, len(row))
	for i, value := range row {
		values[i] = value
	}
	return values
}

// projection is what the events of one thread amount to in listings.
type projection struct {
	runs  []*events.RunSummary
	batch *events.BatchSummary
}

// project folds all of a thread. Where an event cannot be read, or does not follow from the
// others, it folds those before it, and the error is an [*events.DamagedError].
func project(c *conn, key events.ThreadKey) (p projection, err error) {
	for at := (chain{}); ; {
		page, err := readSound(c, key, &at, pageEvents)
		if err != nil || len(page) == 0 {
			return p, err
		}
		for _, e := range page {
			env, err := decode(key, e)
			if err != nil {
				return p, err
			}
			if err := p.apply(env); err != nil {
				return p, &events.DamagedError{Key: key, Seq: e.Seq, Problem: err.Error()}
			}
		}
	}
}

func (p *projection) apply(env events.Envelope) error {
	if env.Run == "" {
		if env.Data.Kind() == events.KindBatchStarted && p.batch == nil {
			p.batch = new(events.BatchSummary)
		}
		if p.batch != nil {
			p.batch.Apply(env)
		}
		return nil
	}
	run := p.run(env.Run)
	if _, started := env.Data.(events.WorkflowStarted); run == nil && started {
		run = new(events.RunSummary)
		p.runs = append(p.runs, run)
	}
	if run == nil {
		return nil
	}
	return run.Apply(env)
}

// run gives the summary of a run, nil where the thread has none of that id.
func (p *projection) run(id events.RunID) *events.RunSummary {
	for _, run := range slices.Backward(p.runs) {
		if run.Run == id {
			return run
		}
	}
	return nil
}

// reproject rewrites the rows of a thread. Rows of runs that it has keep their numbers,
// which a commit under way may know. Of a thread whose events are damaged only those rows are
// written that it lacks, as of the last event that can be read: see [events.RunSummary.Damaged].
func reproject(c *conn, thread int64) error {
	key, err := threadKey(c, thread)
	if err != nil {
		return err
	}
	p, damaged, err := salvage(c, key)
	if err != nil {
		return err
	}
	runs, batches := rewriteRun, rewriteBatch
	if damaged != nil {
		runs, batches = addRun, addBatch
	}
	return p.write(c, thread, runs, batches)
}

// write writes the rows of a thread by these statements.
func (p *projection) write(c *conn, thread int64, runs, batches string) error {
	for _, run := range p.runs {
		row, err := runRow(thread, run, searchText(run.Searched()))
		if err != nil {
			return err
		}
		if err := c.exec(runs, row...); err != nil {
			return err
		}
	}
	if p.batch == nil {
		return nil
	}
	row, err := batchRow(thread, p.batch)
	if err != nil {
		return err
	}
	return c.exec(batches, row...)
}

// What writes a row that is made again from events, and what only where there is none.
const (
	insertRun  = `INSERT INTO runs (` + runColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	addRun     = insertRun + ` ON CONFLICT (thread_no, run_id) DO NOTHING`
	rewriteRun = insertRun + ` ON CONFLICT (thread_no, run_id) DO UPDATE SET tenant = excluded.tenant, batch = excluded.batch,
		status = excluded.status, search = excluded.search, summary = excluded.summary, sum = excluded.sum`
	addBatch     = `INSERT OR IGNORE INTO batches (` + batchColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	rewriteBatch = `INSERT OR REPLACE INTO batches (` + batchColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
)

// mark notes damage in the summaries of what was not over before it.
func (p *projection) mark(damaged *events.DamagedError) {
	for _, run := range p.runs {
		if !run.Status.Over() && run.Damaged == nil {
			run.Damaged = damaged.Note()
		}
	}
	if p.batch != nil && !p.batch.Finished() && p.batch.Damaged == nil {
		p.batch.Damaged = damaged.Note()
	}
}

// brokenRow is a damaged row of a projection and whose it says it is.
type brokenRow struct {
	table, key string
	no         int64
	thread     int64
	tenant     events.TenantID
	id         string
}

// brokenOf is a damaged row that begins as runColumns and batchColumns do.
func brokenOf(table, key string, row []driver.Value) brokenRow {
	b := brokenRow{table: table, key: key}
	b.thread, _ = row[0].(int64)
	tenant, _ := row[1].(string)
	b.tenant = events.TenantID(tenant)
	b.id, _ = row[2].(string)
	return b
}

// repairProjections rebuilds damaged rows of runs and batches from the events, all of
// them or none. Call it within a transaction. changed says that it wrote.
func repairProjections(c *conn) (changed bool, err error) {
	broken, err := brokenRows(c)
	if err != nil || len(broken) == 0 {
		return false, err
	}
	if err := c.exec("SAVEPOINT repairing"); err != nil {
		return false, err
	}
	err = repairRows(c, broken)
	if err != nil {
		err = errors.Join(err, c.exec("ROLLBACK TO repairing"))
	}
	return err == nil, errors.Join(err, c.exec("RELEASE repairing"))
}

func repairRows(c *conn, broken []brokenRow) error {
	rows, err := countRows(c, broken)
	if err != nil {
		return err
	}
	for _, row := range broken {
		if err := c.exec(`DELETE FROM `+row.table+` WHERE `+row.key+` = ?`, row.no); err != nil {
			return err
		}
	}
	strayed := false
	for _, row := range broken {
		err := reproject(c, row.thread)
		if errors.Is(err, ErrDamaged) {
			strayed = true // there is no such thread
			continue
		}
		if err != nil {
			return err
		}
		found, err := c.number(`SELECT count(*) FROM `+row.table+` WHERE thread_no = ? AND `+idColumns[row.table]+` = ?`, row.thread, row.id)
		if err != nil {
			return err
		}
		strayed = strayed || found == 0
	}
	if strayed {
		if err := reprojectAll(c); err != nil {
			return err
		}
	}
	for _, row := range broken {
		if err := keepLost(c, row, rows); err != nil {
			return err
		}
	}
	return nil
}

// countRows counts the rows of runs that the threads of damaged rows have.
func countRows(c *conn, broken []brokenRow) (rows map[int64]int64, err error) {
	rows = make(map[int64]int64, len(broken))
	for _, row := range broken {
		if rows[row.thread], err = c.number(countRuns, row.thread); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

const countRuns = `SELECT count(*) FROM runs WHERE thread_no = ?`

// keepLost writes the row of what has no event any more that can be read, in a thread that now
// has fewer rows than before: the row that was damaged is all that is known of it.
func keepLost(c *conn, row brokenRow, rows map[int64]int64) error {
	now, err := c.number(countRuns, row.thread)
	if err != nil || row.id == "" {
		return err
	}
	key, err := threadKey(c, row.thread)
	if errors.Is(err, ErrDamaged) {
		return nil // there is no such thread
	}
	if err != nil {
		return err
	}
	_, damaged, err := salvage(c, key)
	if err != nil || damaged == nil {
		return err
	}
	lost := projection{}
	switch {
	case row.table == "batches":
		lost.batch = lostBatch(key, damaged)
	case now < rows[row.thread]:
		lost.runs = []*events.RunSummary{lostRun(key, events.RunID(row.id), damaged)}
	}
	return lost.write(c, row.thread, addRun, addBatch)
}

// reprojectAll is for rows that do not say rightly whose they were.
func reprojectAll(c *conn) error {
	var threads []int64
	err := c.query(`SELECT thread_no FROM threads`, nil, func(row []driver.Value) (bool, error) {
		threads = append(threads, row[0].(int64))
		return true, nil
	})
	for _, thread := range threads {
		if err != nil {
			return err
		}
		err = reproject(c, thread)
	}
	return err
}

// idColumns are the columns of projections that name what a row is about.
var idColumns = map[string]string{"runs": "run_id", "batches": "batch_id"}

// brokenRows finds the damaged rows.
func brokenRows(c *conn) (broken []brokenRow, err error) {
	find := func(table, key, columns string) error {
		return c.query("SELECT "+columns+", "+key+" FROM "+table+" NOT INDEXED", nil, func(row []driver.Value) (bool, error) {
			last := len(row) - 1
			if !intact(row[:last]) {
				b := brokenOf(table, key, row)
				b.no, _ = row[last].(int64)
				broken = append(broken, b)
			}
			return true, nil
		})
	}
	return broken, errors.Join(find("runs", "run_no", runColumns), find("batches", "thread_no", batchColumns))
}
