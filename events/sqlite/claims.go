package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/convene-run/convene/events"
)

// settleWait bounds the wait for a lock to take claims back: what cannot be done now is
// done by whoever opens the store next.
const settleWait = time.Second

// settleClaims takes back the claims of dead processes, then their files. It gives the tokens of
// claims whose file is missing: they are of a process that lives, unless this one is alone with
// the store; before claims were settled (forget is set then) they were of a dead one.
func settleClaims(c *conn, dir string, forget bool) (missing []string, err error) {
	if err := c.exec(fmt.Sprintf("PRAGMA busy_timeout = %d", settleWait.Milliseconds())); err != nil {
		return nil, err
	}
	missing, err = sweep(c, dir)
	if err == nil && forget {
		err = takeBack(c, missing)
		missing = nil
	}
	if err != nil {
		return nil, ignoreBusy(err)
	}
	return missing, nil
}

// ignoreBusy lets pass that another process keeps the store locked.
func ignoreBusy(err error) error {
	if isBusy(err) {
		return nil
	}
	return err
}

// sweep takes back the claims of the dead and removes their files. It gives the tokens
// of claims without a file.
func sweep(c *conn, dir string) (missing []string, err error) {
	claimants, err := claimants(c)
	if err != nil {
		return nil, err
	}
	dead, err := deadOwners(dir)
	if err != nil {
		return nil, err
	}
	var claimed []string
	for _, token := range claimants {
		if dead[token] != nil {
			claimed = append(claimed, token)
		} else if _, err := os.Stat(filepath.Join(dir, token)); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, token)
		}
	}
	err = takeBack(c, claimed)
	for token, file := range dead {
		if err == nil {
			_ = os.Remove(filepath.Join(dir, token)) // or the next sweep does
		}
		_ = file.Close()
	}
	return missing, err
}

// claimants gives the tokens that claims carry.
func claimants(c *conn) (tokens []string, err error) {
	err = c.query(`SELECT DISTINCT owner_file FROM threads WHERE owner_file <> ''`, nil, func(row []driver.Value) (bool, error) {
		tokens = append(tokens, row[0].(string))
		return true, nil
	})
	return tokens, err
}

// takeBack frees the threads that carry one of the tokens, and notes how far they came.
func takeBack(c *conn, tokens []string) error {
	for _, token := range tokens {
		err := c.exec(`UPDATE threads SET owner = '', owner_file = '', (last_seq, last_sum) =
			(SELECT seq, sum FROM blocks e WHERE e.thread_no = threads.thread_no AND e.seq >= threads.last_seq
				UNION ALL SELECT threads.last_seq, threads.last_sum ORDER BY seq DESC LIMIT 1)
			WHERE owner_file <> '' AND owner_file = ?`, token)
		if err != nil {
			return err
		}
	}
	return nil
}

// takeBackAlone frees the threads if no other connection has the file open, and fails
// with busy otherwise. SQLite's lock on the file tells: unlike the owners' files it
// cannot be removed while its process lives.
func takeBackAlone(path string, tokens []string) error {
	c, err := openConn(path, "locking_mode = EXCLUSIVE")
	if err != nil {
		return err
	}
	if err = c.exec("BEGIN EXCLUSIVE"); err == nil {
		err = takeBack(c, tokens)
		if err == nil {
			err = c.exec("COMMIT")
		}
	}
	return errors.Join(err, c.close())
}

// anyClaims reports whether claims carry the token.
func anyClaims(c *conn, token string) (bool, error) {
	n, err := c.number(`SELECT count(*) FROM threads WHERE owner_file <> '' AND owner_file = ?`, token)
	return n > 0, err
}

// threadFor gives the state of a thread that is to be claimed, which adds it where there is
// none.
func (tx *transaction) threadFor(key events.ThreadKey) (state *threadState, refusal, failure error) {
	if err := tx.owners.restore(); err != nil {
		return nil, err, nil
	}
	state, err := tx.thread(key)
	if err == nil && state == nil {
		state = &threadState{key: key, last: chain{sum: events.FirstChecksum(key)}, generation: tx.generation}
	}
	return state, nil, err
}

// claimFor gives the thread to owner, unless somebody else holds it.
func (tx *transaction) claimFor(state *threadState, owner events.Owner, takeOver bool) (refusal, failure error) {
	if state.owner != "" && !takeOver {
		held, err := tx.heldByOther(state, owner)
		if err != nil {
			return nil, err
		}
		if held {
			return &events.HeldError{Owner: state.owner, Since: state.claimed}, nil
		}
	}
	return nil, tx.claim(state, owner)
}

// heldByOther reports whether somebody alive other than owner holds the thread.
func (tx *transaction) heldByOther(state *threadState, owner events.Owner) (bool, error) {
	if state.ownerFile == tx.owners.token {
		return state.owner != owner, nil
	}
	return tx.owners.alive(state.ownerFile)
}

// claim gives the thread to owner under the next epoch.
func (tx *transaction) claim(state *threadState, owner events.Owner) (err error) {
	state.epoch++
	state.owner, state.ownerFile, state.claimed = owner, tx.owners.token, time.Now().Round(0).UTC()
	tx.changed = true
	if state.no == 0 {
		state.no, err = tx.conn.insert(`INSERT INTO threads (tenant, thread, epoch, owner, owner_file, claimed_ns, last_sum, name_sum)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)`, string(state.key.Tenant), string(state.key.Thread), int64(state.epoch),
			string(owner), state.ownerFile, state.claimed.UnixNano(), state.last.sum[:])
		tx.threads[state.key] = state
		return err
	}
	return tx.conn.exec(`UPDATE threads SET epoch = ?, owner = ?, owner_file = ?, claimed_ns = ?, last_seq = ?, last_sum = ?
		WHERE thread_no = ?`, int64(state.epoch), string(owner), state.ownerFile, state.claimed.UnixNano(),
		int64(state.last.seq), state.last.sum[:], state.no)
}

// release frees the thread.
func (tx *transaction) release(state *threadState) error {
	state.owner, state.ownerFile = "", ""
	tx.changed = true
	tx.loaded = append(tx.loaded, state)
	return tx.conn.exec(`UPDATE threads SET owner = '', owner_file = '', last_seq = ?, last_sum = ? WHERE thread_no = ?`,
		int64(state.last.seq), state.last.sum[:], state.no)
}
