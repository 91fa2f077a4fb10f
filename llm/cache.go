package llm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/convene-run/convene/events"
)

// Cache keeps whole replies in a directory, by a hash of the whole request: for
// trying things out again and again without paying again. Failures are never kept.
// Equal requests that are under way at once are made once. It is safe for
// concurrent use, by several processes too.
//
// It stands before the limiter: a reply from the cache takes nobody's turn, and has
// used no tokens.
type Cache struct {
	dir  string
	next Streamer

	mu      sync.Mutex // guards flights
	flights map[string]chan struct{}

	hits, misses atomic.Int64
}

// Streamer makes calls along a route: a [Caller].
type Streamer interface {
	Stream(ctx context.Context, route Route, req Request) iter.Seq2[Delta, error]
}

// NewCache puts a cache before next. The directory is made where it is missing.
func NewCache(dir string, next Streamer) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the cache of replies: %w", err)
	}
	return &Cache{dir: dir, next: next, flights: map[string]chan struct{}{}}, nil
}

// Counts gives how many calls were answered from the cache, and how many were made.
func (c *Cache) Counts() (hits, misses int64) { return c.hits.Load(), c.misses.Load() }

// Stream answers from the cache, or makes the call and keeps its reply.
func (c *Cache) Stream(ctx context.Context, route Route, req Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		key, err := cacheKey(route, req)
		if err != nil {
			yield(Delta{}, err)
			return
		}
		for {
			if done := c.load(key); done != nil {
				c.hits.Add(1)
				replay(done, yield)
				return
			}
			flight, mine := c.board(key)
			if mine {
				break
			}
			select {
			case <-flight: // look again: it failed if there is nothing
			case <-ctx.Done():
				yield(Delta{}, context.Cause(ctx))
				return
			}
		}
		defer c.land(key)
		if done := c.load(key); done != nil { // it was kept between the look and the boarding
			c.hits.Add(1)
			replay(done, yield)
			return
		}
		c.misses.Add(1)
		for delta, err := range c.next.Stream(ctx, route, req) {
			if delta.Done != nil && err == nil {
				c.keep(key, delta.Done)
			}
			if !yield(delta, err) {
				return
			}
		}
	}
}

// board joins the call that is under way for the key, or begins one.
func (c *Cache) board(key string) (flight chan struct{}, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if flight := c.flights[key]; flight != nil {
		return flight, false
	}
	c.flights[key] = make(chan struct{})
	return nil, true
}

func (c *Cache) land(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.flights[key])
	delete(c.flights, key)
}

// cacheKey is a hash of all that the endpoint would see, and of which it is.
func cacheKey(route Route, req Request) (string, error) {
	if len(route) == 0 {
		return "", errors.New("call model: the route is empty")
	}
	text, err := json.Marshal(struct {
		Endpoint, Model string
		Messages        []events.Message
		Tools           []Tool
		ToolChoice      ToolChoice
		Temperature     *float64
		MaxOutputTokens int
		Effort          string `json:",omitempty"`
		Tier            Tier   `json:",omitempty"`
	}{route[0].Endpoint.Name, route[0].Model, req.Messages, req.Tools, req.ToolChoice, req.Temperature, req.MaxOutputTokens, req.Effort, req.Tier})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// kept is a reply as a file of the cache has it.
type kept struct {
	Reply    events.Reply `json:"reply"`
	Usage    events.Usage `json:"usage"`
	Provider string       `json:"provider"`
	Model    string       `json:"model"`
}

// path spreads the files over directories, so that none has too many.
func (c *Cache) path(key string) string { return filepath.Join(c.dir, key[:2], key+".json") }

// load gives nil where there is no whole reply.
func (c *Cache) load(key string) *Completion {
	text, err := os.ReadFile(c.path(key))
	if err != nil {
		return nil
	}
	var k kept
	if json.Unmarshal(text, &k) != nil {
		return nil
	}
	return &Completion{Reply: k.Reply, Provider: k.Provider, Model: k.Model, CostUSD: new(float64), Attempts: 1}
}

// keep writes a reply that came to its end. A reply that cannot be kept is only paid
// for again.
func (c *Cache) keep(key string, done *Completion) {
	if f := done.Reply.FinishReason; f != events.FinishStop && f != events.FinishToolCalls {
		return
	}
	text, err := json.Marshal(kept{done.Reply, done.Usage, done.Provider, done.Model})
	if err != nil || os.MkdirAll(filepath.Dir(c.path(key)), 0o700) != nil {
		return
	}
	file, err := os.CreateTemp(c.dir, "new-*")
	if err != nil {
		return
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), c.path(key))
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
}

// replay streams a reply that was kept.
func replay(done *Completion, yield func(Delta, error) bool) {
	if !yield(Delta{Sent: 1}, nil) {
		return
	}
	if text := done.Reply.Text; text != "" && !yield(Delta{Text: text}, nil) {
		return
	}
	for i := range done.Reply.ToolCalls {
		call := done.Reply.ToolCalls[i]
		if !yield(Delta{Call: &call, Index: i}, nil) {
			return
		}
	}
	yield(Delta{Done: done}, nil)
}
