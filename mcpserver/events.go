package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-run/convene/events"
)

const (
	// defaultEvents and maxEvents are how many events a page has unasked and at most.
	defaultEvents, maxEvents = 50, 500
	// maxPageBytes bounds a page: what a model can read at once. An event that is longer by
	// itself comes without its data.
	maxPageBytes = 200_000
)

// place is what list_events takes.
type place struct {
	named
	After events.Seq    `json:"after_seq,omitempty" jsonschema:"Only events with a seq above this one: next_after_seq of the page before."`
	Limit int           `json:"limit,omitempty" jsonschema:"Events at most, up to 500; 50 if left out."`
	Types []events.Kind `json:"types,omitempty" jsonschema:"Only events of these types, such as document_updated or tool_call."`
}

// page is a stretch of a run's log.
type page struct {
	Run events.RunID `json:"run_id"`
	// Events are [json.RawMessage].
	Events []any `json:"events" jsonschema:"In order, each with seq, type, time and data."`
	// Next and More tell how to go on.
	Next events.Seq `json:"next_after_seq" jsonschema:"after_seq of the next page; asked again later, it gives what has happened since."`
	More bool       `json:"more" jsonschema:"Whether there are more by now."`
}

func (s *Server) listEvents(ctx context.Context, c *call, in place) (*mcp.CallToolResult, page, error) {
	run, err := s.find(ctx, c, in.Run)
	if err != nil {
		return nil, page{}, err
	}
	if in.Limit == 0 {
		in.Limit = defaultEvents
	}
	if err := in.check(); err != nil {
		return nil, page{}, err
	}
	// A thread may have other runs, of other teams.
	in.After = max(in.After, run.FirstSeq-1)
	found, err := s.config.Log.ReadEncoded(ctx, c.key(run.Thread), in.After, in.Limit+1, in.Types...)
	if err != nil {
		return nil, page{}, err
	}
	if beyond := slices.IndexFunc(found, func(e events.Encoded) bool { return e.Seq > run.LastSeq }); beyond >= 0 {
		found = found[:beyond]
	}
	p := page{Run: run.Run, Events: []any{}, Next: in.After}
	return nil, p, p.fill(found, in.Limit)
}

func (in place) check() error {
	if in.Limit < 1 || in.Limit > maxEvents {
		return refuse("limit %d: give a number from 1 to %d", in.Limit, maxEvents)
	}
	known := events.Kinds()
	for _, kind := range in.Types {
		if !slices.Contains(known, kind) {
			return refuse("there is no type of events %.100q, only %v", kind, known)
		}
	}
	return nil
}

// fill puts in as many events as a page takes.
func (p *page) fill(found []events.Encoded, limit int) error {
	size := 0
	for _, e := range found {
		body, err := forCallers(e.Body)
		if err != nil {
			return fmt.Errorf("event seq=%d: %w", e.Seq, err)
		}
		if len(p.Events) == limit || size+len(body) > maxPageBytes {
			p.More = true
			return nil
		}
		size += len(body)
		p.Events, p.Next = append(p.Events, body), e.Seq
	}
	return nil
}

// forCallers gives an event as callers get it: without what is not for them, and without its
// data where these alone would fill a page.
func forCallers(body []byte) (json.RawMessage, error) {
	body = events.ForViewers(body)
	var event struct {
		Type events.Kind `json:"type"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, err
	}
	if event.Type != events.KindWorkflowStarted && len(body) <= maxPageBytes {
		return body, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, err
	}
	if event.Type == events.KindWorkflowStarted {
		if err := withoutConfig(members); err != nil {
			return nil, err
		}
	}
	if size := len(members["data"]); size > maxPageBytes {
		members["data_bytes"] = json.RawMessage(strconv.Itoa(size))
		delete(members, "data")
	}
	return json.Marshal(members)
}

// withoutConfig leaves the team's configuration out of workflow_started: its prompts, the
// commands of its servers and its folders are the operator's, and long.
func withoutConfig(event map[string]json.RawMessage) error {
	var data map[string]json.RawMessage
	if err := json.Unmarshal(event["data"], &data); err != nil {
		return err
	}
	delete(data, "config")
	body, err := json.Marshal(data)
	event["data"] = body
	return err
}
