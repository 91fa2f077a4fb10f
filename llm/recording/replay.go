package recording

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/internal/compare"
	"github.com/convene-run/convene/llm/internal/deltas"
)

// maxLineBytes bounds one line of a recording: a full context window and its reply.
const maxLineBytes = 64 << 20

// Player is a client that answers from a recording. Safe for concurrent use.
type Player struct {
	all []exchange
	// exact and alike give the places of equal requests, and of those that are equal
	// but for the results of tools.
	exact, alike map[string][]int

	mu     sync.Mutex // guards played
	played []bool
}

var _ llm.Client = (*Player)(nil)

// Replay reads a recording. Its requests find their replies by content, in any
// order; a request that was recorded several times gets its replies in the order
// recorded, and the last one from then on.
//
// Agents that work at the same time see each other's work in another order every
// time, so the results of tools need not be the recorded ones; an equal request is
// preferred.
func Replay(recording io.Reader) (*Player, error) {
	p := &Player{exact: map[string][]int{}, alike: map[string][]int{}}
	lines := bufio.NewScanner(recording)
	lines.Buffer(nil, maxLineBytes)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var e exchange
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("read recording line %d: %w", n, err)
		}
		if (e.Reply == nil) == (e.Error == nil) {
			return nil, fmt.Errorf("read recording line %d: it has neither a reply nor an error, or both", n)
		}
		e.Key = e.Request.key() // a line edited by hand is found by what it says now
		alike := e.Request.withoutResults().key()
		p.exact[e.Key] = append(p.exact[e.Key], len(p.all))
		p.alike[alike] = append(p.alike[alike], len(p.all))
		p.all, p.played = append(p.all, e), append(p.played, false)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	return p, nil
}

// Stream plays the recorded reply of the request at once. A request that is not in
// the recording fails with an error that shows how it differs from the nearest one.
func (p *Player) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(llm.Delta{}, err)
			return
		}
		e, found := p.take(req)
		switch {
		case !found:
			yield(llm.Delta{}, p.miss(req))
		case e.Error != nil:
			yield(llm.Delta{}, e.failure(req))
		case deltas.Yield(yield, *e.Reply):
			done := &llm.Completion{Reply: *e.Reply, Model: e.Model, Provider: e.Provider, CostUSD: e.CostUSD, Attempts: 1}
			if e.Usage != nil {
				done.Usage = *e.Usage
			}
			yield(llm.Delta{Done: done}, nil)
		}
	}
}

// Source is a model that was recorded, and where.
type Source struct{ Provider, Model string }

// Sources lists the models that were recorded, in the order of their first reply.
func (p *Player) Sources() []Source {
	var all []Source
	for _, e := range p.all {
		source := Source{e.Provider, e.Request.Model}
		if !slices.Contains(all, source) {
			all = append(all, source)
		}
	}
	return all
}

func (p *Player) take(req llm.Request) (exchange, bool) {
	asked := recorded(req)
	places := p.exact[asked.key()]
	if len(places) == 0 {
		places = p.alike[asked.withoutResults().key()]
	}
	if len(places) == 0 {
		return exchange{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := places[len(places)-1]
	for _, place := range places {
		if !p.played[place] {
			at = place
			break
		}
	}
	p.played[at] = true
	return p.all[at], true
}

// withoutResults leaves out what tools answered.
func (r recordedRequest) withoutResults() recordedRequest {
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		if r.Messages[i].Role == events.RoleTool {
			r.Messages[i].Content = ""
		}
	}
	return r
}

func (e exchange) failure(req llm.Request) error {
	if e.Error.Kind == "" {
		return errors.New(e.Error.Message)
	}
	return &llm.Error{
		Kind: e.Error.Kind, Status: e.Error.Status, Code: e.Error.Code, Message: e.Error.Message,
		RetryAfter: time.Duration(e.Error.RetryAfterMS) * time.Millisecond, Provider: e.Provider, Model: req.Model,
	}
}

// miss explains why a request has no reply: it shows the first difference to the
// recorded request that has most in common with it.
func (p *Player) miss(req llm.Request) error {
	want, nearest, common := recorded(req), -1, -1
	for i, e := range p.all {
		if n := commonBytes(e.Request, want); n > common {
			nearest, common = i, n
		}
	}
	message := "the recording is empty"
	if nearest >= 0 {
		message = fmt.Sprintf("request key=%s is not among the %d recorded; nearest is number %d, recorded against asked: %s",
			want.key(), len(p.all), nearest+1, difference(p.all[nearest].Request, want))
	}
	return &llm.Error{Kind: llm.ErrBadRequest, Message: message + ". Record it again.", Provider: "replay", Model: req.Model}
}

// commonBytes counts how far two requests agree.
func commonBytes(a, b recordedRequest) int {
	count := 0
	for i := range min(len(a.Messages), len(b.Messages)) {
		x, y := compare.JSON(a.Messages[i]), compare.JSON(b.Messages[i])
		for at := 0; at < len(x) && at < len(y) && x[at] == y[at]; at++ {
			count++
		}
		if x != y {
			return count
		}
	}
	if len(a.Messages) == len(b.Messages) {
		count++ // all else equal, the same length is nearer
	}
	return count
}

// difference describes the first difference of two requests.
func difference(a, b recordedRequest) string {
	if text := compare.Messages(a.Messages, b.Messages); text != "" {
		return text
	}
	a.Messages, b.Messages = nil, nil
	return "beside the messages " + compare.FirstDifference(compare.JSON(a), compare.JSON(b))
}

func asEndpointError(err error) (*llm.Error, bool) {
	var known *llm.Error
	ok := errors.As(err, &known)
	return known, ok
}
