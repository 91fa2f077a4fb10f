package batch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/convene-run/convene/batch/internal/files"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
)

// Row is one request of a batch.
type Row struct {
	// ID names the row in the output. [Open] takes it from the row or makes it from
	// the row's content; in rows given to [Batch.Run] it defaults to the index.
	ID string
	// Index is the row's place in the input, from 0. Rows given to [Batch.Run] without
	// one have the place at which they come; to continue such a batch, give the same
	// rows in the same order. Two rows of one Index and one ID are one run, which the
	// second of them is refused.
	Index int
	// Request is the user's text.
	Request string
	// Team names a team, or its file. Defaults to the batch's team.
	Team string
	// Vars fill the placeholders of the team's request template.
	Vars map[string]string
	// Thread is a UUID version 4. Defaults to a thread of the row's own.
	Thread events.ThreadID
	// Files come with the request, as [runner.Job.Files] do; what a model can read of them
	// stands behind the request. Folder is the row's own: its agents' tools read the files of
	// it in place of the team's. Both are paths below [Config.FilesRoot], with slashes.
	Files  []string
	Folder string
	// Input is a JSON object of what the row has beyond these, copied to the output.
	Input json.RawMessage
	// Line is where the row begins in its file, from 1, for errors to name. Defaults to
	// none.
	Line int
	// Attempt counts how often the row was retried after a failure, from 0.
	Attempt int

	// unnamed is set where the ID was made from the content.
	unnamed bool
	// continues is the run of the attempt before, "" where there is none.
	continues events.RunID
	// thread is that run's.
	thread events.ThreadID
	// newest is the newest attempt of the row that may have been started, if above
	// Attempt: which one was, the log knows.
	newest int
	// position is the row's place among those that the batch takes.
	position int
	// lent is set once another row has this one's slot; the batch's mu guards it.
	lent bool
}

// rowOf gives the row of a file.
func rowOf(read *files.Row) Row {
	return Row{
		ID: read.ID, Index: read.Index, Request: read.Request, Team: read.Team, Vars: read.Vars,
		Thread: read.Thread, Files: read.Files, Folder: read.Folder, Input: read.Input, Line: read.Line,
		unnamed: !read.Explicit,
	}
}

// nameLine is the line by which people know a row without an id of its own, 0 for others.
func (row *Row) nameLine() int {
	if row.unnamed {
		return row.Line
	}
	return 0
}

// RowError is a row that cannot be run. It becomes an output with this error; the
// others are not concerned.
type RowError struct {
	// ID and Index are those of the row.
	ID    string
	Index int
	// Line is where the row begins in its file, from 1; 0 if it is from none.
	Line    int
	Kind    string
	Message string
	// Input is the row's unknown columns, as far as they could be read.
	Input json.RawMessage

	position int
	// unnamed is that of [Row].
	unnamed bool
}

func (e *RowError) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// bad gives the error of a row that cannot be run.
func (row *Row) bad(kind, message string) *RowError {
	return &RowError{ID: row.ID, Index: row.Index, Line: row.Line, Kind: kind, Message: message, Input: row.Input, position: row.position, unnamed: row.unnamed}
}

// refused gives the error of a row that cannot be started.
func (row *Row) refused(err error) *RowError {
	var input *runner.InputError
	if errors.As(err, &input) {
		return row.bad(KindInvalidRow, err.Error())
	}
	return row.bad(KindConfiguration, err.Error())
}

// Kinds of error in an output, in addition to those of package llm and the names of limits.
const (
	KindInvalidRow    = files.KindInvalidRow  // the row cannot be read, or asks for what cannot be
	KindRowTooLarge   = files.KindRowTooLarge // over 8 MiB
	KindUnknownTeam   = "unknown_team"
	KindConfiguration = "configuration" // the row's team or model cannot be used
	KindCancelled     = "cancelled"
	KindOpenTasks     = "open_tasks" // degraded: the answer lacks work
	KindNoResult      = "no_result"  // degraded: tools were called and brought nothing
	KindInternal      = "internal"
)

// Identity is what the ids of a batch's runs are derived from. Two batches with the
// same identity are one.
type Identity struct {
	// ID is a UUID version 4.
	ID string
	// Created is the time that the runs' ids begin with.
	Created time.Time
}

// NewIdentity gives one that nobody has.
func NewIdentity() Identity {
	return Identity{ID: uuid.NewString(), Created: time.Now().UTC().Truncate(time.Millisecond)}
}

// identityOf gives that of a batch in files.
func identityOf(m *files.Manifest) Identity { return Identity{ID: m.ID, Created: m.Created} }

// key gives the thread of the batch itself.
func (i Identity) key(tenant events.TenantID) events.ThreadKey {
	return events.ThreadKey{Tenant: tenant, Thread: events.ThreadID(i.ID)}
}

// runID gives the id of the row's run: a UUID version 7 whose time is that of the
// batch plus a millisecond for each row, with the attempt behind it. Ids sort like the
// rows, and the attempts of a row like themselves, so that the limiter, which serves
// the oldest run first, serves the first row first, and listings need no other order.
func (i Identity) runID(row *Row) events.RunID {
	id := i.digest("run", row)
	var head [8]byte
	binary.BigEndian.PutUint64(head[:], uint64(i.Created.UnixMilli()+int64(row.Index))<<16|uint64(min(row.Attempt, maxSortedAttempt)))
	copy(id[:], head[:])
	return events.RunID(stamped(id, 7))
}

// maxSortedAttempt is what the bits between the version and the variant hold.
const maxSortedAttempt = 1<<12 - 1

func (i Identity) threadID(row *Row) events.ThreadID {
	switch {
	case row.continues != "":
		return row.thread
	case row.Thread != "":
		return row.Thread
	}
	return events.ThreadID(stamped(i.digest("thread", row), 4))
}

func (i Identity) digest(what string, row *Row) (id uuid.UUID) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %d %s", what, i.ID, row.Index, row.Attempt, row.ID))
	copy(id[:], sum[:])
	return id
}

// stamped sets version and variant: https://www.rfc-editor.org/rfc/rfc9562
func stamped(id uuid.UUID, version byte) string {
	id[6] = id[6]&0x0f | version<<4
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}
