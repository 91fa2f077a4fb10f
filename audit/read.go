package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
)

// Log is what entries are told from: a part of [events.Log].
type Log interface {
	events.Reader
	events.Index
}

// Query narrows [Read]. Zero fields but Tenant do not narrow.
type Query struct {
	// Tenant defaults to [events.LocalTenant].
	Tenant events.TenantID
	// Thread lists what was done in one thread, that of a run or of a batch.
	Thread events.ThreadID
	// User lists what this user did, and what was done on the user's behalf.
	User string
	// Only lists that user's own threads and doings alone, whoever asks for whatever else.
	Only string
	// Since lists what was done then or later.
	Since time.Time
	// Before goes on behind a page: its [Page.Next].
	Before string
	// Limit is the number of entries at most. Defaults to [DefaultLimit].
	Limit int
}

// DefaultLimit is how many entries [Read] gives unasked.
const DefaultLimit = 50

// Page is a part of what was done, the newest first.
type Page struct {
	Entries []Entry
	// Next is the [Query.Before] of the next page, "" on the last.
	Next string
}

// ErrCursor is for a [Query.Before] that is none.
var ErrCursor = errors.New("not a cursor of an audit: give the next of the page before, or leave it out")

// Read gives what was done in a tenant, the newest first. It looks through the summaries of all
// runs and batches for the threads in which anything was done at that time, and reads the
// newest of them until the page is full. The error is [ErrCursor] or the log's.
func Read(ctx context.Context, log Log, query Query) (Page, error) {
	r := &reading{log: log, query: query}
	r.query.Tenant, r.query.Limit = query.Tenant.OrLocal(), cmp.Or(query.Limit, DefaultLimit)
	var err error
	if r.before, err = parsePlace(query.Before); err != nil {
		return Page{}, err
	}
	if err := r.readOwn(ctx); err != nil {
		return Page{}, err
	}
	stretches, err := r.stretches(ctx)
	if err != nil {
		return Page{}, err
	}
	for _, s := range stretches {
		if r.full() && s.updated.Before(r.found[r.query.Limit].Time) {
			break // it and those behind it are older than all that is wanted
		}
		if err := r.readThread(ctx, s); err != nil {
			return Page{}, err
		}
	}
	return r.page(), nil
}

// place is where an entry stands in the order of all: the newest first.
type place struct {
	time   time.Time
	thread events.ThreadID
	seq    events.Seq
}

func placeOf(e Entry) place { return place{e.Time, e.Thread, e.Seq} }

func (p place) String() string {
	return strings.Join([]string{p.time.Format(time.RFC3339Nano), string(p.thread), strconv.FormatInt(int64(p.seq), 10)}, "_")
}

func parsePlace(text string) (p place, err error) {
	if text == "" {
		return p, nil
	}
	parts := strings.Split(text, "_")
	if len(parts) != 3 {
		return p, ErrCursor
	}
	at, err := time.Parse(time.RFC3339Nano, parts[0])
	seq, failed := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || failed != nil {
		return p, ErrCursor
	}
	return place{at, events.ThreadID(parts[1]), events.Seq(seq)}, nil
}

// behind orders places: the newest first.
func (p place) behind(q place) int {
	return cmp.Or(q.time.Compare(p.time), cmp.Compare(q.thread, p.thread), cmp.Compare(q.seq, p.seq))
}

// reading is one [Read] under way.
type reading struct {
	log    Log
	query  Query
	before place
	// found are the newest entries, in order once there are more than wanted.
	found []Entry
}

// full reports whether there is a whole page and one entry more.
func (r *reading) full() bool {
	if len(r.found) > r.query.Limit {
		slices.SortFunc(r.found, func(a, b Entry) int { return placeOf(a).behind(placeOf(b)) })
		r.found = r.found[:r.query.Limit+1]
	}
	return len(r.found) > r.query.Limit
}

func (r *reading) page() Page {
	if r.full() {
		last := r.found[r.query.Limit-1]
		return Page{Entries: r.found[:r.query.Limit], Next: placeOf(last).String()}
	}
	slices.SortFunc(r.found, func(a, b Entry) int { return placeOf(a).behind(placeOf(b)) })
	return Page{Entries: r.found}
}

// take keeps an entry that is wanted.
func (r *reading) take(e Entry) {
	switch q := r.query; {
	case e.Time.Before(q.Since), q.User != "" && !e.has(q.User), q.Only != "" && !e.has(q.Only):
	case q.Before != "" && r.before.behind(placeOf(e)) >= 0:
	default:
		r.found = append(r.found, e)
	}
}

