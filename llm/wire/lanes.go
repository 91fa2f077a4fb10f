package wire

import (
	"hash/fnv"
	"strconv"
	"sync"
	"time"

	"github.com/convene-run/convene/llm"
)

const (
	// maxLanes bounds the keys that one is spread over: each pays once for what all
	// requests begin with. A power of two.
	maxLanes = 64
	// maxLaned bounds the keys whose traffic is known.
	maxLaned = 256
)

// lanes spread the requests under a cache key over several keys, as far as there are more than
// the provider keeps together. The surplus it sends to machines that have nothing of it in
// their caches, whichever run it is of; under keys of its own a run finds what it sent before.
// Safe for concurrent use.
type lanes struct {
	// perMinute is how many requests a minute the provider keeps together under one key.
	perMinute int

	mu sync.Mutex // guards of
	of map[laned]*traffic
}

// laned is a key for the prompts of a model, whose caches are its own.
type laned struct{ model, key string }

// traffic is what goes under a key.
type traffic struct {
	since    time.Time // when the minute began
	requests int       // of the minute
	lanes    int       // a power of two, so that half of the runs stay where they are when it doubles
}

// key gives the cache key to send with a request.
func (l *lanes) key(req *llm.Request) string {
	if l.perMinute == 0 || req.CacheKey == "" {
		return req.CacheKey
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(req.Run)) // a hash takes all
	if lane := int(hash.Sum32() % uint32(l.count(laned{req.Model, req.CacheKey}))); lane > 0 {
		return req.CacheKey + "." + strconv.Itoa(lane)
	}
	return req.CacheKey
}

// count counts a request, and gives the number of lanes. They double as soon as they are full,
// and halve after a minute in which a quarter of them would have done.
func (l *lanes) count(key laned) int {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.of[key]
	if t == nil {
		if l.of == nil || len(l.of) >= maxLaned {
			l.of = map[laned]*traffic{}
		}
		t = &traffic{since: now, lanes: 1}
		l.of[key] = t
	}
	if now.Sub(t.since) >= time.Minute {
		if t.lanes > 1 && 4*t.requests <= t.lanes*l.perMinute {
			t.lanes /= 2
		}
		t.since, t.requests = now, 0
	}
	t.requests++
	if t.requests > t.lanes*l.perMinute && t.lanes < maxLanes {
		t.lanes *= 2
	}
	return t.lanes
}
