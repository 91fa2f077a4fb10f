package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/convene-run/convene/events"
)

// Damage is one thing in a store that is not as it was written.
type Damage struct {
	// Tenant and Thread name the thread that it is about; empty where it is about the file.
	Tenant events.TenantID `json:"tenant_id,omitempty"`
	Thread events.ThreadID `json:"thread_id,omitempty"`
	// Run is the run that has the first event, where one is known.
	Run events.RunID `json:"run_id,omitempty"`
	// Seq and Through are the first and the last event that it is about; 0 where it is
	// about no event.
	Seq     events.Seq `json:"seq,omitempty"`
	Through events.Seq `json:"through_seq,omitempty"`
	// Problem says in words what is wrong.
	Problem string `json:"problem"`
	// Lost is set where events cannot be given back.
	Lost bool `json:"lost"`
}

// CheckReport is what [Log.Check] went over.
type CheckReport struct {
	Threads int `json:"threads"`
	Events  int `json:"events"`
	Runs    int `json:"runs"`
	Batches int `json:"batches"`
	// Artifacts counts files; their bytes are checked too.
	Artifacts int `json:"artifacts"`
}

// Check reads the whole store and hands whatever is damaged to found: pages that SQLite
// cannot make sense of, events that do not match their checksums, that are missing or
// that this build cannot decode, listings that are not what the events say, and artifacts. Others may
// write meanwhile.
func (l *Log) Check(ctx context.Context, found func(Damage)) (CheckReport, error) {
	k := &check{log: l, found: found}
	err := l.read(ctx, k.structure)
	var threads []int64
	if err == nil {
		err = l.read(ctx, func(c *conn) error {
			return c.query(`SELECT thread_no FROM threads NOT INDEXED`, nil, func(row []driver.Value) (bool, error) {
				no, _ := row[0].(int64)
				threads = append(threads, no)
				return true, nil
			})
		})
		err = k.orFound(err)
	}
	for _, thread := range threads {
		if err != nil {
			break
		}
		err = l.read(ctx, func(c *conn) error { return k.orFound(k.thread(c, thread)) })
	}
	if err == nil {
		err = l.read(ctx, k.strays)
	}
	if err == nil {
		err = k.artifacts(ctx)
	}
	return k.report, err
}

// check is one under way.
type check struct {
	log    *Log
	found  func(Damage)
	report CheckReport
}

// orFound takes what SQLite cannot read as a finding.
func (k *check) orFound(err error) error {
	if isCorrupt(err) || errors.Is(err, ErrDamaged) {
		k.found(Damage{Problem: err.Error(), Lost: true})
		return nil
	}
	return err
}

// structure has SQLite check its pages and indexes.
func (k *check) structure(c *conn) error {
	return k.orFound(c.query("PRAGMA integrity_check", nil, func(row []driver.Value) (bool, error) {
		if finding, _ := row[0].(string); finding != "ok" {
			k.found(Damage{Problem: "SQLite: " + finding})
		}
		return true, nil
	}))
}

// thread checks one thread as of one moment.
func (k *check) thread(c *conn, no int64) (err error) {
	if err := c.exec("SAVEPOINT checking"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.exec("RELEASE checking")) }()
	key, err := threadKey(c, no)
	if errors.Is(err, ErrDamaged) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	k.report.Threads++
	last, err := c.number(`SELECT max(seq) FROM blocks WHERE thread_no = ?`, no)
	k.report.Events += int(last)
	if err != nil {
		return err
	}
	whole, err := k.chain(c, key)
	if err != nil {
		return err
	}
	return k.listing(c, key, no, whole)
}

// chain checks the events against their checksums, then decodes them.
func (k *check) chain(c *conn, key events.ThreadKey) (whole bool, err error) {
	found, err := examine(c, key)
	whole = true
	for _, f := range found {
		whole = whole && !f.lost
		k.found(Damage{
			Tenant: key.Tenant, Thread: key.Thread, Run: runAt(c, key, f.seq),
			Seq: f.seq, Through: f.through, Problem: f.problem, Lost: f.lost,
		})
	}
	return whole, err
}

