package extract

import (
	"container/list"
	"context"
	"crypto/sha256"
	"sync"

	"golang.org/x/sync/singleflight"
)

// keptTextBytes bounds the texts that an extractor keeps: rows of a batch read the same files.
const keptTextBytes = 64 << 20

// read is what came of reading a file.
type read struct {
	key   string
	pages []string
	note  string
}

// texts are what was read, by type and hash of the file, the latest used last. Calls for a file
// that is being read wait for it. It is safe for concurrent use; the zero value is empty.
type texts struct {
	reading singleflight.Group

	mu    sync.Mutex // guards what follows
	byKey map[string]*list.Element
	order list.List // of *read, the one that goes next first
	bytes int
}

// get gives what is kept of a file, or has it read. The reading ends at its own bounds, not
// with ctx: others may wait for it. ok is false where ctx ended first.
func (t *texts) get(ctx context.Context, mediaType string, data []byte, from func(context.Context) (found read, whole bool)) (found *read, ok bool) {
	sum := sha256.Sum256(data)
	key := mediaType + string(sum[:])
	if found := t.kept(key); found != nil {
		return found, true
	}
	done := t.reading.DoChan(key, func() (any, error) {
		found, whole := from(context.WithoutCancel(ctx))
		found.key = key
		if whole {
			t.keep(&found)
		}
		return &found, nil
	})
	select {
	case result := <-done:
		return result.Val.(*read), true
	case <-ctx.Done():
		return nil, false
	}
}

func (t *texts) kept(key string) *read {
	t.mu.Lock()
	defer t.mu.Unlock()
	element := t.byKey[key]
	if element == nil {
		return nil
	}
	t.order.MoveToBack(element)
	return element.Value.(*read)
}

func (t *texts) keep(found *read) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey[found.key] != nil {
		return
	}
	if t.byKey == nil {
		t.byKey = map[string]*list.Element{}
	}
	t.byKey[found.key] = t.order.PushBack(found)
	t.bytes += found.size()
	for t.bytes > keptTextBytes {
		dropped := t.order.Remove(t.order.Front()).(*read)
		delete(t.byKey, dropped.key)
		t.bytes -= dropped.size()
	}
}

func (r *read) size() int {
	size := len(r.key) + len(r.note)
	for _, page := range r.pages {
		size += len(page)
	}
	return size
}
