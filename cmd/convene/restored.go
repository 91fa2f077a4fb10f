package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/sanitize"
	"github.com/convene-run/convene/thread"
)

// restored is a log that is read with the values in place of placeholders.
type restored struct {
	events.Log
	values *sanitize.Values
}

// restoredLog gives the log as who may read the values reads the thread of a run: the store of
// one's own machine is one's own.
func restoredLog(ctx context.Context, log events.Log, run events.RunSummary) (events.Log, error) {
	th, err := thread.Load(ctx, log, events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}, run.LastSeq)
	if err != nil || th.Values.Len() == 0 {
		return log, err
	}
	return &restored{log, &th.Values}, nil
}

// Read implements [events.Reader].
func (r *restored) Read(ctx context.Context, key events.ThreadKey, after events.Seq, limit int, kinds ...events.Kind) ([]events.Envelope, error) {
	envs, err := r.Log.Read(ctx, key, after, limit, kinds...)
	for i := range envs {
		if err == nil {
			err = r.restore(&envs[i])
		}
	}
	return envs, err
}

// restore puts the values into an event, but not into one that says what a person wrote: a
// placeholder in that is the person's own text.
func (r *restored) restore(env *events.Envelope) error {
	switch env.Data.(type) {
	case events.ValuesReplaced, events.WorkflowStarted, events.UserMessage:
		return nil
	}
	body, err := events.Encode(*env)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var whole map[string]any
	if err := decoder.Decode(&whole); err != nil {
		return err
	}
	whole["data"] = r.within(whole["data"])
	if body, err = json.Marshal(whole); err != nil {
		return err
	}
	*env, err = events.Decode(body)
	return err
}

// within puts the values into all texts of a JSON value.
func (r *restored) within(value any) any {
	switch v := value.(type) {
	case string:
		return r.text(v)
	case []any:
		for i := range v {
			v[i] = r.within(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = r.within(v[name])
		}
	}
	return value
}

// text puts the values into a text. One that is JSON itself, such as the arguments of a call,
// stays JSON.
func (r *restored) text(text string) string {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[{") {
		return r.values.Restore(text)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var inner any
	if decoder.Decode(&inner) != nil || decoder.More() {
		return r.values.Restore(text)
	}
	body, err := json.Marshal(r.within(inner))
	if err != nil {
		return text
	}
	return string(body)
}
