package llmtest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/internal/deltas"
)

// provider is the name that scripted replies come from.
const provider = "script"

// Part is one agent of a script.
type Part struct {
	match string
	steps []Step
}

// Agent scripts the agent whose system prompt contains match: each of its requests
// takes the next step, in whatever dispatch it is made. The empty match takes the
// requests that no other part matches.
func Agent(match string, steps ...Step) Part { return Part{match: match, steps: steps} }

// Scripted is a client that plays a script. It is safe for concurrent use.
type Scripted struct {
	t testing.TB

	// mu guards all below.
	mu       sync.Mutex
	parts    []Part
	requests []scriptedRequest
	calls    int
}

type scriptedRequest struct {
	part string
	req  llm.Request
}

var _ llm.Client = (*Scripted)(nil)

// Script makes a client of parts; the first that matches a request plays it. The
// test fails when a request finds no step, and when it ends with steps left over.
func Script(t testing.TB, parts ...Part) *Scripted {
	s := &Scripted{t: t, parts: slices.Clone(parts)}
	slices.SortStableFunc(s.parts, func(a, b Part) int { return boolInt(a.match == "") - boolInt(b.match == "") })
	t.Cleanup(s.checkPlayed)
	return s
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *Scripted) checkPlayed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, part := range s.parts {
		if left := len(part.steps); left > 0 && !s.t.Failed() {
			s.t.Errorf("llmtest: %d steps of agent %q were never asked for", left, part.match)
		}
	}
}

// Requests gives the requests of an agent in order, by the match of its part.
func (s *Scripted) Requests(match string) []llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []llm.Request
	for _, r := range s.requests {
		if r.part == match {
			list = append(list, r.req)
		}
	}
	return list
}

// Stream plays the next step of the agent that the request is of.
func (s *Scripted) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		start := time.Now()
		step, err := s.next(req)
		if err == nil {
			err = wait(ctx, step.after)
		}
		if err == nil && !step.whole {
			err = step.err
		}
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		if !deltas.Yield(yield, step.reply) {
			return
		}
		if step.err != nil {
			yield(llm.Delta{}, step.err)
			return
		}
		yield(llm.Delta{Done: &llm.Completion{
			Reply: step.reply, Usage: step.usage, Model: req.Model, Provider: provider,
			FirstToken: step.after, Total: time.Since(start), Attempts: 1,
		}}, nil)
	}
}

// next takes the step for a request and records it.
func (s *Scripted) next(req llm.Request) (Step, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	system := systemPrompt(req)
	req.Messages, req.Tools = slices.Clone(req.Messages), slices.Clone(req.Tools)
	for i := range s.parts {
		part := &s.parts[i]
		if !strings.Contains(system, part.match) {
			continue
		}
		s.requests = append(s.requests, scriptedRequest{part.match, req})
		if len(part.steps) == 0 {
			return Step{}, s.unscripted(req, fmt.Sprintf("the steps of agent %q are used up", part.match))
		}
		step := part.steps[0]
		part.steps = part.steps[1:]
		step.reply.ToolCalls = slices.Clone(step.reply.ToolCalls)
		for k := range step.reply.ToolCalls {
			if s.calls++; step.reply.ToolCalls[k].ID == "" {
				step.reply.ToolCalls[k].ID = events.CallID(fmt.Sprintf("call_%d", s.calls))
			}
		}
		return step, nil
	}
	return Step{}, s.unscripted(req, "no agent of the script matches")
}

// unscripted fails the test, and gives the error that the caller sees.
func (s *Scripted) unscripted(req llm.Request, why string) error {
	last := "none"
	if n := len(req.Messages); n > 0 {
		last = fmt.Sprintf("%s %.200q", req.Messages[n-1].Role, req.Messages[n-1].Content)
	}
	message := fmt.Sprintf("%s; system prompt %.80q, %d messages, last: %s", why, systemPrompt(req), len(req.Messages), last)
	s.t.Errorf("llmtest: request without a step: %s", message)
	return &llm.Error{Kind: llm.ErrBadRequest, Message: message, Provider: provider, Model: req.Model}
}

func systemPrompt(req llm.Request) string {
	for _, m := range req.Messages {
		if m.Role == events.RoleSystem {
			return m.Content
		}
	}
	return ""
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