// runAt gives the run that an event is of, if the listing knows it.
func runAt(c *conn, key events.ThreadKey, seq events.Seq) (id events.RunID) {
	head, err := findHead(c, key)
	if err != nil {
		return ""
	}
	p, _ := storedProjection(c, key, head.no) // for a hint only
	for _, run := range p.runs {
		if run.FirstSeq <= seq && seq <= run.LastSeq {
			id = run.Run
		}
	}
	return id
}

// listing compares the rows of a thread with what its events say.
func (k *check) listing(c *conn, key events.ThreadKey, no int64, whole bool) error {
	stored, err := storedRows(c, no)
	if err != nil {
		return err
	}
	k.report.Runs += len(stored.runs)
	if stored.batch != nil {
		k.report.Batches++
	}
	if !whole {
		return nil // the events do not say
	}
	p, err := project(c, key)
	if damaged := (*events.DamagedError)(nil); errors.As(err, &damaged) {
		k.found(Damage{Tenant: key.Tenant, Thread: key.Thread, Seq: damaged.Seq, Through: damaged.Seq, Problem: damaged.Problem})
		return nil
	}
	if err != nil {
		return err
	}
	tell := func(problem string, run events.RunID) {
		k.found(Damage{Tenant: key.Tenant, Thread: key.Thread, Run: run, Problem: problem})
	}
	if stored.broken > 0 || len(stored.runs) != len(p.runs) || (stored.batch != nil) != (p.batch != nil) {
		tell("its rows in listings are damaged; they are made again from its events when they are read", "")
		return nil
	}
	for _, run := range p.runs {
		was := stored.run(run.Run)
		if was == nil || was.Status != run.Status || was.LastSeq > run.LastSeq || was.Status.Over() && was.LastSeq != run.LastSeq {
			tell("its row in listings does not say what its events say", run.Run)
		}
	}
	return nil
}

// stored are the rows of a thread that are not damaged.
type stored struct {
	projection
	broken int
}

func storedRows(c *conn, thread int64) (s stored, err error) {
	err = c.query(`SELECT `+runColumns+` FROM runs WHERE thread_no = ?`, []any{thread}, func(row []driver.Value) (bool, error) {
		run, err := readRun(row)
		if errors.Is(err, errProjection) {
			s.broken++
			return true, nil
		}
		s.runs = append(s.runs, &run)
		return true, err
	})
	if err != nil {
		return s, err
	}
	return s, c.query(`SELECT `+batchColumns+` FROM batches WHERE thread_no = ?`, []any{thread}, func(row []driver.Value) (bool, error) {
		batch, err := readBatch(row)
		if errors.Is(err, errProjection) {
			s.broken++
			return false, nil
		}
		s.batch = &batch
		return false, err
	})
}

// strays looks for names that are damaged and for events and rows of no thread.
func (k *check) strays(c *conn) error {
	names, err := brokenNames(c)
	if err := k.orFound(err); err != nil {
		return err
	}
	for _, no := range names {
		key, err := threadKey(c, no)
		if err := k.orFound(err); err != nil {
			return err
		}
		k.found(Damage{Tenant: key.Tenant, Thread: key.Thread, Problem: "the name of the thread is damaged", Lost: true})
	}
	for _, table := range []struct{ name, problem string }{
		{"blocks", "events of no thread"}, {"runs", "rows of runs of no thread"}, {"batches", "rows of batches of no thread"},
	} {
		n, err := c.number(`SELECT count(*) FROM ` + table.name + ` WHERE thread_no <> 0 AND thread_no NOT IN (SELECT thread_no FROM threads)`)
		if err := k.orFound(err); err != nil {
			return err
		}
		if n > 0 {
			k.found(Damage{Problem: table.problem, Lost: table.name == "blocks"})
		}
	}
	return nil
}
