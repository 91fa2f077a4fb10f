package events

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Last implements [Log].
func (m *Memory) Last(ctx context.Context, key ThreadKey) (tip Tip, err error) {
	if err := m.lock(ctx); err != nil {
		return tip, err
	}
	defer m.mu.Unlock()
	thread := m.threads[key]
	if thread == nil {
		return tip, nil
	}
	tip.Seq = Seq(len(thread.envs))
	if len(thread.runs) > 0 {
		tip.Run = thread.runs[len(thread.runs)-1].Run
	}
	return tip, nil
}

// Wait implements [Log]. A thread that does not exist yet can be waited for.
func (m *Memory) Wait(ctx context.Context, key ThreadKey, after Seq, kinds ...Kind) error {
	for {
		if err := m.lock(ctx); err != nil {
			return err
		}
		thread := m.threads[key]
		var grown <-chan struct{}
		switch {
		case thread == nil && after > 0:
			m.mu.Unlock()
			return fmt.Errorf("wait for thread=%s: %w", key.Thread, ErrNotFound)
		case thread == nil:
			grown = waken(&m.grown)
		case thread.has(after, kinds):
			m.mu.Unlock()
			return nil
		default:
			after = max(after, Seq(len(thread.envs)))
			grown = waken(&thread.grown)
		}
		m.mu.Unlock()
		if err := m.await(ctx, grown); err != nil {
			return err
		}
	}
}

// has reports whether there is an event above after, of those kinds if any are named.
func (t *memoryThread) has(after Seq, kinds []Kind) bool {
	if after = max(after, 0); after >= Seq(len(t.envs)) {
		return false
	}
	return len(kinds) == 0 || len(ofKinds(t.envs[after:], 1, kinds)) > 0
}

func (m *Memory) await(ctx context.Context, grown <-chan struct{}) error {
	select {
	case <-grown:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-m.closed:
		return ErrClosed
	}
}

// Tail implements [Log].
func (m *Memory) Tail(ctx context.Context, filter TailFilter, cursor Cursor) iter.Seq2[TailItem, error] {
	return func(yield func(TailItem, error) bool) {
		at, err := memoryPosition(cursor)
		for err == nil {
			var items []TailItem
			var grown <-chan struct{}
			if items, at, grown, err = m.tailPage(ctx, filter, at); err != nil {
				break
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if grown != nil && filter.Past {
				yield(TailItem{Cursor: Cursor(strconv.Itoa(at))}, nil)
				return
			}
			if grown != nil {
				err = m.await(ctx, grown)
			}
		}
		yield(TailItem{}, err)
	}
}

// tailPage gives the next matching events and the position behind them; where
// there is nothing more, also the channel that tells of growth.
func (m *Memory) tailPage(
	ctx context.Context, filter TailFilter, at int,
) (items []TailItem, next int, grown <-chan struct{}, err error) {
	if err := m.lock(ctx); err != nil {
		return nil, at, nil, err
	}
	defer m.mu.Unlock()
	if at > len(m.order) {
		return nil, at, nil, fmt.Errorf("tail from cursor %d of %d: %w", at, len(m.order), ErrCursor)
	}
	for ; at < len(m.order) && len(items) < readPage; at++ {
		place := m.order[at]
		if place.thread == nil {
			continue // removed
		}
		if env := place.thread.envs[place.seq-1]; filter.Matches(env) {
			items = append(items, TailItem{Envelope: env, Cursor: Cursor(strconv.Itoa(at + 1))})
		}
	}
	if at == len(m.order) {
		grown = waken(&m.grown)
	}
	return items, at, grown, nil
}

func memoryPosition(cursor Cursor) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	at, err := strconv.Atoi(string(cursor))
	if err != nil || at < 0 {
		return 0, fmt.Errorf("tail from cursor %q: %w", cursor, ErrCursor)
	}
	return at, nil
}

// Matches reports whether the filter lets the event pass.
func (f TailFilter) Matches(env Envelope) bool {
	if f.Tenant != "" && f.Tenant != env.Tenant {
		return false
	}
	return len(f.Kinds) == 0 || slices.Contains(f.Kinds, env.Data.Kind())
}

