package builtin

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// keptPagesBytes bounds the pages that a process keeps for all its runs: rows of a batch
	// ask for the same ones.
	keptPagesBytes = 64 << 20
	// keptFor is how long a page counts as new.
	keptFor = 15 * time.Minute
)

// pages are those fetched by this process, the latest used last. Calls for a page that is
// being fetched wait for it. It is safe for concurrent use.
type pages struct {
	fetching singleflight.Group

	mu    sync.Mutex // guards what follows
	byKey map[string]*list.Element
	order list.List // of *page, the one that goes next first
	bytes int
}

// page is a page that was fetched.
type page struct {
	key, text string
	fetched   time.Time
}

// get gives a page that is kept, or has it fetched. The fetch ends with its own bounds, not
// with ctx: others may wait for it.
func (p *pages) get(ctx context.Context, key string, fetch func(context.Context) (string, error)) (string, error) {
	if text, kept := p.kept(key); kept {
		return text, nil
	}
	done := p.fetching.DoChan(key, func() (any, error) {
		text, err := guarded(context.WithoutCancel(ctx), fetch)
		if err == nil {
			p.keep(&page{key, text, time.Now()})
		}
		return text, err
	})
	select {
	case result := <-done:
		return result.Val.(string), result.Err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// guarded makes an error of a panic, which would otherwise end the process: pages are written
// by anybody.
func guarded(ctx context.Context, fetch func(context.Context) (string, error)) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			text, err = "", fmt.Errorf("the page cannot be read: %v", p)
		}
	}()
	return fetch(ctx)
}

func (p *pages) kept(key string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	element := p.byKey[key]
	if element == nil {
		return "", false
	}
	found := element.Value.(*page)
	if time.Since(found.fetched) > keptFor {
		p.forget(element)
		return "", false
	}
	p.order.MoveToBack(element)
	return found.text, true
}

func (p *pages) keep(fetched *page) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if before := p.byKey[fetched.key]; before != nil {
		p.forget(before)
	}
	if p.byKey == nil {
		p.byKey = map[string]*list.Element{}
	}
	p.byKey[fetched.key] = p.order.PushBack(fetched)
	p.bytes += fetched.size()
	for p.bytes > keptPagesBytes {
		p.forget(p.order.Front())
	}
}

// forget drops a page. The caller holds mu.
func (p *pages) forget(element *list.Element) {
	dropped := p.order.Remove(element).(*page)
	delete(p.byKey, dropped.key)
	p.bytes -= dropped.size()
}

func (p *page) size() int { return len(p.key) + len(p.text) }
