package events

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Log keeps the events of all threads. Implementations are safe for concurrent
// use by many goroutines; [github.com/convene-run/convene/events/eventstest]
// holds the suite that each must pass. Who needs a part of it asks for that part.
//
// Every method that names a thread takes the tenant with it: a thread of another
// tenant is [ErrNotFound], or empty.
type Log interface {
	Writer
	Reader
	Index
	Tailer
	Bookmarks
	Artifacts

	// Close waits for what is under way and closes the log; who waits in Wait or Tail
	// gets [ErrClosed]. Twice is fine.
	Close() error
}

// Writer adds events to threads and takes threads away.
type Writer interface {
	// Claim makes owner the only one who may append to the thread, and returns the
	// epoch to append with. While another living owner holds the thread the error
	// is a [*HeldError], unless takeOver is set. A claim of a dead process counts for
	// nothing. Every claim gives a new epoch and fences the older ones, the same
	// owner's too: two loops of one process cannot drive a thread at once.
	Claim(ctx context.Context, key ThreadKey, owner Owner, takeOver bool) (Epoch, error)

	// Release gives a claim back; its epoch is dead from then on. Releasing one that
	// is no longer held is no error.
	Release(ctx context.Context, key ThreadKey, epoch Epoch) error

	// Append adds envs, all or none, behind the event with seq after (0: the thread
	// has none). It assigns Tenant, Thread and Seq from its arguments in place, sets
	// a zero Time to now and clamps Time to the previous event's, and returns once the
	// events are durable. Payloads belong to the log from then on: nobody changes them.
	// ctx counts until the events are handed over; a commit under way is waited for.
	//
	// [ErrFenced] means that the epoch is no longer the newest, [ErrConflict] that
	// after is not the last seq: somebody posted; read, apply and decide again. Any
	// other error leaves it unknown whether the events are in the log.
	Append(ctx context.Context, key ThreadKey, epoch Epoch, after Seq, envs []Envelope) error

	// AppendFirst is Claim of a thread that has no events, and Append of its first, all or
	// nothing. [ErrConflict] means that it has some. Where an error leaves it unknown whether
	// the events are in the log it comes with the epoch, to release.
	AppendFirst(ctx context.Context, key ThreadKey, owner Owner, envs []Envelope) (Epoch, error)

	// AppendLast is Append, and Release, all or nothing.
	AppendLast(ctx context.Context, key ThreadKey, epoch Epoch, after Seq, envs []Envelope) error

	// Post adds one event without a claim. Only kinds that others than the owner may
	// say are taken: see [Posted]. A thread without events is [ErrNotFound], a run
	// that has finished [ErrRunOver]: nothing comes behind its last event.
	Post(ctx context.Context, key ThreadKey, env Envelope) (Seq, error)

	// Remove deletes a thread permanently, with all of its runs, or the batch that it is
	// of. Nobody may hold it ([*HeldError], its holder included), its runs must be over
	// ([ErrNotOver]), and rows of a batch stay until the batch needs them no more
	// ([ErrBatchOpen], see [BatchSummary.Finished]), as does its own thread. A thread
	// without events is [ErrNotFound]. Cursors stay what they are, and no new event gets the
	// place of one that was removed.
	Remove(ctx context.Context, key ThreadKey) error

	// Erase is Remove for a thread that nobody is to continue: its runs need not be over.
	Erase(ctx context.Context, key ThreadKey) error
}

// Reader reads one thread at a time. Where kinds are named only events of those count.
type Reader interface {
	// Read returns the events with a seq above after, in order, at most limit of them
	// (0: all there are). A thread without events gives none and no error. Where one of
	// the thread's is damaged that was looked at, of whatever kind, the error is a
	// [*DamagedError] and nothing is returned; those before it and those behind it can
	// still be read.
	Read(ctx context.Context, key ThreadKey, after Seq, limit int, kinds ...Kind) ([]Envelope, error)

	// ReadEncoded is Read in the wire form of [Encode], for those who pass events on
	// without looking into them. Nobody changes the bodies.
	ReadEncoded(ctx context.Context, key ThreadKey, after Seq, limit int, kinds ...Kind) ([]Encoded, error)

	// Last says how far the thread has come. The zero Tip is of a thread without events.
	Last(ctx context.Context, key ThreadKey) (Tip, error)

	// Wait returns nil once the thread has an event with a seq above after, or the
	// context's error. Events of other kinds than those named disturb nobody's sleep, so
	// a run can wait for its mail while it appends. A thread that is removed meanwhile is
	// [ErrNotFound].
	Wait(ctx context.Context, key ThreadKey, after Seq, kinds ...Kind) error
}