// Runs implements [Log].
func (m *Memory) Runs(ctx context.Context, query RunQuery) ([]RunSummary, error) {
	if err := m.lock(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	found := m.matching(query)
	slices.SortFunc(found, func(a, b RunSummary) int {
		if query.OldestFirst {
			return cmp.Compare(a.Run, b.Run)
		}
		return cmp.Compare(b.Run, a.Run)
	})
	return firstOf(found, query.Limit), nil
}

// Totals implements [Log].
func (m *Memory) Totals(ctx context.Context, query RunQuery) (totals RunTotals, err error) {
	if err := m.lock(ctx); err != nil {
		return totals, err
	}
	defer m.mu.Unlock()
	for _, run := range m.matching(query) {
		totals.Add(&run)
	}
	return totals, nil
}

// matching gives the runs that the query matches, in no order. Hold m.mu.
func (m *Memory) matching(query RunQuery) (found []RunSummary) {
	search := strings.ToLower(query.Search)
	for _, thread := range m.threads {
		newest := newestOf(thread.runs)
		for _, run := range thread.runs {
			if query.matches(run, search) && (!query.Threads || run.Run == newest && run.Batch == nil) {
				found = append(found, *run)
			}
		}
	}
	return found
}

// newestOf gives the run whose id sorts last, "" of none.
func newestOf(runs []*RunSummary) (newest RunID) {
	for _, run := range runs {
		newest = max(newest, run.Run)
	}
	return newest
}

// firstOf cuts a listing to its limit.
func firstOf[T any](found []T, limit int) []T {
	if limit <= 0 {
		limit = DefaultRunsLimit
	}
	return found[:min(limit, len(found))]
}

func (q RunQuery) matches(run *RunSummary, search string) bool {
	switch {
	case q.Tenant != "" && q.Tenant != run.Tenant,
		q.Thread != "" && q.Thread != run.Thread,
		len(q.Status) > 0 && !slices.Contains(q.Status, run.Status),
		q.Batch != "" && (run.Batch == nil || q.Batch != run.Batch.Batch),
		q.Own && run.Batch != nil,
		q.UserID != "" && q.UserID != run.UserID,
		q.Team != "" && q.Team != run.Team,
		q.Model != "" && !run.asks(strings.ToLower(q.Model)),
		q.MinCostUSD > 0 && (run.CostUSD == nil || *run.CostUSD < q.MinCostUSD),
		q.Before != "" && run.Run >= q.Before,
		q.After != "" && run.Run <= q.After:
		return false
	}
	return search == "" || slices.ContainsFunc(run.Searched(), func(text string) bool {
		return strings.Contains(strings.ToLower(text), search)
	})
}

// asks reports whether a model of the run contains the name, which is in lower case.
func (s *RunSummary) asks(name string) bool {
	return slices.ContainsFunc(s.Models, func(model string) bool { return strings.Contains(strings.ToLower(model), name) })
}

// FindRun implements [Log].
func (m *Memory) FindRun(ctx context.Context, tenant TenantID, idOrPrefix string) (RunSummary, error) {
	if err := m.lock(ctx); err != nil {
		return RunSummary{}, err
	}
	defer m.mu.Unlock()
	var found []RunSummary
	for key, thread := range m.threads {
		if key.Tenant != tenant {
			continue
		}
		for _, run := range thread.runs {
			if strings.HasPrefix(string(run.Run), idOrPrefix) {
				found = append(found, *run)
			}
		}
	}
	return PickRun(found, idOrPrefix)
}

// PickRun chooses among the runs whose ids start with idOrPrefix, as
// [Index.FindRun] promises: the one with just that id, else the only one.
func PickRun(found []RunSummary, idOrPrefix string) (RunSummary, error) {
	run, err := pick(found, idOrPrefix, func(run RunSummary) string { return string(run.Run) })
	if err != nil {
		return run, fmt.Errorf("find run %q: %w", idOrPrefix, err)
	}
	return run, nil
}

func pick[T any](found []T, idOrPrefix string, id func(T) string) (one T, err error) {
	exact := slices.DeleteFunc(slices.Clone(found), func(f T) bool { return id(f) != idOrPrefix })
	if len(exact) > 0 {
		found = exact
	}
	switch {
	case len(found) == 0 || idOrPrefix == "":
		return one, ErrNotFound
	case len(found) > 1:
		return one, ErrAmbiguous
	}
	return found[0], nil
}