// readThread takes what was done in a thread.
func (r *reading) readThread(ctx context.Context, s stretch) error {
	key := events.ThreadKey{Tenant: r.query.Tenant, Thread: s.thread}
	envs, damaged, err := r.readSound(ctx, key, 0, 0)
	if err != nil {
		return fmt.Errorf("read the audit of thread %s: %w", s.thread, err)
	}
	f := newFold(s.owner)
	told := lost(key, damaged, envs, s.started)
	for i := range told {
		told[i].Owner = s.owner
	}
	for _, env := range envs {
		if e, ok := f.entry(env); ok {
			told = append(told, e)
		}
	}
	for _, e := range told {
		if e.Seq > f.copied {
			r.take(e)
		}
	}
	r.full()
	return nil
}

// readSound reads what of a thread can be read, at most limit events (0: all there are) behind a
// place, of the kinds that entries are told from. What is damaged comes beside it: an audit must
// not stop at it, nor pass over it.
func (r *reading) readSound(ctx context.Context, key events.ThreadKey, after events.Seq, limit int) ([]events.Envelope, []events.DamagedError, error) {
	wanted := kinds
	if limit > 0 {
		wanted = nil // else those of other kinds would not count
	}
	envs, err := r.log.Read(ctx, key, after, limit, wanted...)
	if !errors.Is(err, events.ErrDamaged) {
		return envs, nil, err
	}
	encoded, damaged, err := events.ReadSound(ctx, r.log, key, after, limit)
	for _, e := range encoded {
		if !slices.Contains(kinds, events.EncodedKind(e.Body)) {
			continue
		}
		env, err := events.Decode(e.Body)
		if err != nil {
			return nil, nil, err
		}
		envs = append(envs, env)
	}
	return envs, damaged, err
}

// lost tells of events that cannot be read, each at the time of the event before it that can, or
// else of the one behind it.
func lost(key events.ThreadKey, damaged []events.DamagedError, envs []events.Envelope, began time.Time) (entries []Entry) {
	for _, d := range damaged {
		e := Entry{Time: began, Tenant: key.Tenant, Thread: key.Thread, Seq: d.Seq, Action: ActionLost, Why: d.Problem}
		if d.Through > 0 {
			e.What = fmt.Sprintf("events %d to %d", d.Seq, d.Through)
		}
		if behind, _ := slices.BinarySearchFunc(envs, d.Seq, func(env events.Envelope, seq events.Seq) int { return cmp.Compare(env.Seq, seq) }); len(envs) > 0 {
			near := envs[max(0, behind-1)]
			e.Time, e.Run = near.Time, near.Run
		}
		entries = append(entries, e)
	}
	return entries
}

// ownPage is how many events of the tenant's own thread are read at once, from its end on.
const ownPage = 512

// readOwn takes what belongs to no run, until the page is full.
func (r *reading) readOwn(ctx context.Context) error {
	if r.query.Thread != "" {
		return nil
	}
	key := events.ThreadKey{Tenant: r.query.Tenant, Thread: events.AuditThread}
	tip, err := r.log.Last(ctx, key)
	if err != nil {
		return err
	}
	end := tip.Seq
	if r.query.Before != "" {
		if end, err = r.lastUntil(ctx, key, tip.Seq, r.before.time); err != nil {
			return err
		}
	}
	f := newFold("")
	for end > 0 && len(r.found) <= r.query.Limit {
		from := max(0, end-ownPage)
		envs, damaged, err := r.readSound(ctx, key, from, int(end-from))
		if err != nil {
			return fmt.Errorf("read the audit of tenant %s: %w", key.Tenant, err)
		}
		for _, e := range lost(key, damaged, envs, r.query.Since) {
			e.Thread = ""
			r.take(e)
		}
		for _, env := range slices.Backward(envs) {
			if env.Time.Before(r.query.Since) {
				return nil
			}
			if e, ok := f.entry(env); ok {
				r.take(e)
			}
		}
		end = from
	}
	return nil
}

// lastUntil gives the seq of the last event of a thread up to a time.
func (r *reading) lastUntil(ctx context.Context, key events.ThreadKey, last events.Seq, until time.Time) (events.Seq, error) {
	low, high := events.Seq(0), last // the event at low is not behind the time, that behind high is
	for low < high {
		middle := (low + high + 1) / 2
		envs, err := r.log.Read(ctx, key, middle-1, 1)
		damaged := errors.Is(err, events.ErrDamaged) // then what is too late is left out later
		if err != nil && !damaged {
			return 0, fmt.Errorf("read the audit of tenant %s: %w", key.Tenant, err)
		}
		if !damaged && (len(envs) == 0 || envs[0].Time.After(until)) {
			high = middle - 1
		} else {
			low = middle
		}
	}
	return low, nil
}