// Index finds runs and batches, and who holds their threads.
type Index interface {
	// Runs lists runs, newest first unless the query says otherwise.
	Runs(ctx context.Context, query RunQuery) ([]RunSummary, error)

	// Totals sums up all runs that the query matches, whatever its order and limit.
	Totals(ctx context.Context, query RunQuery) (RunTotals, error)

	// FindRun gives the run with that id, or whose id starts so if only one does.
	// [ErrNotFound] or [ErrAmbiguous] otherwise.
	FindRun(ctx context.Context, tenant TenantID, idOrPrefix string) (RunSummary, error)

	// Batches lists batches, newest first.
	Batches(ctx context.Context, query BatchQuery) ([]BatchSummary, error)

	// FindBatch gives the batch with that id, or whose id starts so if only one does.
	// [ErrNotFound] or [ErrAmbiguous] otherwise.
	FindBatch(ctx context.Context, tenant TenantID, idOrPrefix string) (BatchSummary, error)

	// Holder says who holds the thread; "" where nobody alive does.
	Holder(ctx context.Context, key ThreadKey) (Owner, time.Time, error)
}

// Tailer follows many threads at once.
type Tailer interface {
	// Tail yields the events of all threads that match, from cursor on ("" : from the
	// beginning), and goes on live until ctx ends. Every event comes exactly once,
	// those of one thread in order. It ends at an event that is damaged; the cursor that
	// comes with a [*DamagedError] lies behind it.
	Tail(ctx context.Context, filter TailFilter, cursor Cursor) iter.Seq2[TailItem, error]
}

// Bookmarks keeps the places of those who follow a log over restarts.
type Bookmarks interface {
	// Bookmark gives the place kept under the name, for Tail to go on from. A new name is
	// given the end of the log, durably: whoever begins to follow gets what comes from now on.
	Bookmark(ctx context.Context, name string) (Cursor, error)

	// SetBookmark keeps another place under the name, durably.
	SetBookmark(ctx context.Context, name string, cursor Cursor) error
}

// Errors of a [Log] that callers branch on.
var (
	ErrNotFound  = errors.New("not found")
	ErrAmbiguous = errors.New("more than one id starts with this")
	ErrFenced    = errors.New("the thread was taken over by another process")
	ErrConflict  = errors.New("the thread has newer events")
	ErrHeld      = errors.New("the thread is held by another process")
	ErrClosed    = errors.New("the log is closed")
	ErrLocked    = errors.New("another process keeps the store locked")
	ErrRunOver   = errors.New("the run has finished")
	ErrNotPosted = errors.New("events of this kind need a claim")
	ErrCursor    = errors.New("not a cursor of this log")
	ErrNotOver   = errors.New("the run has not finished")
	ErrBatchOpen = errors.New("the batch has not finished, and needs its rows to be continued")
)

// HeldError says who holds a thread and since when. It is an [ErrHeld].
type HeldError struct {
	Owner Owner
	Since time.Time
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("held by %s since %s", e.Owner, e.Since.Format(time.RFC3339))
}

// Is makes errors.Is(err, ErrHeld) true.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// Encoded is one event in its wire form.
type Encoded struct {
	Seq  Seq
	Body []byte
}

// Tip is where a thread ends.
type Tip struct {
	// Seq is that of its last event.
	Seq Seq
	// Run is the run that started last; "" where none has, as in the thread of a batch.
	Run RunID
}

// Cursor is a place in a log over all threads. It is opaque.
type Cursor string

// TailFilter narrows [Tailer.Tail]. Zero fields do not narrow: without a tenant the
// tail goes over all of them, which is for operators alone.
type TailFilter struct {
	Tenant TenantID
	// Kinds are the kinds wanted; none means all.
	Kinds []Kind
	// From lets a tail without a cursor leave out what was committed long before then: every
	// event of that time or later comes, after some that are older.
	From time.Time
	// Past ends the tail where the log does, in place of waiting: its last item has no event,
	// only the cursor.
	Past bool
}

