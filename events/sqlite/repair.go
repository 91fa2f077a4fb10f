package sqlite

import (
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/convene-run/convene/events"
)

// checkedRows is the number of runs up to which their listing is checked in whole when
// the store is opened: that takes some 50 ms at most. In a larger store every row that is
// read is checked; a row that an index lost is found by `convene store check`.
const checkedRows = 2000

// listingTables hold what is made of events, or found by more than one index.
var listingTables = []string{"threads", "runs", "batches"}

// repairListing rebuilds what listings need where it is damaged: indexes from their
// tables, names of threads and rows of projections from the events.
func repairListing(c *conn) (err error) {
	sound, err := listingSound(c)
	if err != nil || sound {
		return err
	}
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			err = c.exec("COMMIT")
		}
		if err != nil {
			_ = c.exec("ROLLBACK")
		}
	}()
	for _, table := range listingTables {
		if err := c.exec("REINDEX " + table); err != nil {
			return err
		}
	}
	if err := repairNames(c); err != nil {
		return err
	}
	_, err = repairProjections(c)
	return err
}

// listingSound looks at what listings need, of a store that is not too large for it.
func listingSound(c *conn) (bool, error) {
	if last, err := c.number("SELECT max(run_no) FROM runs"); err != nil || last > checkedRows {
		return err == nil, err
	}
	for _, table := range listingTables {
		finding, err := firstFinding(c, "PRAGMA integrity_check("+table+")")
		if err != nil || finding != "" {
			return false, err
		}
	}
	if names, err := brokenNames(c); err != nil || len(names) > 0 {
		return false, err
	}
	rows, err := brokenRows(c)
	return len(rows) == 0, err
}

// firstFinding runs a check of SQLite; "" where all is well.
func firstFinding(c *conn, check string) (finding string, err error) {
	err = c.query(check, nil, func(row []driver.Value) (bool, error) {
		finding, _ = row[0].(string)
		return false, nil
	})
	if finding == "ok" {
		finding = ""
	}
	return strings.Join(strings.Fields(finding), " "), err
}

// brokenNames finds the threads whose names are damaged.
func brokenNames(c *conn) (broken []int64, err error) {
	err = c.query(`SELECT thread_no, tenant, thread, name_sum FROM threads NOT INDEXED`, nil, func(row []driver.Value) (bool, error) {
		tenant, _ := row[1].(string)
		thread, _ := row[2].(string)
		stored, ok := checksum(row[3])
		key := events.ThreadKey{Tenant: events.TenantID(tenant), Thread: events.ThreadID(thread)}
		if !ok || stored != events.FirstChecksum(key) {
			broken = append(broken, row[0].(int64))
		}
		return true, nil
	})
	return broken, err
}

// repairNames gives threads the names that their events say, if the first is proven.
func repairNames(c *conn) error {
	broken, err := brokenNames(c)
	for _, thread := range broken {
		if err != nil {
			return err
		}
		err = repairName(c, thread)
	}
	return err
}

func repairName(c *conn, thread int64) (err error) {
	var key events.ThreadKey
	proven := false
	err = c.query(`SELECT seq, sum, body, part FROM blocks WHERE thread_no = ? ORDER BY seq LIMIT 1`, []any{thread}, func(row []driver.Value) (bool, error) {
		bodies, err := c.unpack(row[2], row[3])
		if err != nil || len(bodies) == 0 {
			return false, err
		}
		if env, err := events.Decode(bodies[0]); err == nil {
			key = env.Key()
			_, proven = (&chain{sum: events.FirstChecksum(key)}).follow(row[0], row[1], bodies)
		}
		return false, nil
	})
	if err != nil || !proven {
		return err
	}
	name := events.FirstChecksum(key)
	err = c.exec(`UPDATE threads SET tenant = ?, thread = ?, name_sum = ? WHERE thread_no = ?`,
		string(key.Tenant), string(key.Thread), name[:], thread)
	if err != nil {
		return fmt.Errorf("repair the name of thread=%s: %w", key.Thread, err)
	}
	return nil
}
