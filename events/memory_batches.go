package events

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// summarizeBatch keeps the summary of the thread's batch, where there is one.
func (t *memoryThread) summarizeBatch(env Envelope) {
	if t.batch == nil {
		if env.Data.Kind() != KindBatchStarted {
			return
		}
		t.batch = new(BatchSummary)
	}
	t.batch.Apply(env)
}

// Batches implements [Log].
func (m *Memory) Batches(ctx context.Context, query BatchQuery) ([]BatchSummary, error) {
	if err := m.lock(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	var before *BatchSummary
	found := m.batches(func(b *BatchSummary) bool {
		if b.Batch == query.Before && (query.Tenant == "" || query.Tenant == b.Tenant) {
			before = b
		}
		return query.matches(b)
	})
	slices.SortFunc(found, func(a, b BatchSummary) int { return a.newerThan(&b) })
	if query.Before != "" {
		found = slices.DeleteFunc(found, func(b BatchSummary) bool { return before == nil || before.newerThan(&b) >= 0 })
	}
	return firstOf(found, query.Limit), nil
}

// batches gives those that match. The caller holds mu.
func (m *Memory) batches(matches func(*BatchSummary) bool) (found []BatchSummary) {
	for _, thread := range m.threads {
		if thread.batch != nil && matches(thread.batch) {
			found = append(found, *thread.batch)
		}
	}
	return found
}

// newerThan orders batches: below 0 where s started later.
func (s *BatchSummary) newerThan(other *BatchSummary) int {
	return cmp.Or(other.Start.Compare(s.Start), cmp.Compare(other.Batch, s.Batch))
}

func (q BatchQuery) matches(b *BatchSummary) bool {
	if q.Tenant != "" && q.Tenant != b.Tenant || len(q.Status) > 0 && !slices.Contains(q.Status, b.Status) {
		return false
	}
	search := strings.ToLower(q.Search)
	return search == "" || slices.ContainsFunc(b.Searched(), func(text string) bool {
		return strings.Contains(strings.ToLower(text), search)
	})
}

// FindBatch implements [Log].
func (m *Memory) FindBatch(ctx context.Context, tenant TenantID, idOrPrefix string) (BatchSummary, error) {
	if err := m.lock(ctx); err != nil {
		return BatchSummary{}, err
	}
	defer m.mu.Unlock()
	return PickBatch(m.batches(func(b *BatchSummary) bool {
		return b.Tenant == tenant && strings.HasPrefix(string(b.Batch), idOrPrefix)
	}), idOrPrefix)
}

// PickBatch chooses among the batches whose ids start with idOrPrefix, as
// [Index.FindBatch] promises: the one with just that id, else the only one.
func PickBatch(found []BatchSummary, idOrPrefix string) (BatchSummary, error) {
	b, err := pick(found, idOrPrefix, func(b BatchSummary) string { return string(b.Batch) })
	if err != nil {
		return b, fmt.Errorf("find batch %q: %w", idOrPrefix, err)
	}
	return b, nil
}