// TailItem is one event with the cursor behind it.
type TailItem struct {
	Envelope Envelope
	Cursor   Cursor
}

// RunQuery narrows [Index.Runs]. Zero fields do not narrow: without a tenant the
// listing goes over all of them, which is for operators alone.
type RunQuery struct {
	Tenant TenantID
	Thread ThreadID
	// UserID lists the runs in threads of this user.
	UserID string
	// Batch lists the runs of one batch's rows. Their ids sort as the rows do.
	Batch BatchID
	// Own leaves out the runs of all batches' rows.
	Own bool
	// Team lists runs of the team with that name, Model those with a model whose name
	// contains it, without regard to the case of A to Z.
	Team, Model string
	Status      []Status
	// MinCostUSD lists runs that have cost at least as much, by known prices. That of a run
	// under way may lag a few events behind.
	MinCostUSD float64
	// Search is matched against request and answer, and the id of a batch's row, without
	// regard to case.
	Search string
	// Threads lists threads: only the newest run of each, as the ids sort, those of batches'
	// rows aside. The other fields narrow these runs.
	Threads bool
	// OldestFirst turns the order of the listing round: a batch's rows come as they
	// stand in its input.
	OldestFirst bool
	// Before gives runs with an id below it, After those with one above it, for paging:
	// ids sort by start. After the last of a page that is oldest first comes the next.
	Before, After RunID
	// Limit is the number of runs at most. Defaults to [DefaultRunsLimit].
	Limit int
}

// RunTotals is what many runs come to.
type RunTotals struct {
	Runs int `json:"runs"`
	// Rows counts those of them that work on rows of batches, Running those that run by
	// their log.
	Rows    int `json:"rows"`
	Running int `json:"running"`
	// Tokens is input and output.
	Tokens int64 `json:"tokens"`
	// CostUSD is that of the runs whose cost is known; Unpriced counts the others.
	CostUSD  float64 `json:"cost_usd"`
	Unpriced int     `json:"unpriced"`
}

// Add counts one more run.
func (t *RunTotals) Add(run *RunSummary) {
	t.Runs++
	if run.Batch != nil {
		t.Rows++
	}
	if run.Status == StatusRunning {
		t.Running++
	}
	t.Tokens += run.Usage.Total()
	if run.CostUSD == nil {
		t.Unpriced++
		return
	}
	t.CostUSD += *run.CostUSD
}

// DefaultRunsLimit is how many runs [Index.Runs], and batches [Index.Batches], lists
// unasked: a screen or two.
const DefaultRunsLimit = 50

// BatchQuery narrows [Index.Batches]. Zero fields do not narrow: without a tenant the
// listing goes over all of them, which is for operators alone.
type BatchQuery struct {
	Tenant TenantID
	Status []Status
	// Search is matched against input, output, team and id, without regard to case.
	Search string
	// Before gives batches that started before this one, for paging; none where there is
	// no such batch.
	Before BatchID
	// Limit is the number of batches at most. Defaults to [DefaultRunsLimit].
	Limit int
}

// readPage is how many events [Follow] reads at once: enough that a long thread
// takes few reads, few enough that a reader holds little memory.
const readPage = 512

// Follow yields the events of one thread with a seq above after and goes on live
// until ctx ends or the consumer stops. A slow consumer loses nothing and slows
// nobody: it holds a place in the log, not a queue.
func Follow(ctx context.Context, log Reader, key ThreadKey, after Seq) iter.Seq2[Envelope, error] {
	return func(yield func(Envelope, error) bool) {
		for {
			envs, err := log.Read(ctx, key, after, readPage)
			if err != nil {
				yield(Envelope{}, err)
				return
			}
			for _, env := range envs {
				if !yield(env, nil) {
					return
				}
				after = env.Seq
			}
			if len(envs) == readPage {
				continue // there may be more already
			}
			if err := log.Wait(ctx, key, after); err != nil {
				yield(Envelope{}, err)
				return
			}
		}
	}
}
